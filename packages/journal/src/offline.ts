import type { JobRecord, Millis } from '@goshawk/core';
import { JournalError } from './errors.js';
import { isClaimed } from './folder-claim.js';
import type { Identity } from './identity.js';
import {
  checkFile,
  damagedJournal,
  filedOf,
  IDENTITY,
  knownIdentity,
  openJournalFile,
  RECORDS,
} from './journal-file.js';
import { DamagedFileError, type LmdbFile } from './lmdb-file.js';
import { type Pin, pinSnapshot } from './lmdb-store.js';
import { type Damaged, type Filed, soundRecords } from './reading.js';

export interface JournalSummary {
  readonly tag: string;
  readonly format: number;
  readonly version: string;
  readonly formers: readonly string[];
  readonly fileBytes: number;
  readonly usedBytes: number;
  readonly jobs: number;
  readonly jobsEnded: number;
  readonly records: number;
  readonly firstAt: Millis | undefined;
  readonly lastAt: Millis | undefined;
}

/** A journal that is looked at, wherever it is. */
export interface Looked {
  readonly identity: Identity;
  /** All that can be read; what cannot is told of. */
  records(onDamage: (damaged: Damaged) => void): Iterable<JobRecord>;
}

export interface Verified {
  readonly records: number;
  readonly jobs: number;
  readonly damaged: readonly Damaged[];
}

/** Reads everything and says which records are damaged. */
export function verified(journal: Looked): Verified {
  const damaged: Damaged[] = [];
  let records = 0;
  let jobs = 0;
  for (const { kind } of journal.records((found) => damaged.push(found))) {
    records++;
    if (kind === 'accepted') jobs++;
  }
  return { records, jobs, damaged };
}

export function summaryOf(journal: Looked, fileBytes: number, usedBytes: number): JournalSummary {
  const { tag, format, version, formers } = journal.identity;
  let records = 0;
  let jobs = 0;
  let jobsEnded = 0;
  let firstAt: Millis | undefined;
  let lastAt: Millis | undefined;
  for (const { kind, at } of journal.records(() => {})) {
    records++;
    if (kind === 'accepted') jobs++;
    if (kind === 'ended') jobsEnded++;
    firstAt = Math.min(firstAt ?? at, at);
    lastAt = Math.max(lastAt ?? at, at);
  }
  return { tag, format, version, formers, fileBytes, usedBytes, jobs, jobsEnded, records, firstAt, lastAt };
}

/**
 * A journal that is looked at and not changed. Its scheduler may be at work meanwhile. The file is read as bytes:
 * however damaged it is, this ends.
 */
export class OfflineJournal {
  readonly identity: Identity;
  readonly #folder: string;
  readonly #file: LmdbFile;
  readonly #pin: Pin | undefined;

  private constructor(folder: string, file: LmdbFile, pin: Pin | undefined) {
    this.#folder = folder;
    this.#file = file;
    this.#pin = pin;
    let identity: Buffer | undefined;
    for (const { tree, value } of file.entries(() => {})) {
      if (tree !== IDENTITY) break;
      identity ??= value;
    }
    this.identity = knownIdentity(identity, folder) ?? UNKNOWN;
  }

  /** @throws JournalError */
  static async open(folder: string): Promise<OfflineJournal> {
    openJournalFile(folder).close();
    // Where its scheduler is at work, pages that it has done with stay as they are until this has read them.
    const pin = (await isClaimed(folder)) ? pinSnapshot(folder) : undefined;
    const file = openJournalFile(folder);
    try {
      return new OfflineJournal(folder, file, pin);
    } catch (error) {
      file.close();
      await pin?.release();
      throw error;
    }
  }

  /** All that can be read; what cannot is told of. */
  *records(onDamage: (damaged: Damaged) => void): Iterable<JobRecord> {
    for (const [, record] of soundRecords(this.#filed(), onDamage)) yield record;
  }

  /** What is wrong with the file itself, `check` says. */
  *#filed(): Iterable<Filed> {
    for (const entry of this.#file.entries(() => {})) if (entry.tree === RECORDS) yield filedOf(entry);
  }

  /**
   * Says what is wrong with the file: then `records` may have left out more than single records.
   *
   * @throws JournalError `journal-damaged`
   */
  check(): void {
    try {
      checkFile(this.#file);
    } catch (error) {
      if (!(error instanceof DamagedFileError)) throw error;
      throw this.#wasWrittenTo()
        ? changedMeanwhile(this.#folder)
        : damagedJournal(this.#folder, error.message, error);
    }
  }

  /** Reads everything and says which records are damaged. */
  verify(): Verified {
    return verified(this);
  }

  summary(): JournalSummary {
    return summaryOf(this, this.#file.bytes, this.#file.usedBytes);
  }

  async close(): Promise<void> {
    this.#file.close();
    await this.#pin?.release();
  }

  #wasWrittenTo(): boolean {
    return this.#pin === undefined && this.#file.latestTransaction() !== this.#file.meta.transaction;
  }
}

const UNKNOWN: Identity = { format: 0, tag: '', version: '', formers: [], lastJob: 0 };

function changedMeanwhile(folder: string): JournalError {
  return new JournalError(
    'journal-in-use',
    `the journal in ${folder} was written to while it was read`,
    'try again',
  );
}
