import type { Millis } from '@goshawk/core';
import type { EndedJob, Estimator } from '@goshawk/predictor';
import type { PastJob, TraceJob } from '@goshawk/traces';
import { arrivingJobOf, pastArrivingOf } from './arriving.js';

/** A job that ended before a workload begins, as estimators learn from it. */
export type LearntJob = Omit<EndedJob, 'judgement' | 'long'>;

/**
 * Jobs of the past on the clock of a workload that begins when the last of them has ended. Of each only its whole run
 * time is known, from its first task to its last, which is taken for that of its tasks: it is, of jobs of one task,
 * and more than that, of others.
 *
 * @param jobs by the time of their end
 */
export function learntFromPast(jobs: readonly PastJob[]): LearntJob[] {
  const lastEnd = jobs.at(-1)?.endSeconds ?? 0;
  return jobs.map((job) => ({
    job: pastArrivingOf(job, (job.submitSeconds - lastEnd) * 1_000),
    completed: true,
    runtimeMs: (job.endSeconds - job.submitSeconds) * 1_000,
    runsMs: [job.runSeconds * 1_000],
  }));
}

/** A job of a trace that has run by itself, without waiting. */
export function learntFromTrace(job: TraceJob): LearntJob {
  const runsMs = job.durationsSeconds.map((seconds) => seconds * 1_000);
  return { job: arrivingJobOf(job), completed: true, runtimeMs: longest(runsMs), runsMs };
}

/** Nothing was judged then. */
export function learnAll(estimator: Estimator, jobs: readonly LearntJob[], cutoffMs: Millis): void {
  for (const ended of jobs) {
    const { runsMs } = ended;
    let sum = 0;
    for (let i = 0; i < runsMs.length; i++) sum += runsMs[i]!;
    estimator.learn({ ...ended, judgement: { kind: 'unknown' }, long: sum / runsMs.length >= cutoffMs });
  }
}

export function longest(runsMs: ArrayLike<Millis>): Millis {
  let most = 0;
  for (let i = 0; i < runsMs.length; i++) most = Math.max(most, runsMs[i]!);
  return most;
}
