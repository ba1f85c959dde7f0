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
import { estimateJobBytes } from '../job/job-bytes.js';
import { TasksByWorker } from '../job/tasks-by-worker.js';
import type { Accounting } from './accounting.js';
import { EndedJobs } from './ended-jobs.js';
import { evictFairly, fairLevel, type MemoryShares } from './memory-shares.js';
import { TaskLogs } from './task-logs.js';
import { type Tombstone, Tombstones } from './tombstones.js';

/** Rebuilds a job from the journal; undefined if it cannot be read. */
type ReadJob = (job: Tombstone) => Job | undefined;

/** A user's active jobs. */
interface ActiveOfUser {
  jobs: number;
  /** Tasks that have not started. */
  waiting: number;
}

/** Estimated bytes of a user's jobs. */
interface BytesOfUser {
  active: number;
  ended: number;
}

const NO_ACTIVE_JOBS: Readonly<ActiveOfUser> = { jobs: 0, waiting: 0 };

/**
 * Jobs with more bytes than this in the journal stay in memory, because reading one back would take more than a few
 * milliseconds.
 */
const ARCHIVED_JOB_BYTES_MAX = 128 * 1024;
/** Recently recalled jobs to keep, since they are often requested again. */
const CACHED_JOBS_MAX = 8;
/** Maximum number of tombstones that expire at a time; after a restart, all of them may be due at once. */
const EXPIRED_MAX = 1_000;
/** Ended jobs move to the journal until the others take this fraction of the limit; moving many at once amortizes the scan. */
const ARCHIVE_TARGET = 0.5;
/** Jobs are evicted until the others take this fraction of the limit; evicting many at once amortizes the scan. */
const EVICTION_TARGET = 0.9;

/** Estimates the memory of a job before it has run. */
function measureJob(job: Job): void {
  job.specBytes = estimateJobBytes(job.spec);
  job.bytes = job.specBytes + job.stages[0]!.appendedBytes;
}

/**
 * The jobs of one owner: active ones, and recently ended ones.
 *
 * A job that ended less than `LIMITS.endedAgeMinMs` ago is never evicted just because there are too many. If the journal can
 * be read, most ended jobs are kept only there, and are read back on demand. If memory still runs short, jobs are evicted
 * earlier, starting with the user whose jobs take the most memory; their keys and final states are kept.
 */
export class JobStore {
  readonly logs: TaskLogs;
  readonly #tag: string;
  readonly #endedJobsMax: number;
  readonly #keepMs: Millis;
  readonly #records: Pick<Accounting, 'recordsDeleted'>;
  readonly #shares: MemoryShares;
  readonly #active = new Map<number, Job>();
  /** In the order in which they ended. */
  readonly #ended = new EndedJobs();
  /** Tombstones of evicted jobs, roughly in the order in which the jobs ended. */
  readonly #tombstones: Tombstones;
  /** Jobs stored completely in the journal, roughly in the order in which they ended. */
  readonly #archived: Tombstones;
  /** Memory of jobs that can be moved to the journal. */
  #archivableBytes = 0;
  readonly #readJob: ReadJob | undefined;
  /** In order of last use. */
  readonly #cached = new Map<number, Job>();
  /** Jobs in memory by key. */
  readonly #byKey = new Map<string, Job>();
  /** Memory of active and of ended jobs. */
  #activeBytes = 0;
  #endedBytes = 0;
  /** Jobs that stayed in the journal at the start because there was no memory for them, and their keys. */
  readonly #notLoaded = new Set<number>();
  readonly #notLoadedKeys = new Set<string>();
  readonly #tasksByWorker = new TasksByWorker();
  readonly #activeByUser = new Map<string | undefined, ActiveOfUser>();
  readonly #bytesByUser = new Map<string | undefined, BytesOfUser>();
  /** Estimated bytes in the journal, by user. */
  readonly #journalByUser = new Map<string | undefined, number>();
  readonly #lastJob: number;
  #nextNumber: number;
  /** No job expires by age before this time. */
  #noExpiryBefore: Millis = Number.NEGATIVE_INFINITY;

  /**
   * @param lastJob highest job number already used
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
    records: Pick<Accounting, 'recordsDeleted'>,
    random: () => number,
    recallJob?: ReadJob,
  ) {
    this.#tag = tag;
    this.#endedJobsMax = endedJobsMax;
    this.#keepMs = endedJobsKeepMs;
    this.#lastJob = lastJob;
    this.#nextNumber = lastJob + 1;
    this.#records = records;
    this.#shares = shares;
    this.#readJob = recallJob;
    this.#tombstones = new Tombstones(true, random);
    this.#archived = new Tombstones(false, random);
    this.logs = new TaskLogs(Math.min(logBytesMax, shares.logsMax), (number, task) => {
      const job = this.byNumber(number);
      if (job === undefined) return this.#archived.byNumber(number)?.state === 'failed';
      return job.tasks.stateOf(task) === TaskState.failed;
    });
  }

  /** Whether no job is known. */
  get isEmpty(): boolean {
    return this.#active.size + this.#endedCount + this.#tombstones.length === 0;
  }

  /** Number of ended jobs that can be queried. */
  get #endedCount(): number {
    return this.#ended.size + this.#archived.length;
  }

  get activeCount(): number {
    return this.#active.size;
  }

  /** Number of all jobs that can be queried. */
  get count(): number {
    return this.#active.size + this.#endedCount;
  }

  /** Estimated memory that cannot be evicted: active jobs and keys. */
  get activeBytes(): number {
    return this.#activeBytes + this.tombstoneBytes;
  }

  /** The part of `activeBytes` that keys and tombstones of ended jobs use. */
  get tombstoneBytes(): number {
    return this.#tombstones.bytes + this.#archived.bytes;
  }

  /** Whether there is too little memory to keep optional data. */
  get isMemoryScarce(): boolean {
    return this.#bytes() > this.#shares.scarceAbove;
  }

  #bytes(): number {
    return this.activeBytes + this.#endedBytes;
  }

  activeOf(user: string | undefined): Readonly<ActiveOfUser> {
    return this.#activeByUser.get(user) ?? NO_ACTIVE_JOBS;
  }

  /** Active jobs by user. */
  get activeByUser(): ReadonlyMap<string | undefined, Readonly<ActiveOfUser>> {
    return this.#activeByUser;
  }

  /** The users with the most active jobs, most first. */
  largestUsers(count: number): { user: string | undefined; jobs: number; waiting: number }[] {
    const all = Array.from(this.#activeByUser, ([user, held]) => ({ user, ...held }));
    return all.sort((one, other) => other.jobs - one.jobs || other.waiting - one.waiting).slice(0, count);
  }

  get journalByUser(): ReadonlyMap<string | undefined, number> {
    return this.#journalByUser;
  }

  allocateId(): { number: JobNumber; id: string } {
    const number = this.#nextNumber++;
    return { number, id: this.idOf(number) };
  }

  idOf(number: JobNumber): string {
    return `${this.#tag}-${number}`;
  }

  add(job: Job): void {
    measureJob(job);
    this.#insert(job);
  }

  /** @param job that has been measured */
  #insert(job: Job): void {
    this.#active.set(job.number, job);
    this.#countBytes(job, job.bytes, 0);
    this.#countJournal(job);
    this.#countActive(job, 1);
    const key = scopedKeyOf(job);
    if (key !== undefined) this.#byKey.set(key, job);
  }

  /**
   * Reopens an ended job.
   *
   * @param reopen changes the job's state
   */
  reopen(job: Job, reopen: () => void): void {
    const { number } = job;
    const key = scopedKeyOf(job);
    if (this.#ended.get(number) === job) this.#removeEnded(job);
    else {
      job.journalBytes = this.#archived.byNumber(number)?.bytes ?? job.journalBytes;
      this.#archived.remove(number);
      this.#cached.delete(number);
    }
    reopen();
    this.#active.set(number, job);
    this.#countBytes(job, job.bytes, 0);
    this.#countActive(job, 1);
    if (key !== undefined) this.#byKey.set(key, job);
  }

  /** Removes a job that was never recorded. */
  withdraw(job: Job): void {
    const { number } = job;
    if (this.#active.delete(number)) {
      this.#countActive(job, -1);
      this.#countBytes(job, -job.bytes, 0);
    } else this.#removeEnded(job);
    this.logs.delete(number);
    this.#freeKey(job);
    this.#subtractJournalBytes(job.spec.user, job.journalBytes);
  }

  /** Removes the key of a job that is no longer in memory. */
  #freeKey(job: Job): void {
    const key = scopedKeyOf(job);
    if (key !== undefined && this.#byKey.get(key) === job) this.#byKey.delete(key);
  }

  /**
   * Adds a job of an earlier incarnation.
   *
   * @returns false if there is no memory for it; it then stays in the journal, and its key remains reserved
   */
  restore(job: Job): boolean {
    measureJob(job);
    if (!job.hasEnded && this.activeBytes + job.bytes > this.#shares.restoredMax) {
      this.#notLoaded.add(job.number);
      const key = scopedKeyOf(job);
      if (key !== undefined) this.#notLoadedKeys.add(key);
      return false;
    }
    this.#insert(job);
    if (job.hasEnded) this.#moveToEnded(job);
    this.#keepWithinShares(undefined);
    return true;
  }

  /** Whether the job stayed in the journal at the start because there was no memory for it. */
  isNotLoaded(id: string): boolean {
    return this.#notLoaded.has(this.#numberOf(id));
  }

  isKeyOfNotLoadedJob(of: string, user: string | undefined): boolean {
    return this.#notLoadedKeys.has(scopedKey(of, user));
  }

  /** Called once all jobs have been restored: sorts the ended ones by the time at which they ended. */
  sortEnded(): void {
    this.#ended.sort();
    this.#archived.sort();
  }

  /** Updates the estimated memory of a job whose attempt records have grown. */
  updateBytes(job: Job): void {
    const bytes = job.specBytes + job.stages[0]!.appendedBytes + job.history.reports.bytes;
    this.#countBytes(job, bytes - job.bytes, 0);
    job.bytes = bytes;
    this.#countJournal(job);
  }

  #countJournal(job: Job): void {
    const bytes = job.bytes + job.history.reports.recordedBytes;
    this.#subtractJournalBytes(job.spec.user, job.journalBytes - bytes);
    job.journalBytes = bytes;
  }

  #subtractJournalBytes(user: string | undefined, bytes: number): void {
    const left = (this.#journalByUser.get(user) ?? 0) - bytes;
    if (left > 0) this.#journalByUser.set(user, left);
    else this.#journalByUser.delete(user);
  }

  /** Active jobs with tasks at the worker, by number. */
  withTasksAt(worker: Address): Job[] {
    const numbers = [...this.#tasksByWorker.jobsAt(worker)].sort((one, other) => one - other);
    return numbers.map((number) => this.#active.get(number)!);
  }

  /** The job's tasks at the worker, by number. */
  tasksAt(worker: Address, { number }: Job): TaskIndex[] {
    return [...this.#tasksByWorker.at(worker, number)].sort((one, other) => one - other);
  }

  active(): Iterable<Job> {
    return this.#active.values();
  }

  /** Ended jobs in memory, newest first. */
  endedNewestFirst(states: readonly JobState[]): Iterable<Job> {
    return this.#ended.newestFirst(states);
  }

  /** Tombstones of ended jobs that are only in the journal, newest first. */
  archivedNewestFirst(states: readonly JobState[]): Iterable<Tombstone> {
    return this.#archived.newestFirst(states);
  }

  /** Reads a job from the journal for a list; `byId` also caches it. */
  readArchived(tombstone: Tombstone): Job | undefined {
    return this.#readJob!(tombstone);
  }

  /** Number of ended jobs in a state, in memory or in the journal. */
  endedCount(state: JobState): number {
    return this.#ended.count([state]) + this.#archived.count(state);
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
    const tombstone = this.#archived.byNumber(number);
    return tombstone && this.#cachedOrRead(tombstone);
  }

  #cachedOrRead(tombstone: Tombstone): Job | undefined {
    const { number } = tombstone;
    const recalled = this.#cached.get(number) ?? this.#readJob!(tombstone);
    if (recalled === undefined) return undefined;
    measureJob(recalled);
    setLatest(this.#cached, number, recalled, CACHED_JOBS_MAX);
    return recalled;
  }

  /** Whether the job ended here and has been forgotten. */
  isDeleted(id: string): boolean {
    const number = this.#numberOf(id);
    const isPassedOver = number > this.#lastJob - LIMITS.unrecordedJobsMax && number <= this.#lastJob;
    return number > 0 && number < this.#nextNumber && !isPassedOver && this.byNumber(number) === undefined;
  }

  tombstoneOfId(id: string): Tombstone | undefined {
    const number = this.#numberOf(id);
    return this.#tombstones.byNumber(number) ?? this.#archived.byNumber(number);
  }

  /** @returns 0 if the id does not belong to this owner */
  #numberOf(id: string): number {
    const prefix = `${this.#tag}-`;
    const digits = id.startsWith(prefix) ? id.slice(prefix.length) : '';
    return /^\d+$/.test(digits) ? Number(digits) : 0;
  }

  /** Each user has a separate namespace of keys. */
  byKey(of: string, user: string | undefined): Job | undefined {
    const key = scopedKey(of, user);
    const job = this.#byKey.get(key);
    if (job !== undefined) return job;
    for (const tombstone of this.#archived.withKey(key)) {
      const recalled = this.#cachedOrRead(tombstone);
      if (recalled !== undefined && scopedKeyOf(recalled) === key) return recalled;
    }
    return undefined;
  }

  /** Returns the tombstone of the job with this key, if the job itself has been evicted. */
  tombstoneWithKey(of: string, user: string | undefined): Tombstone | undefined {
    const key = scopedKey(of, user);
    for (const tombstone of this.#tombstones.withKey(key)) return tombstone;
    // An unreadable record counts as a match, which is wrong for one key in billions.
    for (const tombstone of this.#archived.withKey(key))
      if (this.#cachedOrRead(tombstone) === undefined) return tombstone;
    return undefined;
  }

  /** Moves the job to the ended ones, and evicts those that are no longer kept. */
  ended(job: Job, now: Millis): void {
    this.#moveToEnded(job);
    this.evictOld(now);
  }

  #moveToEnded(job: Job): void {
    this.updateBytes(job);
    this.#active.delete(job.number);
    this.#ended.add(job);
    this.#countBytes(job, -job.bytes, job.bytes);
    if (this.#isArchivable(job)) this.#archivableBytes += job.bytes;
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
   * Whether a new job of the user fits once ended jobs of users above their share are evicted. The share is the memory for
   * jobs, divided equally among all users with jobs.
   */
  hasRoomFor(user: string | undefined, bytes: number): boolean {
    const excess = this.#bytes() + bytes - this.#shares.jobsMax;
    if (excess <= 0) return true;
    const { active, ended } = this.#bytesByUser.get(user) ?? { active: 0, ended: 0 };
    const held = [active + ended + bytes];
    for (const [other, of] of this.#bytesByUser) if (other !== user) held.push(of.active + of.ended);
    held.sort((one, other) => other - one);
    return active + bytes <= fairLevel(held, excess);
  }

  #countActive({ spec: { user }, tasks }: Job, change: 1 | -1): void {
    const held = this.#activeByUser.get(user) ?? { ...NO_ACTIVE_JOBS };
    held.jobs += change;
    held.waiting += change * tasks.notStartedCount;
    tasks.waitingOfUser = change > 0 ? held : undefined;
    tasks.setIndex(change > 0 ? this.#tasksByWorker : undefined);
    if (held.jobs === 0) this.#activeByUser.delete(user);
    else this.#activeByUser.set(user, held);
  }

  /**
   * Keeps jobs that ended before this process started for some minutes of its uptime, because wall clocks may be wrong.
   */
  start(now: Millis): void {
    if (this.#endedCount > 0) this.#noExpiryBefore = now + LIMITS.endedAgeMinMs;
    this.evictOld(now);
  }

  /** Forgets ended jobs that are too old, too many, or too large. */
  evictOld(now: Millis): void {
    if (now >= this.#noExpiryBefore) this.#deleteExpired(now);
    this.#keepWithinShares(now);
  }

  #keepWithinShares(now: Millis | undefined): void {
    if (this.#archivableBytes > this.#shares.endedMax) this.#archiveOldest();
    if (this.#bytes() > this.#shares.jobsMax) this.#evict(now);
  }

  #isArchivable({ bytes, history }: Job): boolean {
    return this.#readJob !== undefined && bytes + history.reports.recordedBytes <= ARCHIVED_JOB_BYTES_MAX;
  }

  /** Moves the jobs that ended first to the journal. */
  #archiveOldest(): void {
    for (const job of this.#ended.values()) {
      if (this.#archivableBytes <= ARCHIVE_TARGET * this.#shares.endedMax) break;
      if (!this.#isArchivable(job)) continue;
      this.#removeEnded(job);
      this.#keepTombstone(this.#archived, job);
    }
  }

  #deleteExpired(now: Millis): void {
    const keepMs = this.#keepMs;
    const isOld = (endedAt: Millis): boolean => {
      const age = now - endedAt;
      return age > keepMs || (this.#endedCount > this.#endedJobsMax && age > LIMITS.endedAgeMinMs);
    };
    for (let left = EXPIRED_MAX; left > 0; left--) {
      const tombstone = this.#archived.first;
      if (tombstone === undefined || !isOld(tombstone.endedAt)) break;
      this.#deleteFirst(this.#archived, now);
    }
    for (let job = this.#ended.first; job !== undefined && isOld(job.endedAt!); job = this.#ended.first) {
      this.#removeEnded(job);
      this.#freeKey(job);
      this.#subtractJournalBytes(job.spec.user, job.journalBytes);
      this.#deleteRecords(job.number, now, job.endedAt!);
    }
    for (let left = EXPIRED_MAX; left > 0; left--) {
      const tombstone = this.#tombstones.first;
      if (tombstone === undefined || now - tombstone.endedAt <= Math.min(keepMs, LIMITS.endedAgeMinMs)) break;
      this.#deleteFirst(this.#tombstones, now);
    }
  }

  /**
   * Evicts ended jobs, but keeps their tombstones. Users whose active and ended jobs together exceed their share lose theirs
   * first; other users lose some only if that is not enough, because active jobs alone take more than a share.
   */
  #evict(now: Millis | undefined): void {
    this.#evictEnded(
      now,
      Array.from(this.#bytesByUser, ([user, { active }]) => [user, active] as const),
    );
    if (this.#bytes() > this.#shares.jobsMax) this.#evictEnded(now);
  }

  #evictEnded(now: Millis | undefined, kept?: Iterable<readonly [string | undefined, number]>): void {
    const ended = Array.from(this.#ended.values(), (job) => ({ user: job.spec.user, bytes: job.bytes, job }));
    const drop = ({ job }: { job: Job }): number => {
      this.#removeEnded(job);
      this.logs.delete(job.number);
      this.#keepTombstone(this.#tombstones, job, now);
      return job.bytes;
    };
    evictFairly(ended, this.#bytes() - EVICTION_TARGET * this.#shares.jobsMax, drop, kept);
  }

  /** @param droppedAt when its results were evicted for lack of memory */
  #keepTombstone(tombstones: Tombstones, job: Job, droppedAt?: Millis): void {
    const { number, state, endedAt, spec, journalBytes: bytes } = job;
    this.#freeKey(job);
    tombstones.push({
      number,
      key: scopedKeyOf(job),
      user: spec.user,
      state,
      endedAt: endedAt!,
      bytes,
      droppedAt,
    });
  }

  #deleteFirst(tombstones: Tombstones, now: Millis): void {
    const { number, user, bytes, endedAt } = tombstones.first!;
    this.#subtractJournalBytes(user, bytes);
    tombstones.shift();
    this.#cached.delete(number);
    this.#deleteRecords(number, now, endedAt);
  }

  /** Drops an ended job. */
  #removeEnded(job: Job): void {
    if (!this.#ended.delete(job)) return;
    if (this.#isArchivable(job)) this.#archivableBytes -= job.bytes;
    this.#countBytes(job, 0, -job.bytes);
  }

  #deleteRecords(number: JobNumber, now: Millis, endedAt: Millis): void {
    this.logs.delete(number);
    this.#records.recordsDeleted(number, now, endedAt);
  }
}

function scopedKeyOf({ key, spec }: Job): string | undefined {
  return key === undefined ? undefined : scopedKey(key, spec.user);
}
