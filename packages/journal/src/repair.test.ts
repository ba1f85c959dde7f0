import { existsSync, mkdtempSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { damageFile } from './damage.fixture.js';
import { openLmdbJournal } from './lmdb-journal.js';
import { accepted, attempt, recordsOf } from './records.fixture.js';
import { repairJournal } from './repair.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-repair-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('an interrupted repair never leaves the folder without a journal, because the next start would create a new one', async () => {
  const options = { folder, newTag: () => 'abcde', version: '1' };
  const journal = await openLmdbJournal(options);
  expect(recordsOf(journal)).toEqual([]);
  for (let job = 1; job <= 20; job++) {
    journal.append(accepted(job));
    journal.append(attempt(job, 0, 'x'.repeat(1_000)));
  }
  await journal.close();
  damageFile(join(folder, 'jobs.mdb'), 6);
  // Names that appeared or disappeared.
  const changed: (string | null)[] = [];
  const watcher = watch(folder, (event, name) => event === 'rename' && changed.push(name));
  const { kept, records } = await repairJournal(options);
  await expect.poll(() => changed).toContain('jobs.mdb');
  watcher.close();
  expect(changed.filter((name) => name === 'jobs.mdb')).toHaveLength(1);
  expect(existsSync(kept!)).toBe(true);
  const repaired = await openLmdbJournal(options);
  expect(recordsOf(repaired)).toEqual(records);
  await repaired.close();
});
