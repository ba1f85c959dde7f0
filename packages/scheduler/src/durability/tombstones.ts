import {
  hashText,
  JOB_STATES,
  type JobNumber,
  type JobState,
  type Millis,
  scramble,
  sumOf,
} from '@goshawk/core';
import { RowIndex } from './row-index.js';

/** Whether the job can be read from the journal, or was dropped for lack of memory. */
export type TombstoneKind = 'archived' | 'evicted';

/**
 * Remainder of an ended job that is no longer in memory: it recognizes the key and reports the final state.
 */
export interface Tombstone {
  readonly number: JobNumber;
  readonly kind: TombstoneKind;
  /** undefined: it has no key, or the job is archived, so that its key must be read from the journal. */
  readonly key: string | undefined;
  readonly user: string | undefined;
  readonly state: JobState;
  readonly endedAt: Millis;
  /** Estimated bytes of the job in the journal. */
  readonly bytes: number;
  /** When it was evicted; undefined: at the start, or it is archived. */
  readonly droppedAt?: Millis | undefined;
}

/** Selects jobs by their user. */
export type IsOwner = (user: string | undefined) => boolean;

/** Bytes per row without texts: the columns, and two index slots per row in each of both indexes. */
const ROW_BYTES = 96;
/** Overhead of a separate string, in bytes. */
const TEXT_BYTES = 24;
const ROWS_MIN = 64;
/** The state in rows of removed tombstones. */
const REMOVED = 255;
/** This bit is set in the states of evicted jobs. */
const EVICTED = 64;
/** Maximum number of user names that are stored only once. */
const USERS_MAX = 1_000;

/** What is known of the tombstones of one kind. */
class Kind {
  /** Number of rows by state. */
  readonly counts = new Uint32Array(JOB_STATES.length);
  length = 0;
  /** No row before this one has the kind, counted from the head of the ring. */
  start = 0;
}

/**
 * The index of ended jobs that are not in memory, in the order in which they were added. There may be a million of them,
 * so they are stored in columns of numbers (ring buffers) instead of objects. Archived and evicted jobs share the columns
 * but expire separately, so each kind has its own first tombstone. Of the keys of archived jobs only hashes are stored, so
 * that matches must be verified in the journal.
 */
export class Tombstones {
  readonly #random: () => number;
  /** Drawn on first use, so that owners without tombstones draw no random number. */
  #seed: number | undefined;
  #numbers = new Float64Array(0);
  #endedAt = new Float64Array(0);
  #journalBytes = new Float64Array(0);
  /** NaN: not evicted for lack of memory. */
  #droppedAt = new Float64Array(0);
  /** Indices of states, with `EVICTED`; or `REMOVED`. */
  #states = new Uint8Array(0);
  readonly #kinds = { archived: new Kind(), evicted: new Kind() };
  /** Hashes of keys; 0: no key. */
  #hashes = new Uint32Array(0);
  #keys: (string | undefined)[] = [];
  #users: (string | undefined)[] = [];
  #byNumber = new RowIndex(0, () => 0);
  #byKey = new RowIndex(0, () => 0);
  #head = 0;
  /** Number of rows from the head on, with those of removed tombstones. The head is not one of these. */
  #used = 0;
  #removed = 0;
  #textBytes = 0;
  readonly #internedUsers = new Map<string, string>();

  /** @param random in [0, 1): seeds the hash, so that clients cannot provoke collisions */
  constructor(random: () => number) {
    this.#random = random;
  }

  get #length(): number {
    return this.#used - this.#removed;
  }

  lengthOf(kind: TombstoneKind): number {
    return this.#kinds[kind].length;
  }

  /** Estimated memory. */
  get bytes(): number {
    return this.#length * ROW_BYTES + this.#textBytes;
  }

  /** The tombstone of this kind that was added first. */
  first(kind: TombstoneKind): Tombstone | undefined {
    const of = this.#kinds[kind];
    if (of.length === 0) return undefined;
    while (kindIn(this.#states[this.#rowAt(of.start)]!) !== kind) of.start++;
    return this.#at(this.#rowAt(of.start));
  }

  push({ number, kind, key, user, state, endedAt, bytes, droppedAt }: Tombstone): void {
    const rows = this.#numbers.length;
    if (this.#used === rows) this.#resize(this.#length > rows / 2 ? 2 * rows : Math.max(ROWS_MIN, rows));
    const of = this.#kinds[kind];
    if (of.length === 0) of.start = this.#used;
    const row = this.#rowAt(this.#used++);
    this.#numbers[row] = number;
    this.#endedAt[row] = endedAt;
    this.#journalBytes[row] = bytes;
    this.#droppedAt[row] = droppedAt ?? Number.NaN;
    const stateIndex = JOB_STATES.indexOf(state);
    this.#states[row] = kind === 'evicted' ? stateIndex | EVICTED : stateIndex;
    of.counts[stateIndex]!++;
    of.length++;
    this.#hashes[row] = key === undefined ? 0 : this.#hashOf(key);
    this.#users[row] = this.#interned(user);
    if (kind === 'evicted') this.#keys[row] = key;
    this.#textBytes += this.#textBytesAt(row);
    this.#index(row);
  }

  /** Removes a tombstone. Its row stays until the rows before it are removed, or until all are in use. */
  remove(number: JobNumber): void {
    const row = this.#rowOf(number);
    if (row < 0) return;
    const kind = this.#kinds[kindIn(this.#states[row]!)!];
    kind.counts[this.#states[row]! & ~EVICTED]!--;
    kind.length--;
    this.#textBytes -= this.#textBytesAt(row);
    this.#byNumber.remove(row);
    if (this.#hashes[row] !== 0) this.#byKey.remove(row);
    this.#users[row] = undefined;
    this.#keys[row] = undefined;
    this.#states[row] = REMOVED;
    this.#removed++;
    this.#dropRemoved();
    const rows = this.#numbers.length;
    if (rows > ROWS_MIN && this.#length < rows / 8) this.#resize(rows / 4);
  }

  /** Moves the head beyond removed rows. */
  #dropRemoved(): void {
    let dropped = 0;
    while (dropped < this.#used && this.#states[this.#rowAt(dropped)] === REMOVED) dropped++;
    if (dropped === 0) return;
    this.#head = this.#rowAt(dropped);
    this.#used -= dropped;
    this.#removed -= dropped;
    for (const kind of Object.values(this.#kinds)) kind.start = Math.max(0, kind.start - dropped);
  }

  byNumber(number: JobNumber): Tombstone | undefined {
    const row = this.#rowOf(number);
    return row < 0 ? undefined : this.#at(row);
  }

  /** @returns −1 if there is none */
  #rowOf(number: JobNumber): number {
    for (const row of this.#byNumber.rowsOf(scramble(number))) if (this.#numbers[row] === number) return row;
    return -1;
  }

  /** Tombstones of evicted jobs with the key, and of archived jobs with the same hash of their key. */
  *withKey(key: string): Iterable<Tombstone> {
    if (this.#length === 0) return;
    for (const row of this.#byKey.rowsOf(this.#hashOf(key)))
      if (kindIn(this.#states[row]!) === 'archived' || this.#keys[row] === key) yield this.#at(row);
  }

  /** Tombstones of archived jobs in one of these states, newest first. */
  *newestFirst(states: readonly JobState[]): Iterable<Tombstone> {
    const wanted = states.map((state) => JOB_STATES.indexOf(state));
    let left = sumOf(wanted, (state) => this.#kinds.archived.counts[state]!);
    for (let i = this.#used - 1; i >= 0 && left > 0; i--) {
      const row = this.#rowAt(i);
      if (!wanted.includes(this.#states[row]!)) continue;
      left--;
      yield this.#at(row);
    }
  }

  /** Number of archived jobs in the state. */
  count(state: JobState): number {
    return this.#kinds.archived.counts[JOB_STATES.indexOf(state)]!;
  }

  /** Sorts by the end of the jobs, so that the oldest are removed first. */
  sort(): void {
    const rows = this.#rows();
    this.#resize(
      this.#numbers.length,
      rows.sort((one, other) => this.#endedAt[one]! - this.#endedAt[other]!),
    );
  }

  #at(row: number): Tombstone {
    return {
      number: this.#numbers[row]!,
      kind: kindIn(this.#states[row]!)!,
      key: this.#keys[row],
      user: this.#users[row],
      state: JOB_STATES[this.#states[row]! & ~EVICTED]!,
      endedAt: this.#endedAt[row]!,
      bytes: this.#journalBytes[row]!,
      droppedAt: Number.isNaN(this.#droppedAt[row]!) ? undefined : this.#droppedAt[row]!,
    };
  }

  #rowAt(index: number): number {
    return (this.#head + index) & (this.#numbers.length - 1);
  }

  /** The rows of all tombstones, in order. */
  #rows(): Uint32Array {
    const rows = new Uint32Array(this.#length);
    for (let index = 0, next = 0; index < this.#used; index++) {
      const row = this.#rowAt(index);
      if (this.#states[row] !== REMOVED) rows[next++] = row;
    }
    return rows;
  }

  #index(row: number): void {
    this.#byNumber.add(row);
    if (this.#hashes[row] !== 0) this.#byKey.add(row);
  }

  /** @param size a power of two */
  #resize(size: number, order = this.#rows()): void {
    const { length } = order;
    const column = <T extends Float64Array | Uint32Array | Uint8Array>(wider: T, from: T): T => {
      for (let i = 0; i < length; i++) wider[i] = from[order[i]!]!;
      return wider;
    };
    const texts = (from: readonly (string | undefined)[]) =>
      Array.from({ length: size }, (_, i) => (i < length ? from[order[i]!] : undefined));
    this.#numbers = column(new Float64Array(size), this.#numbers);
    this.#endedAt = column(new Float64Array(size), this.#endedAt);
    this.#journalBytes = column(new Float64Array(size), this.#journalBytes);
    this.#droppedAt = column(new Float64Array(size), this.#droppedAt);
    this.#states = column(new Uint8Array(size), this.#states);
    this.#hashes = column(new Uint32Array(size), this.#hashes);
    this.#users = texts(this.#users);
    this.#keys = texts(this.#keys);
    const numbers = this.#numbers;
    const hashes = this.#hashes;
    this.#byNumber = new RowIndex(2 * size, (row) => scramble(numbers[row]!));
    this.#byKey = new RowIndex(2 * size, (row) => hashes[row]!);
    this.#head = 0;
    this.#used = length;
    this.#removed = 0;
    for (const kind of Object.values(this.#kinds)) kind.start = 0;
    for (let row = 0; row < length; row++) this.#index(row);
  }

  #textBytesAt(row: number): number {
    const key = this.#keys[row];
    return (key === undefined ? 0 : TEXT_BYTES + key.length) + (this.#users[row]?.length ?? 0);
  }

  #interned(user: string | undefined): string | undefined {
    if (user === undefined) return undefined;
    const known = this.#internedUsers.get(user);
    if (known !== undefined) return known;
    if (this.#internedUsers.size >= USERS_MAX) this.#internedUsers.clear();
    this.#internedUsers.set(user, user);
    return user;
  }

  /** Never 0. */
  #hashOf(key: string): number {
    this.#seed ??= Math.floor(this.#random() * 2 ** 32);
    return hashText(key, this.#seed) || 1;
  }
}

/** @returns undefined: the row is that of a removed tombstone */
function kindIn(state: number): TombstoneKind | undefined {
  if (state === REMOVED) return undefined;
  return (state & EVICTED) === 0 ? 'archived' : 'evicted';
}
