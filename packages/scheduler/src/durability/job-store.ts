import {
  type Address,
  invariant,
  JOB_STATES,
  type JobNumber,
  type JobState,
  LIMITS,
  type Millis,
  type OutputStore,
  scopedKey,
  setLatest,
  type TaskIndex,
  tagOf,
} from '@goshawk/core';
import type { SchedulerConfig } from '../contract.js';
import type { Job } from '../job/job.js';
import { estimateJobBytes } from '../job/job-bytes.js';
import { TaskState } from '../job/task-state.js';
import { TasksByWorker } from '../job/tasks-by-worker.js';
import type { Accounting } from './accounting.js';
import { ActiveUsers } from './active-users.js';
import { EndedJobs } from './ended-jobs.js';
import { JobBytesByUser } from './job-bytes-by-user.js';
import { evictFairly, type MemoryShares } from './memory-shares.js';
import { TaskLogs } from './task-logs.js';
import { type Tombstone, type TombstoneKind, Tombstones } from './tombstones.js';

/** Rebuilds a job from the journal; undefined if it cannot be read. */
type ReadJob = (job: Tombstone) => Job | undefined;

/** Larger jobs are not archived, because reading one from the journal would take more than a few milliseconds. */
const ARCHIVED_JOB_BYTES_MAX = 128 * 1024;
/** Maximum number of cached jobs that were read from the journal, because clients often request them again. */
const CACHED_JOBS_MAX = 8;
/** Maximum number of tombstones that expire at a time. After a restart, all of them may be due at once. */
const EXPIRED_MAX = 1_000;
/** Minimum time between searches for ended jobs beyond the limit on their number: each search visits all users. */
const SEARCH_INTERVAL_MS: Millis = 1_000;
/** Ended jobs are archived until the others take this fraction of the limit. Archiving many at once amortizes the scan. */
const ARCHIVE_TARGET = 0.5;
/** Jobs are evicted until the others take this fraction of the limit. Evicting many at once amortizes the scan. */
const EVICTION_TARGET = 0.9;

/** Sets the estimated memory of a job that has no results yet. */
function measureJob(job: Job): void {
  job.bytes.spec = estimateJobBytes(job.spec);
  job.bytes.total = job.bytes.spec + job.stages[0]!.appendedBytes;
}

interface JobStoreOptions {
  readonly config: Pick<
    SchedulerConfig,
    'tag' | 'endedJobsMax' | 'endedJobsKeepMs' | 'logBytesMax' | 'wallOffsetMs'
  >;
  /** Highest job number already used. */
  readonly lastJob: number;
  readonly shares: MemoryShares;
  readonly records: Pick<Accounting, 'recordsDeleted'>;
  /** Returns a number in [0, 1). */
  random(): number;
  /** Reads an archived job; undefined if the journal cannot be read. */
  readonly readJob?: ReadJob | undefined;
  readonly outputStore?: OutputStore | undefined;
}

/**
 * The active and ended jobs of one owner. An ended job has two homes: `#ended` in memory, and later a tombstone in `#index`.
 *
 * | job | home | in memory | in the journal | its key |
 * |---|---|---|---|---|
 * | has not ended | `#active` | all | all | `#byKey` |
 * | has not ended, and did not fit into memory at the start | `#notLoaded` | its number | all | `#notLoadedKeys` |
 * | has ended | `#ended` | all | all | `#byKey` |
 * | is archived: it ended earlier, and can be read | `#index`, and `#cached` after a use | a tombstone | all | its tombstone has a hash |
 * | was evicted, because memory ran short | `#index` | a tombstone | all | its tombstone |
 *
 * - The number of ended jobs is limited: the users with the most lose their oldest. But a job that ended less than
 *   `LIMITS.endedAgeMinMs` ago is kept.
 * - If the journal can be read, most ended jobs are archived: they stay only in the journal, and are read on demand.
 * - If memory still runs short, jobs are evicted earlier, starting with the user whose jobs take the most memory. Their
 *   tombstones keep their keys and final states.
 */
export class JobStore {
  readonly logs: TaskLogs;
  readonly #config: { readonly wallOffsetMs: Millis };
  readonly #tag: string;
  readonly #endedJobsMax: number;
  readonly #keepMs: Millis;
  readonly #records: Pick<Accounting, 'recordsDeleted'>;
  readonly #shares: MemoryShares;
  readonly #active = new Map<number, Job>();
  /** In the order in which they ended. */
  readonly #ended = new EndedJobs();
  /** Tombstones of archived and evicted jobs, roughly in the order in which the jobs ended. */
  readonly #index: Tombstones;
  /** Numbers of each user's ended jobs that can be queried, in the order in which they ended. */
  readonly #endedByUser = new Map<string | undefined, Set<JobNumber>>();
  /** Memory of the ended jobs that can be archived. */
  #archivableBytes = 0;
  readonly #readJob: ReadJob | undefined;
  /** Jobs that were read from the journal, in order of last use. */
  readonly #cached = new Map<number, Job>();
  /** Jobs in memory by key. */
  readonly #byKey = new Map<string, Job>();
  readonly #sizes = new JobBytesByUser();
  readonly #users = new ActiveUsers();
  /** Unfinished jobs that stayed in the journal at the start, because they did not fit into memory. */
  readonly #notLoaded = new Set<number>();
  readonly #notLoadedKeys = new Set<string>();
  readonly #tasksByWorker = new TasksByWorker();
  readonly #lastJob: number;
  #nextNumber: number;
  /** No job expires before this time. */
  #noExpiryBefore: Millis = Number.NEGATIVE_INFINITY;
  /** No search for ended jobs beyond the limit on their number before this time. */
  #noSearchBefore: Millis = Number.NEGATIVE_INFINITY;

  constructor({ config, lastJob, shares, records, random, readJob, outputStore }: JobStoreOptions) {
    const { tag, endedJobsMax, endedJobsKeepMs = Number.POSITIVE_INFINITY, logBytesMax } = config;
    this.#tag = tag;
    this.#endedJobsMax = endedJobsMax;
    this.#keepMs = endedJobsKeepMs;
    this.#lastJob = lastJob;
    this.#nextNumber = lastJob + 1;
    this.#records = records;
    this.#shares = shares;
    this.#readJob = readJob;
    this.#index = new Tombstones(random);
    this.logs = new TaskLogs(
      Math.min(logBytesMax, shares.logsMax),
      (number, task) => {
        const job = this.byNumber(number);
        if (job === undefined) return this.#archivedByNumber(number)?.state === 'failed';
        return job.tasks.stateOf(task) === TaskState.failed;
      },
      lastJob,
      outputStore,
    );
    this.#config = config;
  }

  /** Whether there are no jobs and no tombstones. */
  get isEmpty(): boolean {
    return this.#active.size + this.#endedCount + this.#index.lengthOf('evicted') === 0;
  }

  /** Number of ended jobs that can be queried. */
  get #endedCount(): number {
    return this.#ended.size + this.#index.lengthOf('archived');
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
    return this.#sizes.active + this.tombstoneBytes;
  }

  /** Estimated memory of the user's active jobs, with their results, whether they run, wait or are on hold. */
  activeBytesOf(user: string | undefined): number {
    return this.#sizes.activeOf(user);
  }

  /** The part of `activeBytes` that tombstones of ended jobs use. */
  get tombstoneBytes(): number {
    return this.#index.bytes;
  }

  /** Whether memory is too scarce to keep optional data. */
  get isMemoryScarce(): boolean {
    return this.#bytes() > this.#shares.scarceAbove;
  }

  #bytes(): number {
    return this.activeBytes + this.#sizes.ended;
  }

  activeOf(user: string | undefined): { readonly jobs: number; readonly waiting: number } {
    return this.#users.of(user);
  }

  /** Active jobs by user. */
  get activeByUser(): ActiveUsers['byUser'] {
    return this.#users.byUser;
  }

  /** Number of tasks that have not started, without those of jobs that are on hold or have unfinished predecessors. */
  get waitingTaskCount(): number {
    return this.#users.waitingTasks;
  }

  /** Called when a job is put on hold. */
  held(job: Job): void {
    this.#users.held(job);
  }

  /** The users with the most active jobs, most first. */
  largestUsers(count: number): ReturnType<ActiveUsers['largest']> {
    return this.#users.largest(count);
  }

  /** Estimated bytes in the journal, by user. */
  get journalByUser(): ReadonlyMap<string | undefined, number> {
    return this.#sizes.inJournal;
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

  /** Adds a job whose memory has been estimated. */
  #insert(job: Job): void {
    this.#activate(job);
    this.#sizes.measureRecords(job);
    const key = scopedKeyOf(job);
    if (key !== undefined) this.#byKey.set(key, job);
  }

  /**
   * Makes an ended job active again.
   *
   * @param reopen changes the state of the job
   */
  reopen(job: Job, reopen: () => void): void {
    const { number } = job;
    const key = scopedKeyOf(job);
    if (this.#ended.get(number) === job) this.#removeEnded(job);
    else {
      job.bytes.journal = this.#index.byNumber(number)?.bytes ?? job.bytes.journal;
      this.#index.remove(number);
      this.#cached.delete(number);
    }
    this.#uncountEnded(number, job.spec.user);
    reopen();
    this.#activate(job);
    if (key !== undefined) this.#byKey.set(key, job);
  }

  /** Removes a job whose acceptance was not recorded. */
  withdraw(job: Job): void {
    const { number } = job;
    if (this.#active.has(number)) {
      this.#deactivate(job);
      this.#sizes.add(job, { active: -job.bytes.total });
    } else {
      this.#removeEnded(job);
      this.#uncountEnded(number, job.spec.user);
    }
    this.logs.delete(number);
    this.#freeKey(job);
    this.#sizes.deleteRecords(job.spec.user, job.bytes.journal);
  }

  /** Frees the key of a job that was removed from memory. */
  #freeKey(job: Job): void {
    const key = scopedKeyOf(job);
    if (key !== undefined && this.#byKey.get(key) === job) this.#byKey.delete(key);
  }

  /**
   * Adds a job of an earlier incarnation.
   *
   * @returns false: it does not fit into memory, so it stays in the journal, and its key stays reserved
   */
  restore(job: Job): boolean {
    measureJob(job);
    this.logs.restored(job.number, job.spec.user, {
      hasRun: job.history.total > 0,
      acceptedAt: job.acceptedAt + this.#config.wallOffsetMs,
    });
    if (!job.hasEnded && this.activeBytes + job.bytes.total > this.#shares.restoredMax) {
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

  /** Whether the job stayed in the journal at the start, because it did not fit into memory. */
  isNotLoaded(id: string): boolean {
    return this.#notLoaded.has(this.#numberOf(id));
  }

  isKeyOfNotLoadedJob(of: string, user: string | undefined): boolean {
    return this.#notLoadedKeys.has(scopedKey(of, user));
  }

  /** Sorts the ended jobs by the time at which they ended. Called once all jobs have been restored. */
  sortEnded(): void {
    this.#ended.sort();
    this.#index.sort();
    this.#endedByUser.clear();
    const inMemory = Array.from(this.#ended.values(), ({ number, spec, times }) => {
      return { number, user: spec.user, endedAt: times.endedAt! };
    });
    const all = [...inMemory, ...this.#index.newestFirst(JOB_STATES)];
    all.sort((one, other) => one.endedAt - other.endedAt || one.number - other.number);
    for (const { number, user } of all) this.#countEnded(number, user);
  }

  /** Updates the estimated memory of a job whose results have changed. */
  updateBytes(job: Job): void {
    const bytes = job.bytes.spec + job.stages[0]!.appendedBytes + job.history.keptBytes;
    this.#sizes.add(job, { active: bytes - job.bytes.total });
    job.bytes.total = bytes;
    this.#sizes.measureRecords(job);
  }

  /** Active jobs with tasks at workers. A job with tasks at several workers is listed repeatedly. */
  *withAssignedTasks(): Iterable<Job> {
    for (const number of this.#tasksByWorker.jobs()) yield this.#active.get(number)!;
  }

  /** Active jobs with tasks at the worker, in order of their numbers. */
  withTasksAt(worker: Address): Job[] {
    const numbers = [...this.#tasksByWorker.jobsAt(worker)].sort((one, other) => one - other);
    return numbers.map((number) => this.#active.get(number)!);
  }

  /** The job's tasks at the worker, in ascending order. */
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

  /** Tombstones of archived jobs, newest first. */
  archivedNewestFirst(states: readonly JobState[]): Iterable<Tombstone> {
    return this.#index.newestFirst(states);
  }

  /** Reads an archived job from the journal without caching it, for a list. */
  readArchived(tombstone: Tombstone): Job | undefined {
    return this.#readJob!(tombstone);
  }

  /** Number of ended jobs in a state, in memory or in the journal. */
  endedCount(state: JobState): number {
    return this.#ended.count([state]) + this.#index.count(state);
  }

  /** Returns the job if it is in memory. */
  byNumber(number: JobNumber): Job | undefined {
    return this.#active.get(number) ?? this.#ended.get(number);
  }

  byId(id: string): Job | undefined {
    return this.#byNumberAnywhere(this.#numberOf(id));
  }

  /**
   * Returns how many tasks wait above a job that a task of `parent` submits; 0 without a parent. Only levels of jobs of its user
   * that run here count, or a user could add levels by naming parents; and a parent elsewhere as one.
   */
  levelUnder(parent: string | undefined, user: string | undefined): number {
    let level = 0;
    for (let id = parent; id !== undefined && level < LIMITS.nestedMax; level++) {
      if (tagOf(id) !== this.#tag) return level + 1;
      const job = this.activeById(id);
      if (job === undefined || job.spec.user !== user || job.runningCount === 0) return level;
      id = job.parent?.job;
    }
    return level;
  }

  /** Returns the job if it has not ended. */
  activeById(id: string): Job | undefined {
    return this.#active.get(this.#numberOf(id));
  }

  #byNumberAnywhere(number: JobNumber): Job | undefined {
    const job = this.byNumber(number);
    if (job !== undefined) return job;
    const tombstone = this.#archivedByNumber(number);
    return tombstone && this.#cachedOrRead(tombstone);
  }

  #archivedByNumber(number: JobNumber): Tombstone | undefined {
    const tombstone = this.#index.byNumber(number);
    return tombstone?.kind === 'archived' ? tombstone : undefined;
  }

  #cachedOrRead(tombstone: Tombstone): Job | undefined {
    const { number } = tombstone;
    const archived = this.#cached.get(number) ?? this.#readJob!(tombstone);
    if (archived === undefined) return undefined;
    measureJob(archived);
    setLatest(this.#cached, number, archived, CACHED_JOBS_MAX);
    return archived;
  }

  /** Whether the job was accepted here and has been evicted or deleted. */
  isDeleted(id: string): boolean {
    const number = this.#numberOf(id);
    const isPassedOver = number > this.#lastJob - LIMITS.unrecordedJobsMax && number <= this.#lastJob;
    return number > 0 && number < this.#nextNumber && !isPassedOver && this.byNumber(number) === undefined;
  }

  tombstoneOfId(id: string): Tombstone | undefined {
    return this.#index.byNumber(this.#numberOf(id));
  }

  /** @returns 0 if the id does not belong to this owner */
  #numberOf(id: string): number {
    const prefix = `${this.#tag}-`;
    const digits = id.startsWith(prefix) ? id.slice(prefix.length) : '';
    return /^\d+$/.test(digits) ? Number(digits) : 0;
  }

  /** Returns the job with this key of this user. Each user has a separate namespace of keys. */
  byKey(of: string, user: string | undefined): Job | undefined {
    const key = scopedKey(of, user);
    const job = this.#byKey.get(key);
    if (job !== undefined) return job;
    for (const tombstone of this.#index.withKey(key)) {
      const archived = tombstone.kind === 'archived' ? this.#cachedOrRead(tombstone) : undefined;
      if (archived !== undefined && scopedKeyOf(archived) === key) return archived;
    }
    return undefined;
  }

  /** Returns the tombstone of the job with this key, if the job was evicted or cannot be read. */
  tombstoneWithKey(of: string, user: string | undefined): Tombstone | undefined {
    const key = scopedKey(of, user);
    // If the job cannot be read, an equal hash counts as a match. That is wrong for one key in billions.
    for (const tombstone of this.#index.withKey(key))
      if (tombstone.kind === 'evicted' || this.#cachedOrRead(tombstone) === undefined) return tombstone;
    return undefined;
  }

  /** Moves a job to the ended ones, and evicts ended jobs beyond the limits. */
  ended(job: Job, now: Millis): void {
    this.#moveToEnded(job);
    this.evictOld(now);
  }

  #moveToEnded(job: Job): void {
    invariant(job.hasEnded, () => `${job.id} moves to the ended jobs, but has not ended`);
    this.updateBytes(job);
    this.#deactivate(job);
    this.#ended.add(job);
    this.#countEnded(job.number, job.spec.user);
    this.#sizes.add(job, { active: -job.bytes.total, ended: job.bytes.total });
    if (this.#isArchivable(job)) this.#archivableBytes += job.bytes.total;
  }

  #countEnded(number: JobNumber, user: string | undefined): void {
    const numbers = this.#endedByUser.get(user);
    if (numbers === undefined) this.#endedByUser.set(user, new Set([number]));
    else numbers.add(number);
  }

  /** Called when an ended job is deleted, evicted or becomes active again. */
  #uncountEnded(number: JobNumber, user: string | undefined): void {
    const numbers = this.#endedByUser.get(user);
    numbers?.delete(number);
    if (numbers?.size === 0) this.#endedByUser.delete(user);
  }

  /** Adds the job to the active ones, which count its memory. */
  #activate(job: Job): void {
    invariant(this.byNumber(job.number) === undefined, () => `${job.id} becomes active, but is in memory`);
    this.#active.set(job.number, job);
    this.#sizes.add(job, { active: job.bytes.total });
    this.#users.add(job);
    job.tasks.setIndex(this.#tasksByWorker);
  }

  /** Removes the job from the active ones. The caller counts its memory. */
  #deactivate(job: Job): void {
    invariant(this.#active.delete(job.number), () => `${job.id} leaves the active jobs, but is none`);
    this.#users.delete(job);
    job.tasks.setIndex(undefined);
  }

  /**
   * Whether a new job of the user fits into memory after ended jobs of the users with the most memory are evicted.
   */
  hasRoomFor(user: string | undefined, bytes: number): boolean {
    const excess = this.#bytes() + bytes - this.#shares.jobsMax;
    if (excess <= 0) return true;
    return this.#sizes.canEvictFor(user, bytes, excess);
  }

  /**
   * Called at the start. Keeps inherited ended jobs for some minutes, because wall clocks may be wrong.
   */
  start(now: Millis): void {
    this.logs.allRestored();
    if (this.#endedCount > 0) this.#noExpiryBefore = now + LIMITS.endedAgeMinMs;
    this.evictOld(now);
  }

  /** Removes ended jobs beyond the limits on age, number and memory. */
  evictOld(now: Millis): void {
    if (now >= this.#noExpiryBefore) {
      this.#deleteExpired(now);
      if (now >= this.#noSearchBefore) this.#deleteBeyondLimit(now);
    }
    this.#keepWithinShares(now);
  }

  #keepWithinShares(now: Millis | undefined): void {
    if (this.#archivableBytes > this.#shares.endedMax) this.#archiveOldest();
    if (this.#bytes() > this.#shares.jobsMax) this.#evict(now);
  }

  #isArchivable({ bytes, history }: Job): boolean {
    return this.#readJob !== undefined && bytes.total + history.recordedBytes <= ARCHIVED_JOB_BYTES_MAX;
  }

  /** Archives the jobs that ended first. */
  #archiveOldest(): void {
    for (const job of this.#ended.values()) {
      if (this.#archivableBytes <= ARCHIVE_TARGET * this.#shares.endedMax) break;
      if (!this.#isArchivable(job)) continue;
      this.#removeEnded(job);
      this.#keepTombstone(job, 'archived');
    }
  }

  #deleteExpired(now: Millis): void {
    const keepMs = this.#keepMs;
    this.#deleteTombstones('archived', now - keepMs, now);
    for (
      let job = this.#ended.first;
      job !== undefined && now - job.times.endedAt! > keepMs;
      job = this.#ended.first
    )
      this.#deleteEnded(job, now);
    this.#deleteTombstones('evicted', now - Math.min(keepMs, LIMITS.endedAgeMinMs), now);
  }

  /** Reduces the ended jobs to the limit on their number: deletes the oldest of the users with the most. */
  #deleteBeyondLimit(now: Millis): void {
    const excess = this.#endedCount - this.#endedJobsMax;
    if (excess <= 0) return;
    let left = Math.min(excess, EXPIRED_MAX);
    // Counts jobs instead of bytes.
    const users = Array.from(this.#endedByUser, ([user, numbers]) => ({
      user,
      numbers,
      bytes: numbers.size,
    }));
    evictFairly(users, excess, ({ numbers }, over) => {
      const deleted = this.#deleteOldest(numbers, Math.min(Math.ceil(over), left), now);
      left -= deleted;
      return deleted;
    });
    const isDone = left > 0 || excess <= EXPIRED_MAX;
    if (isDone) this.#noSearchBefore = now + SEARCH_INTERVAL_MS;
  }

  /** Deletes up to `count` jobs that ended long enough ago. @returns how many */
  #deleteOldest(numbers: Iterable<JobNumber>, count: number, now: Millis): number {
    let deleted = 0;
    for (const number of numbers) {
      const job = this.#ended.get(number);
      const tombstone = job === undefined ? this.#index.byNumber(number) : undefined;
      const age = now - (job?.times ?? tombstone!).endedAt!;
      if (deleted === count || age <= LIMITS.endedAgeMinMs) break;
      if (job !== undefined) this.#deleteEnded(job, now);
      else this.#deleteTombstone(tombstone!, now);
      deleted++;
    }
    return deleted;
  }

  /**
   * Evicts ended jobs, but keeps their tombstones. Starts with users whose active and ended jobs together take the most
   * memory. If that is not enough, the users with the most memory in ended jobs lose more.
   */
  #evict(now: Millis | undefined): void {
    this.#evictEnded(now, this.#sizes.activeByUser);
    if (this.#bytes() > this.#shares.jobsMax) this.#evictEnded(now);
  }

  #evictEnded(now: Millis | undefined, kept?: Iterable<readonly [string | undefined, number]>): void {
    const ended = Array.from(this.#ended.values(), (job) => ({
      user: job.spec.user,
      bytes: job.bytes.total,
      job,
    }));
    const drop = ({ job }: { job: Job }): number => {
      this.#removeEnded(job);
      this.#uncountEnded(job.number, job.spec.user);
      this.logs.delete(job.number);
      this.#keepTombstone(job, 'evicted', now);
      return job.bytes.total;
    };
    evictFairly(ended, this.#bytes() - EVICTION_TARGET * this.#shares.jobsMax, drop, kept);
  }

  /** @param droppedAt when the job was evicted; undefined: at the start, or it is archived */
  #keepTombstone(job: Job, kind: TombstoneKind, droppedAt?: Millis): void {
    const { number, state, spec } = job;
    const { endedAt } = job.times;
    const bytes = job.bytes.journal;
    this.#freeKey(job);
    this.#index.push({
      number,
      kind,
      key: scopedKeyOf(job),
      user: spec.user,
      state,
      endedAt: endedAt!,
      bytes,
      droppedAt,
    });
  }

  /** Deletes tombstones of jobs that ended before this time. */
  #deleteTombstones(kind: TombstoneKind, endedBefore: Millis, now: Millis): void {
    for (let left = EXPIRED_MAX; left > 0; left--) {
      const tombstone = this.#index.first(kind);
      if (tombstone === undefined || tombstone.endedAt >= endedBefore) return;
      this.#deleteTombstone(tombstone, now);
    }
  }

  #deleteTombstone({ number, user, bytes, endedAt }: Tombstone, now: Millis): void {
    this.#index.remove(number);
    this.#cached.delete(number);
    this.#uncountEnded(number, user);
    this.#sizes.deleteRecords(user, bytes);
    this.#deleteRecords(number, now, endedAt);
  }

  /** Deletes an ended job that is in memory. */
  #deleteEnded(job: Job, now: Millis): void {
    const { number, spec, bytes, times } = job;
    this.#removeEnded(job);
    this.#freeKey(job);
    this.#uncountEnded(number, spec.user);
    this.#sizes.deleteRecords(spec.user, bytes.journal);
    this.#deleteRecords(number, now, times.endedAt!);
  }

  /** Removes an ended job from memory. */
  #removeEnded(job: Job): void {
    if (!this.#ended.delete(job)) return;
    if (this.#isArchivable(job)) this.#archivableBytes -= job.bytes.total;
    this.#sizes.add(job, { ended: -job.bytes.total });
  }

  #deleteRecords(number: JobNumber, now: Millis, endedAt: Millis): void {
    this.logs.delete(number);
    this.#records.recordsDeleted(number, now, endedAt);
  }
}

function scopedKeyOf({ key, spec }: Job): string | undefined {
  return key === undefined ? undefined : scopedKey(key, spec.user);
}
