import { Histogram, type JobRecord, type Millis } from '@goshawk/core';
import type { JournalListener, JournalState } from './contract.js';
import { encodeRecord } from './record-codec.js';

/** One appended record. Of a job that is forgotten everything goes: there are no bytes. */
export interface Entry {
  readonly job: number;
  readonly bytes: Buffer | undefined;
}

/** Where groups go. */
export interface Disk {
  /** Returns when all of them are durable. A failure is final: what is on the disk after it nobody knows. */
  write(group: readonly Entry[]): Promise<void>;
  /** Whether so many bytes can be written now; if not, it is asked again after a while. */
  hasRoomFor(bytes: number): boolean;
}

/** How a group commit gets on after this turn of the event loop, and after a while. */
export interface Pace {
  soon(action: () => void): void;
  later(action: () => void): void;
}

/** From a disk with a battery to one that hangs. ms */
const COMMIT_BOUNDS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 10_000];

const OPEN: JournalState = { kind: 'open' };

/**
 * Group commit: one group is on its way to the disk at a time, and what is appended meanwhile is the next. So a lone
 * record waits for one sync, and a thousand in one turn of the event loop for one as well.
 */
export class GroupCommit {
  state: JournalState = OPEN;
  appended = 0;
  written = 0;
  commits = 0;
  lastCommitMs: Millis = 0;
  longestCommitMs: Millis = 0;
  readonly commitMs = new Histogram(COMMIT_BOUNDS_MS);
  readonly #disk: Disk;
  readonly #pace: Pace;
  #listener: JournalListener | undefined;
  #waiting: Entry[] = [];
  #waitingBytes = 0;
  #isBusy = false;
  #isClosing = false;
  #isClosed = false;
  #onIdle: (() => void)[] = [];

  constructor(disk: Disk, pace: Pace) {
    this.#disk = disk;
    this.#pace = pace;
  }

  listen(listener: JournalListener): void {
    this.#listener = listener;
  }

  append(record: JobRecord): void {
    if (this.#isClosed) return;
    this.appended++;
    if (this.state.kind === 'failed') return;
    const bytes = record.kind === 'forgotten' ? undefined : encodeRecord(record);
    this.#waiting.push({ job: record.job, bytes });
    this.#waitingBytes += bytes?.length ?? 0;
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#pace.soon(() => void this.#commit());
  }

  /** There is room for new jobs again, or none. What has failed stays so. */
  setFull(message: string | undefined): void {
    if (this.state.kind === 'failed' || (this.state.kind === 'full') === (message !== undefined)) return;
    this.#change(message === undefined ? OPEN : { kind: 'full', message });
  }

  /**
   * Resolves when nothing waits for the disk: all of it is there, or it has failed, or there is no room, for which
   * whoever closes does not wait. What was never confirmed is done again.
   */
  close(): Promise<void> {
    this.#isClosing = true;
    if (!this.#isBusy || this.state.kind === 'failed') {
      this.#isClosed = true;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  /** Nothing is written or told any more. */
  abandon(): void {
    this.#isClosed = true;
    this.#listener = undefined;
    this.#waiting = [];
    this.#settle();
  }

  async #commit(): Promise<void> {
    while (this.#waiting.length > 0) {
      if (!this.#disk.hasRoomFor(this.#waitingBytes)) {
        if (this.#isClosing) break;
        this.#pace.later(() => void this.#commit());
        return;
      }
      const group = this.#waiting;
      this.#waiting = [];
      this.#waitingBytes = 0;
      const began = performance.now();
      try {
        await this.#disk.write(group);
      } catch (error) {
        return this.#fail(error as Error);
      }
      this.lastCommitMs = performance.now() - began;
      this.longestCommitMs = Math.max(this.longestCommitMs, this.lastCommitMs);
      this.commitMs.add(this.lastCommitMs);
      this.commits++;
      this.written += group.length;
      this.#listener?.recorded(this.written);
    }
    this.#settle();
  }

  /** After a sync that failed the system may call the next one good without having written anything. */
  #fail(error: Error): void {
    this.#waiting = [];
    this.#change({ kind: 'failed', message: error.message });
    this.#settle();
  }

  #settle(): void {
    this.#isBusy = false;
    this.#isClosed ||= this.#isClosing;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  #change(state: JournalState): void {
    this.state = state;
    this.#listener?.stateChanged(state);
  }
}
