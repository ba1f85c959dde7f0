import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { invariant } from '@goshawk/core';
import { type Database, open, type RootDatabase } from 'lmdb';
import { Packr } from 'msgpackr/index-no-eval';
import { JournalError } from './errors.js';
import type { Entry } from './group-commit.js';
import { checkIdentity, type Identity } from './identity.js';

/** Records are filed by job, and by the order of writing within it. */
type RecordKey = [job: number, place: number];

const FILE = 'jobs.mdb';
const IDENTITY = 'identity';
const packr = new Packr({ useRecords: false });

/** A file that is larger than this and mostly empty is written anew when it is opened. In bytes. */
const COMPACT_ABOVE = 16 * 1024 * 1024;

/**
 * A journal's file. Every commit is one lmdb transaction that has been synced when it returns (`overlappingSync` off),
 * so there is nothing to repair after a crash: what was not committed never was.
 */
export class LmdbStore {
  readonly #folder: string;
  readonly #root: RootDatabase;
  readonly #identity: Database<Buffer, string>;
  readonly #records: Database<Buffer, RecordKey>;
  /** Not known before everything was read. */
  #nextPlace: number | undefined;

  private constructor(folder: string, readOnly: boolean) {
    this.#folder = folder;
    this.#root = open({
      path: join(folder, FILE),
      noSubdir: true,
      overlappingSync: false,
      // Its own batching makes a promise that nobody can hear, so that a failed commit would end the process.
      eventTurnBatching: false,
      maxDbs: 2,
      readOnly,
    });
    this.#identity = this.#root.openDB('identity', { encoding: 'binary' });
    this.#records = this.#root.openDB('records', { encoding: 'binary' });
  }

  /** Opens the file, and makes it if it is not there. @throws JournalError */
  static open(folder: string): LmdbStore {
    const isNew = !existsSync(join(folder, FILE));
    if (!isNew) checkMagic(folder);
    const store = attempt(folder, () => new LmdbStore(folder, false));
    if (isNew) syncFolder(folder);
    return store;
  }

  /** Opens the file of a journal that is looked at, and never made. @throws JournalError */
  static openToRead(folder: string): LmdbStore {
    if (!existsSync(join(folder, FILE))) {
      throw new JournalError(
        'no-journal',
        `there is no journal in ${folder}`,
        'give the folder that holds jobs.mdb',
      );
    }
    checkMagic(folder);
    return attempt(folder, () => new LmdbStore(folder, true));
  }

  readIdentity(): Identity | undefined {
    const bytes = this.#identity.get(IDENTITY);
    if (bytes === undefined) return undefined;
    let value: unknown;
    try {
      value = packr.unpack(bytes);
    } catch {
      value = undefined;
    }
    return checkIdentity(value, this.#folder);
  }

  /** Returns when it is on the disk. */
  writeIdentity(identity: Identity): void {
    this.#root.transactionSync(() => this.#identity.putSync(IDENTITY, packr.pack(identity)));
  }

  get lastJob(): number {
    for (const [job] of this.#records.getKeys({ reverse: true, limit: 1 })) return job;
    return 0;
  }

  /** By job, then in the order of writing. The bytes are the reader's to keep. */
  *read(): Iterable<readonly [job: number, bytes: Buffer, place: number]> {
    let next = 0;
    for (const { key, value } of this.#records.getRange()) {
      next = Math.max(next, key[1] + 1);
      yield [key[0], value, key[1]];
    }
    this.#nextPlace = next;
  }

  takePlace(): number {
    invariant(this.#nextPlace !== undefined, 'a journal was written to before it was read');
    return this.#nextPlace++;
  }

  at(job: number, place: number): Buffer | undefined {
    return this.#records.get([job, place]);
  }

  /** One transaction, one sync. */
  async write(group: readonly Entry[], identity: Identity | undefined): Promise<void> {
    // A transaction that is not committed yet cannot be read: what would go at once is not written.
    const forgotten = new Set(group.flatMap(({ job, bytes }) => (bytes === undefined ? [job] : [])));
    const writes: Promise<boolean>[] = [];
    const committed = this.#root.batch(() => {
      for (const job of forgotten) this.#forget(job, writes);
      for (const { job, place, bytes } of group) {
        if (bytes !== undefined && !forgotten.has(job)) writes.push(this.#records.put([job, place], bytes));
      }
      if (identity !== undefined) writes.push(this.#identity.put(IDENTITY, packr.pack(identity)));
    });
    writes.push(committed);
    try {
      await Promise.all(writes);
    } catch (error) {
      // What the system said comes apart from the news that it failed.
      await (error as { commitError?: Promise<never> }).commitError;
      throw error;
    }
  }

  sizes(): { fileBytes: number; usedBytes: number } {
    const fileBytes = statSync(join(this.#folder, FILE), { throwIfNoEntry: false })?.size ?? 0;
    const stats = this.#records.getStats() as Record<string, number>;
    const pages =
      (stats.treeBranchPageCount ?? 0) + (stats.treeLeafPageCount ?? 0) + (stats.overflowPages ?? 0);
    return { fileBytes, usedBytes: pages * (stats.pageSize ?? 0) };
  }

  /** Most of the file is room that forgotten jobs have left. */
  get isWorthCompacting(): boolean {
    const { fileBytes, usedBytes } = this.sizes();
    return fileBytes > COMPACT_ABOVE && usedBytes < fileBytes / 2;
  }

  /** Writes the file anew without the room that is not used, closes it, and puts the new one in its place. */
  async compactAndClose(): Promise<void> {
    const compacted = join(this.#folder, `${FILE}.compacted`);
    rmSync(compacted, { force: true });
    await this.#root.backup(compacted, true);
    await this.close();
    syncFile(compacted);
    renameSync(compacted, join(this.#folder, FILE));
    syncFolder(this.#folder);
  }

  async close(): Promise<void> {
    await this.#root.close();
  }

  #forget(job: number, writes: Promise<boolean>[]): void {
    for (const key of this.#records.getKeys({ start: [job], end: [job + 1] }))
      writes.push(this.#records.remove(key));
  }
}

/** @throws JournalError `journal-folder` */
export function makeFolder(folder: string): void {
  // Jobs hold what their submitters gave them, passwords in variables among it.
  attempt(folder, () => mkdirSync(folder, { recursive: true, mode: 0o700 }));
}

/** Where lmdb says in its first page that it is lmdb's. */
const MAGIC_OFFSET = 24;
const MAGIC = 0xbeefc0de;

/** lmdb itself ends the process over a file that is not its own. @throws JournalError */
function checkMagic(folder: string): void {
  const path = join(folder, FILE);
  const magic = Buffer.alloc(4);
  const file = attempt(folder, () => openSync(path, 'r'));
  try {
    readSync(file, magic, 0, magic.length, MAGIC_OFFSET);
  } finally {
    closeSync(file);
  }
  if (magic.readUInt32LE(0) === MAGIC) return;
  throw new JournalError('journal-damaged', `${path} is no journal`, 'put it aside, or give another folder');
}

function attempt<T>(folder: string, action: () => T): T {
  try {
    return action();
  } catch (cause) {
    if (cause instanceof JournalError) throw cause;
    const { message } = cause as Error;
    throw new JournalError(
      'journal-folder',
      `cannot use ${folder} for a journal: ${message}`,
      'give another folder with --data-folder',
      { cause },
    );
  }
}

function syncFolder(folder: string): void {
  syncFile(folder);
}

function syncFile(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
