import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { damageFile } from './damage.fixture.js';
import { openLmdbJournal } from './lmdb-journal.js';
import { accepted, attempt, recordsOf } from './records.fixture.js';
import { repairJournal } from './repair.js';

const disk = vi.hoisted(() => ({ fails: false }));
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  const renameSync = (from: string, to: string): void => {
    if (disk.fails && from.endsWith('jobs.mdb.new')) throw new Error('EIO: i/o error, rename');
    fs.renameSync(from, to);
  };
  return { ...fs, renameSync };
});

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-repair-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a repair that is cut off leaves the journal in its place, and the next one goes on from it', async () => {
  const options = { folder, newTag: () => 'abcde', version: '1' };
  const journal = await openLmdbJournal(options);
  expect(recordsOf(journal)).toEqual([]);
  for (let job = 1; job <= 20; job++) {
    journal.append(accepted(job));
    journal.append(attempt(job, 0, 'x'.repeat(1_000)));
  }
  await journal.close();
  damageFile(join(folder, 'jobs.mdb'), 6);
  disk.fails = true;
  await expect(repairJournal(options)).rejects.toThrow('EIO');
  expect(existsSync(join(folder, 'jobs.mdb'))).toBe(true);
  disk.fails = false;
  const { kept, records } = await repairJournal(options);
  expect(existsSync(kept!)).toBe(true);
  const repaired = await openLmdbJournal(options);
  expect(recordsOf(repaired)).toEqual(records);
  await repaired.close();
  expect(readdirSync(folder).filter((name) => name.includes('.new'))).toEqual([]);
});
