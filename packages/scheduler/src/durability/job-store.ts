import {
  type Address,
  type JobNumber,
  type JobState,
  LIMITS,
  type Millis,
  scopedKey,
  setLatest,
  type TaskIndex,
} from '@goshawk/core';
import type { SchedulerConfig } from '../contract.js';
import { type Job, TaskState } from '../job/job.js';
import { bytesOf } from '../job/job-bytes.js';
import { TaskPlaces } from '../job/task-places.js';
import { EndedJobs } from './ended-jobs.js';
import type { Ledger } from './ledger.js';
import { letGo, levelOf, type MemoryShares } from './memory-shares.js';
import { TaskLogs } from './task-logs.js';
import { type Trace, Traces } from './traces.js';

/** Makes the job of what the journal has of it; undefined where that cannot be read. */
type RecallJob = (job: Trace) => Job | undefined;

/** A user's active jobs. */
interface HeldByUser {
  jobs: number;
  /** Tasks that have not started. */
  waiting: number;
}

/** Estimated bytes of a user's jobs. */
interface BytesOfUser {
  active: number;
  ended: number;
}

const NOTHING: Readonly<HeldByUser> = { jobs: 0, waiting: 0 };

/** A job is put away where to read it back takes a few milliseconds at most: so much of it lies in the journal. In bytes. */
const PUT_AWAY_BYTES_MAX = 128 * 1024;
/** Recently recalled jobs to keep, since they are often requested again. */
const RECALLED_MAX = 8;
/** Maximum number of moved jobs to expire at a time: after a start all may be due. */
const FORGOTTEN_MAX = 1_000;
/** Many are put away at a time: each time all that have ended are looked at. */
const PUT_AWAY_SHARE = 0.5;
/** Room is made for a while: each time all that have ended are looked at. */
const ROOM_SHARE = 0.9;

/** Estimates what a job takes before it has run. */
function measure(job: Job): void {
  job.specBytes = bytesOf(job.spec);
  job.bytes = job.specBytes + job.stages[0]!.appendedBytes;
}

/**
 * The jobs of one owner: those that have not ended, and the last of those that have.
 *
 * A job that has ended is not forgotten sooner than `LIMITS.endedAgeMinMs` because there are too many. Where a journal can
 * be read, all but the last of them lie there alone, and come back when they are asked for. Where memory is short all the
 * same, jobs go sooner, those of the user who holds most; their keys and ends are known for as long.
 */
export class JobStore {
  readonly logs: TaskLogs;
  readonly #tag: string;
  readonly #endedJobsMax: number;
  readonly #keepMs: Millis;
  readonly #ledger: Pick<Ledger, 'forgotten'>;
  readonly #shares: MemoryShares;
  readonly #active = new Map<number, Job>();
  /** In the order in which they ended. */
  readonly #ended = new EndedJobs();
  /** Traces of evicted jobs, roughly in order of their end. */
  readonly #traces: Traces;
  /** Jobs stored completely in the journal, roughly in order of their end. */
  readonly #away: Traces;
  /** Memory of jobs that can be moved to the journal. */
  #movableBytes = 0;
  readonly #recallJob: RecallJob | undefined;
  /** The one that was asked for last is the last. */
  readonly #recalled = new Map<number, Job>();
  /** Jobs in memory by key. */
  readonly #byKey = new Map<string, Job>();
  /** Memory of active and of ended jobs. */
  #activeBytes = 0;
  #endedBytes = 0;
  /** Jobs that stay in the journal, and their keys. */
  readonly #leftOut = new Set<number>();
  readonly #leftOutKeys = new Set<string>();
  readonly #places = new TaskPlaces();
  readonly #activeByUser = new Map<string | undefined, HeldByUser>();
  readonly #bytesByUser = new Map<string | undefined, BytesOfUser>();
  /** Estimated bytes in the journal, by user. */
  readonly #journalByUser = new Map<string | undefined, number>();
  readonly #lastJob: number;
  #next: number;
  /** Nothing is forgotten by its age before. */
  #keptUntil: Millis = Number.NEGATIVE_INFINITY;

  /**
   * @param lastJob the highest number that must not be given again
   * @param random in [0, 1)
   */
  constructor(
    {
      tag,
      endedJobsMax,
      endedJobsKeepMs = Number.POSITIVE_INFINITY,
      logBytesMax,
    }: Pick<SchedulerConfig, 'tag' | 'endedJobsMax' | 'endedJobsKeepMs' | 'logBytesMax'>,
    lastJob: number,
    shares: MemoryShares,
    ledger: Pick<Ledger, 'forgotten'>,
    random: () => number,
    recallJob?: RecallJob,
  ) {
    this.#tag = tag;
    this.#endedJobsMax = endedJobsMax;
    this.#keepMs = endedJobsKeepMs;
    this.#lastJob = lastJob;
    this.#next = lastJob + 1;
    this.#ledger = ledger;
    this.#shares = shares;
    this.#recallJob = recallJob;
    this.#traces = new Traces(true, random);
    this.#away = new Traces(false, random);
    this.logs = new TaskLogs(Math.min(logBytesMax, shares.logsMax), (number, task) => {
      const job = this.byNumber(number);
      if (job === undefined) return this.#away.byNumber(number)?.state === 'failed';
      return job.tasks.stateOf(task) === TaskState.failed;
    });
  }

  /** Nothing is known of any job. */
  get isEmpty(): boolean {
    return this.#active.size + this.#keptCount + this.#traces.length === 0;
  }

  /** Jobs that have ended and can be asked for. */
  get #keptCount(): number {
    return this.#ended.size + this.#away.length;
  }

  get activeCount(): number {
    return this.#active.size;
  }

  /** All that can be asked for. */
  get count(): number {
    return this.#active.size + this.#keptCount;
  }

  /** Estimated memory that cannot be evicted: active jobs and keys. */
  get activeBytes(): number {
    return this.#activeBytes + this.traceBytes;
  }

  /** The part for keys and traces of ended jobs. */
  get traceBytes(): number {
    return this.#traces.bytes + this.#away.bytes;
  }

  /** Memory is too short to keep optional data. */
  get isShort(): boolean {
    return this.#bytes() > this.#shares.shortAbove;
  }

  #bytes(): number {
    return this.activeBytes + this.#endedBytes;
  }

  activeOf(user: string | undefined): Readonly<HeldByUser> {
    return this.#activeByUser.get(user) ?? NOTHING;
  }

  /** Active jobs by user. */
  get activeByUser(): ReadonlyMap<string | undefined, Readonly<HeldByUser>> {
    return this.#activeByUser;
  }

  get journalByUser(): ReadonlyMap<string | undefined, number> {
    return this.#journalByUser;
  }

  nextName(): { number: JobNumber; id: string } {
    const number = this.#next++;
    return { number, id: this.idOf(number) };
  }

  idOf(number: JobNumber): string {
    return `${this.#tag}-${number}`;
  }

  add(job: Job): void {
    measure(job);
    this.#insert(job);
  }

  /** @param job that is measured */
  #insert(job: Job): void {
    this.#active.set(job.number, job);
    this.#countBytes(job, job.bytes, 0);
    this.#countJournal(job);
    this.#countActive(job, 1);
    const key = scopedKeyOf(job);
    if (key !== undefined) this.#byKey.set(key, job);
  }

  /**
   * A job that has ended goes on.
   *
   * @param reopen changes the job's state
   */
  reopen(job: Job, reopen: () => void): void {
    const { number } = job;
    const key = scopedKeyOf(job);
    if (this.#ended.get(number) === job) this.#drop(job);
    else {
      job.journalBytes = this.#away.byNumber(number)?.bytes ?? job.journalBytes;
      this.#away.remove(number);
      this.#recalled.delete(number);
    }
    reopen();
    this.#active.set(number, job);
    this.#countBytes(job, job.bytes, 0);
    this.#countActive(job, 1);
    if (key !== undefined) this.#byKey.set(key, job);
  }

  /** The job was not to be, and nothing was written of it. */
  withdraw(job: Job): void {
    const { number } = job;
    if (this.#active.delete(number)) {
      this.#countActive(job, -1);
      this.#countBytes(job, -job.bytes, 0);
    } else this.#drop(job);
    this.logs.forget(number);
    this.#freeKey(job);
    this.#journalShrinks(job.spec.user, job.journalBytes);
  }

  /** The job with the key is in memory no more. */
  #freeKey(job: Job): void {
    const key = scopedKeyOf(job);
    if (key !== undefined && this.#byKey.get(key) === job) this.#byKey.delete(key);
  }

  /**
   * A job that was there before this process.
   *
   * @returns false where there is no memory for it: then it stays in the journal, and nobody can have its key
   */
  restore(job: Job): boolean {
    measure(job);
    if (!job.hasEnded && this.activeBytes + job.bytes > this.#shares.restoredMax) {
      this.#leftOut.add(job.number);
      const key = scopedKeyOf(job);
      if (key !== undefined) this.#leftOutKeys.add(key);
      return false;
    }
    this.#insert(job);
    if (job.hasEnded) this.#moveToEnded(job);
    this.#keepWithinShares(undefined);
    return true;
  }

  /** The job lies in the journal, and there was no memory for it at the start. */
  isLeftOut(id: string): boolean {
    return this.#leftOut.has(this.#numberOf(id));
  }

  hasLeftOutKey(of: string, user: string | undefined): boolean {
    return this.#leftOutKeys.has(scopedKey(of, user));
  }

  /** All were restored: those that ended are kept in the order of their ends. */
  restored(): void {
    this.#ended.sort();
    this.#away.sort();
  }

  /** Updates the memory of a job whose attempt records have grown. */
  weigh(job: Job): void {
    const bytes = job.specBytes + job.stages[0]!.appendedBytes + job.history.reports.bytes;
    this.#countBytes(job, bytes - job.bytes, 0);
    job.bytes = bytes;
    this.#countJournal(job);
  }

  #countJournal(job: Job): void {
    const bytes = job.bytes + job.history.reports.recordedBytes;
    this.#journalShrinks(job.spec.user, job.journalBytes - bytes);
    job.journalBytes = bytes;
  }

  #journalShrinks(user: string | undefined, bytes: number): void {
    const left = (this.#journalByUser.get(user) ?? 0) - bytes;
    if (left > 0) this.#journalByUser.set(user, left);
    else this.#journalByUser.delete(user);
  }

  /** Those that have not ended and of which the worker has tasks, in the order of their numbers. */
  at(worker: Address): Job[] {
    const numbers = [...this.#places.jobsAt(worker)].sort((one, other) => one - other);
    return numbers.map((number) => this.#active.get(number)!);
  }

  /** The job's tasks that the worker has, in their order. */
  tasksAt(worker: Address, { number }: Job): TaskIndex[] {
    return [...this.#places.at(worker, number)].sort((one, other) => one - other);
  }

  active(): Iterable<Job> {
    return this.#active.values();
  }

  /** Jobs that have ended and are in memory, latest first. */
  endedNewestFirst(states: readonly JobState[]): Iterable<Job> {
    return this.#ended.newestFirst(states);
  }

  /** Traces of jobs that have ended and lie in the journal alone, latest first. */
  awayNewestFirst(states: readonly JobState[]): Iterable<Trace> {
    return this.#away.newestFirst(states);
  }

  /** Reads a job back for a list; `byId` keeps those that are asked for one by one. */
  recall(trace: Trace): Job | undefined {
    return this.#recallJob!(trace);
  }

  /** Ended jobs in a state, in memory or in the journal. */
  endedCount(state: JobState): number {
    return this.#ended.count([state]) + this.#away.count(state);
  }

  /** Returns the job if it is in memory. */
  byNumber(number: JobNumber): Job | undefined {
    return this.#active.get(number) ?? this.#ended.get(number);
  }

  byId(id: string): Job | undefined {
    return this.#byNumberAnywhere(this.#numberOf(id));
  }

  #byNumberAnywhere(number: JobNumber): Job | undefined {
    const job = this.byNumber(number);
    if (job !== undefined) return job;
    const trace = this.#away.byNumber(number);
    return trace && this.#readBack(trace);
  }

  #readBack(trace: Trace): Job | undefined {
    const { number } = trace;
    const recalled = this.#recalled.get(number) ?? this.#recallJob!(trace);
    if (recalled === undefined) return undefined;
    measure(recalled);
    setLatest(this.#recalled, number, recalled, RECALLED_MAX);
    return recalled;
  }

  /** There was such a job here, and it has ended. */
  isForgotten(id: string): boolean {
    const number = this.#numberOf(id);
    const isPassedOver = number > this.#lastJob - LIMITS.unrecordedJobsMax && number <= this.#lastJob;
    return number > 0 && number < this.#next && !isPassedOver && this.byNumber(number) === undefined;
  }

  traceOfId(id: string): Trace | undefined {
    const number = this.#numberOf(id);
    return this.#traces.byNumber(number) ?? this.#away.byNumber(number);
  }

  /** @returns 0 for what is no id of a job here */
  #numberOf(id: string): number {
    const prefix = `${this.#tag}-`;
    const digits = id.startsWith(prefix) ? id.slice(prefix.length) : '';
    return /^\d+$/.test(digits) ? Number(digits) : 0;
  }

  /** Keys belong to users: two users may have given the same one. */
  byKey(of: string, user: string | undefined): Job | undefined {
    const key = scopedKey(of, user);
    const job = this.#byKey.get(key);
    if (job !== undefined) return job;
    for (const trace of this.#away.withKey(key)) {
      const recalled = this.#readBack(trace);
      if (recalled !== undefined && scopedKeyOf(recalled) === key) return recalled;
    }
    return undefined;
  }

  /** Returns the trace of the job with this key, if the job itself has been evicted. */
  traceOf(of: string, user: string | undefined): Trace | undefined {
    const key = scopedKey(of, user);
    for (const trace of this.#traces.withKey(key)) return trace;
    // An unreadable record counts as a match, which is wrong for one key in billions.
    for (const trace of this.#away.withKey(key)) if (this.#readBack(trace) === undefined) return trace;
    return undefined;
  }

  /** Moves the job to those that have ended; of them, those go that are not to be kept any more. */
  ended(job: Job, now: Millis): void {
    this.#moveToEnded(job);
    this.forgetOld(now);
  }

  #moveToEnded(job: Job): void {
    this.weigh(job);
    this.#active.delete(job.number);
    this.#ended.add(job);
    this.#countBytes(job, -job.bytes, job.bytes);
    if (this.#isMovable(job)) this.#movableBytes += job.bytes;
    this.#countActive(job, -1);
  }

  #countBytes({ spec: { user } }: Job, active: number, ended: number): void {
    this.#activeBytes += active;
    this.#endedBytes += ended;
    const held = this.#bytesByUser.get(user) ?? { active: 0, ended: 0 };
    held.active += active;
    held.ended += ended;
    if (held.active + held.ended === 0) this.#bytesByUser.delete(user);
    else this.#bytesByUser.set(user, held);
  }

  /**
   * Whether a new job of the user fits without ended jobs of others that hold no more than their share: the memory for jobs
   * divided among all users who hold any.
   */
  hasRoomFor(user: string | undefined, bytes: number): boolean {
    const excess = this.#bytes() + bytes - this.#shares.jobsMax;
    if (excess <= 0) return true;
    const { active, ended } = this.#bytesByUser.get(user) ?? { active: 0, ended: 0 };
    const held = [active + ended + bytes];
    for (const [other, of] of this.#bytesByUser) if (other !== user) held.push(of.active + of.ended);
    held.sort((one, other) => other - one);
    return active + bytes <= levelOf(held, excess);
  }

  #countActive({ spec: { user }, tasks }: Job, change: 1 | -1): void {
    const held = this.#activeByUser.get(user) ?? { ...NOTHING };
    held.jobs += change;
    held.waiting += change * tasks.waiting;
    tasks.waitingOfUser = change > 0 ? held : undefined;
    tasks.keepIn(change > 0 ? this.#places : undefined);
    if (held.jobs === 0) this.#activeByUser.delete(user);
    else this.#activeByUser.set(user, held);
  }

  /**
   * Jobs that ended before this process are kept for some minutes of its own time, since the clock may have
   * been wrong then or now.
   */
  start(now: Millis): void {
    if (this.#keptCount > 0) this.#keptUntil = now + LIMITS.endedAgeMinMs;
    this.forgetOld(now);
  }

  /** Forgets the ended jobs that are too old, too many, or take too much. */
  forgetOld(now: Millis): void {
    if (now >= this.#keptUntil) this.#forgetByAge(now);
    this.#keepWithinShares(now);
  }

  #keepWithinShares(now: Millis | undefined): void {
    if (this.#movableBytes > this.#shares.endedMax) this.#putAway();
    if (this.#bytes() > this.#shares.jobsMax) this.#makeRoom(now);
  }

  #isMovable({ bytes, history }: Job): boolean {
    return this.#recallJob !== undefined && bytes + history.reports.recordedBytes <= PUT_AWAY_BYTES_MAX;
  }

  /** Leaves those that ended first to the journal. */
  #putAway(): void {
    for (const job of this.#ended.values()) {
      if (this.#movableBytes <= PUT_AWAY_SHARE * this.#shares.endedMax) break;
      if (!this.#isMovable(job)) continue;
      this.#drop(job);
      this.#keepTrace(this.#away, job);
    }
  }

  #forgetByAge(now: Millis): void {
    const keepMs = this.#keepMs;
    const isOld = (endedAt: Millis): boolean => {
      const age = now - endedAt;
      return age > keepMs || (this.#keptCount > this.#endedJobsMax && age > LIMITS.endedAgeMinMs);
    };
    for (let left = FORGOTTEN_MAX; left > 0; left--) {
      const trace = this.#away.first;
      if (trace === undefined || !isOld(trace.endedAt)) break;
      this.#dropFirst(this.#away, now);
    }
    for (let job = this.#ended.first; job !== undefined && isOld(job.endedAt!); job = this.#ended.first) {
      this.#drop(job);
      this.#freeKey(job);
      this.#journalShrinks(job.spec.user, job.journalBytes);
      this.#forget(job.number, now);
    }
    for (let left = FORGOTTEN_MAX; left > 0; left--) {
      const trace = this.#traces.first;
      if (trace === undefined || now - trace.endedAt <= Math.min(keepMs, LIMITS.endedAgeMinMs)) break;
      this.#dropFirst(this.#traces, now);
    }
  }

  /**
   * Leaves no more than a trace of ended jobs: of users who hold more than their share, with what has not ended. Only where
   * that is not enough, since jobs that have not ended take more, others lose some as well.
   */
  #makeRoom(now: Millis | undefined): void {
    this.#letEndedGo(
      now,
      Array.from(this.#bytesByUser, ([user, { active }]) => [user, active] as const),
    );
    if (this.#bytes() > this.#shares.jobsMax) this.#letEndedGo(now);
  }

  #letEndedGo(now: Millis | undefined, kept?: Iterable<readonly [string | undefined, number]>): void {
    const ended = Array.from(this.#ended.values(), (job) => ({ user: job.spec.user, bytes: job.bytes, job }));
    const drop = ({ job }: { job: Job }): number => {
      this.#drop(job);
      this.logs.forget(job.number);
      this.#keepTrace(this.#traces, job, now);
      return job.bytes;
    };
    letGo(ended, this.#bytes() - ROOM_SHARE * this.#shares.jobsMax, drop, kept);
  }

  /** @param droppedAt when its results went, where memory was short */
  #keepTrace(traces: Traces, job: Job, droppedAt?: Millis): void {
    const { number, state, endedAt, spec, journalBytes: bytes } = job;
    this.#freeKey(job);
    traces.push({
      number,
      key: scopedKeyOf(job),
      user: spec.user,
      state,
      endedAt: endedAt!,
      bytes,
      droppedAt,
    });
  }

  #dropFirst(traces: Traces, now: Millis): void {
    const { number, user, bytes } = traces.first!;
    this.#journalShrinks(user, bytes);
    traces.shift();
    this.#recalled.delete(number);
    this.#forget(number, now);
  }

  /** Drops an ended job. */
  #drop(job: Job): void {
    if (!this.#ended.delete(job)) return;
    if (this.#isMovable(job)) this.#movableBytes -= job.bytes;
    this.#countBytes(job, 0, -job.bytes);
  }

  #forget(number: JobNumber, now: Millis): void {
    this.logs.forget(number);
    this.#ledger.forgotten(number, now);
  }
}

function scopedKeyOf({ key, spec }: Job): string | undefined {
  return key === undefined ? undefined : scopedKey(key, spec.user);
}
