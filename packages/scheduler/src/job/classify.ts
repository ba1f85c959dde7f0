import type { JobClass, JobSpec, Lane, Millis, PolicySettings, Preset, Route, Segment } from '@goshawk/core';
import type { Estimate, Judgement } from '@goshawk/predictor';
import { statedMs } from './arriving.js';

/** Basis of a job's class while its pilots run. */
export const UNDECIDED = 'pilots, not yet';

/** Class of a job, and the reason. */
export interface Decision {
  readonly class: JobClass;
  /** Basis, for `job` and `why`. */
  readonly by: string;
  /** Mean task run time as it is believed; undefined where nothing is. */
  readonly estimateMs: Millis | undefined;
  /** Guess for decisions by size without an estimate. */
  readonly guessMs: Millis | undefined;
  /** How run times are spread, where the estimator knows: for a central that plans by it. */
  readonly distribution?: readonly Segment[] | undefined;
  /** Mean run time of each stage's tasks, where the estimator tells stages apart. */
  readonly stagesMs?: readonly Millis[] | undefined;
  readonly route: Route;
  /** Lane of its probes at workers. */
  readonly lane: Lane;
}

/**
 * Short or long, by what is believed of a job (Hawk §3.3: smaller than the cutoff is short). A job of which nothing
 * is known is taken for short, and so is one of too few tasks to find out, which goes ahead of others (SLearn
 * §5.1.2); one that is to be sampled is nobody's yet, and its pilots are looked for as short tasks are.
 */
export function decide(judgement: Judgement, policy: PolicySettings): Decision {
  const undecided: Decision = {
    class: 'short',
    by: 'default (no estimate)',
    estimateMs: undefined,
    guessMs: undefined,
    route: policy.preset.short,
    lane: 'normal',
  };
  switch (judgement.kind) {
    case 'estimate':
      return decideBy(judgement.estimate, policy);
    case 'thin':
      return {
        ...undecided,
        by: `fewer than ${policy.thinLimit} tasks`,
        guessMs: judgement.guess?.meanMs,
        route: pilotRoute(policy.preset),
        lane: 'express',
      };
    case 'sample':
      return {
        ...undecided,
        by: UNDECIDED,
        guessMs: judgement.guess?.meanMs,
        stagesMs: judgement.guess?.stagesMs,
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

/** Classes that the job may belong to before anything is known. */
export function possibleClasses(spec: JobSpec, policy: PolicySettings): readonly JobClass[] {
  const { estimator, cutoffMs } = policy;
  const meanMs = statedMs(spec);
  const isDecided = estimator === 'given' || (estimator === 'auto' && meanMs !== undefined);
  if (!isDecided) return ['short', 'long'];
  return [meanMs !== undefined && meanMs >= cutoffMs ? 'long' : 'short'];
}

/** Pilots are looked for as short tasks are; where central places those, their owners do it themselves. */
function pilotRoute({ short }: Preset): Route {
  return short.by === 'central' ? { by: 'probing', over: short.over } : short;
}
