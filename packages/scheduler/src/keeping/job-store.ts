import { type JobState, LIMITS, type Millis } from '@goshawk/core';
import type { Job } from '../job/job.js';
import { bytesOf, JobBytes } from './job-bytes.js';
import { levelOf, type MemoryShares } from './memory-shares.js';
import { TaskLogs } from './task-logs.js';

/** Which jobs are kept after their end. */
export interface Retention {
  /** Of those that ended longer ago than any client waits. */
  readonly jobsMax: number;
  readonly keepMs: Millis;
  /** Nothing is kept of the job any more. */
  forgot(job: number, now: Millis): void;
}

/** What is left of a job that had to make room: enough to know its key again. */
interface Trace {
  readonly number: number;
  readonly key: string | undefined;
  readonly state: JobState;
  readonly endedAt: Millis;
}

/** What a user has here that has not ended. */
interface HeldByUser {
  jobs: number;
  /** Tasks that have not started. */
  waiting: number;
}

const NOTHING: Readonly<HeldByUser> = { jobs: 0, waiting: 0 };

/** In bytes, beside the key. */
const TRACE_BYTES = 200;
/** Room is made for a while: each time all that have ended are looked at. */
const ROOM_SHARE = 0.9;

/**
 * The jobs of one owner: those that have not ended, and the last of those that have.
 *
 * A job that has ended is not forgotten sooner than `LIMITS.endedAgeMinMs` because there are too many. Where memory is
 * short, jobs go sooner, those of the user who holds most; their keys and ends are known for as long all the same.
 */
export class JobStore {
  readonly logs: TaskLogs;
  readonly #tag: string;
  readonly #retention: Retention;
  readonly #shares: MemoryShares;
  readonly #active = new Map<number, Job>();
  /** In the order in which they ended. */
  #ended = new Map<number, Job>();
  /** Of jobs that had to make room, about in the order in which they ended. */
  readonly #traces = new Map<number, Trace>();
  #traceBytes = 0;
  readonly #byKey = new Map<string, number>();
  readonly #keys = new Map<number, string>();
  readonly #bytesHeld = new JobBytes();
  readonly #activeByUser = new Map<string | undefined, HeldByUser>();
  readonly #lastJob: number;
  #next: number;
  /** Nothing is forgotten by its age before. */
  #keptUntil: Millis = Number.NEGATIVE_INFINITY;

  /** @param lastJob the highest number that must not be given again */
  constructor(tag: string, lastJob: number, retention: Retention, logBytesMax: number, shares: MemoryShares) {
    this.#tag = tag;
    this.#lastJob = lastJob;
    this.#next = lastJob + 1;
    this.#retention = retention;
    this.#shares = shares;
    this.logs = new TaskLogs(Math.min(logBytesMax, shares.logsMax));
  }

  /** Nothing is known of any job. */
  get isEmpty(): boolean {
    return this.#active.size + this.#ended.size + this.#traces.size === 0;
  }

  get activeCount(): number {
    return this.#active.size;
  }

  /** What cannot be forgotten takes: jobs that have not ended, and keys. Estimated. */
  get activeBytes(): number {
    return this.#bytesHeld.active + this.#traceBytes;
  }

  /** What can be done without is not to be kept. */
  get isShort(): boolean {
    return this.#bytes() > this.#shares.shortAbove;
  }

  #bytes(): number {
    return this.#bytesHeld.active + this.#bytesHeld.ended + this.#traceBytes;
  }

  activeOf(user: string | undefined): Readonly<HeldByUser> {
    return this.#activeByUser.get(user) ?? NOTHING;
  }

  /** By user. */
  get activeByUser(): ReadonlyMap<string | undefined, Readonly<HeldByUser>> {
    return this.#activeByUser;
  }

  nextName(): { number: number; id: string } {
    const number = this.#next++;
    return { number, id: this.idOf(number) };
  }

  idOf(number: number): string {
    return `${this.#tag}-${number}`;
  }

  add(job: Job, key: string | undefined): void {
    this.#active.set(job.number, job);
    this.#bytesHeld.add(job.number, bytesOf(job.spec));
    this.#countActive(job, 1);
    if (key === undefined) return;
    this.#byKey.set(key, job.number);
    this.#keys.set(job.number, key);
  }

  /** The job was not to be, and nothing was written of it. */
  withdraw(job: Job): void {
    const { number } = job;
    if (this.#active.delete(number)) this.#countActive(job, -1);
    this.#ended.delete(number);
    this.#bytesHeld.jobEnded(number);
    this.#bytesHeld.forget(number);
    this.logs.forget(number);
    const key = this.#keys.get(number);
    if (key !== undefined && this.#byKey.get(key) === number) this.#byKey.delete(key);
    this.#keys.delete(number);
  }

  /** A job that was there before this process. */
  restore(job: Job, key: string | undefined): void {
    this.add(job, key);
    if (job.hasEnded) this.#moveToEnded(job);
    if (this.#bytes() > this.#shares.jobsMax) this.#makeRoom();
  }

  /** All were restored: those that ended are kept in the order of their ends. */
  restored(): void {
    this.#ended = new Map([...this.#ended].sort(([, a], [, b]) => a.endedAt! - b.endedAt!));
  }

  /** What the job takes, estimated. */
  bytesOf(job: Job): number {
    return this.#bytesHeld.of(job.number);
  }

  /** What is kept of the job's attempts may take more than before. */
  weigh(job: Job): void {
    const { bytes } = job.history.reports;
    // Of nearly all jobs nothing is.
    if (bytes > 0) this.#bytesHeld.set(job.number, bytesOf(job.spec) + bytes);
  }

  active(): Iterable<Job> {
    return this.#active.values();
  }

  /** Newest first. */
  *endedNewestFirst(): Iterable<Job> {
    const jobs = [...this.#ended.values()];
    for (let i = jobs.length - 1; i >= 0; i--) yield jobs[i]!;
  }

  byNumber(number: number): Job | undefined {
    return this.#active.get(number) ?? this.#ended.get(number);
  }

  byId(id: string): Job | undefined {
    return this.byNumber(this.#numberOf(id));
  }

  /** There was such a job here, and it has ended. */
  isForgotten(id: string): boolean {
    const number = this.#numberOf(id);
    const isPassedOver = number > this.#lastJob - LIMITS.unrecordedJobsMax && number <= this.#lastJob;
    return number > 0 && number < this.#next && !isPassedOver && this.byNumber(number) === undefined;
  }

  traceOfId(id: string): Trace | undefined {
    return this.#traces.get(this.#numberOf(id));
  }

  /** @returns 0 for what is no id of a job here */
  #numberOf(id: string): number {
    const prefix = `${this.#tag}-`;
    const digits = id.startsWith(prefix) ? id.slice(prefix.length) : '';
    return /^\d+$/.test(digits) ? Number(digits) : 0;
  }

  byKey(key: string): Job | undefined {
    const number = this.#byKey.get(key);
    return number === undefined ? undefined : this.byNumber(number);
  }

  /** What is left of the job with this key, where the job itself had to make room. */
  traceOf(key: string): Trace | undefined {
    return this.#traces.get(this.#byKey.get(key) ?? 0);
  }

  /** Moves the job to those that have ended; of them, those go that are not to be kept any more. */
  ended(job: Job, now: Millis): void {
    this.#moveToEnded(job);
    this.forgetOld(now);
  }

  #moveToEnded(job: Job): void {
    this.weigh(job);
    this.#active.delete(job.number);
    this.#ended.set(job.number, job);
    this.#bytesHeld.jobEnded(job.number);
    this.#countActive(job, -1);
  }

  #countActive({ spec: { user }, tasks }: Job, change: 1 | -1): void {
    const held = this.#activeByUser.get(user) ?? { ...NOTHING };
    held.jobs += change;
    held.waiting += change * tasks.waiting;
    tasks.waitingOfUser = change > 0 ? held : undefined;
    if (held.jobs === 0) this.#activeByUser.delete(user);
    else this.#activeByUser.set(user, held);
  }

  /**
   * What ended before this process is kept for some minutes of its own time, whatever the clock says: who knows whether it
   * was right then, or is now.
   */
  start(now: Millis): void {
    if (this.#ended.size > 0) this.#keptUntil = now + LIMITS.endedAgeMinMs;
    this.forgetOld(now);
  }

  /** Forgets the ended jobs that are too old, too many, or take too much. */
  forgetOld(now: Millis): void {
    if (now >= this.#keptUntil) this.#forgetByAge(now);
    if (this.#bytes() > this.#shares.jobsMax) this.#makeRoom();
  }

  #forgetByAge(now: Millis): void {
    const { jobsMax, keepMs } = this.#retention;
    for (const [number, { endedAt }] of this.#ended) {
      const age = now - endedAt!;
      const isTooMany = this.#ended.size > jobsMax && age > LIMITS.endedAgeMinMs;
      if (!isTooMany && age <= keepMs) break;
      this.#drop(number);
      this.#forget(number, now);
    }
    for (const [number, { key, endedAt }] of this.#traces) {
      if (now - endedAt <= Math.min(keepMs, LIMITS.endedAgeMinMs)) break;
      this.#traces.delete(number);
      this.#traceBytes -= traceBytes(key);
      this.#forget(number, now);
    }
  }

  /** Leaves no more than a trace of ended jobs: of each user the first that ended, and as much that none holds more than another. */
  #makeRoom(): void {
    const byUser = new Map<string | undefined, { bytes: number; jobs: Job[] }>();
    for (const job of this.#ended.values()) {
      const held = byUser.get(job.spec.user) ?? { bytes: 0, jobs: [] };
      held.bytes += this.#bytesHeld.of(job.number);
      held.jobs.push(job);
      byUser.set(job.spec.user, held);
    }
    const most = [...byUser.values()].sort((one, other) => other.bytes - one.bytes);
    const level = levelOf(
      most.map(({ bytes }) => bytes),
      this.#bytes() - ROOM_SHARE * this.#shares.jobsMax,
    );
    for (const held of most) {
      for (const job of held.jobs) {
        if (held.bytes <= level) break;
        held.bytes -= this.#bytesHeld.of(job.number);
        this.#leaveTrace(job);
      }
    }
  }

  #leaveTrace({ number, state, endedAt }: Job): void {
    this.#drop(number);
    const key = this.#keys.get(number);
    this.#traces.set(number, { number, key, state, endedAt: endedAt! });
    this.#traceBytes += traceBytes(key);
  }

  #drop(number: number): void {
    this.#ended.delete(number);
    this.#bytesHeld.forget(number);
    this.logs.forget(number);
  }

  #forget(number: number, now: Millis): void {
    const key = this.#keys.get(number);
    if (key !== undefined) this.#byKey.delete(key);
    this.#keys.delete(number);
    this.#retention.forgot(number, now);
  }
}

function traceBytes(key: string | undefined): number {
  return TRACE_BYTES + (key?.length ?? 0);
}
