import { InputError, type Millis, type Random } from '@goshawk/core';
import { meanOf, type TraceJob } from '@goshawk/traces';

/** What the cluster is told about the run times of a job, live and in virtual time. */
export type Estimator =
  /** The true mean run time of the job's tasks. */
  | { readonly kind: 'oracle' }
  /** What stands in the trace: the submitter's estimate, or else the mean that the trace states. */
  | { readonly kind: 'given' }
  /** The true mean times U(low, high), drawn once a job (Hawk Figure 14). */
  | { readonly kind: 'noisy'; readonly low: number; readonly high: number };

export const ESTIMATORS = ['oracle', 'given', 'noisy:LOW-HIGH'] as const;

/** @throws InputError that names the estimators there are */
export function parseEstimator(text: string): Estimator {
  if (text === 'oracle' || text === 'given') return { kind: text };
  const noisy = /^noisy:(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text);
  if (noisy !== null) {
    const low = Number(noisy[1]);
    const high = Number(noisy[2]);
    if (low <= high) return { kind: 'noisy', low, high };
    throw new InputError(
      'bad-option',
      `--estimator: ${text}: ${low} is above ${high}`,
      'write noisy:0.1-1.9',
    );
  }
  throw new InputError(
    'bad-option',
    `--estimator: there is no estimator "${text}"`,
    `known: ${ESTIMATORS.join(', ')}`,
  );
}

/**
 * @param job as it is run
 * @param random one stream for all jobs of a run, in their order
 * @returns the mean run time of its tasks, as the cluster is told
 */
export function estimateOf(estimator: Estimator, job: TraceJob, random: Random): Millis {
  switch (estimator.kind) {
    case 'oracle':
      return meanOf(job.durationsSeconds) * 1_000;
    case 'given':
      return (job.estimateSeconds ?? job.meanSeconds) * 1_000;
    case 'noisy':
      return (
        meanOf(job.durationsSeconds) *
        1_000 *
        (estimator.low + (estimator.high - estimator.low) * random.next())
      );
  }
}
