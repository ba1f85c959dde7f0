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
import type { JobStore } from '../durability/job-store.js';
import type { Job } from '../job/job.js';
import type { Cancelling } from '../life/cancelling.js';

type Answer = MessageOf<'jobsCancelled'>['value'];

/** Maximum number of clients whose last answer is kept. */
const CLIENTS_MAX = 1_000;

/** Cancels all jobs with a given user, name pattern or state. */
export class BulkCancelling {
  readonly #jobs: JobStore;
  readonly #cancelling: Cancelling;
  /** Last answer to each client. A retried request gets the same answer, so that each job is counted once. */
  readonly #lastAnswers = new Map<Address, { readonly request: number; readonly answer: Answer }>();

  constructor(jobs: JobStore, cancelling: Cancelling) {
    this.#jobs = jobs;
    this.#cancelling = cancelling;
  }

  /** @param allowedUser the only user whose jobs the client may cancel; undefined: any user */
  cancel(
    from: Address,
    message: MessageOf<'cancelJobs'>,
    allowedUser: string | undefined,
    now: Millis,
  ): Answer {
    const known = this.#lastAnswers.get(from);
    if (known?.request === message.request) return known.answer;
    const matching = this.#matching(message, allowedUser);
    const chosen = matching.slice(0, LIMITS.cancelledMax);
    let waiting = 0;
    let running = 0;
    for (const job of chosen) {
      waiting += job.counts.waiting;
      running += job.counts.running;
      if (!message.dryRun) this.#cancelling.cancel(job, now);
    }
    const next = matching[LIMITS.cancelledMax]?.number;
    const ids = message.dryRun ? chosen.map(({ id }) => id) : [];
    const answer = { jobs: chosen.length, waiting, running, next, ids };
    setLatest(this.#lastAnswers, from, { request: message.request, answer }, CLIENTS_MAX);
    return answer;
  }

  #matching({ ids, ...filters }: MessageOf<'cancelJobs'>, allowedUser: string | undefined): Job[] {
    if (ids === undefined)
      return [...this.#jobs.active()].filter(
        (job) => job.number >= filters.from && !job.cancelling && isSelected(job, filters, allowedUser),
      );
    const named = ids.map((id) => this.#jobs.activeById(id));
    return [...new Set(named)].filter(
      (job) =>
        job !== undefined && !job.cancelling && (allowedUser === undefined || job.spec.user === allowedUser),
    ) as Job[];
  }
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
