import { type Millis, Random } from '@goshawk/core';
import { estimatorKind, makeEstimator, SLEARN_SETTINGS } from '@goshawk/predictor';
import { arrivingJobOf, type TraceJob, withStageEstimates } from '@goshawk/traces';

/**
 * A job as submitted: its stages with their estimates, and the mean task run time for the cluster, if any.
 */
export interface Submitted {
  readonly job: TraceJob;
  readonly estimateMs: Millis | undefined;
}

export type AsSubmitted = (job: TraceJob) => Submitted;

/**
 * Returns estimates at submission for a live or simulated replay. An estimator that needs the truth is
 * evaluated here, and the cluster uses its result as given. `given` uses the submitter's estimate; all others
 * learn in the cluster.
 * @returns a function to call for each job, in order
 * @throws InputError that names the known estimators
 */
export function submissionEstimates(text: string, seed: number): AsSubmitted {
  const { kind, argument } = estimatorKind(text);
  const random = Random.seeded(seed).fork('estimates');
  const estimator = kind.make(argument, SLEARN_SETTINGS, () => random.next());
  const isGiven = estimator.name === 'given';
  if (!kind.needsTruth && !isGiven) return (job) => ({ job: withStageEstimates(job), estimateMs: undefined });
  return (job) => {
    const prediction = estimator.predict(arrivingJobOf(job));
    const estimate = prediction.kind === 'estimate' ? prediction.estimate : undefined;
    return { job: isGiven ? job : withStageEstimates(job, estimate?.stagesMs), estimateMs: estimate?.meanMs };
  };
}

/** Seed of a job's random choices, so that the same tasks are pilots live and in virtual time. */
export function jobSeed(seed: number, index: number): string {
  return `${seed}/${index}`;
}

/** @throws InputError that explains the error */
export function checkEstimator(text: string): void {
  makeEstimator(text, SLEARN_SETTINGS, () => 0);
}
