import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JobRecord } from '@goshawk/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { drawing } from './damage.fixture.js';
import { LmdbFile } from './lmdb-file.js';
import { openLmdbJournal } from './lmdb-journal.js';
import { decodeRecord } from './record-codec.js';
import { accepted, attempt, ended, forgotten, recordsOf } from './records.fixture.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-lmdb-file-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const room = { fullBelow: 0, stopBelow: 0, reserve: 0, everyMs: 1_000 };

/** Reads the records directly from the file, and expects no damage. */
function readAsBytes(): JobRecord[] {
  const file = LmdbFile.open(join(folder, 'jobs.mdb'));
  try {
    file.check();
    return [...file.entries((problem) => expect.fail(problem))]
      .filter(({ tree }) => tree === 'records')
      .map(({ value }) => decodeRecord(value));
  } finally {
    file.close();
  }
}

describe('a journal read as bytes', () => {
  test.each(Array.from({ length: 4 }, (_, seed) => seed))(
    'is sound, and what lmdb reads, whatever was done to it (seed %i)',
    async (seed) => {
      const draw = drawing(seed);
      let job = 0;
      const kept = new Set<number>();
      for (let round = 0; round < 5; round++) {
        const journal = await openLmdbJournal({ folder, newTag: () => 'abcde', version: '1', room });
        expect(readAsBytes()).toEqual(recordsOf(journal));
        await journal.begin(`tcp://127.0.0.1:1!s.${round}/0`);
        const size = [10, 300, 3_000, 30_000, 200_000][Math.floor(draw() * 5)]!;
        for (let step = 0; step < 12; step++) {
          const recorded = new Promise<void>((resolve) =>
            journal.listen({ recorded: () => resolve(), stateChanged: () => {} }),
          );
          for (let i = Math.floor(draw() * 8); i >= 0; i--) {
            kept.add(++job);
            journal.append(accepted(job));
            journal.append(attempt(job, 0, 'x'.repeat(Math.floor(draw() * size))));
            if (draw() < 0.5) journal.append(ended(job));
          }
          for (const old of kept) {
            if (draw() > 0.3) continue;
            kept.delete(old);
            journal.append(forgotten(old));
          }
          await recorded;
        }
        await journal.close();
      }
      readAsBytes();
    },
  );
});
