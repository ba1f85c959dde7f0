import {
  firstIndex,
  Histogram,
  InputError,
  invariant,
  type JobNumber,
  type JobRecord,
  type JournalState,
  type Millis,
  scopedKey,
} from '@goshawk/core';
import { journalCommitted } from './channels.js';
import type { JournalListener, JournalMetrics } from './contract.js';
import { TakenOver } from './errors.js';
import type { Filed } from './reading.js';
import { encodeRecord } from './record-codec.js';

/** One appended record. An entry without bytes deletes all records of its job. */
export interface Entry {
  readonly job: JobNumber;
  readonly place: number;
  readonly bytes: Buffer | undefined;
  /** Key of an accepted job. */
  readonly key?: string | undefined;
}

export function entryOf(record: JobRecord, place: number): Entry {
  const bytes = record.kind === 'forgotten' ? undefined : encodeRecord(record);
  const key =
    record.kind === 'accepted' && record.key !== undefined
      ? scopedKey(record.key, record.spec.user)
      : undefined;
  return { job: record.job, place, bytes, key };
}

function encodedEntry(record: JobRecord, place: number): Entry {
  try {
    return entryOf(record, place);
  } catch (cause) {
    const problem = `the journal cannot write this record of job ${record.job}: ${(cause as Error).message}`;
    throw new InputError('record-too-large', problem, 'submit smaller jobs', { cause });
  }
}

/** Schedules the next commit after this turn of the event loop, and later retries. */
export interface Pace {
  soon(action: () => void): void;
  later(action: () => void): void;
  /** Clock in ms; default: the process's clock. */
  now?(): Millis;
}

/** Bounds in ms, from a disk with a battery-backed cache to one that hangs. */
const COMMIT_BOUNDS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 10_000];

/** Retry interval in ms while the disk is full. */
const ROOM_PAUSE_MS = 500;

const IN_REAL_TIME: Pace = {
  // A microtask later, so the mail of this step, whose immediate is set within it, leaves before the write.
  soon: (action) => queueMicrotask(() => setImmediate(action)),
  later: (action) => void setTimeout(action, ROOM_PAUSE_MS),
};

const OPEN: JournalState = { kind: 'open' };
const STOPPED: JournalState = {
  kind: 'stopped',
  message: 'the journal’s disk is full: no records are written',
};

/**
 * Group commit for all journals: one group is written at a time, and records that are appended meanwhile form the
 * next. All records of one turn of the event loop share one sync.
 */
export abstract class GroupCommit {
  state: JournalState = OPEN;
  /** State of the storage, unless writing has stopped. */
  #stateBelow: JournalState = OPEN;
  appended = 0;
  written = 0;
  commits = 0;
  lastCommitMs: Millis = 0;
  longestCommitMs: Millis = 0;
  /** Time of the last write, or of the oldest pending append. */
  #waitsSince: Millis = 0;
  readonly commitMs = new Histogram(COMMIT_BOUNDS_MS);
  /** Place of the next record, greater than all before. Set after reading the existing records. */
  nextPlace: number | undefined;
  protected listener: JournalListener | undefined;
  readonly #pace: Pace;
  #waiting: Entry[] = [];
  /** The group in flight. */
  #group: readonly Entry[] = [];
  #isBusy = false;
  #isClosed = false;
  #onIdle: (() => void) | undefined;
  #ended: Promise<void> | undefined;

  constructor(pace: Pace = IN_REAL_TIME) {
    this.#pace = pace;
  }

  /**
   * Writes a group. Resolves when all of it is durable; if there is no room, nothing is written and the group is
   * retried. A rejection is final, because the state of the disk is then unknown.
   */
  protected abstract write(group: readonly Entry[]): Promise<'written' | 'no room'>;

  listen(listener: JournalListener): void {
    this.listener = listener;
  }

  /**
   * @returns the record's place; undefined if it cannot be read
   * @throws InputError `record-too-large` if it cannot be encoded: nothing is appended then
   */
  append(record: JobRecord): number | undefined {
    return this.add(this.encoded(record)).place;
  }

  /** Encodes a record for the next place. @throws InputError `record-too-large`: the place stays free */
  protected encoded(record: JobRecord): Entry {
    invariant(this.nextPlace !== undefined, 'the journal was written before it was read');
    const entry = encodedEntry(record, this.nextPlace);
    this.nextPlace++;
    return entry;
  }

  protected add(entry: Entry): Entry {
    if (this.#isClosed) return entry;
    if (this.appended === this.written) this.#waitsSince = this.#now();
    this.appended++;
    if (this.state.kind === 'failed') return entry;
    this.#waiting.push(entry);
    if (this.#isBusy) return entry;
    this.#isBusy = true;
    this.#pace.soon(() => void this.#commit());
    return entry;
  }

  /** Time without a write while records are pending; 0 if none are. */
  get unwrittenMs(): Millis {
    return this.appended === this.written || this.#isClosed ? 0 : this.#now() - this.#waitsSince;
  }

  #now(): Millis {
    return this.#pace.now?.() ?? performance.now();
  }

  /** Returns the bytes at a place if they are not durable yet. */
  at(place: number): Buffer | undefined {
    return entryAt(this.#waiting, place)?.bytes ?? entryAt(this.#group, place)?.bytes;
  }

  /** Returns all appended records of a job, in order. @param onDisk those that are durable */
  of(job: JobNumber, onDisk: readonly Filed[]): Iterable<Filed> {
    const filed = new Map(onDisk.map((each) => [each[2], each]));
    for (const list of [this.#group, this.#waiting]) {
      for (const { job: of, place, bytes } of list)
        if (of === job && bytes !== undefined) filed.set(place, [job, bytes, place]);
    }
    return filed.values();
  }

  /**
   * Sets the problem: no room for new jobs (`full`), or storage that does not answer (`away`).
   * @param message undefined: solved
   * @param isLost whether the folder of a `full` journal is gone
   */
  setState(kind: 'full' | 'away', message: string | undefined, isLost = false): void {
    const problem = isLost && kind === 'full' ? { kind, isLost } : { kind };
    this.#stateBelow = message === undefined ? OPEN : { ...problem, message };
    if (this.state !== STOPPED) this.#change(this.#stateBelow);
  }

  /** Stops writing permanently. */
  fail(error: Error): void {
    if (!this.#isClosed) this.#fail(error);
  }

  /**
   * Waits until no record is pending, and then closes the storage; idempotent.
   *
   * @param withinMs timeout after which pending records are abandoned
   */
  end(below: () => Promise<void>, withinMs?: Millis): Promise<void> {
    this.#ended ??= this.#end(below, withinMs);
    return this.#ended;
  }

  async #end(below: () => Promise<void>, withinMs: Millis | undefined): Promise<void> {
    const late = withinMs === undefined ? undefined : setTimeout(() => this.abandon(), withinMs);
    await this.#idle();
    clearTimeout(late);
    this.abandon();
    await below();
  }

  /**
   * Resolves when all records are durable, writing has failed, or the disk is full. Closing does not wait for space,
   * because peers repeat unacknowledged work.
   */
  #idle(): Promise<void> {
    if (!this.#isBusy || this.state.kind === 'failed') {
      this.#isClosed = true;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }

  /** @param sizes of the storage */
  protected metricsWith(
    sizes: Pick<JournalMetrics, 'fileBytes' | 'usedBytes' | 'freeBytes' | 'backupAgeMs'>,
  ): JournalMetrics {
    return {
      state: this.state.kind === 'full' && this.state.isLost === true ? 'lost' : this.state.kind,
      ...sizes,
      recordsAppended: this.appended,
      recordsWritten: this.written,
      commits: this.commits,
      lastCommitMs: this.lastCommitMs,
      longestCommitMs: this.longestCommitMs,
    };
  }

  /** Whether the journal is closing or closed. */
  get isEnding(): boolean {
    return this.#ended !== undefined;
  }

  /** Stops writing and notifying the listener. */
  abandon(): void {
    this.#isClosed = true;
    this.listener = undefined;
    this.#waiting = [];
    this.#settle();
  }

  async #commit(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      this.#group = group;
      const began = this.#now();
      let outcome: 'written' | 'no room';
      try {
        outcome = await this.write(group);
      } catch (error) {
        return this.fail(error as Error);
      }
      this.#group = [];
      if (outcome === 'no room') {
        if (this.isEnding) break;
        this.#waiting = [...group, ...this.#waiting];
        this.#change(STOPPED);
        return this.#pace.later(() => void this.#commit());
      }
      if (this.state === STOPPED) this.#change(this.#stateBelow);
      this.#waitsSince = this.#now();
      this.lastCommitMs = this.#waitsSince - began;
      this.longestCommitMs = Math.max(this.longestCommitMs, this.lastCommitMs);
      this.commitMs.add(this.lastCommitMs);
      if (journalCommitted.hasSubscribers)
        journalCommitted.publish({ records: group.length, tookMs: this.lastCommitMs });
      this.commits++;
      this.written += group.length;
      this.listener?.recorded(this.written);
    }
    this.#settle();
  }

  /**
   * Stops writing permanently: after a failed sync, the system may report the next one as successful without writing.
   */
  #fail(error: Error): void {
    this.#waiting = [];
    const takenOver = error instanceof TakenOver ? { takenOver: true } : {};
    this.#change({ kind: 'failed', message: error.message, ...takenOver });
    this.#settle();
  }

  #settle(): void {
    this.#isBusy = false;
    this.#isClosed ||= this.isEnding;
    this.#onIdle?.();
  }

  #change(state: JournalState): void {
    const before = this.state;
    if (before.kind === 'failed') return;
    this.state = state;
    if (before.kind !== state.kind || wordsOf(before) !== wordsOf(state)) this.listener?.stateChanged(state);
  }
}

/** Returns the message without numbers, such as the free space, which changes all the time. */
function wordsOf(state: JournalState): string {
  return 'message' in state ? state.message.replaceAll(/\d+/g, '') : '';
}

/** Finds the entry at a place. Places are in ascending order. */
function entryAt(entries: readonly Entry[], place: number): Entry | undefined {
  const found = entries[firstIndex(entries.length, (index) => entries[index]!.place >= place)];
  return found?.place === place ? found : undefined;
}
