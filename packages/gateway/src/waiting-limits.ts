import type { ExplainedJob } from '@goshawk/client';
import { isFinal, type Millis, mainWait, needOf, WAITING_WORDS, type WaitingReason } from '@goshawk/core';

/** Maximum number of jobs with limits, and of limits per job. */
const JOBS_MAX = 1_000;
const CHANGES_MAX = 100;

/** The limit that applied to most waiting tasks of a job, between two polls. */
export interface Limit {
  readonly from: Millis;
  to: Millis;
  readonly reason: WaitingReason;
  why: string;
  tasks: number;
}

/** Records the limit that applies to a job each time the job is explained. */
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
    const most = mainWait(waiting);
    if (most === undefined || isFinal(job.state)) {
      // The job may have stopped waiting at any time since the last poll.
      return;
    }
    const need = central === undefined ? undefined : needOf(most, central.needs)?.why;
    const why = most.missing ?? need ?? WAITING_WORDS[most.reason].why;
    // Amounts in a reason change with every task, so only the words are compared.
    if (
      last !== undefined &&
      last.reason === most.reason &&
      withoutNumbers(last.why) === withoutNumbers(why)
    ) {
      last.to = now;
      last.why = why;
      last.tasks = most.tasks;
    } else {
      if (last !== undefined) last.to = now;
      // The first limit also covers the time before its observation, from the beginning of the wait.
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

  /** Returns the limits of a job, oldest first. */
  of(job: string): readonly Limit[] {
    return this.#jobs.get(job) ?? [];
  }
}

function withoutNumbers(sentence: string): string {
  return sentence.replaceAll(/[\d.,]+/g, '');
}
