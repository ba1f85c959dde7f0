import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type JobRecord, shellWord } from '@goshawk/core';
import { Packr } from 'msgpackr/index-no-eval';
import { JournalError } from './errors.js';
import { checkIdentity, type Identity } from './identity.js';
import { DamagedFileError, type Entry, LmdbFile, nameOf } from './lmdb-file.js';
import { type Damaged, type Filed, soundRecords } from './reading.js';
import { recordKeyOf } from './record-key.js';

export const FILE = 'jobs.mdb';
export const IDENTITY = 'identity';
export const RECORDS = 'records';

const packr = new Packr({ useRecords: false });

/** The readable part of a journal: all of it, if it is sound. */
export interface Salvage {
  readonly identity: Identity | undefined;
  /** Job by job, each complete enough for a scheduler to load. */
  readonly records: readonly JobRecord[];
  /** Records that are unreadable or misplaced. */
  readonly damaged: readonly Damaged[];
  /** Problems of the file itself. */
  readonly problems: readonly string[];
}

export function hasJournal(folder: string): boolean {
  return existsSync(join(folder, FILE));
}

/** @throws JournalError `no-journal`, `journal-damaged` if the file is not a journal */
export function openJournalFile(folder: string): LmdbFile {
  if (!hasJournal(folder)) {
    throw new JournalError(
      'no-journal',
      `there is no journal in ${folder}`,
      'use the data folder of a scheduler, such as .goshawk/s0',
    );
  }
  try {
    return LmdbFile.open(join(folder, FILE));
  } catch (error) {
    throw asJournalError(error, folder);
  }
}

/**
 * Validates every page before lmdb reads it: lmdb's native code trusts the file, and crashes or hangs on a damaged page. Reads
 * the file once and does not change it.
 *
 * @throws JournalError `journal-damaged`
 */
export function checkJournalFile(folder: string): void {
  const file = openJournalFile(folder);
  try {
    checkFile(file);
  } catch (error) {
    throw asJournalError(error, folder);
  } finally {
    file.close();
  }
}

/** The same for an open file. @throws DamagedFileError */
export function checkFile(file: LmdbFile): void {
  const counts = file.check();
  const others = [...counts.keys()].filter((name) => name !== IDENTITY && name !== RECORDS);
  if (others.length > 0) throw new DamagedFileError('a tree has an invalid name');
  if (counts.has(RECORDS) && !counts.has(IDENTITY)) throw new DamagedFileError('it has no identity record');
}

export function damagedJournal(folder: string, problem: string, cause?: unknown): JournalError {
  return new JournalError(
    'journal-damaged',
    `the journal in ${folder} is damaged: ${problem}`,
    `\`goshawk journal repair ${shellWord(folder)}\` rebuilds it from its readable records, and keeps the damaged one`,
    { cause },
  );
}

/** Reads everything that is readable. */
export function salvage(file: LmdbFile, folder: string): Salvage {
  const problems: string[] = [];
  const entries = [...file.entries((problem) => problems.push(problem))];
  const isCut = problems.length > 0;
  if (isCut) {
    const strays = [...file.stray()].map((stray) => ({ ...stray, tree: '' }));
    entries.push(...strays, ...(file.knowsFreePages() ? [] : file.entries(() => {}, file.previous)));
  }
  // The names of trees may be damaged or unknown.
  const isRecord = ({ tree, key }: Entry): boolean => tree === RECORDS || recordKeyOf(key) !== undefined;
  const found = entries.filter(isRecord);
  const isIdentity = ({ tree, key }: Entry): boolean => tree === IDENTITY || nameOf(key) === IDENTITY;
  const identity = entries.find((entry) => !isRecord(entry) && isIdentity(entry))?.value;
  const damaged: Damaged[] = [];
  const filed = (isCut ? inOrder(found) : found).map(filedOf);
  const records = Array.from(
    soundRecords(filed, (one) => damaged.push(one)),
    ([, record]) => record,
  );
  return { identity: knownIdentity(identity, folder), records, damaged, problems };
}

/** Returns undefined if the identity is lost. @throws JournalError `journal-newer` */
export function knownIdentity(bytes: Buffer | undefined, folder: string): Identity | undefined {
  try {
    return checkIdentity(unpackIdentity(bytes), folder);
  } catch (error) {
    if (error instanceof JournalError && error.code === 'journal-damaged') return undefined;
    throw error;
  }
}

/** Sorts by key, and removes duplicates. */
function inOrder(entries: readonly Entry[]): readonly Entry[] {
  const byKey = new Map(entries.map((entry) => [entry.key.toString('latin1'), entry]));
  return [...byKey.values()].sort((a, b) => Buffer.compare(a.key, b.key));
}

export function filedOf({ key, value }: Pick<Entry, 'key' | 'value'>): Filed {
  const [job, place = 0] = recordKeyOf(key) ?? [];
  return [job, value, place];
}

/** Returns undefined for invalid bytes. */
export function unpackIdentity(bytes: Buffer | undefined): unknown {
  try {
    return bytes && packr.unpack(bytes);
  } catch {
    return undefined;
  }
}

export function packIdentity(identity: Identity): Buffer {
  return packr.pack(identity);
}

function asJournalError(error: unknown, folder: string): unknown {
  if (error instanceof DamagedFileError) return damagedJournal(folder, error.message, error);
  if ((error as NodeJS.ErrnoException).code === undefined) return error;
  return new JournalError(
    'journal-folder',
    `cannot read the journal in ${folder}: ${(error as Error).message}`,
    '',
    {
      cause: error,
    },
  );
}
