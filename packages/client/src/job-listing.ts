import {
  InputError,
  isFinal,
  type JobState,
  type JobSummary,
  LIMITS,
  sumOf,
  type UserQuota,
} from '@goshawk/core';
import type { CallOptions } from './options.js';
import { askSchedulers, type Session } from './session.js';

/** Ended jobs that are listed unless all are asked for. */
const ENDED_SHOWN = 10;
const LIMIT_DEFAULT = 1_000;
const LIMIT_MAX = LIMITS.jobsListedMax;

export interface JobsOptions extends CallOptions {
  /** Only these. Default: all states. */
  readonly states?: readonly JobState[] | undefined;
  readonly user?: string | undefined;
  /** All ended jobs that the schedulers still know, rather than the last ten. Default: with `from`. */
  readonly all?: boolean | undefined;
  /** Jobs to skip, to go on with a list that was cut: `next` of the one before. */
  readonly from?: number | undefined;
  /** At most so many, 10,000 at most; one scheduler lists some 7,000 at a time. Default: 1,000. */
  readonly limit?: number | undefined;
}

export interface Jobs {
  /** Those that go on, oldest first; then those that ended, the last one first. */
  readonly jobs: readonly JobSummary[];
  /** That match the filters, listed or not. */
  readonly total: number;
  readonly truncated: boolean;
  /** `from` of the next page; undefined where no more jobs can be listed. */
  readonly next: number | undefined;
  /** Schedulers that did not answer, and whose jobs are missing. */
  readonly silent: readonly string[];
  /** What somebody has to put right, as central says, a line each. */
  readonly warnings: readonly string[];
  /** Who has how many tasks waiting at a scheduler that limits them, those nearest to the limit first. */
  readonly quotas: readonly UserQuota[];
}

/** The jobs of all schedulers. Filters come before limits. */
export async function listJobs(session: Session, options: JobsOptions): Promise<Jobs> {
  const { states = [], user, from = 0, all = false, limit = LIMIT_DEFAULT } = options;
  checkCount('limit', limit, 1, LIMIT_MAX);
  checkCount('from', from, 0, LIMIT_MAX - 1);
  const endedMax = all || from > 0 ? LIMIT_MAX : ENDED_SHOWN;
  const jobsMax = Math.min(LIMIT_MAX, from + limit);
  const { answers, silent } = await askSchedulers(
    session,
    {
      what: 'for its jobs',
      build: (request) => ({ type: 'listJobs', request, states, user, endedMax, jobsMax }),
    },
    options,
  );
  const listed = answers.flatMap((list) => list.jobs);
  const total = sumOf(answers, (list) => list.total);
  const jobs = inOrder(listed, endedMax).slice(from, jobsMax);
  const end = from + jobs.length;
  const truncated = end < total;
  const next = truncated && jobs.length > 0 && end < LIMIT_MAX ? end : undefined;
  const quotas = answers.flatMap((list) => list.quotas ?? []);
  quotas.sort((one, other) => other.waiting / other.max - one.waiting / one.max);
  return { jobs, total, truncated, next, silent, warnings: session.roster.warnings, quotas };
}

function checkCount(name: string, count: number, min: number, max: number): void {
  if (Number.isInteger(count) && count >= min && count <= max) return;
  throw new InputError(`bad-${name}`, `${name}: expected a whole number from ${min} to ${max}, got ${count}`);
}

function inOrder(jobs: readonly JobSummary[], endedMax: number): JobSummary[] {
  const active = jobs.filter((job) => !isFinal(job.state));
  const ended = jobs.filter((job) => isFinal(job.state));
  active.sort((a, b) => a.submittedAt - b.submittedAt || byId(a, b));
  ended.sort((a, b) => endOf(b) - endOf(a) || byId(a, b));
  return [...active, ...ended.slice(0, endedMax)];
}

/** Schedulers answer in any order. */
function byId(a: JobSummary, b: JobSummary): number {
  return a.id < b.id ? -1 : 1;
}

function endOf(job: JobSummary): number {
  return job.submittedAt + (job.endedMs ?? 0);
}
