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
import {
  couldFit,
  mayMeet,
  missingRequirement,
  roomFor,
  whyTooLarge,
  withoutSlots,
} from '../joining/able-workers.js';
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
    const message = whyTooLarge(members, stage.demand);
    if (message !== undefined) return { message, hint: ASK_FOR_LESS };
  }
  if (members.size === 0) return undefined;
  if (spec.stages.some(({ demand }) => demand === NO_RESOURCES)) {
    const without = withoutSlots(members);
    if (without !== undefined) return boundless(without);
  }
  for (const jobClass of possibleClasses(spec, policy)) {
    const scope = effectiveScope(policy.preset, policy.preset[jobClass].over);
    if (scope === 'all') continue;
    for (const stage of spec.stages) {
      // Attributes that are not there may come with the next worker: such a job waits.
      const needs = { demand: stage.demand };
      if (couldFit(members, scope, needs) || !couldFit(members, 'all', needs)) continue;
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
    const room = roomFor(members, demand, count);
    if (room >= count) continue;
    return {
      message: `its ${count} tasks start together, and the cluster has room for ${room} of them`,
      hint: 'submit fewer tasks, or add workers',
    };
  }
  if (mayMeet(members, prefer)) return undefined;
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

/**
 * What the job requires of workers and none that may run it has; undefined: nothing, or no worker is known. It waits for one. Of
 * a job whose class is not known yet, a class that would wait is named.
 */
export function whatIsMissing(spec: JobSpec, policy: PolicySettings, members: Members): string | undefined {
  const classes = possibleClasses(spec, policy);
  for (const stage of spec.stages) {
    const scopes = classes.map((of) => effectiveScope(policy.preset, policy.preset[of].over));
    const missing = scopes.map((scope) => missingRequirement(members, scope, stage));
    const at = missing.findIndex((line) => line !== undefined);
    if (at < 0) continue;
    const isSure = missing.every((line) => line !== undefined);
    return isSure ? `${missing[at]!}` : `should the job turn out ${classes[at]!}: ${missing[at]!}`;
  }
  return undefined;
}
