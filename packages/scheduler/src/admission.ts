import { effectiveScope, type JobSpec, type PolicySettings } from '@goshawk/core';
import { possibleClasses } from './classify.js';
import type { Members } from './members.js';

/**
 * Why no worker could ever run some stage of this job, as a line for its submitter; undefined when some
 * could, or while no worker is known. A job that only waits for room is not impossible.
 */
export function whyImpossible(spec: JobSpec, policy: PolicySettings, members: Members): string | undefined {
  for (const stage of spec.stages) {
    const why = members.whyImpossible(stage.demand);
    if (why !== undefined) return why;
  }
  if (members.size === 0) return undefined;
  for (const jobClass of possibleClasses(spec, policy)) {
    const scope = effectiveScope(policy.preset, policy.preset[jobClass].over);
    if (scope === 'all') continue;
    for (const stage of spec.stages) {
      if (!members.couldFit(scope, stage.demand)) {
        return `the workers that have room for it are not in the ${scope} partition, which ${jobClass} jobs use`;
      }
    }
  }
  return undefined;
}
