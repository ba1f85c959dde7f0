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
import { type Damaged, type Filed, soundHeads, soundRecords } from './reading.js';
import { jsonOf, type RecordHead } from './record-codec.js';

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

/** A read-only view of a journal, wherever it is; its scheduler may be running. */
export interface JournalReader {
  readonly identity: Identity;
  /** In PostgreSQL: the scheduler that owns it, and the number of owners so far. */
  readonly holder?: string;
  readonly epoch?: number;
  /** All readable records, as in `Journal`; damage is reported. */
  entries(onDamage: (damaged: Damaged) => void): Iterable<readonly [place: number, record: JobRecord]>;
  /** Like `entries`, but yields only the heads of records, with their bytes, and does not decode large records. */
  heads(
    onDamage: (damaged: Damaged) => void,
  ): Iterable<readonly [place: number, head: RecordHead, bytes: Buffer]>;
  /** Returns the size of the file, and the used part once it has been read. Bytes. */
  sizes(): Pick<JournalSummary, 'fileBytes' | 'usedBytes'>;
  /**
   * Reports damage to the file itself, in which case `entries` may have omitted more than single records.
   *
   * @throws JournalError `journal-damaged`
   */
  check(): void;
  close(): Promise<void>;
}

/** Reads everything, and reports damaged records. */
export function verify(journal: JournalReader) {
  const damaged: Damaged[] = [];
  let records = 0;
  let jobs = 0;
  for (const [, { kind }] of journal.heads((found) => damaged.push(found))) {
    records++;
    if (kind === 'accepted') jobs++;
  }
  return { records, jobs, damaged };
}

/** Yields everything readable as JSON lines, in chunks, because a record may exceed the heap. */
export function* exportLines(journal: JournalReader, onDamage: (damaged: Damaged) => void): Iterable<string> {
  const { tag } = journal.identity;
  for (const [, , bytes] of journal.heads(onDamage)) yield* jsonOf(bytes, ({ job }) => `${tag}-${job}`);
}

export function summaryOf(journal: JournalReader): JournalSummary {
  const { tag, format, version, formers } = journal.identity;
  let records = 0;
  let jobs = 0;
  let jobsEnded = 0;
  let firstAt: Millis | undefined;
  let lastAt: Millis | undefined;
  let hasEnded = false;
  for (const [, { kind, at }] of journal.heads(() => {})) {
    records++;
    if (kind === 'accepted') jobs++;
    if (kind === 'accepted' || kind === 'retried') {
      if (hasEnded && kind === 'retried') jobsEnded--;
      hasEnded = false;
    }
    if (kind === 'ended') {
      jobsEnded++;
      hasEnded = true;
    }
    firstAt = Math.min(firstAt ?? at, at);
    lastAt = Math.max(lastAt ?? at, at);
  }
  const sizes = journal.sizes();
  return { tag, format, version, formers, ...sizes, jobs, jobsEnded, records, firstAt, lastAt };
}

/** A journal in a folder. The file is read as bytes, so even a damaged one cannot crash or hang the reader. */
export class OfflineJournal implements JournalReader {
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
    // While the scheduler runs, freed pages stay intact until this process has read them.
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

  entries(onDamage: (damaged: Damaged) => void) {
    return soundRecords(this.#filed(), onDamage);
  }

  heads(onDamage: (damaged: Damaged) => void) {
    return soundHeads(this.#filed(), onDamage);
  }

  /** Ignores damage to the file itself, which `check` reports. */
  *#filed(): Iterable<Filed> {
    for (const entry of this.#file.entries(() => {})) if (entry.tree === RECORDS) yield filedOf(entry);
  }

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

  sizes() {
    return { fileBytes: this.#file.bytes, usedBytes: this.#file.usedBytes };
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
    `the journal in ${folder} was modified while it was read`,
    'try again',
  );
}
