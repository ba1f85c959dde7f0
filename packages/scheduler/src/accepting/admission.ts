import {
  countTasks,
  effectiveScope,
  formatAttributes,
  formatResources,
  type JobSpec,
  type Member,
  NO_RESOURCES,
  type PolicySettings,
} from '@goshawk/core';
import type { Members } from '../joining/members.js';
import { possibleClasses } from './classify.js';

/** For whoever submitted the job. */
export interface Impossible {
  readonly message: string;
  readonly hint: string;
}

/**
 * Why no worker, or not all of them together, could ever run some stage of this job; undefined when they could, or while
 * no worker is known. A job that only waits for room is not impossible.
 */
export function whyImpossible(
  spec: JobSpec,
  policy: PolicySettings,
  members: Members,
): Impossible | undefined {
  for (const stage of spec.stages) {
    const message = members.whyImpossible(stage.demand);
    if (message !== undefined) return { message, hint: ASK_FOR_LESS };
  }
  if (members.size === 0) return undefined;
  if (spec.stages.some(({ demand }) => demand === NO_RESOURCES)) {
    const without = members.withoutSlots();
    if (without !== undefined) return boundless(without);
  }
  for (const jobClass of possibleClasses(spec, policy)) {
    const scope = effectiveScope(policy.preset, policy.preset[jobClass].over);
    if (scope === 'all') continue;
    for (const stage of spec.stages) {
      // What no worker has may come with the next one: such a job waits.
      if (members.couldFit(scope, stage) || !members.couldFit('all', stage)) continue;
      const message = `the workers that have room for it are not in the ${scope} partition, which ${jobClass} jobs use`;
      return { message, hint: ASK_FOR_LESS };
    }
  }
  return policy.preset.gangs ? whyNoGang(spec, members) : undefined;
}

const ASK_FOR_LESS = 'ask for less, or add a larger worker';

/** Tasks of a stage start together, and a job waits for workers that it prefers. */
function whyNoGang({ stages, prefer = {} }: JobSpec, members: Members): Impossible | undefined {
  for (const { tasks, demand } of stages) {
    const count = countTasks(tasks);
    const room = members.roomFor(demand, count);
    if (room >= count) continue;
    return {
      message: `its ${count} tasks start together, and the cluster has room for ${room} of them`,
      hint: 'submit fewer tasks, or add workers',
    };
  }
  if (members.mayMeet(prefer)) return undefined;
  return {
    message: `no worker has what it prefers: ${formatAttributes(prefer)}`,
    hint: '`goshawk workers --json` shows what they have; leave the preference out where any will do',
  };
}

function boundless({ name, capacity }: Member): Impossible {
  return {
    message: `worker ${name} has no slots, it takes as many tasks as fit: one that needs nothing would fit without end`,
    hint: `say what a task needs of ${formatResources(capacity)}, such as --cpus 1`,
  };
}

/** What the job requires and no worker has that is there; undefined: nothing, or no worker is known. It waits for one. */
export function whatIsMissing({ stages }: JobSpec, members: Members): string | undefined {
  for (const { requires } of stages) {
    if (requires === undefined || members.size === 0 || members.anyMayRun({ requires })) continue;
    const names = Object.keys(requires).filter((name) => !members.hasAttribute(name));
    const unknown = names.length === 0 ? '' : `, and none says what its ${names.join(' or ')} is`;
    return `no worker has ${formatAttributes(requires)}${unknown}: the job waits until one does`;
  }
  return undefined;
}
