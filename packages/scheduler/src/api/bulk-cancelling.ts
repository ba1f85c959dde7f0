import {
  type Address,
  isFinal,
  JOB_STATES,
  LIMITS,
  type MessageOf,
  type Millis,
  matchesGlob,
  setLatest,
} from '@goshawk/core';
import type { Job } from '../job/job.js';
import { cancelJob } from '../life/cancelling.js';
import type { SchedulerState } from '../state/state.js';

type Answer = MessageOf<'jobsCancelled'>['value'];

/** Maximum number of clients whose last answer is kept. */
const CLIENTS_MAX = 1_000;

/**
 * Cancels all jobs with a given user, name pattern or state.
 *
 * @param allowedUser the only user whose jobs the client may cancel; undefined: any user
 */
export function cancelJobs(
  s: SchedulerState,
  from: Address,
  message: MessageOf<'cancelJobs'>,
  allowedUser: string | undefined,
  now: Millis,
): Answer {
  const known = s.bulkAnswers.get(from);
  if (known?.request === message.request) return known.answer;
  const selected = selectedJobs(s, message, allowedUser);
  const chosen = selected.slice(0, LIMITS.cancelledMax);
  let waiting = 0;
  let running = 0;
  for (const job of chosen) {
    waiting += job.counts.waiting;
    running += job.counts.running;
    if (!message.dryRun) cancelJob(s, job, now);
  }
  const next = selected[LIMITS.cancelledMax]?.number;
  const ids = message.dryRun ? chosen.map(({ id }) => id) : [];
  const answer = { jobs: chosen.length, waiting, running, next, ids };
  setLatest(s.bulkAnswers, from, { request: message.request, answer }, CLIENTS_MAX);
  return answer;
}

function selectedJobs(
  s: SchedulerState,
  { ids, ...filters }: MessageOf<'cancelJobs'>,
  allowedUser: string | undefined,
): Job[] {
  if (ids === undefined)
    return [...s.jobs.active()].filter(
      (job) => job.number >= filters.from && !job.cancelling && isSelected(job, filters, allowedUser),
    );
  const named = ids.map((id) => s.jobs.activeById(id));
  return [...new Set(named)].filter(
    (job) =>
      job !== undefined && !job.cancelling && (allowedUser === undefined || job.spec.user === allowedUser),
  ) as Job[];
}

function isSelected(
  { spec, state }: Job,
  { user, name, states }: Pick<MessageOf<'cancelJobs'>, 'user' | 'name' | 'states'>,
  allowedUser: string | undefined,
): boolean {
  if (user !== undefined && spec.user !== user) return false;
  if (allowedUser !== undefined && spec.user !== allowedUser) return false;
  if (name !== undefined && !matchesGlob(name, spec.name)) return false;
  return states.length === 0 || states.includes(state);
}

/** Returns the first requested state that does not exist or in which jobs cannot be cancelled. */
export function firstNotCancellable(states: readonly string[]): string | undefined {
  const active = JOB_STATES.filter((state) => !isFinal(state)) as readonly string[];
  return states.find((state) => !active.includes(state));
}
