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
  PENDING_CODE,
  type RetryChoice,
  type TaskIndex,
  type TaskRange,
} from '@goshawk/core';
import type { SchedulerEnvironment } from '../contract.js';
import type { AttemptEnd } from '../job/attempt-history.js';
import { heapBytes } from '../job/heap-bytes.js';
import type { Job } from '../job/job.js';
import { estimateJobBytes } from '../job/job-bytes.js';
import type { MemoryShares } from './memory-shares.js';

/** Overhead of a delayed reply without its content, in bytes. */
const DELAYED_BYTES = 200;

/** Size of a pending record without its return value, in bytes. */
const RECORD_BYTES = 300;

/** Size of a row of usage, in bytes. */
const USAGE_BYTES = 300;

/** Size of a range of tasks, in bytes. */
const RANGE_BYTES = 64;

interface DeferredAction {
  /** Number of durable records at which the action runs. */
  readonly after: number;
  act(now: Millis): void;
}

interface DelayedMessage {
  /** Number of durable records at which the message is sent. */
  readonly after: number;
  readonly to: Address;
  message: Message;
  readonly bytes: number;
  /** The job because of whose key a request is refused. */
  readonly keyHolder: string | undefined;
}

/** Reason for which no new job is accepted. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  /** Time in ms after which to retry. */
  readonly retryMs?: Millis | undefined;
  /** The exhausted resource, if the condition may pass. */
  readonly cause?: OverloadReason;
  /** Whether the reason is a state of the job that a restart reverts unless it is durable. */
  readonly isRevocable?: boolean;
  /** The job that has the key of the request. */
  readonly keyHolder?: string;
}

/** Refuses requests that would start tasks before the scheduler knows the cluster's policy. */
export const NOT_READY: Refusal = {
  code: 'not-ready',
  message: 'this scheduler has not joined its cluster yet',
  hint: 'try again in a moment',
};

/**
 * Appends records to the journal, and delays messages that promise durability: acceptances, cancellations, ends of
 * jobs, and confirmations, after which workers delete their reports. Scheduling never waits for the disk.
 *
 * The backlog is bounded. Above the limit, the scheduler accepts no jobs and no reports. Workers repeat
 * reports.
 *
 * Without a journal every message is sent immediately.
 */
export class Ledger {
  readonly #env: SchedulerEnvironment;
  /**
   * Whether schedulers share the journal. Others may then take it over, and keys are unique among all of
   * them.
   */
  readonly isShared: boolean;
  readonly #clock: { readonly wallOffsetMs: Millis };
  readonly #shares: MemoryShares;
  #recordCount = 0;
  #durableCount = 0;
  /** Sizes of records that are not durable yet. */
  readonly #notDurableSizes = new Deque<number>();
  #notDurableBytes = 0;
  #delayedBytes = 0;
  /** Delayed messages in order of `after`, which is the order of sending. */
  readonly #delayed = new Deque<DelayedMessage>();
  /** Positions of acceptances that are not durable yet. */
  readonly #acceptances = new Deque<number>();
  /** Ended jobs whose end is not durable yet, with the number of durable records at which it is, in order. */
  readonly #ends = new Map<JobNumber, number>();
  readonly #deferred = new Deque<DeferredAction>();
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

  /** Whether jobs outlive this process. */
  get hasJournal(): boolean {
    return this.#env.record !== undefined;
  }

  /** Whether all records are durable. */
  get isDurable(): boolean {
    return this.#durableCount === this.#recordCount;
  }

  /** Number of replies that wait for durability. */
  get delayedCount(): number {
    return this.#delayed.length;
  }

  /** Reason for which no new job is accepted now; undefined if jobs are accepted. */
  get refusal(): Refusal | undefined {
    const journal = this.#journal;
    if (journal.kind === 'full' || journal.kind === 'stopped')
      return { code: 'journal-full', message: journal.message, hint: FULL_HINT };
    if (journal.kind === 'away') return { ...UNREACHABLE, message: journal.message };
    return this.isBacklogFull || this.#acceptances.length >= LIMITS.unrecordedJobsMax
      ? BACKLOG_FULL
      : undefined;
  }

  /** Refuses a request that changed nothing because no record is written; undefined if records are written. */
  get stoppedRefusal(): Refusal | undefined {
    const { kind } = this.#journal;
    return kind === 'away' || kind === 'stopped' ? this.refusal : undefined;
  }

  /** Tells that a change is not yet written because no record is; undefined if records are written. */
  get pendingRefusal(): Refusal | undefined {
    const refusal = this.stoppedRefusal;
    return (
      refusal && {
        code: PENDING_CODE,
        message: `${refusal.message}; the request is pending, and takes effect once it is written`,
        hint: PENDING_HINT,
        retryMs: refusal.retryMs,
      }
    );
  }

  /** Metrics that are 1 for conditions that prevent new jobs until an operator acts. */
  get counted() {
    const { kind } = this.#journal;
    return {
      takesNoJobs: { full: Number(kind === 'full' || kind === 'stopped'), away: Number(kind === 'away') },
    };
  }

  /** Whether the backlog of records is at its limit. */
  get isBacklogFull(): boolean {
    return this.#notDurableBytes >= this.#shares.notDurableMax;
  }

  // ---- records; no-ops without a journal

  accepted(job: Job, now: Millis): void {
    const { key, spec, class: jobClass, route, project } = job;
    const { classifiedBy, stagesMs } = job.estimate;
    const about = { key, spec, class: jobClass, classifiedBy, route, stagesMs, project };
    this.#write(
      { kind: 'accepted', job: job.number, at: this.#wallTime(now), ...about },
      estimateJobBytes(spec),
    );
    if (this.hasJournal) this.#acceptances.push(this.#recordCount);
  }

  /** Records a changed class. */
  classified(job: Job, now: Millis): void {
    const { class: jobClass, route } = job;
    const { classifiedBy, meanMs: estimateMs, stagesMs } = job.estimate;
    const about = { class: jobClass, classifiedBy, route, estimateMs, stagesMs };
    this.#write({ kind: 'classified', job: job.number, at: this.#wallTime(now), ...about });
  }

  /** @returns position in the journal; undefined: it cannot be read back */
  attemptEnded(job: Job, end: AttemptEnd, worker: string, now: Millis): number | undefined {
    const { task, outcome } = end;
    // A reader would consider a journal with a negative run time damaged.
    const runMs = Math.max(0, end.runMs);
    const attempt = job.tasks.attemptOf(task);
    const bytes = outcome.value === undefined ? outcome.errorMessage.length : heapBytes(outcome.value);
    const about = { task, attempt, outcome, worker, runMs };
    const position = this.#write(
      { kind: 'attempt', job: job.number, at: this.#wallTime(now), ...about },
      bytes,
    );
    return this.#env.readRecord === undefined ? undefined : position;
  }

  /** Records that tasks were appended to the job, or that it was closed. */
  appended(
    { number }: Job,
    about: Omit<JobRecordOf<'appended'>, 'kind' | 'job' | 'at'>,
    bytes: number,
    now: Millis,
  ): void {
    this.#write({ kind: 'appended', job: number, at: this.#wallTime(now), ...about }, bytes);
  }

  cancelled({ number, cancellation }: Job, now: Millis): void {
    this.#write({ kind: 'cancelled', job: number, at: this.#wallTime(now), reason: cancellation!.reason });
  }

  retried({ number }: Job, key: string, choice: RetryChoice, now: Millis): void {
    this.#write({ kind: 'retried', job: number, at: this.#wallTime(now), key, choice });
  }

  /** Records that a predecessor of the job has ended as required. */
  passed(job: Job, id: string, now: Millis): void {
    this.#write({ kind: 'passed', job: job.number, at: this.#wallTime(now), after: id });
  }

  tasksCancelled({ number }: Job, tasks: readonly TaskRange[], now: Millis): void {
    this.#write(
      { kind: 'tasksCancelled', job: number, at: this.#wallTime(now), tasks },
      RANGE_BYTES * tasks.length,
    );
  }

  /** Records that the user changed the hold, the begin time or the priority of the job. */
  updated({ number, hold, priority }: Job, now: Millis): void {
    const about = { held: hold?.isHeld ?? false, beginAt: hold?.beginAt, priority };
    this.#write({ kind: 'updated', job: number, at: this.#wallTime(now), ...about });
  }

  /** @param period accounting period in which the job ended */
  ended(job: Job, period: number, now: Millis): void {
    const about = { state: job.state, period: period === 0 ? undefined : period };
    this.#write({ kind: 'ended', job: job.number, at: this.#wallTime(now), ...about });
    if (this.isDurable) return;
    // A job may end again after a retry.
    this.#ends.delete(job.number);
    this.#ends.set(job.number, this.#recordCount);
  }

  /** Records that the job's target has been notified of this end, or never will be. */
  notified(job: JobNumber, ends: number, now: Millis): void {
    this.#write({ kind: 'notified', job, at: this.#wallTime(now), ends });
  }

  /** Whether the job has ended, and a restart does not change that. */
  isEndDurable(job: Job): boolean {
    return job.hasEnded && !this.#ends.has(job.number);
  }

  /** Records that the task's attempt was assigned and did not start. */
  declined(job: Job, task: TaskIndex, now: Millis): void {
    const attempt = job.tasks.attemptOf(task);
    this.#write({ kind: 'declined', job: job.number, at: this.#wallTime(now), task, attempt });
  }

  /** Records that this incarnation has resumed a job of an earlier one. */
  resumed(job: Job, now: Millis): void {
    this.#write({ kind: 'resumed', job: job.number, at: this.#wallTime(now) });
  }

  /** Records the owners of keys, for a restart without central. */
  schedulers(names: readonly string[], now: Millis): void {
    this.#write({ kind: 'schedulers', job: 0, at: this.#wallTime(now), names });
  }

  /** Records usage of jobs. */
  usage(about: Pick<JobRecordOf<'usage'>, 'period' | 'rows' | 'of'>, now: Millis): void {
    this.#write(
      { kind: 'usage', job: 0, at: this.#wallTime(now), ...about },
      USAGE_BYTES * about.rows.length,
    );
  }

  forgotten(job: JobNumber, now: Millis): void {
    this.#write({ kind: 'forgotten', job, at: this.#wallTime(now) });
  }

  #write(record: JobRecord, bytes = 0): number | undefined {
    if (this.#env.record === undefined) return undefined;
    // Throws if the record cannot be encoded, so it must be counted only afterwards.
    const position = this.#env.record(record);
    this.#recordCount++;
    this.#notDurableSizes.push(RECORD_BYTES + bytes);
    this.#notDurableBytes += RECORD_BYTES + bytes;
    return position;
  }

  #wallTime(now: Millis): Millis {
    return now + this.#clock.wallOffsetMs;
  }

  // ---- messages

  /** Sends a message immediately, because it promises no durability. */
  sendNow(to: Address, message: Message): void {
    if (!this.#hasFailed) this.#env.send(to, message);
  }

  /**
   * Sends the message, in order, once all earlier records are durable. If the backlog is full, drops the
   * message, and its receiver asks again.
   */
  sendWhenDurable(to: Address, message: Message, keyHolder?: string): void {
    if (this.#hasFailed) return;
    if (this.#durableCount === this.#recordCount) return this.#env.send(to, message);
    if (this.#delayedBytes >= this.#shares.delayedMax) return;
    // Most delayed messages are confirmations, which have a fixed size.
    const bytes = DELAYED_BYTES + (message.type === 'confirm' ? 0 : heapBytes(message));
    this.#delayedBytes += bytes;
    this.#delayed.push({ after: this.#recordCount, to, message, bytes, keyHolder });
  }

  /** Runs the action once all earlier records are durable; immediately without a journal. */
  whenDurable(act: (now: Millis) => void, now: Millis): void {
    if (this.isDurable) act(now);
    else this.#deferred.push({ after: this.#recordCount, act });
  }

  /**
   * Replaces pending replies that name a job, which the journal has refused.
   *
   * @param accepted returns the reply to a request that was to be accepted as this job
   * @param refused returns the reply to a request that was to be refused because this job has its key
   */
  replacePendingReplies(
    job: string,
    accepted: (request: number) => Message,
    refused: (request: number) => Message,
  ): void {
    for (const held of this.#delayed) {
      const { message, keyHolder } = held;
      if (message.type === 'accepted' && message.value.job === job) held.message = accepted(message.request);
      else if (message.type === 'refused' && keyHolder === job) held.message = refused(message.request);
    }
  }

  /** Handles that the first `count` records are durable. */
  recorded(count: number, now: Millis): void {
    if (this.#hasFailed) return;
    for (; this.#durableCount < count; this.#durableCount++)
      this.#notDurableBytes -= this.#notDurableSizes.shift()!;
    while (this.#delayed.length > 0 && this.#delayed.at(0)!.after <= count) {
      const { to, message, bytes } = this.#delayed.shift()!;
      this.#delayedBytes -= bytes;
      this.#env.send(to, message);
    }
    while (this.#acceptances.length > 0 && this.#acceptances.at(0)! <= count) this.#acceptances.shift();
    for (const [job, after] of this.#ends) {
      if (after > count) break;
      this.#ends.delete(job);
    }
    while (this.#deferred.length > 0 && this.#deferred.at(0)!.after <= count)
      this.#deferred.shift()!.act(now);
  }

  /**
   * Sets whether the journal accepts records. After a failure no reply is sent, because the contents of the disk are
   * unknown.
   */
  setJournal(state: JournalState): void {
    if (!this.#hasFailed) this.#journal = state;
  }

  get #hasFailed(): boolean {
    return this.#journal.kind === 'failed';
  }
}

const FULL_HINT = 'free space on that disk; accepted jobs continue meanwhile';
const PENDING_HINT =
  'do not repeat it with another key; `goshawk job` shows its effect, which is lost only if the scheduler ends before it is written';
const UNREACHABLE = {
  code: 'journal-unavailable',
  hint: 'try again when the journal is back; accepted jobs continue meanwhile',
  retryMs: 500,
  cause: 'journal',
} as const;
const BACKLOG_FULL: Refusal = {
  code: 'not-ready',
  message: 'this scheduler waits for its disk',
  hint: 'try again in a moment',
};
