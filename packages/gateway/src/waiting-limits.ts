import type { ExplainedJob } from '@goshawk/client';
import { isFinal, type Millis, WAITING_WORDS, type WaitingReason } from '@goshawk/core';

/** Jobs that are remembered, and changes of each. */
const JOBS_MAX = 1_000;
const CHANGES_MAX = 100;

/** Most waiting tasks of a job waited for this, from one look to another. */
export interface Limit {
  readonly from: Millis;
  to: Millis;
  readonly reason: WaitingReason;
  readonly why: string;
  tasks: number;
}

/** Records the limit that held back each job, each time the job is explained. */
export class WaitingLimits {
  /** Limits by job; the job that was explained longest ago comes first. */
  readonly #jobs = new Map<string, Limit[]>();

  get jobs(): number {
    return this.#jobs.size;
  }

  /** @param now wall clock */
  note({ job, waiting, central }: ExplainedJob, now: Millis): void {
    const limits = this.#jobs.get(job.id) ?? [];
    const last = limits.at(-1);
    const most = waiting.toSorted((one, other) => other.tasks - one.tasks)[0];
    if (most === undefined || isFinal(job.state)) {
      // Whether it went on waiting until now is not known.
      return;
    }
    const need = central?.needs[0]?.why;
    const why = most.missing ?? need ?? WAITING_WORDS[most.reason].why;
    if (last !== undefined && last.reason === most.reason && last.why === why) {
      last.to = now;
      last.tasks = most.tasks;
    } else {
      if (last !== undefined) last.to = now;
      // Waiting began before anybody asked; the first limit that was seen stands for that time only where the wait is as old.
      const from = last?.to ?? Math.max(job.submittedAt, now - most.waitedMs);
      limits.push({ from, to: now, reason: most.reason, why, tasks: most.tasks });
      if (limits.length > CHANGES_MAX) limits.shift();
    }
    this.#jobs.delete(job.id);
    this.#jobs.set(job.id, limits);
    for (const id of this.#jobs.keys()) {
      if (this.#jobs.size <= JOBS_MAX) break;
      this.#jobs.delete(id);
    }
  }

  /** Oldest first. */
  of(job: string): readonly Limit[] {
    return this.#jobs.get(job) ?? [];
  }
}
