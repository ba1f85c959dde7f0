import {
  comparePlaces,
  JOB_STATES,
  type JobPlace,
  type JobState,
  type JobSummary,
  type MessageOf,
  type Millis,
  matchesGlob,
  placeOfJob,
  sumOf,
  type TaskCounts,
} from '@goshawk/core';
import type { IsOwner, Tombstone } from '../durability/tombstones.js';
import { Page } from '../job/heap-bytes.js';
import type { Job } from '../job/job.js';
import type { SchedulerState } from '../state.js';
import type { JobViews } from './job-views.js';

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
  readonly reached: JobPlace | undefined;
  /** Number of jobs read from the journal. */
  readonly archivedReads: number;
}

/**
 * Lists active jobs, oldest first, then ended ones, newest first. Filters apply before limits. A truncated list
 * includes the position up to which it is complete.
 *
 * @param isOwner undefined: jobs of all users
 */
export function listJobs(
  { jobs, config: { wallOffsetMs } }: Pick<SchedulerState, 'jobs' | 'config'>,
  views: JobViews,
  { states, where = {}, endedMax, jobsMax }: MessageOf<'listJobs'>,
  isOwner: IsOwner | undefined,
): JobListing {
  const { name, since, after, held = false } = where;
  const wanted = JOB_STATES.filter((state) => states.length === 0 || states.includes(state));
  const isFiltered = isOwner !== undefined || name !== undefined || since !== undefined || held;
  const isMatch = ({ spec, isHeld }: Job) =>
    isOwner?.(spec.user) !== false &&
    (name === undefined || matchesGlob(name, spec.name)) &&
    (!held || isHeld);
  // No ended job is on hold.
  const endedStates = (states: readonly JobState[]) => (held ? [] : states);
  const follows = (job: JobSummary) => after === undefined || comparePlaces(placeOfJob(job), after) > 0;
  const byPlace = (one: JobSummary, other: JobSummary) => comparePlaces(placeOfJob(one), placeOfJob(other));
  const counts = { total: 0, waiting: 0, running: 0, completed: 0, failed: 0, cancelled: 0 };
  const count = (state: JobState, many = 1): void => {
    counts[state] += many;
    counts.total += many;
  };

  const activeJobs: Job[] = [];
  for (const job of jobs.active()) {
    if (!isMatch(job)) continue;
    count(job.state);
    if (wanted.includes(job.state) && after?.ended !== true) activeJobs.push(job);
  }
  activeJobs.sort((one, other) => one.acceptedAt - other.acceptedAt);
  // Jobs that tie with the start position may precede it, so they do not count toward the limit.
  const tieAt = after === undefined ? Number.NEGATIVE_INFINITY : after.at - wallOffsetMs + TIE_MS;
  const ties = activeJobs.filter(({ acceptedAt }) => Math.abs(acceptedAt - tieAt) <= 2 * TIE_MS);
  const later = activeJobs.filter(({ acceptedAt }) => acceptedAt > tieAt + 2 * TIE_MS);
  const candidates = [...ties, ...firstWithTies(later, jobsMax + 1, ({ acceptedAt }) => acceptedAt)];
  const active = candidates
    .map((job) => views.summary(job))
    .filter(follows)
    .sort(byPlace);
  const isActiveTruncated = active.length > jobsMax;
  active.length = Math.min(active.length, jobsMax);

  const room = Math.max(0, Math.min(endedMax, jobsMax - active.length));
  const endedSince = since === undefined ? Number.NEGATIVE_INFINITY : since - wallOffsetMs;
  const endedBy = after?.ended === true ? after.at - wallOffsetMs + TIE_MS : Number.POSITIVE_INFINITY;
  if (!isFiltered) for (const state of JOB_STATES) count(state, jobs.endedCount(state));
  const inMemory = new Newest<Job>(room, endedBy - 2 * TIE_MS);
  for (const job of jobs.endedNewestFirst(endedStates(isFiltered ? JOB_STATES : wanted))) {
    if (job.endedAt! < endedSince || (!isFiltered && inMemory.isTruncated)) break;
    if (!isMatch(job)) continue;
    if (isFiltered) count(job.state);
    if (wanted.includes(job.state) && job.endedAt! <= endedBy) inMemory.add(job, job.endedAt!);
  }
  const archived = new Newest<Tombstone>(Math.min(room, ARCHIVED_READS_MAX), endedBy - 2 * TIE_MS);
  for (const tombstone of jobs.archivedNewestFirst(
    endedStates(isFiltered && name === undefined ? JOB_STATES : wanted),
  )) {
    if (tombstone.endedAt < endedSince || (archived.isTruncated && (!isFiltered || name !== undefined)))
      break;
    if (isOwner?.(tombstone.user) === false) continue;
    if (isFiltered && name === undefined) count(tombstone.state);
    if (wanted.includes(tombstone.state) && tombstone.endedAt <= endedBy)
      archived.add(tombstone, tombstone.endedAt);
  }
  const read = archived.items.flatMap((tombstone) => jobs.readArchived(tombstone) ?? []);
  const found = read.filter(isMatch);
  if (name !== undefined) for (const job of found) count(job.state);
  const completeTo = Math.max(inMemory.completeTo, archived.completeTo);
  const completeAt: JobPlace | undefined =
    completeTo === Number.NEGATIVE_INFINITY
      ? undefined
      : // Listed times may be rounded down, and unlisted jobs ended at least `TIE_MS` earlier.
        { ended: true, at: Math.max(0, completeTo + wallOffsetMs - TIE_MS / 2), id: LAST_ID };
  // Compares rounded times, because the request for the next page contains rounded times.
  const isComplete = (job: JobSummary) =>
    completeAt === undefined || comparePlaces(placeOfJob(job), completeAt) <= 0;
  const ended = [...inMemory.items, ...found]
    .map((job) => views.summary(job))
    .filter((job) => isComplete(job) && follows(job))
    .sort(byPlace);

  const page = new Page<JobSummary>();
  const fitsInPage = [...active, ...ended.slice(0, room)].every((job) => page.take(job));
  const last = page.items.at(-1);
  const isTruncated = isActiveTruncated || !fitsInPage || ended.length > room || room === 0;
  const reached = isTruncated ? last && placeOfJob(last) : completeAt;
  return {
    jobs: page.items,
    total: sumOf(wanted, (state) => counts[state]),
    counts,
    reached,
    archivedReads: read.length,
  };
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
