import type { JobClass, Lane, Millis, PolicySettings, Preset, Route, Segment } from '@goshawk/core';
import type { Estimate, Prediction } from '@goshawk/predictor';

/** Value of `classifiedBy` while the pilots run. */
export const UNDECIDED = 'pilots, not yet';

/** The class of a job, the reason for it, and its consequences. */
export interface Decision {
  readonly class: JobClass;
  /** Reason for the class, as `goshawk job` and `goshawk why` show it. */
  readonly by: string;
  /** Estimated mean task run time; undefined: unknown. */
  readonly estimateMs: Millis | undefined;
  /** Rough estimate, used to order jobs that have no estimate. */
  readonly guessMs: Millis | undefined;
  /** Distribution of run times, if the estimator knows it. */
  readonly distribution?: readonly Segment[] | undefined;
  /** Estimate for each stage, if the estimator distinguishes stages. */
  readonly stagesMs?: readonly Millis[] | undefined;
  readonly route: Route;
  /** Lane of its probes at workers. */
  readonly lane: Lane;
}

/**
 * Classifies a job by its estimate: below the cutoff it is short (Hawk §3.3). A job without an estimate is short. A job
 * with too few tasks to sample is short and uses the express lane (SLearn §5.1.2). A job with pilots is treated as
 * short until they determine its class.
 */
export function decide(prediction: Prediction, policy: PolicySettings): Decision {
  const undecided: Decision = {
    class: 'short',
    by: 'default (no estimate)',
    estimateMs: undefined,
    guessMs: undefined,
    route: policy.preset.short,
    lane: 'normal',
  };
  switch (prediction.kind) {
    case 'estimate':
      return decideBy(prediction.estimate, policy);
    case 'thin':
      return {
        ...undecided,
        by: `fewer than ${policy.thinLimit} tasks`,
        guessMs: prediction.guess?.meanMs,
        route: pilotRoute(policy.preset),
        lane: 'express',
      };
    case 'sample':
      return {
        ...undecided,
        by: UNDECIDED,
        guessMs: prediction.guess?.meanMs,
        stagesMs: prediction.guess?.stagesMs,
        route: pilotRoute(policy.preset),
      };
    case 'unknown':
      return undecided;
  }
}

/** Classifies a job by the estimate of its mean run time. */
export function decideBy({ meanMs, by, distribution, stagesMs }: Estimate, policy: PolicySettings): Decision {
  const jobClass = meanMs >= policy.cutoffMs ? 'long' : 'short';
  return {
    class: jobClass,
    by,
    estimateMs: meanMs,
    guessMs: undefined,
    distribution,
    stagesMs,
    route: policy.preset[jobClass],
    lane: 'normal',
  };
}

/** Pilots use the route of short tasks. If central places short tasks, the owner probes for pilots instead. */
function pilotRoute({ short }: Preset): Route {
  return short.by === 'central' ? { by: 'probing', over: short.over } : short;
}
