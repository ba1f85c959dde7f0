import {
  compareCursors,
  cursorOf,
  type DeadlineFilter,
  InputError,
  isFinal,
  type JobCursor,
  type JobState,
  type JobSummary,
  LIMITS,
  type Millis,
  present,
  sumOf,
  type TaskCounts,
  type UserQuota,
} from '@goshawk/core';
import { checkStates } from './job-tasks.js';
import type { CallOptions } from './options.js';
import { askSchedulers, type Session } from './session.js';

/** Number of ended jobs listed by default. */
const ENDED_SHOWN = 10;
const LIMIT_DEFAULT = 1_000;
const LIMIT_MAX = LIMITS.jobsListedMax;

export interface JobsOptions extends CallOptions {
  /** Only jobs in these states. Default: all states. */
  readonly states?: readonly JobState[] | undefined;
  readonly user?: string | undefined;
  /** A pattern with `*` and `?`. */
  readonly userLike?: string | undefined;
  /** A pattern with `*` and `?`. */
  readonly name?: string | undefined;
  /** Excludes jobs that ended earlier. Wall clock, ms since 1970. */
  readonly since?: Millis | undefined;
  /** Only jobs that are on hold or begin later. */
  readonly held?: true | undefined;
  /** Only jobs with a deadline: `any`, one that it is expected to miss (`risk`), has missed, or has met. */
  readonly deadline?: DeadlineFilter | undefined;
  /** Excludes jobs that were submitted later. Wall clock, ms since 1970. */
  readonly until?: Millis | undefined;
  /** Only jobs that have, or had, a task at a worker whose name matches; a pattern with `*` and `?`. */
  readonly worker?: string | undefined;
  /** Only jobs with an attempt, among the first 100 failed ones, that ended with this code (1 to 255); a signal is 128 + its number. */
  readonly exit?: number | undefined;
  /** All retained ended jobs, rather than the last ten. Default: true with `from` or `after`. */
  readonly all?: boolean | undefined;
  /** Number of jobs to skip, to continue a truncated list: its `next`. */
  readonly from?: number | undefined;
  /** `cursor` of the previous page, which costs less than `from`. */
  readonly after?: string | undefined;
  /** Maximum number, at most 10,000. Default: 1,000. */
  readonly limit?: number | undefined;
}

export interface Jobs {
  /** Unfinished jobs, oldest first; then ended ones, latest first. */
  readonly jobs: readonly JobSummary[];
  /** Number of matching entries, including those not listed. */
  readonly total: number;
  readonly truncated: boolean;
  /** By state, independent of `states`. With `name`, some jobs that are no longer in memory may be missing. */
  readonly counts: TaskCounts;
  /** `from` of the next page; undefined at the end. */
  readonly next: number | undefined;
  /** `after` of the next page; undefined at the end. */
  readonly cursor: string | undefined;
  /** Schedulers that did not answer, and whose jobs are missing. */
  readonly silent: readonly string[];
  /** Problems reported by central that an operator must fix, one line each. */
  readonly warnings: readonly string[];
  /** Waiting tasks per user at schedulers with a limit, closest to the limit first. */
  readonly quotas: readonly UserQuota[];
}

/** Lists the jobs of all schedulers. Filters apply before limits. */
export async function listJobs(session: Session, options: JobsOptions): Promise<Jobs> {
  const {
    states = [],
    user,
    userLike,
    name,
    since,
    held,
    deadline,
    until,
    worker,
    exit,
    from = 0,
    all = false,
    limit = LIMIT_DEFAULT,
  } = options;
  checkStates(states);
  checkCount('limit', limit, 1, LIMIT_MAX);
  checkCount('from', from, 0, Number.MAX_SAFE_INTEGER);
  if (exit !== undefined) checkCount('exit', exit, 1, 255);
  let after = options.after === undefined ? undefined : cursorIn(options.after);
  const withAll = all || from > 0 || after !== undefined;
  const endedMax = withAll ? LIMIT_MAX : ENDED_SHOWN;
  const jobs: JobSummary[] = [];
  for (let skip = from; ; ) {
    const left = skip + limit - jobs.length;
    const jobsMax = Math.min(LIMIT_MAX, left);
    const { answers, silent } = await askSchedulers(
      session,
      {
        what: 'for its jobs',
        build: (request) => ({
          ...{ type: 'listJobs', request, states, user, endedMax, jobsMax },
          where: present({ userLike, name, since, after, held, deadline, until, worker, exit }),
        }),
      },
      options,
    );
    const reached = answers
      .flatMap((list) => list.reached ?? [])
      .reduce<JobCursor | undefined>(
        (one, other) => (one === undefined || compareCursors(other, one) < 0 ? other : one),
        undefined,
      );
    const listed = inOrder(
      answers.flatMap((list) => list.jobs),
      endedMax,
    ).filter((job) => reached === undefined || compareCursors(cursorOf(job), reached) <= 0);
    const taken = listed.slice(0, left);
    jobs.push(...taken.slice(skip));
    skip = Math.max(0, skip - taken.length);
    const last = taken.at(-1);
    const before = after;
    after = listed.length > taken.length ? cursorOf(last!) : reached;
    if (after !== undefined && before !== undefined && compareCursors(after, before) <= 0) after = undefined;
    const total = sumOf(answers, (list) => list.total);
    const isDone = jobs.length >= limit || after === undefined || (!withAll && after.ended);
    if (!isDone) continue;
    const truncated = after !== undefined || (options.after === undefined && from + jobs.length < total);
    const next = after ?? (truncated && last !== undefined ? cursorOf(last) : undefined);
    const quotas = answers.flatMap((list) => list.quotas ?? []);
    quotas.sort((one, other) => other.waiting / other.max - one.waiting / one.max);
    return {
      jobs,
      total,
      counts: countsOf(answers.flatMap(({ counts }) => counts ?? [])),
      truncated,
      next: next === undefined || options.after !== undefined ? undefined : from + jobs.length,
      cursor: next && textOf(next),
      silent,
      warnings: session.roster.warnings,
      quotas,
    };
  }
}

function textOf({ ended, at, id }: JobCursor): string {
  return `${ended ? 'e' : 'a'}.${at}.${id}`;
}

/** @throws InputError */
function cursorIn(text: string): JobCursor {
  const [, kind, at, id] = /^([ea])\.(\d+(?:\.\d+)?(?:e\+\d+)?)\.([^.]+)$/.exec(text) ?? [];
  if (at === undefined || id === undefined)
    throw new InputError('bad-cursor', 'after: expected the cursor of a list of jobs');
  return { ended: kind === 'e', at: Number(at), id };
}

function countsOf(all: readonly TaskCounts[]): TaskCounts {
  const of = (name: keyof TaskCounts) => sumOf(all, (counts) => counts[name]);
  return {
    total: of('total'),
    waiting: of('waiting'),
    running: of('running'),
    completed: of('completed'),
    failed: of('failed'),
    cancelled: of('cancelled'),
  };
}

function checkCount(name: string, count: number, min: number, max: number): void {
  if (Number.isInteger(count) && count >= min && count <= max) return;
  throw new InputError(`bad-${name}`, `${name}: expected a whole number from ${min} to ${max}, got ${count}`);
}

function inOrder(jobs: readonly JobSummary[], endedMax: number): JobSummary[] {
  const sorted = jobs.toSorted((one, other) => compareCursors(cursorOf(one), cursorOf(other)));
  const ended = sorted.findIndex((job) => isFinal(job.state));
  return ended < 0 ? sorted : sorted.slice(0, ended + endedMax);
}
