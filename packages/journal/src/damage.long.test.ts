import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JobRecord } from '@goshawk/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { damageFile } from './damage.fixture.js';
import { JournalError } from './errors.js';
import { openLmdbJournal } from './lmdb-journal.js';
import { OfflineJournal, verify } from './offline.js';
import { accepted, attempt, ended, forgotten, recordsOf } from './records.fixture.js';
import { repairJournal } from './repair.js';

let home = '';
let whole: JobRecord[] = [];
const lastForgotten = new Set<number>();
const options = { newTag: () => 'fghij', version: '1.2.3' };
const room = { fullBelow: 0, stopBelow: 0, reserve: 0, everyMs: 1_000 };

function openIn(folder: string) {
  return openLmdbJournal({ ...options, newTag: () => 'abcde', folder, room });
}

/** Jobs with small and with large results, some of them forgotten: free pages, branches, values of many pages. */
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'goshawk-damage-'));
  const folder = join(home, 'sound');
  for (let round = 0; round < 4; round++) {
    const journal = await openIn(folder);
    whole = recordsOf(journal);
    await journal.begin('tcp://127.0.0.1:1!s.one/0');
    for (let job = 100 * round + 1; job <= 100 * round + 100; job++) {
      journal.append(accepted(job));
      for (let task = 0; task < 5; task++)
        journal.append(attempt(job, task, 'x'.repeat(job % 10 === 0 ? 9_000 : job)));
      if (job % 2 === 0) journal.append(ended(job));
      if (round === 0 || job % 4 !== 0) continue;
      journal.append(forgotten(job - 100));
      if (round === 3) lastForgotten.add(job - 100);
    }
    await journal.close();
  }
  const journal = await openIn(folder);
  whole = recordsOf(journal);
  await journal.close();
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

async function damagedBy(seed: number): Promise<{ folder: string; file: string; how: string }> {
  const folder = join(home, `${seed}`);
  mkdirSync(folder);
  const file = join(folder, 'jobs.mdb');
  copyFileSync(join(home, 'sound', 'jobs.mdb'), file);
  return { folder, file, how: damageFile(file, seed) };
}

const isOurs = (error: unknown): boolean => error instanceof JournalError;

/** Returns undefined if the action fails with an error of the journal, rather than of the test. */
async function ending<T>(action: () => Promise<T>): Promise<T | undefined> {
  try {
    return await action();
  } catch (error) {
    if (!isOurs(error)) throw error;
    expect((error as JournalError).message).not.toContain('\n');
    return undefined;
  }
}

/** Number of seeds; `GOSHAWK_DAMAGE_SEEDS=1000` tries more. */
const SEEDS = Number(process.env.GOSHAWK_DAMAGE_SEEDS ?? 64);

describe('a damaged journal', () => {
  test.each(Array.from({ length: SEEDS / 8 }, (_, i) => i * 8))(
    'is reported, repaired, and never ends a process (seeds from %i)',
    async (first) => {
      for (let seed = first; seed < first + 8; seed++) {
        const { folder, file, how } = await damagedBy(seed);
        const before = readFileSync(file);
        const verified = await ending(async () => {
          const offline = await OfflineJournal.open(folder);
          try {
            const { damaged, records } = verify(offline);
            const isSound = (await ending(async () => offline.check() ?? true)) === true;
            return { damaged, records, isSound };
          } finally {
            await offline.close();
          }
        });
        expect(readFileSync(file).equals(before), how).toBe(true);
        // A file that passes the check is opened and written by lmdb itself.
        const started = await ending(async () => {
          const journal = await openIn(folder);
          const leftOut: number[] = [];
          const read = recordsOf(journal, ({ job }) => leftOut.push(job));
          await journal.begin('tcp://127.0.0.1:1!s.two/0');
          for (let job = 501; job < 540; job++) journal.append(accepted(job));
          for (const { job } of read.slice(0, 300)) if (job > 0) journal.append(forgotten(job));
          await journal.close();
          return { read, leftOut };
        });
        expect(started !== undefined, `${seed}: ${how}`).toBe(verified?.isSound === true);
        if (started === undefined) {
          expect(readFileSync(file).equals(before), how).toBe(true);
          await expectRepaired(folder, file, before, verified?.records ?? 0);
        } else if (verified!.damaged.length === 0) {
          expect(started.read).toEqual(whole);
        }
        rmSync(folder, { recursive: true });
      }
    },
  );

  test('is detected if the name of a tree has changed, and is repaired', async () => {
    const sound = readFileSync(join(home, 'sound', 'jobs.mdb'));
    for (const name of ['records', 'identity']) {
      const folder = join(home, name);
      mkdirSync(folder);
      const changed = Buffer.from(sound);
      for (let at = changed.indexOf(name); at >= 0; at = changed.indexOf(name, at + 1))
        changed.write('X', at + 6);
      writeFileSync(join(folder, 'jobs.mdb'), changed);
      await expect(openIn(folder)).rejects.toThrow(/is damaged/);
      const { records } = await repairJournal({ ...options, folder });
      expect(records).toEqual(whole);
    }
  });

  test('loses only the records of the lost page', async () => {
    const sound = readFileSync(join(home, 'sound', 'jobs.mdb'));
    for (let at = 2 * PAGE; at < sound.length; at += PAGE) {
      const kind = sound.readUInt16LE(at + 18);
      if (kind !== BRANCH && (kind !== LEAF || at % (11 * PAGE) !== 0)) continue;
      const folder = join(home, `page${at}`);
      mkdirSync(folder);
      writeFileSync(join(folder, 'jobs.mdb'), Buffer.from(sound).fill(0, at, at + PAGE));
      const { records, tag } = await repairJournal({ ...options, folder });
      expect(records.length, `page at ${at}`).toBeGreaterThanOrEqual(
        whole.length - (kind === BRANCH ? 0 : 100),
      );
      expect(tag).toBe('abcde');
    }
  });
});

/** Expects that repair yields a journal with exactly the readable records, or reports that none is readable. */
async function expectRepaired(folder: string, file: string, before: Buffer, readable: number): Promise<void> {
  const repaired = await ending(() => repairJournal({ ...options, folder }));
  if (repaired === undefined) {
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(readable).toBe(0);
    return;
  }
  expect(repaired.records.length).toBeGreaterThanOrEqual(readable);
  expect(readFileSync(repaired.kept!).equals(before)).toBe(true);
  const known = new Set(whole.map((record) => JSON.stringify(record)));
  const others = repaired.records.filter((record) => !known.has(JSON.stringify(record)));
  // Falling back to the state before the last commit restores jobs that the commit had forgotten.
  expect([...new Set(others.map(({ job }) => job))].filter((job) => !lastForgotten.has(job))).toEqual([]);
  const journal = await openIn(folder);
  expect(recordsOf(journal)).toEqual(repaired.records);
  expect(journal.lastJob).toBeGreaterThanOrEqual(Math.max(0, ...repaired.records.map(({ job }) => job)));
  await journal.close();
}

const PAGE = 4_096;
const BRANCH = 1;
const LEAF = 2;
