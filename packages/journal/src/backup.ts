import {
  closeSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Millis } from '@goshawk/core';
import { JournalError } from './errors.js';
import { syncFile } from './lmdb-store.js';
import { exportLines, type JournalReader } from './offline.js';
import type { Damaged } from './reading.js';

export interface Backup {
  readonly tag: string;
  readonly file: string;
  readonly records: number;
  readonly damaged: number;
}

/** A file whose modification time is the time of the last backup. */
const MARK = 'last-backup';

/**
 * Writes the readable records of a journal to `TAG.jsonl` in a folder, as `journal export` prints them, and verifies
 * the file before it replaces an earlier backup. A journal with damaged records goes to `TAG.damaged.jsonl`, so that
 * the last complete backup stays.
 *
 * @throws JournalError `backup-failed` if the file differs when read back
 */
export async function backUp(journal: JournalReader, folder: string): Promise<Backup> {
  const { tag } = journal.identity;
  const file = join(folder, `${tag}.jsonl`);
  const part = `${file}.part`;
  const damaged: Damaged[] = [];
  try {
    const written = writeLines(
      part,
      exportLines(journal, (found) => damaged.push(found)),
    );
    journal.check();
    const records = await countRecords(part);
    if (records !== written)
      throw new JournalError(
        'backup-failed',
        `${written} records were written to ${part}, but only ${records} can be read`,
        'check the disk of the backup; an earlier backup is unchanged',
      );
    const kept = damaged.length === 0 ? file : join(folder, `${tag}.damaged.jsonl`);
    renameSync(part, kept);
    syncFile(folder);
    return { tag, file: kept, records, damaged: damaged.length };
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}

/** @returns the number of lines that are durable */
function writeLines(path: string, texts: Iterable<string>): number {
  let lines = 0;
  const fd = openSync(path, 'w', 0o600);
  try {
    for (const text of texts) {
      writeFileSync(fd, text);
      if (text.endsWith('\n')) lines++;
    }
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  return lines;
}

/** Marks the journal in a folder as backed up. @param at time of the backup, in ms since 1970 */
export function markBackedUp(journalFolder: string, at: number): void {
  const mark = join(journalFolder, MARK);
  closeSync(openSync(mark, 'a', 0o644));
  utimesSync(mark, at / 1_000, at / 1_000);
}

/** Returns the time since the last backup of the journal in a folder; undefined: never. @param now ms since 1970 */
export function backupAgeOf(journalFolder: string, now: number): Millis | undefined {
  const at = statSync(join(journalFolder, MARK), { throwIfNoEntry: false })?.mtimeMs;
  return at === undefined ? undefined : Math.max(0, now - at);
}

/** @throws SyntaxError for a line that is not JSON */
async function countRecords(path: string): Promise<number> {
  let records = 0;
  const file = await open(path);
  for await (const line of file.readLines()) {
    JSON.parse(line);
    records++;
  }
  return records;
}
