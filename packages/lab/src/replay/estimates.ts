import { type Millis, Random } from '@goshawk/core';
import { estimatorKind, makeEstimator, SLEARN_SETTINGS } from '@goshawk/predictor';
import { type TraceJob, withStageEstimates } from '@goshawk/traces';
import { arrivingJobOf } from '../predict/arriving.js';

/** A job as it is submitted: what its stages say, and the mean task run time that the cluster gets, if any. */
export interface Submitted {
  readonly job: TraceJob;
  readonly estimateMs: Millis | undefined;
}

export type AsSubmitted = (job: TraceJob) => Submitted;

/**
 * What submitters say in a replay, live and in virtual time. An estimator that needs the truth is asked here,
 * and the cluster takes its word; for `given` the submitter speaks; all others find out by themselves.
 *
 * @returns to be asked of each job of the run, in their order
 * @throws InputError that names the estimators there are
 */
export function submissionEstimates(text: string, seed: number): AsSubmitted {
  const { kind, argument } = estimatorKind(text);
  const random = Random.seeded(seed).fork('estimates');
  const estimator = kind.make(argument, SLEARN_SETTINGS, () => random.next());
  const isGiven = estimator.name === 'given';
  if (!kind.needsTruth && !isGiven) return (job) => ({ job: withStageEstimates(job), estimateMs: undefined });
  return (job) => {
    const judgement = estimator.judge(arrivingJobOf(job));
    const estimate = judgement.kind === 'estimate' ? judgement.estimate : undefined;
    return { job: isGiven ? job : withStageEstimates(job, estimate?.stagesMs), estimateMs: estimate?.meanMs };
  };
}

/** What the draws of a run's job come from, so that live and in virtual time the same tasks are its pilots. */
export function jobSeed(seed: number, index: number): string {
  return `${seed}/${index}`;
}

/** @throws InputError that says what is wrong with it */
export function checkEstimator(text: string): void {
  makeEstimator(text, SLEARN_SETTINGS, () => 0);
}
