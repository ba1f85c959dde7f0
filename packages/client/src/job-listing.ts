import { InputError, isFinal, type JobState, type JobSummary, LIMITS, type UserQuota } from '@goshawk/core';
import type { CallOptions } from './options.js';
import { poll } from './poll.js';
import { type Session, someSchedulers } from './session.js';

/** Ended jobs that are listed unless all are asked for. */
const ENDED_SHOWN = 10;
const LIMIT_DEFAULT = 1_000;
const LIMIT_MAX = LIMITS.jobsListedMax;

export interface JobsOptions extends CallOptions {
  /** Only these. Default: all states. */
  readonly states?: readonly JobState[] | undefined;
  readonly user?: string | undefined;
  /** All ended jobs that the schedulers still know, rather than the last ten. */
  readonly all?: boolean | undefined;
  /** At most so many, 10,000 at most; one scheduler tells of some 7,000 at a time. Default: 1,000. */
  readonly limit?: number | undefined;
}

export interface Jobs {
  /** Those that go on, oldest first; then those that ended, the last one first. */
  readonly jobs: readonly JobSummary[];
  /** That match the filters, listed or not. */
  readonly total: number;
  readonly truncated: boolean;
  /** Schedulers that did not answer, and whose jobs are missing. */
  readonly silent: readonly string[];
  /** What central tells that somebody has to put right, a line each. */
  readonly warnings: readonly string[];
  /** Who has how many tasks waiting at a scheduler that limits them, those nearest to the limit first. */
  readonly quotas: readonly UserQuota[];
}

/** The jobs of all schedulers. Filters come before limits. */
export async function listJobs(session: Session, options: JobsOptions): Promise<Jobs> {
  const { states = [], user, all = false, limit = LIMIT_DEFAULT } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new InputError('bad-limit', `limit: expected a whole number from 1 to ${LIMIT_MAX}, got ${limit}`);
  }
  const endedMax = all ? LIMIT_MAX : ENDED_SHOWN;
  const schedulers = await someSchedulers(session, options);
  const { answered, silent } = await poll(
    session.requests,
    schedulers,
    {
      what: 'for its jobs',
      timeoutMs: session.timings.pollTimeoutMs,
      build: (request) => ({ type: 'listJobs', request, states, user, endedMax, jobsMax: limit }),
      read: ({ value }) => value,
    },
    options,
  );
  const listed = answered.flatMap((list) => list.jobs);
  const total = answered.reduce((sum, list) => sum + list.total, 0);
  const jobs = inOrder(listed, endedMax).slice(0, limit);
  const { missing, warnings } = session.roster;
  const quotas = answered.flatMap((list) => list.quotas ?? []);
  quotas.sort((one, other) => other.waiting / other.max - one.waiting / one.max);
  return { jobs, total, truncated: jobs.length < total, silent: [...silent, ...missing], warnings, quotas };
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
