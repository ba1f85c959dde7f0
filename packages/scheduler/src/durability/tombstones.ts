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

/**
 * Remainder of an evicted or archived job in memory: it recognizes the key and reports the final state. An archived
 * job can be read from the journal.
 */
export interface Tombstone {
  readonly number: JobNumber;
  /** undefined: it has no key, or the key must be read from the journal. */
  readonly key: string | undefined;
  readonly user: string | undefined;
  readonly state: JobState;
  readonly endedAt: Millis;
  /** Estimated bytes of the job in the journal. */
  readonly bytes: number;
  /** When it was evicted for lack of memory; undefined: at the start, or it is archived. */
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
/** Maximum number of user names that are stored only once. */
const USERS_MAX = 1_000;

/**
 * The tombstones of ended jobs, in the order in which they were added. There may be a million of them, because each is
 * kept for some minutes. They are therefore stored in columns of numbers (ring buffers) instead of objects.
 */
export class Tombstones {
  readonly #keepsKeys: boolean;
  readonly #random: () => number;
  /** Drawn on first use, so that owners without tombstones draw no random number. */
  #seed: number | undefined;
  #numbers = new Float64Array(0);
  #endedAt = new Float64Array(0);
  #journalBytes = new Float64Array(0);
  /** NaN: not evicted for lack of memory. */
  #droppedAt = new Float64Array(0);
  #states = new Uint8Array(0);
  /** Number of rows by state. */
  readonly #counts = new Uint32Array(JOB_STATES.length);
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

  /**
   * @param keepsKeys if false, only hashes of keys are stored, so that matches must be verified in the journal
   * @param random in [0, 1): seeds the hash, so that clients cannot provoke collisions
   */
  constructor(keepsKeys: boolean, random: () => number) {
    this.#keepsKeys = keepsKeys;
    this.#random = random;
  }

  get length(): number {
    return this.#used - this.#removed;
  }

  /** Estimated memory. */
  get bytes(): number {
    return this.length * ROW_BYTES + this.#textBytes;
  }

  /** The tombstone that was added first. */
  get first(): Tombstone | undefined {
    return this.length === 0 ? undefined : this.#at(this.#head);
  }

  push({ number, key, user, state, endedAt, bytes, droppedAt }: Tombstone): void {
    const rows = this.#numbers.length;
    if (this.#used === rows) this.#resize(this.length > rows / 2 ? 2 * rows : Math.max(ROWS_MIN, rows));
    const row = this.#rowAt(this.#used++);
    this.#numbers[row] = number;
    this.#endedAt[row] = endedAt;
    this.#journalBytes[row] = bytes;
    this.#droppedAt[row] = droppedAt ?? Number.NaN;
    this.#states[row] = JOB_STATES.indexOf(state);
    this.#counts[this.#states[row]!]!++;
    this.#hashes[row] = key === undefined ? 0 : this.#hashOf(key);
    this.#users[row] = this.#interned(user);
    if (this.#keepsKeys) this.#keys[row] = key;
    this.#textBytes += this.#textBytesAt(row);
    this.#index(row);
  }

  shift(): void {
    this.#clear(this.#head);
    this.#head = this.#rowAt(1);
    this.#used--;
    for (; this.#used > 0 && this.#states[this.#head] === REMOVED; this.#used--) {
      this.#head = this.#rowAt(1);
      this.#removed--;
    }
    const rows = this.#numbers.length;
    if (rows > ROWS_MIN && this.length < rows / 8) this.#resize(rows / 4);
  }

  /** Removes a tombstone from any position. Its row stays until the rows before it are removed, or until all are in use. */
  remove(number: JobNumber): void {
    const row = this.#rowOf(number);
    if (row === this.#head) return this.shift();
    if (row < 0) return;
    this.#clear(row);
    this.#states[row] = REMOVED;
    this.#removed++;
  }

  #clear(row: number): void {
    this.#counts[this.#states[row]!]!--;
    this.#textBytes -= this.#textBytesAt(row);
    this.#byNumber.remove(row);
    if (this.#hashes[row] !== 0) this.#byKey.remove(row);
    this.#users[row] = undefined;
    if (this.#keepsKeys) this.#keys[row] = undefined;
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

  /** Tombstones with the key; if keys are not stored, tombstones with the same hash. */
  *withKey(key: string): Iterable<Tombstone> {
    if (this.length === 0) return;
    for (const row of this.#byKey.rowsOf(this.#hashOf(key)))
      if (!this.#keepsKeys || this.#keys[row] === key) yield this.#at(row);
  }

  /** Tombstones in one of these states, newest first. */
  *newestFirst(states: readonly JobState[]): Iterable<Tombstone> {
    const wanted = states.map((state) => JOB_STATES.indexOf(state));
    let left = sumOf(wanted, (state) => this.#counts[state]!);
    for (let i = this.#used - 1; i >= 0 && left > 0; i--) {
      const row = this.#rowAt(i);
      if (!wanted.includes(this.#states[row]!)) continue;
      left--;
      yield this.#at(row);
    }
  }

  count(state: JobState): number {
    return this.#counts[JOB_STATES.indexOf(state)]!;
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
      key: this.#keepsKeys ? this.#keys[row] : undefined,
      user: this.#users[row],
      state: JOB_STATES[this.#states[row]!]!,
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
    const rows = new Uint32Array(this.length);
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
    if (this.#keepsKeys) this.#keys = texts(this.#keys);
    const numbers = this.#numbers;
    const hashes = this.#hashes;
    this.#byNumber = new RowIndex(2 * size, (row) => scramble(numbers[row]!));
    this.#byKey = new RowIndex(2 * size, (row) => hashes[row]!);
    this.#head = 0;
    this.#used = length;
    this.#removed = 0;
    for (let row = 0; row < length; row++) this.#index(row);
  }

  #textBytesAt(row: number): number {
    const key = this.#keepsKeys ? this.#keys[row] : undefined;
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
