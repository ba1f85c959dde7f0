import fs, {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { type JobNumber, type JobRecord, makeFolder } from '@goshawk/core';
import { type Database, open, type RootDatabase } from 'lmdb';
import { JournalError } from './errors.js';
import type { Entry } from './group-commit.js';
import { checkIdentity, type Identity } from './identity.js';
import {
  checkJournalFile,
  FILE,
  filedOf,
  IDENTITY,
  packIdentity,
  RECORDS,
  unpackIdentity,
} from './journal-file.js';
import type { Filed } from './reading.js';
import { BadRecordError, decodeHead, encodeRecord } from './record-codec.js';
import { keyBytes, recordKeyOf } from './record-key.js';

/** A complete new file that is about to replace the journal's. */
const DRAFT = `${FILE}.new`;
const DRAFT_LOCK = `${DRAFT}-lock`;

/** Larger files that are mostly empty are compacted on opening. Bytes. */
const COMPACT_ABOVE = 16 * 1024 * 1024;

/**
 * The file of a journal. Every commit is one lmdb transaction that is synced when it returns (`overlappingSync` off),
 * so no repair is needed after a crash.
 */
export class LmdbStore {
  readonly #folder: string;
  readonly #root: RootDatabase;
  readonly #identity: Database<Buffer, string>;
  readonly #records: Database<Buffer, Buffer>;
  readonly #inode: number;

  /** @param isDurable commits are synced */
  private constructor(folder: string, file: string, isDurable = true) {
    this.#folder = folder;
    // lmdb creates files with the umask's mode.
    closeSync(openSync(join(folder, file), 'a', 0o600));
    this.#root = open({
      path: join(folder, file),
      noSubdir: true,
      overlappingSync: false,
      noSync: !isDurable,
      // lmdb's own batching creates a promise that cannot be observed, so a failed commit would end the process.
      eventTurnBatching: false,
      maxDbs: 2,
    });
    this.#identity = this.#root.openDB(IDENTITY, { encoding: 'binary' });
    // Keys are bytes, because decoding a damaged key must not throw.
    this.#records = this.#root.openDB(RECORDS, { encoding: 'binary', keyEncoding: 'binary' });
    chmodSync(join(folder, `${file}-lock`), 0o600);
    this.#inode = statSync(join(folder, file)).ino;
  }

  /** Opens the file once it has been validated. @throws JournalError */
  static open(folder: string): LmdbStore {
    checkJournalFile(folder);
    return attempt(folder, () => {
      // The folder is private, too, but a copy of the file must also be private.
      chmodSync(join(folder, FILE), 0o600);
      return new LmdbStore(folder, FILE);
    });
  }

  /** Opens a new store whose files have no names, so the system deletes them with this process. @throws JournalError */
  static temporary(folder: string): LmdbStore {
    return attempt(folder, () => {
      makeFolder(fs, folder, 0o700);
      const own = mkdtempSync(join(folder, 'recall-'));
      try {
        return new LmdbStore(own, FILE, false);
      } finally {
        rmSync(own, { recursive: true, force: true });
      }
    });
  }

  /** Writes a file that `putDraftInPlace` turns into the journal's. @throws JournalError */
  static async draft(folder: string, identity: Identity, records: readonly JobRecord[]): Promise<void> {
    removeDraft(folder);
    const store = attempt(folder, () => new LmdbStore(folder, DRAFT));
    try {
      attempt(folder, () => store.#fill(identity, records));
    } finally {
      await store.close();
    }
    syncFile(join(folder, DRAFT));
  }

  /** @throws JournalError */
  readIdentity(): Identity {
    return checkIdentity(unpackIdentity(this.#identity.get(IDENTITY)), this.#folder);
  }

  /** Writes the identity durably. */
  writeIdentity(identity: Identity): void {
    attempt(this.#folder, () =>
      this.#root.transactionSync(() => this.#identity.putSync(IDENTITY, packIdentity(identity))),
    );
  }

  /** Number of the last job with a readable record. */
  get lastJob(): number {
    for (const { key, value } of this.#records.getRange({ reverse: true })) {
      const job = recordKeyOf(key)?.[0];
      if (job !== undefined && isRecordOf(value, job)) return job;
    }
    return 0;
  }

  /** Yields records by job, then in the order of writing. The reader owns the bytes. */
  *read(): Iterable<Filed> {
    for (const entry of this.#records.getRange()) yield filedOf(entry);
  }

  at(job: JobNumber, place: number): Buffer | undefined {
    return this.#records.get(keyBytes(job, place));
  }

  of(job: JobNumber): readonly Filed[] {
    const range = { start: keyBytes(job), end: keyBytes(job + 1) };
    return Array.from(this.#records.getRange(range), filedOf);
  }

  /** Writes all records. They are durable once the file is closed and synced. */
  #fill(identity: Identity, records: readonly JobRecord[]): void {
    this.#root.transactionSync(() => {
      this.#identity.putSync(IDENTITY, packIdentity(identity));
      for (const [place, record] of records.entries())
        this.#records.putSync(keyBytes(record.job, place), encodeRecord(record));
    });
  }

  /** Writes a group in one transaction with one sync. @returns whether there was room; if not, nothing is written */
  async write(group: readonly Entry[], identity: Identity | undefined): Promise<boolean> {
    // An uncommitted transaction cannot be read, so records that would be deleted immediately are not written.
    const forgotten = new Set(group.flatMap(({ job, bytes }) => (bytes === undefined ? [job] : [])));
    const writes: Promise<boolean>[] = [];
    const committed = this.#root.batch(() => {
      for (const job of forgotten) this.#removeJob(job, writes);
      for (const { job, place, bytes } of group) {
        if (bytes !== undefined && !forgotten.has(job))
          writes.push(this.#records.put(keyBytes(job, place), bytes));
      }
      if (identity !== undefined) writes.push(this.#identity.put(IDENTITY, packIdentity(identity)));
    });
    writes.push(committed);
    try {
      await Promise.all(writes);
      return true;
    } catch (error) {
      const cause = await causeOf(error);
      if (NO_ROOM.has((cause as { code?: number }).code ?? 0)) return false;
      throw cause;
    }
  }

  sizes(): { fileBytes: number; usedBytes: number } {
    const fileBytes = statSync(join(this.#folder, FILE), { throwIfNoEntry: false })?.size ?? 0;
    const stats = this.#records.getStats() as Record<string, number>;
    const pages =
      (stats.treeBranchPageCount ?? 0) + (stats.treeLeafPageCount ?? 0) + (stats.overflowPages ?? 0);
    return { fileBytes, usedBytes: pages * (stats.pageSize ?? 0) };
  }

  /** Problem if the file was moved or removed: its content is lost when this process ends. */
  get problem(): string | undefined {
    const path = join(this.#folder, FILE);
    if (statSync(path, { throwIfNoEntry: false })?.ino === this.#inode) return undefined;
    return `${path} was removed or replaced while in use: restore it, or let its jobs end before a restart`;
  }

  /** Releases slots of killed readers, which could otherwise never be reused. */
  clearDeadReaders(): void {
    try {
      this.#root.readerCheck();
    } catch {
      // The next check will release them.
    }
  }

  /** Space of deleted records in the file, which new records reuse before the file grows. Bytes. */
  get spareBytes(): number {
    const { fileBytes, usedBytes } = this.sizes();
    return Math.max(0, fileBytes - usedBytes);
  }

  /** Whether most of the file is space of deleted records. */
  get isWorthCompacting(): boolean {
    const { fileBytes, usedBytes } = this.sizes();
    return fileBytes > COMPACT_ABOVE && usedBytes < fileBytes / 2;
  }

  /** Rewrites the file without unused space. */
  async compact(): Promise<void> {
    const draft = join(this.#folder, DRAFT);
    removeDraft(this.#folder);
    try {
      await this.#root.backup(draft, true);
      syncFile(draft);
    } catch (error) {
      removeDraft(this.#folder);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#root.close();
  }

  #removeJob(job: JobNumber, writes: Promise<boolean>[]): void {
    for (const key of this.#records.getKeys({ start: keyBytes(job), end: keyBytes(job + 1) }))
      writes.push(this.#records.remove(key));
  }
}

/** ENOSPC and EDQUOT: no room on the disk, or none within a quota. Such a transaction leaves the file unchanged. */
const NO_ROOM: ReadonlySet<number> = new Set([constants.errno.ENOSPC, constants.errno.EDQUOT]);

/** Returns the error of the system, which lmdb reports in a separate promise. */
async function causeOf(error: unknown): Promise<unknown> {
  try {
    await (error as { commitError?: Promise<never> }).commitError;
    return error;
  } catch (cause) {
    return cause;
  }
}

/** @throws JournalError `journal-folder` */
export function makeJournalFolder(folder: string): void {
  // Jobs contain submitters' data, including passwords in variables.
  attempt(folder, () => makeFolder(fs, folder, 0o700));
}

function isRecordOf(bytes: Buffer, job: JobNumber): boolean {
  try {
    return decodeHead(bytes).job === job;
  } catch (error) {
    if (error instanceof BadRecordError) return false;
    throw error;
  }
}

/** Prevents lmdb from overwriting the pages of the pinned snapshots. */
export interface Pin {
  release(): Promise<void>;
}

/** Pins a snapshot of a file that another process writes. */
export function pinSnapshot(folder: string): Pin {
  const root = open({ path: join(folder, FILE), noSubdir: true, readOnly: true, overlappingSync: false });
  const transaction = root.useReadTransaction();
  return {
    release: async () => {
      transaction.done();
      await root.close();
    },
  };
}

/** Replaces the journal's file by the draft, durably. */
export function putDraftInPlace(folder: string): void {
  renameSync(join(folder, DRAFT), join(folder, FILE));
  rmSync(join(folder, DRAFT_LOCK), { force: true });
  syncFile(folder);
}

function removeDraft(folder: string): void {
  for (const name of [DRAFT, DRAFT_LOCK]) rmSync(join(folder, name), { force: true });
}

function attempt<T>(folder: string, action: () => T): T {
  try {
    return action();
  } catch (cause) {
    if (cause instanceof JournalError) throw cause;
    const { message } = cause as Error;
    // Replaces lmdb's messages about pages, which do not help users.
    if (message.startsWith('No space left on device')) throw noRoom(folder, { cause });
    throw new JournalError(
      'journal-folder',
      `cannot use ${folder} for a journal: ${message}`,
      'use another --data-folder',
      { cause },
    );
  }
}

export function noRoom(folder: string, options?: ErrorOptions): JournalError {
  return new JournalError(
    'journal-folder',
    `the disk of ${folder} has no space for a journal`,
    'free space on that disk, or use another --data-folder',
    options,
  );
}

/** Syncs a file, or a folder's list of files. */
export function syncFile(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
