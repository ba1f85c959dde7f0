import type { JobClass, Lane, Millis, PolicySettings, Preset, Route, Segment } from '@goshawk/core';
import type { Estimate, Prediction } from '@goshawk/predictor';

/** Basis of a job's class while its pilots run. */
export const UNDECIDED = 'pilots, not yet';

/** Class of a job, and the reason. */
export interface Decision {
  readonly class: JobClass;
  /** Basis, for `job` and `why`. */
  readonly by: string;
  /** Estimated mean task run time; undefined: unknown. */
  readonly estimateMs: Millis | undefined;
  /** Guess for decisions by size without an estimate. */
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
 * Classifies a job by its estimate (Hawk §3.3: below the cutoff is short). A job without an estimate counts as short,
 * and so does one with too few tasks to sample, which goes first (SLearn §5.1.2). A job to be sampled has no class
 * yet, and its pilots are handled like short tasks.
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

/** Pilots use the route of short tasks; if central places those, owners probe for pilots instead. */
function pilotRoute({ short }: Preset): Route {
  return short.by === 'central' ? { by: 'probing', over: short.over } : short;
}
