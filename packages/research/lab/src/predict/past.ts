import { type Millis, meanOf } from '@goshawk/core';
import {
  type ArrivingJob,
  type EndedJob,
  type Estimator,
  makeEstimator,
  type ScoreboardSettings,
} from '@goshawk/predictor';
import { arrivingJobOf, type PastJob, readPastJobs, type TraceJob } from '@goshawk/traces';

/** A job that ended before the workload begins, in the form that estimators learn from. */
export type TrainingJob = Omit<EndedJob, 'prediction' | 'long'>;

/**
 * Converts past jobs to the clock of a workload that begins when the last of them ends. Only the whole run
 * time of a job is known, so it is used as the run time of its tasks: exact for one task, too long for
 * several.
 *
 * @param jobs in the order in which they ended
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

/** Converts a trace job as if it ran alone, without waiting. */
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
 * Trains estimators on the past and returns their saved states by name.
 *
 * @param history file of past jobs; it is optional, and is read only if some estimator learns
 * @throws WorkloadError if it cannot be read
 */
export async function trainedBy(
  names: readonly string[],
  history: string | undefined,
  settings: ScoreboardSettings,
): Promise<Record<string, unknown>> {
  if (history === undefined || names.length === 0) return {};
  return trainedOn(names, trainingJobsOf(await readPastJobs(history)), settings);
}

/** Trains estimators on jobs that are already read. */
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

/** Trains an estimator on past jobs, which have no recorded estimates. */
export function learnAll(estimator: Estimator, jobs: readonly TrainingJob[], cutoffMs: Millis): void {
  for (const ended of jobs) {
    estimator.learn({ ...ended, prediction: { kind: 'unknown' }, long: meanOf(ended.runsMs) >= cutoffMs });
  }
}
