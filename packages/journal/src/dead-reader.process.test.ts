import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openLmdbJournal } from './lmdb-journal.js';
import { accepted, attempt, forgotten, recordsOf } from './records.fixture.js';

const READER = fileURLToPath(new URL('../dist/dead-reader.fixture.js', import.meta.url));

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-dead-reader-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a killed reader does not make the file grow forever', async () => {
  const room = { fullBelow: 0, stopBelow: 0, reserve: 0, everyMs: 5 };
  const journal = await openLmdbJournal({ folder, newTag: () => 'abcde', version: '1', room });
  expect(recordsOf(journal)).toEqual([]);
  await journal.begin('tcp://127.0.0.1:1!s.one/0');
  let recorded = 0;
  let opened = () => {};
  journal.listen({
    recorded: (count) => {
      recorded = count;
      opened();
    },
    stateChanged: () => {},
  });
  let job = 0;
  /** Appends ten jobs and removes ten per turn, so that the used size stays the same. */
  const turns = async (count: number): Promise<number> => {
    for (let turn = 0; turn < count; turn++) {
      for (let i = 0; i < 10; i++) {
        journal.append(accepted(++job));
        journal.append(attempt(job, 0, 'x'.repeat(2_000)));
        if (job > 10) journal.append(forgotten(job - 10));
      }
      const { recordsAppended } = journal.metrics();
      while (recorded < recordsAppended) {
        await new Promise<void>((resolve) => {
          opened = resolve;
        });
      }
    }
    return journal.metrics().fileBytes;
  };
  const before = await turns(20);
  const reader = spawn(process.execPath, [READER, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(reader.stdout, 'data');
  reader.kill('SIGKILL');
  await once(reader, 'exit');
  expect(await turns(200)).toBeLessThan(4 * before);
  await journal.close();
});
