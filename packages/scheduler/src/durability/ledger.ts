import {
  type Address,
  Deque,
  type JobNumber,
  type JobRecord,
  type JobRecordOf,
  type JournalState,
  LIMITS,
  type Message,
  type Millis,
  type OverloadReason,
  type RetryChoice,
  type TaskIndex,
  type TaskRange,
} from '@goshawk/core';
import type { SchedulerEnvironment } from '../contract.js';
import type { AttemptEnd } from '../job/attempt-history.js';
import { heapBytes } from '../job/heap-bytes.js';
import type { Job } from '../job/job.js';
import { bytesOf } from '../job/job-bytes.js';
import type { MemoryShares } from './memory-shares.js';

/** Overhead of a delayed reply besides its content. Bytes. */
const HELD_BYTES = 200;

/** Overhead of a pending record besides the return value. Bytes. */
const RECORD_BYTES = 300;

/** Size of a range of tasks. Bytes. */
const RANGE_BYTES = 64;

interface Deferred {
  /** Happens when so many records are durable. */
  readonly after: number;
  act(now: Millis): void;
}

interface Held {
  /** Goes out when so many records are durable. */
  readonly after: number;
  readonly to: Address;
  message: Message;
  readonly bytes: number;
}

/** Why no new job is taken. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  /** It is worth trying again then. ms */
  readonly retryMs?: Millis | undefined;
  /** The exhausted resource, if the condition may pass. */
  readonly cause?: OverloadReason;
}

/** Refuses what would start tasks before the scheduler knows the policy of its cluster. */
export const NOT_READY: Refusal = {
  code: 'not-ready',
  message: 'this scheduler has not joined its cluster yet',
  hint: 'try again in a moment',
};

/**
 * The owner's side of its journal: writes down what must outlive this process, and holds back what others must not
 * hear before it is durable: that a job was accepted, cancelled or has ended, and confirmations of reports, after which
 * workers forget them. Scheduling waits for nothing, and neither do answers that promise nothing.
 *
 * What waits for the disk is bounded: with too much of it no job is taken, and no report, which its worker keeps.
 *
 * Where jobs are not journaled there is nothing to wait for, and everything goes out at once.
 */
export class Ledger {
  readonly #env: SchedulerEnvironment;
  /** Others may take the journal over, and keys are one for all who have it. */
  readonly isShared: boolean;
  readonly #clock: { readonly wallOffsetMs: Millis };
  readonly #shares: MemoryShares;
  #written = 0;
  #durable = 0;
  /** Sizes of records that are not durable. */
  readonly #sizes = new Deque<number>();
  #unwrittenBytes = 0;
  #heldBytes = 0;
  /** By `after`, in the order in which they were sent. */
  readonly #held = new Deque<Held>();
  /** Places of acceptances that are not durable. */
  readonly #acceptances = new Deque<number>();
  readonly #deferred = new Deque<Deferred>();
  #journal: JournalState = { kind: 'open' };

  /** @param clock read for each record */
  constructor(
    env: SchedulerEnvironment,
    clock: { readonly wallOffsetMs: Millis; readonly epoch?: number | undefined },
    shares: MemoryShares,
  ) {
    this.#env = env;
    this.isShared = env.record !== undefined && (clock.epoch ?? 0) > 0;
    this.#clock = clock;
    this.#shares = shares;
  }

  /** Jobs outlive this process. */
  get isKept(): boolean {
    return this.#env.record !== undefined;
  }

  /** All that was written down is on the disk. */
  get isDurable(): boolean {
    return this.#durable === this.#written;
  }

  /** Number of replies that wait for durability. */
  get heldCount(): number {
    return this.#held.length;
  }

  /** Why a new job cannot be taken now; undefined when it can. */
  get refusal(): Refusal | undefined {
    const journal = this.#journal;
    if (journal.kind === 'full' || journal.kind === 'stopped')
      return { code: 'journal-full', message: journal.message, hint: FULL_HINT };
    if (journal.kind === 'away') return { ...AWAY, message: journal.message };
    return this.isBehind || this.#acceptances.length >= LIMITS.unrecordedJobsMax ? BEHIND : undefined;
  }

  /** Why nothing at all is written; undefined while something is. */
  get stopped(): Refusal | undefined {
    const journal = this.#journal;
    if (journal.kind === 'away') return { ...AWAY, message: journal.message };
    if (journal.kind !== 'stopped') return undefined;
    return { code: 'journal-full', message: journal.message, hint: STOPPED_HINT };
  }

  /** For whoever looks after it: 1 for what keeps jobs from being taken until somebody does something. */
  get counted() {
    const { kind } = this.#journal;
    return {
      takesNoJobs: { full: Number(kind === 'full' || kind === 'stopped'), away: Number(kind === 'away') },
    };
  }

  /** The backlog of records is at its limit. */
  get isBehind(): boolean {
    return this.#unwrittenBytes >= this.#shares.unwrittenMax;
  }

  // ---- what is written down; nothing where jobs are not kept

  accepted(job: Job, now: Millis): void {
    const { key, spec, class: jobClass, classifiedBy, route, stagesMs } = job;
    const about = { key, spec, class: jobClass, classifiedBy, route, stagesMs };
    this.#write({ kind: 'accepted', job: job.number, at: this.#wall(now), ...about }, bytesOf(spec));
    if (this.isKept) this.#acceptances.push(this.#written);
  }

  /** Records a changed class. */
  classified(job: Job, now: Millis): void {
    const { class: jobClass, classifiedBy, route, estimateMs, stagesMs } = job;
    const about = { class: jobClass, classifiedBy, route, estimateMs, stagesMs };
    this.#write({ kind: 'classified', job: job.number, at: this.#wall(now), ...about });
  }

  /** @returns where it can be read back; undefined where it cannot */
  attemptEnded(job: Job, end: AttemptEnd, worker: string, now: Millis): number | undefined {
    const { task, outcome, runMs } = end;
    const attempt = job.tasks.attempts[task]!;
    const bytes = outcome.value === undefined ? outcome.errorMessage.length : heapBytes(outcome.value);
    const about = { task, attempt, outcome, worker, runMs };
    const place = this.#write({ kind: 'attempt', job: job.number, at: this.#wall(now), ...about }, bytes);
    return this.#env.recall === undefined ? undefined : place;
  }

  /** Tasks were appended to the job, or it was closed. */
  appended(
    { number }: Job,
    about: Omit<JobRecordOf<'appended'>, 'kind' | 'job' | 'at'>,
    bytes: number,
    now: Millis,
  ): void {
    this.#write({ kind: 'appended', job: number, at: this.#wall(now), ...about }, bytes);
  }

  cancelled({ number, cancelReason: reason }: Job, now: Millis): void {
    this.#write({ kind: 'cancelled', job: number, at: this.#wall(now), reason });
  }

  retried({ number }: Job, key: string, choice: RetryChoice, now: Millis): void {
    this.#write({ kind: 'retried', job: number, at: this.#wall(now), key, choice });
  }

  /** A job that this one waits for has ended as it should. */
  passed(job: Job, id: string, now: Millis): void {
    this.#write({ kind: 'passed', job: job.number, at: this.#wall(now), after: id });
  }

  tasksCancelled({ number }: Job, tasks: readonly TaskRange[], now: Millis): void {
    this.#write(
      { kind: 'tasksCancelled', job: number, at: this.#wall(now), tasks },
      RANGE_BYTES * tasks.length,
    );
  }

  /** Its user holds or releases it, or gives it another priority. */
  updated({ number, hold, priority }: Job, now: Millis): void {
    const about = { held: hold?.isHeld ?? false, beginAt: hold?.beginAt, priority };
    this.#write({ kind: 'updated', job: number, at: this.#wall(now), ...about });
  }

  ended(job: Job, now: Millis): void {
    this.#write({ kind: 'ended', job: job.number, at: this.#wall(now), state: job.state });
  }

  /** The task's attempt was given out and did not start. */
  declined(job: Job, task: TaskIndex, now: Millis): void {
    const attempt = job.tasks.attempts[task]!;
    this.#write({ kind: 'declined', job: job.number, at: this.#wall(now), task, attempt });
  }

  /** This incarnation has the job of an earlier one. */
  resumed(job: Job, now: Millis): void {
    this.#write({ kind: 'resumed', job: job.number, at: this.#wall(now) });
  }

  /** To whom keys belong, should this process be started again while nobody can tell. */
  schedulers(names: readonly string[], now: Millis): void {
    this.#write({ kind: 'schedulers', job: 0, at: this.#wall(now), names });
  }

  forgotten(job: JobNumber, now: Millis): void {
    this.#write({ kind: 'forgotten', job, at: this.#wall(now) });
  }

  #write(record: JobRecord, bytes = 0): number | undefined {
    if (this.#env.record === undefined) return undefined;
    // It throws where the record cannot be encoded: what was not appended will never be durable, and must not count.
    const place = this.#env.record(record);
    this.#written++;
    this.#sizes.push(RECORD_BYTES + bytes);
    this.#unwrittenBytes += RECORD_BYTES + bytes;
    return place;
  }

  #wall(now: Millis): Millis {
    return now + this.#clock.wallOffsetMs;
  }

  // ---- what others hear

  /** Sends at once what promises nothing. */
  tell(to: Address, message: Message): void {
    if (!this.#hasFailed) this.#env.send(to, message);
  }

  /**
   * Sends it when everything that was written down so far is durable. Order holds. What there is no room for is asked
   * for again by whoever misses it.
   */
  send(to: Address, message: Message): void {
    if (this.#hasFailed) return;
    if (this.#durable === this.#written) return this.#env.send(to, message);
    if (this.#heldBytes >= this.#shares.heldMax) return;
    // Most are confirmations, with nothing in them.
    const bytes = HELD_BYTES + (message.type === 'confirm' ? 0 : heapBytes(message));
    this.#heldBytes += bytes;
    this.#held.push({ after: this.#written, to, message, bytes });
  }

  /** Happens when everything that was written down so far is durable; at once where nothing is kept. */
  whenDurable(act: (now: Millis) => void, now: Millis): void {
    if (this.isDurable) act(now);
    else this.#deferred.push({ after: this.#written, act });
  }

  /** Replaces the pending reply about a job. */
  reword(job: string, word: (request: number) => Message): void {
    for (const held of this.#held) {
      const { message } = held;
      if (message.type === 'accepted' && message.value.job === job) held.message = word(message.request);
    }
  }

  /** The first `count` records are durable. */
  recorded(count: number, now: Millis): void {
    if (this.#hasFailed) return;
    for (; this.#durable < count; this.#durable++) this.#unwrittenBytes -= this.#sizes.shift()!;
    while (this.#held.length > 0 && this.#held.at(0)!.after <= count) {
      const { to, message, bytes } = this.#held.shift()!;
      this.#heldBytes -= bytes;
      this.#env.send(to, message);
    }
    while (this.#acceptances.length > 0 && this.#acceptances.at(0)! <= count) this.#acceptances.shift();
    while (this.#deferred.length > 0 && this.#deferred.at(0)!.after <= count)
      this.#deferred.shift()!.act(now);
  }

  /** Whether anything is written. Once that has failed nobody gets an answer, since nobody knows what the disk holds. */
  setJournal(state: JournalState): void {
    if (!this.#hasFailed) this.#journal = state;
  }

  get #hasFailed(): boolean {
    return this.#journal.kind === 'failed';
  }
}

const FULL_HINT = 'free space on that disk; accepted jobs continue meanwhile';
const STOPPED_HINT = 'free space on that disk: the request is pending and takes effect once it is written';
const AWAY = {
  code: 'journal-unavailable',
  hint: 'try again when the journal is back; accepted jobs continue meanwhile',
  retryMs: 500,
  cause: 'journal',
} as const;
const BEHIND: Refusal = {
  code: 'not-ready',
  message: 'this scheduler waits for its disk',
  hint: 'try again in a moment',
};
