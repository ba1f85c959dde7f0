/** Settings of the estimators; each takes those that concern it. */
export interface EstimatorSettings {
  /** Fraction of a job's tasks that are pilots, or `adaptive` (SLearn Figure 4). */
  readonly pilotRatio: number | 'adaptive';
  /** Pilots of one job at most. */
  readonly pilotsMax: number | null;
  /** Fraction of the pilots that must have ended before their mean decides. */
  readonly pilotQuorum: number;
  /** Pilots are combined with recently ended jobs (SLearn §4.1), not trusted alone. */
  readonly pilotPrior: boolean;
  /** Jobs of fewer tasks are not sampled. */
  readonly thinLimit: number;
  /** Features for estimators that learn. Default: `DEFAULT_FEATURES`. */
  readonly features?: readonly string[] | null | undefined;
  /** Feature values of which history is kept. */
  readonly featureValuesMax?: number | undefined;
  /** Whether `auto` may take pilots: unless the policy has no use for classes, or starts gangs whole. Yes unless given. */
  readonly sampling?: boolean | undefined;
  /** Estimates carry the distribution that they come from, for policies that plan by it. */
  readonly distributions?: boolean | undefined;
}

/** SLearn §5.1: 3% of the tasks are pilots, all of which must end; jobs of one and two tasks count as thin jobs. */
export const SLEARN_SETTINGS: EstimatorSettings = {
  pilotRatio: 0.03,
  pilotsMax: null,
  pilotQuorum: 1,
  pilotPrior: false,
  thinLimit: 3,
};
