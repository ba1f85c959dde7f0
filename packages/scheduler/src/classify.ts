import type { JobClass, JobSpec, PolicySettings } from '@goshawk/core';

export interface Classification {
  readonly class: JobClass;
  /** What the decision rests on, for `job` and `why`. */
  readonly by: string;
}

/**
 * Short or long, by the estimated mean run time of the job's tasks against the cutoff (Hawk §3.3: smaller
 * than the cutoff is short). A job of which nobody says anything is taken for short.
 */
export function classify(spec: JobSpec, policy: PolicySettings): Classification {
  if (spec.estimateMs === undefined) return { class: 'short', by: 'default (no estimate)' };
  return { class: spec.estimateMs >= policy.cutoffMs ? 'long' : 'short', by: 'given' };
}
