import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JobRecord } from '@goshawk/core';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { entryOf } from './group-commit.js';
import { LmdbStore } from './lmdb-store.js';
import { ReadCopy } from './read-copy.js';
import { attempt, forgotten } from './records.fixture.js';

let folder: string;
let copy: ReadCopy | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-copy-'));
});
afterEach(async () => {
  await copy?.close();
  rmSync(folder, { recursive: true, force: true });
});

const until = (met: () => void): Promise<void> => vi.waitFor(met, { timeout: 30_000 });

test('a copy has no name, so nothing is left of a killed process', () => {
  copy = new ReadCopy(join(folder, 'new'));
  copy.copy(entryOf(attempt(1, 0, 'x'), 0));
  expect(readdirSync(join(folder, 'new'))).toEqual([]);
});

test('without room nothing more is copied; pending records can be read, and room brings copying back', async () => {
  let free = 0;
  copy = new ReadCopy(folder, { freeBytes: () => free });
  const record: JobRecord = attempt(1, 0, 'x');
  expect(copy.copy(entryOf(record, 0))).toBe(true);
  await until(() => expect(copy!.state.kind).toBe('stopped'));
  expect(copy.copy(entryOf(attempt(1, 1, 'y'), 1))).toBe(false);
  expect([copy.readRecord(1, 0), copy.readRecord(1, 1)]).toEqual([record, undefined]);
  free = 1e12;
  await until(() => expect(copy!.state.kind).toBe('open'));
  expect(copy.readRecord(1, 0)).toEqual(record);
  expect(copy.copy(entryOf(attempt(1, 1, 'y'), 1))).toBe(true);
});

test('pending records can be read in any order of places', () => {
  // Records of jobs that overlapped in time are copied job by job.
  copy = new ReadCopy(folder, { freeBytes: () => 0 });
  const records = [1, 9, 2, 3, 10].map((place) => [place, attempt(place < 9 ? 1 : 2, place, place)] as const);
  for (const [place, record] of records) copy.copy(entryOf(record, place));
  for (const [place, record] of records) expect(copy.readRecord(record.job, place)).toEqual(record);
});

test('deletions are written once, however long a full disk keeps other records waiting', async () => {
  const write = vi.spyOn(LmdbStore.prototype, 'write');
  let looks = 0;
  copy = new ReadCopy(folder, {
    freeBytes: () => {
      looks++;
      return 0;
    },
  });
  copy.copy(entryOf(forgotten(1), 0));
  copy.copy(entryOf(attempt(2, 1, 'x'), 1));
  await until(() => expect(looks).toBeGreaterThan(2));
  copy.copy(entryOf(forgotten(3), 2));
  const before = looks;
  await until(() => expect(looks).toBeGreaterThan(before + 2));
  expect(write.mock.calls.map(([entries]) => entries.map(({ job }) => job))).toEqual([[1], [3]]);
  write.mockRestore();
});

test('no copy exists if it cannot be written', () => {
  writeFileSync(join(folder, 'file'), '');
  expect(ReadCopy.ifPossible(join(folder, 'file', 'in'))).toBeUndefined();
});

test('a copy at its limit takes records again once enough jobs are forgotten', async () => {
  copy = new ReadCopy(folder, { bytesMax: 1_000_000 });
  const large = 'x'.repeat(100_000);
  for (let task = 0; copy.copy(entryOf(attempt(1, task, large), task)); task++) {
    const { written } = copy;
    await until(() => expect(copy!.written > written || copy!.state.kind === 'stopped').toBe(true));
    expect(task).toBeLessThan(20);
  }
  copy.copy(entryOf(forgotten(1), 100));
  await until(() => expect(copy!.state.kind).toBe('open'));
  expect(copy.readRecord(1, 0)).toBeUndefined();
});

test('thousands of records appended at once are all copied', async () => {
  copy = new ReadCopy(folder);
  const records = Array.from({ length: 10_000 }, (_, task) => attempt(1, task, task));
  for (const [place, record] of records.entries()) copy.copy(entryOf(record, place));
  await until(() => expect(copy!.written).toBe(records.length));
  for (const place of [0, 4_095, 4_096, 9_999]) expect(copy.readRecord(1, place)).toEqual(records[place]);
});
