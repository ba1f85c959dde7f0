import type { Millis } from '@goshawk/core';
import type { ArrivingJob } from './estimator.js';

/** Settings of all estimators. Each estimator uses some of them. */
export interface EstimatorSettings {
  /** Fraction of a job's tasks that are pilots, or `adaptive` (SLearn Figure 4). */
  readonly pilotRatio: number | 'adaptive';
  /** Maximum number of pilots of one job. */
  readonly pilotsMax: number | null;
  /** Fraction of the pilots that must have ended before their mean decides. */
  readonly pilotQuorum: number;
  /** Combine the pilots with recently ended jobs (SLearn §4.1). */
  readonly pilotPrior: boolean;
  /** Jobs with fewer tasks are not sampled. */
  readonly thinLimit: number;
  /** Features for estimators that learn. Default: `DEFAULT_FEATURES`. */
  readonly features?: readonly string[] | null | undefined;
  /** Number of feature values with history. */
  readonly featureValuesMax?: number | undefined;
  /** Whether `auto` may take pilots; false if the policy does not use classes, or starts gangs. Default: true. */
  readonly sampling?: boolean | undefined;
  /** Returns whether the estimate of a job, in ms, includes the distribution of its run times. Default: never. */
  readonly withDistribution?: ((job: ArrivingJob, estimateMs: Millis) => boolean) | undefined;
}

/** SLearn §5.1: 3% of the tasks are pilots, all of which must end; jobs of one and two tasks count as thin jobs. */
export const SLEARN_SETTINGS: EstimatorSettings = {
  pilotRatio: 0.03,
  pilotsMax: null,
  pilotQuorum: 1,
  pilotPrior: false,
  thinLimit: 3,
};
