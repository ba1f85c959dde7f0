import { InputError, type Millis, type Random } from '@goshawk/core';

/** What a replay tells the cluster about the run times of a job. */
export type Estimator =
  /** The true mean run time of the job's tasks. */
  | { readonly kind: 'oracle' }
  /** What the submitter said: the mean that stands in the trace. */
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
 * @param job its means: the true one, and the one that the trace states
 * @param random one stream for all jobs of a run, in their order
 */
export function estimateOf(
  estimator: Estimator,
  job: { readonly trueMeanMs: Millis; readonly statedMeanMs: Millis },
  random: Random,
): Millis {
  switch (estimator.kind) {
    case 'oracle':
      return job.trueMeanMs;
    case 'given':
      return job.statedMeanMs;
    case 'noisy':
      return job.trueMeanMs * (estimator.low + (estimator.high - estimator.low) * random.next());
  }
}
