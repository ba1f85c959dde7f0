import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Address } from '@goshawk/core';
import { GroupCommit, type Journal } from '@goshawk/journal';
import { SILENT_LOGGER } from '@goshawk/transport';
import { afterEach, expect, test } from 'vitest';
import { JournalPort, openInFolder } from './journal-port.js';

const root = mkdtempSync(join(tmpdir(), 'goshawk-job-journal-'));
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Starts a scheduler's journal and ends it. @returns the highest number that new jobs skip */
async function started(folder: string): Promise<number | undefined> {
  const journal = await openInFolder(folder, '1', SILENT_LOGGER);
  const port = new JournalPort(journal, SILENT_LOGGER);
  const inheritance = port.inheritance(() => 7 as Address, 0);
  await port.begin('s');
  await journal.close();
  return inheritance?.lastJob;
}

/** A journal on a disk that does not answer before it is released. */
class HeldJournal extends GroupCommit {
  release = (): void => {};

  protected write(): Promise<'written'> {
    return new Promise((resolve) => {
      this.release = () => resolve('written');
    });
  }
}

test('is not ready while its disk has not responded for seconds, and is ready once it responds', async () => {
  let now = 0;
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const journal = new HeldJournal({ soon: setImmediate, later: () => {}, now: () => now });
  const port = new JournalPort(journal as unknown as Journal, SILENT_LOGGER);
  journal.nextPlace = 0;
  journal.append({ kind: 'resumed', job: 1, at: 0 });
  await turn();
  now = 4_900;
  expect(port.notReady).toEqual([]);
  now = 12_300;
  expect(port.notReady).toEqual([
    'the journal’s disk has not answered for 12 s: submissions and reports wait for it',
  ]);
  journal.release();
  await turn();
  expect(port.notReady).toEqual([]);
});

test.each([
  { kind: 'full', message: 'the disk of /data is full: 5 MiB are free' },
  { kind: 'full', message: 'the folder /data was removed', isLost: true },
  { kind: 'stopped', message: 'no records are written' },
  { kind: 'away', message: 'postgres://db: does not answer' },
] as const)('is not ready while it accepts no new jobs: $kind, $message', (state) => {
  const port = new JournalPort({ state, unwrittenMs: 0 } as Journal, SILENT_LOGGER);
  expect(port.notReady).toEqual([`${state.message}: no new jobs are accepted`]);
});

test('two starts from one state of a folder assign different job numbers', async () => {
  const folder = join(root, 'journal');
  expect(await started(folder)).toBeUndefined();
  const copy = join(root, 'copy');
  cpSync(folder, copy, { recursive: true });
  const [one, other] = [await started(folder), await started(copy)];
  expect(Math.abs(one! - other!)).toBeGreaterThan(0);
  // The next numbers in the folder are higher.
  expect(await started(folder)).toBeGreaterThan(one!);
});
