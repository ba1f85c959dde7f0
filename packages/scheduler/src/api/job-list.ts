import {
  type Address,
  compareCursors,
  cursorOf,
  exitCodeOfSignal,
  JOB_STATES,
  type JobCursor,
  type JobState,
  type JobSummary,
  type MessageOf,
  type Millis,
  matchesDeadline,
  matchesGlob,
  NOBODY,
  sumOf,
  type TaskCounts,
} from '@goshawk/core';
import type { IsOwner, Tombstone } from '../durability/tombstones.js';
import { Page } from '../job/heap-bytes.js';
import type { Job } from '../job/job.js';
import type { SchedulerState } from '../state/state.js';

/** Maximum number of ended jobs read from the journal for one list. */
const ARCHIVED_READS_MAX = 200;
/** Times that differ by at most this many milliseconds count as equal, because wall-clock times are rounded. */
const TIE_MS = 0.01;
/** Sorts after every job id. */
const LAST_ID = '~';

export interface JobListing {
  readonly jobs: readonly JobSummary[];
  readonly total: number;
  readonly counts: TaskCounts;
  readonly reached: JobCursor | undefined;
  /** Number of jobs read from the journal. */
  readonly archivedReads: number;
  /** Number of tasks that were examined. */
  readonly tasksRead: number;
}

/**
 * Lists active jobs, oldest first, then ended ones, newest first. Filters apply before limits. A truncated list
 * includes the position up to which it is complete.
 *
 * @param isOwner undefined: jobs of all users
 */
export function listJobs(
  s: Pick<SchedulerState, 'jobs' | 'config' | 'cluster'>,
  summaryOf: SummaryOf,
  message: MessageOf<'listJobs'>,
  isOwner: IsOwner | undefined,
  now: Millis,
): JobListing {
  const { jobs, config } = s;
  const { endedMax, jobsMax } = message;
  const details = new DetailFilter(s, summaryOf, message.where ?? {}, now);
  const query = new Query(message, isOwner, config.wallOffsetMs, details);
  const active = listActive(jobs, summaryOf, query, jobsMax);
  const room = Math.max(0, Math.min(endedMax, jobsMax - active.jobs.length));
  const ended = listEnded(jobs, summaryOf, query, room);
  const page = new Page<JobSummary>();
  const fitsInPage = [...active.jobs, ...ended.jobs.slice(0, room)].every((job) => page.take(job));
  const last = page.items.at(-1);
  const isTruncated = active.isTruncated || !fitsInPage || ended.jobs.length > room || room === 0;
  const { counts, wanted } = query;
  return {
    jobs: page.items,
    total: sumOf(wanted, (state) => counts[state]),
    counts,
    reached: isTruncated ? last && cursorOf(last) : ended.completeAt,
    archivedReads: ended.archivedReads,
    tasksRead: details.tasksRead,
  };
}

/** The filters that need more than the owner, name and end of a job. */
class DetailFilter {
  tasksRead = 0;
  readonly #filters: readonly ((job: Job) => boolean)[];
  readonly #isWanted = new Map<Address, boolean>();

  constructor(
    { config: { wallOffsetMs }, cluster }: Pick<SchedulerState, 'config' | 'cluster'>,
    summaryOf: SummaryOf,
    { deadline, until, exit, worker }: NonNullable<MessageOf<'listJobs'>['where']>,
    now: Millis,
  ) {
    const filters: ((job: Job) => boolean)[] = [];
    if (until !== undefined) filters.push(({ acceptedAt }) => acceptedAt + wallOffsetMs <= until);
    if (deadline !== undefined)
      filters.push((job) => matchesDeadline(deadline, summaryOf(job), now + wallOffsetMs));
    if (exit !== undefined) filters.push((job) => hasExited(job, exit));
    if (worker !== undefined) filters.push((job) => this.#wasAt(job, worker, (at) => cluster.nameOf(at)));
    this.#filters = filters;
  }

  get isActive(): boolean {
    return this.#filters.length > 0;
  }

  isMatch(job: Job): boolean {
    return this.#filters.every((matches) => matches(job));
  }

  /** Whether a task of the job is, or was, at a worker of this name. Tasks whose pages are archived count by their failures only. */
  #wasAt({ tasks, history }: Job, pattern: string, nameOf: (at: Address) => string): boolean {
    for (let task = 0; task < tasks.count; task++) {
      this.tasksRead++;
      const at = tasks.workerOf(task);
      if (at === NOBODY) continue;
      let isWanted = this.#isWanted.get(at);
      if (isWanted === undefined) {
        isWanted = matchesGlob(pattern, nameOf(at));
        this.#isWanted.set(at, isWanted);
      }
      if (isWanted) return true;
    }
    return history.reports.unsuccessful.some(({ worker }) => matchesGlob(pattern, worker));
  }
}

function hasExited({ history }: Job, code: number): boolean {
  return history.reports.unsuccessful.some(
    ({ exitCode, signal }) => (signal === undefined ? exitCode : exitCodeOfSignal(signal)) === code,
  );
}

type SummaryOf = (job: Job) => JobSummary;

/** The filters and the start position of one request, with the numbers of matching jobs. */
class Query {
  readonly counts = { total: 0, waiting: 0, running: 0, completed: 0, failed: 0, cancelled: 0 };
  /** States of the jobs to list; counts include all states. */
  readonly wanted: readonly JobState[];
  readonly name: string | undefined;
  readonly isOwner: IsOwner | undefined;
  readonly wallOffsetMs: Millis;
  /** Jobs that ended earlier are left out. By the owner's clock, like all times below. */
  readonly endedSince: Millis;
  /** Active jobs that were accepted at this time may precede the start position; earlier ones do. */
  readonly acceptedFrom: Millis;
  /** Jobs that ended later precede the start position. */
  readonly endedBy: Millis;
  readonly includesActive: boolean;
  readonly #after: JobCursor | undefined;
  readonly #held: boolean;
  readonly #details: DetailFilter;

  constructor(
    { states, where = {} }: MessageOf<'listJobs'>,
    isOwner: IsOwner | undefined,
    wallOffsetMs: Millis,
    details: DetailFilter,
  ) {
    const { name, since, after, held = false } = where;
    this.#details = details;
    this.wanted = JOB_STATES.filter((state) => states.length === 0 || states.includes(state));
    this.name = name;
    this.isOwner = isOwner;
    this.wallOffsetMs = wallOffsetMs;
    this.endedSince = since === undefined ? Number.NEGATIVE_INFINITY : since - wallOffsetMs;
    this.acceptedFrom = after === undefined ? Number.NEGATIVE_INFINITY : after.at - wallOffsetMs + TIE_MS;
    this.endedBy = after?.ended === true ? after.at - wallOffsetMs + TIE_MS : Number.POSITIVE_INFINITY;
    this.includesActive = after?.ended !== true;
    this.#after = after;
    this.#held = held;
  }

  /** Whether jobs are selected by more than their state, so that they must be counted one by one. */
  get isFiltered(): boolean {
    return (
      this.isOwner !== undefined ||
      this.name !== undefined ||
      this.endedSince !== Number.NEGATIVE_INFINITY ||
      this.#held ||
      this.#details.isActive
    );
  }

  /** Whether tombstones do not tell which jobs match, so that these must be read. */
  get needsSpecs(): boolean {
    return this.name !== undefined || this.#details.isActive;
  }

  /** States in which to look for ended jobs, none of which is on hold. */
  endedStates(isCounting: boolean): readonly JobState[] {
    if (this.#held) return [];
    return isCounting ? JOB_STATES : this.wanted;
  }

  isMatch(job: Job): boolean {
    const { spec, isHeld } = job;
    return (
      this.isOwner?.(spec.user) !== false &&
      (this.name === undefined || matchesGlob(this.name, spec.name)) &&
      (!this.#held || isHeld) &&
      this.#details.isMatch(job)
    );
  }

  count(state: JobState, many = 1): void {
    this.counts[state] += many;
    this.counts.total += many;
  }

  /** Returns the summaries after the start position, in order. */
  inOrder(summaries: readonly JobSummary[]): JobSummary[] {
    const after = this.#after;
    return summaries
      .filter((job) => after === undefined || compareCursors(cursorOf(job), after) > 0)
      .sort((one, other) => compareCursors(cursorOf(one), cursorOf(other)));
  }
}

function listActive(
  jobs: SchedulerState['jobs'],
  summaryOf: SummaryOf,
  query: Query,
  jobsMax: number,
): { readonly jobs: JobSummary[]; readonly isTruncated: boolean } {
  const matching: Job[] = [];
  for (const job of jobs.active()) {
    if (!query.isMatch(job)) continue;
    query.count(job.state);
    if (query.wanted.includes(job.state) && query.includesActive) matching.push(job);
  }
  matching.sort((one, other) => one.acceptedAt - other.acceptedAt);
  // Jobs that tie with the start position may precede it, so they do not count toward the limit.
  const tieAt = query.acceptedFrom;
  const ties = matching.filter(({ acceptedAt }) => Math.abs(acceptedAt - tieAt) <= 2 * TIE_MS);
  const later = matching.filter(({ acceptedAt }) => acceptedAt > tieAt + 2 * TIE_MS);
  const candidates = [...ties, ...firstWithTies(later, jobsMax + 1, ({ acceptedAt }) => acceptedAt)];
  const listed = query.inOrder(candidates.map(summaryOf));
  return { jobs: listed.slice(0, jobsMax), isTruncated: listed.length > jobsMax };
}

/** Lists ended jobs, those in memory and those in the journal, of which it reads a limited number. */
function listEnded(
  jobs: SchedulerState['jobs'],
  summaryOf: SummaryOf,
  query: Query,
  room: number,
): {
  readonly jobs: readonly JobSummary[];
  /** The list contains every matching job up to this position; undefined: all. */
  readonly completeAt: JobCursor | undefined;
  readonly archivedReads: number;
} {
  const { needsSpecs, wanted, isFiltered, endedSince, endedBy, wallOffsetMs } = query;
  if (!isFiltered) for (const state of JOB_STATES) query.count(state, jobs.endedCount(state));
  const inMemory = new Newest<Job>(room, endedBy - 2 * TIE_MS);
  for (const job of jobs.endedNewestFirst(query.endedStates(isFiltered))) {
    if (job.times.endedAt! < endedSince || (!isFiltered && inMemory.isTruncated)) break;
    if (!query.isMatch(job)) continue;
    if (isFiltered) query.count(job.state);
    if (wanted.includes(job.state) && job.times.endedAt! <= endedBy) inMemory.add(job, job.times.endedAt!);
  }
  // Tombstones have no names or deadlines, so these jobs can be counted by them only once they are read.
  const countsTombstones = isFiltered && !needsSpecs;
  const archived = new Newest<Tombstone>(Math.min(room, ARCHIVED_READS_MAX), endedBy - 2 * TIE_MS);
  for (const tombstone of jobs.archivedNewestFirst(query.endedStates(countsTombstones))) {
    if (tombstone.endedAt < endedSince || (archived.isTruncated && !countsTombstones)) break;
    if (query.isOwner?.(tombstone.user) === false) continue;
    if (countsTombstones) query.count(tombstone.state);
    if (wanted.includes(tombstone.state) && tombstone.endedAt <= endedBy)
      archived.add(tombstone, tombstone.endedAt);
  }
  const read = archived.items.flatMap((tombstone) => jobs.readArchived(tombstone) ?? []);
  const found = read.filter((job) => query.isMatch(job));
  if (needsSpecs) for (const job of found) query.count(job.state);
  const completeTo = Math.max(inMemory.completeTo, archived.completeTo);
  const completeAt: JobCursor | undefined =
    completeTo === Number.NEGATIVE_INFINITY
      ? undefined
      : // Listed times may be rounded down, and unlisted jobs ended at least `TIE_MS` earlier.
        { ended: true, at: Math.max(0, completeTo + wallOffsetMs - TIE_MS / 2), id: LAST_ID };
  // Compares rounded times, because the request for the next page contains rounded times.
  const summaries = [...inMemory.items, ...found]
    .map(summaryOf)
    .filter((job) => completeAt === undefined || compareCursors(cursorOf(job), completeAt) <= 0);
  return { jobs: query.inOrder(summaries), completeAt, archivedReads: read.length };
}

/** Returns the first `max` items of a sorted list, and further ones that tie with the last of them. */
function firstWithTies<T>(sorted: readonly T[], max: number, timeOf: (item: T) => Millis): readonly T[] {
  if (sorted.length <= max) return sorted;
  const last = timeOf(sorted[max - 1]!);
  let end = max;
  while (end < sorted.length && timeOf(sorted[end]!) - last <= TIE_MS) end++;
  return sorted.slice(0, end);
}

/** Collects the newest items up to a limit, and further ones that tie with the last of them. */
class Newest<T> {
  readonly items: T[] = [];
  readonly #exemptFrom: Millis;
  #room: number;
  #last = Number.POSITIVE_INFINITY;
  #isTruncated = false;

  /** @param exemptFrom items that ended then or later do not count towards the limit */
  constructor(room: number, exemptFrom: Millis) {
    this.#room = room;
    this.#exemptFrom = exemptFrom;
  }

  /** Whether an item was dropped. */
  get isTruncated(): boolean {
    return this.#isTruncated;
  }

  /** Every item that ended at this time or later was collected. */
  get completeTo(): Millis {
    return this.#isTruncated ? this.#last : Number.NEGATIVE_INFINITY;
  }

  add(item: T, endedAt: Millis): void {
    if (this.#isTruncated) return;
    const isExempt = endedAt >= this.#exemptFrom;
    if (!isExempt && this.#room <= 0 && this.#last - endedAt > TIE_MS) {
      this.#isTruncated = true;
      return;
    }
    this.#last = endedAt;
    if (!isExempt) this.#room--;
    this.items.push(item);
  }
}
