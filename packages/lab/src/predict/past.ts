import { type Millis, meanOf } from '@goshawk/core';
import {
  type ArrivingJob,
  type EndedJob,
  type Estimator,
  makeEstimator,
  type ScoreboardSettings,
} from '@goshawk/predictor';
import { arrivingJobOf, type PastJob, readPastJobs, type TraceJob } from '@goshawk/traces';

/** A job that ended before a workload begins, as estimators learn from it. */
export type TrainingJob = Omit<EndedJob, 'judgement' | 'long'>;

/**
 * Jobs of the past on the clock of a workload that begins when the last of them has ended. Of each only its whole run
 * time is known, from its first task to its last, which is taken for that of its tasks: it is, of jobs of one task,
 * and more than that, of others.
 *
 * @param jobs by the time of their end
 */
export function trainingJobsOf(jobs: readonly PastJob[]): TrainingJob[] {
  const lastEnd = jobs.at(-1)?.endSeconds ?? 0;
  return jobs.map((job) => ({
    job: pastArrivingOf(job, (job.submitSeconds - lastEnd) * 1_000),
    completed: true,
    runtimeMs: (job.endSeconds - job.submitSeconds) * 1_000,
    runsMs: [job.runSeconds * 1_000],
  }));
}

/** Converts a past job for estimators. */
export function pastArrivingOf(job: PastJob, submittedAt: number): ArrivingJob {
  return {
    name: job.name ?? 'job',
    logicalName: job.logicalName,
    user: job.user,
    schedulingClass: job.schedulingClass,
    tasks: job.tasks,
    startable: job.tasks,
    submittedAt,
  };
}

/** A job of a trace that has run by itself, without waiting. */
export function trainingJobOf(job: TraceJob): TrainingJob {
  const runsMs = job.durationsSeconds.map((seconds) => seconds * 1_000);
  return {
    job: arrivingJobOf(job),
    completed: true,
    runtimeMs: runsMs.reduce((longest, ms) => Math.max(longest, ms), 0),
    runsMs,
  };
}

/**
 * The states of estimators after the past, by name, as they save them.
 *
 * @param history the file of the jobs that ended before; nothing is learnt without one, and nothing is read where
 *   nobody is to learn
 * @throws WorkloadError when it cannot be read
 */
export async function trainedBy(
  names: readonly string[],
  history: string | undefined,
  settings: ScoreboardSettings,
): Promise<Record<string, unknown>> {
  if (history === undefined || names.length === 0) return {};
  return trainedOn(names, trainingJobsOf(await readPastJobs(history)), settings);
}

/** The same from jobs that were read already. */
export function trainedOn(
  names: readonly string[],
  past: readonly TrainingJob[],
  settings: ScoreboardSettings,
): Record<string, unknown> {
  return Object.fromEntries(
    names.map((name) => {
      const estimator = makeEstimator(name, settings, () => 0);
      learnAll(estimator, past, settings.cutoffMs);
      return [name, estimator.save()];
    }),
  );
}

/** Nothing was judged then. */
export function learnAll(estimator: Estimator, jobs: readonly TrainingJob[], cutoffMs: Millis): void {
  for (const ended of jobs) {
    estimator.learn({ ...ended, judgement: { kind: 'unknown' }, long: meanOf(ended.runsMs) >= cutoffMs });
  }
}
