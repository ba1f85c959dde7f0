import {
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

/** One appended record. Of a job that is forgotten everything goes: there are no bytes. */
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

/** How a group commit gets on after this turn of the event loop, and after a while. */
export interface Pace {
  soon(action: () => void): void;
  later(action: () => void): void;
  /** ms; default: the process's clock. */
  now?(): Millis;
}

/** The bounds range from a battery-backed disk to one that hangs. ms */
const COMMIT_BOUNDS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 10_000];

/** Until it is asked again whether there is room. ms */
const ROOM_PAUSE_MS = 500;

const IN_REAL_TIME: Pace = {
  soon: (action) => void setImmediate(action),
  later: (action) => void setTimeout(action, ROOM_PAUSE_MS),
};

const OPEN: JournalState = { kind: 'open' };
const STOPPED: JournalState = {
  kind: 'stopped',
  message: 'the journal’s disk is full: no records are written',
};

/**
 * Group commit, which all journals share: one group at a time is in flight to the disk, and records appended
 * meanwhile form the next. One record waits for one sync, and so do a thousand in one turn of the event loop.
 */
export abstract class GroupCommit {
  state: JournalState = OPEN;
  /** While it is not stopped. */
  #stateBelow: JournalState = OPEN;
  appended = 0;
  written = 0;
  commits = 0;
  lastCommitMs: Millis = 0;
  longestCommitMs: Millis = 0;
  /** When something was written last, or when the first record that waits for the disk was appended. */
  #waitsSince: Millis = 0;
  readonly commitMs = new Histogram(COMMIT_BOUNDS_MS);
  /** Place of the next record, greater than all before. Set after reading the existing records. */
  nextPlace: number | undefined;
  protected listener: JournalListener | undefined;
  readonly #pace: Pace;
  #waiting: Entry[] = [];
  /** The group that is on its way. */
  #group: readonly Entry[] = [];
  #isBusy = false;
  #isClosed = false;
  #onIdle: (() => void) | undefined;
  #ended: Promise<void> | undefined;

  constructor(pace: Pace = IN_REAL_TIME) {
    this.#pace = pace;
  }

  /**
   * Returns when all of a group is durable, or when there was no room and nothing of it is written: it is given again after
   * a while. A failure is final: what is on the disk after it nobody knows.
   */
  protected abstract write(group: readonly Entry[]): Promise<'written' | 'no room'>;

  listen(listener: JournalListener): void {
    this.listener = listener;
  }

  /** @returns the record's place @throws InputError `record-too-large` where it cannot be encoded: nothing is appended then */
  append(record: JobRecord): number {
    invariant(this.nextPlace !== undefined, 'the journal was written before it was read');
    // A record that cannot be encoded throws here: it has no place, and counts nowhere.
    const entry = encodedEntry(record, this.nextPlace);
    const place = this.nextPlace++;
    if (this.#isClosed) return place;
    if (this.appended === this.written) this.#waitsSince = this.#now();
    this.appended++;
    if (this.state.kind === 'failed') return place;
    this.#waiting.push(entry);
    if (this.#isBusy) return place;
    this.#isBusy = true;
    this.#pace.soon(() => void this.#commit());
    return place;
  }

  /** For how long nothing was written while records wait for the disk; 0 while none does. */
  get unwrittenMs(): Millis {
    return this.appended === this.written || this.#isClosed ? 0 : this.#now() - this.#waitsSince;
  }

  #now(): Millis {
    return this.#pace.now?.() ?? performance.now();
  }

  /** Returns the bytes at a place if they are not on disk yet. */
  at(place: number): Buffer | undefined {
    return entryAt(this.#waiting, place)?.bytes ?? entryAt(this.#group, place)?.bytes;
  }

  /** All that was appended of a job, in the order of writing. @param onDisk what is there of it */
  of(job: JobNumber, onDisk: readonly Filed[]): Iterable<Filed> {
    const filed = new Map(onDisk.map((each) => [each[2], each]));
    for (const list of [this.#group, this.#waiting]) {
      for (const { job: of, place, bytes } of list)
        if (of === job && bytes !== undefined) filed.set(place, [job, bytes, place]);
    }
    return filed.values();
  }

  /** There is no room for new jobs, or it does not answer; undefined: that is over. What has failed stays so. */
  setState(kind: 'full' | 'away', message: string | undefined): void {
    this.#stateBelow = message === undefined ? OPEN : { kind, message };
    if (this.state !== STOPPED) this.#change(this.#stateBelow);
  }

  /** Nothing will be written any more. */
  fail(error: Error): void {
    if (!this.#isClosed) this.#fail(error);
  }

  /**
   * Waits until nothing waits for the disk, and then ends what is below: once, however often it is asked.
   *
   * @param withinMs what is not written by then is given up
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
   * Resolves when no record waits for the disk: all are durable, or writing has failed, or the disk is full,
   * for which closing does not wait. Unconfirmed work is repeated.
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

  /** @param sizes of where groups go */
  protected metricsWith(
    sizes: Pick<JournalMetrics, 'fileBytes' | 'usedBytes' | 'freeBytes' | 'backupAgeMs'>,
  ): JournalMetrics {
    return {
      state: this.state.kind,
      ...sizes,
      recordsAppended: this.appended,
      recordsWritten: this.written,
      commits: this.commits,
      lastCommitMs: this.lastCommitMs,
      longestCommitMs: this.longestCommitMs,
    };
  }

  /** It ends, or has ended. */
  get isEnding(): boolean {
    return this.#ended !== undefined;
  }

  /** Nothing is written any more, and the listener hears nothing. */
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

  /** After a sync that failed the system may call the next one good without having written anything. */
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
    if (this.state.kind === 'failed' || this.state.kind === state.kind) return;
    this.state = state;
    this.listener?.stateChanged(state);
  }
}

/** Places grow. */
function entryAt(entries: readonly Entry[], place: number): Entry | undefined {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (entries[middle]!.place < place) low = middle + 1;
    else high = middle;
  }
  return entries[low]?.place === place ? entries[low] : undefined;
}
