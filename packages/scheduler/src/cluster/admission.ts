import {
  countTasks,
  effectiveScope,
  formatAttributes,
  hasGangs,
  type JobClass,
  type JobSpec,
  type PolicySettings,
  present,
  type Resources,
  type Scope,
  type StageSpec,
  startsGangs,
} from '@goshawk/core';
import { possibleClasses } from '../job/classify.js';
import type { Job } from '../job/job.js';
import { couldFit, mayMeet, missingRequirement, roomFor, whyTooLarge } from './able-workers.js';
import type { Cluster } from './cluster.js';
import type { Members } from './members.js';

/** Message for the submitter. */
export interface Impossible {
  readonly message: string;
  readonly hint: string;
}

/**
 * Explains why no worker, or not all together, could ever run some stage of this job; undefined if they could, or
 * while no worker is known. Merely busy workers are no reason.
 */
export function whyImpossible(
  spec: JobSpec,
  policy: PolicySettings,
  members: Members,
): Impossible | undefined {
  if (hasGangs(spec) && !startsGangs(policy.preset))
    return { message: `the policy ${policy.policy} starts no gangs`, hint: STARTS_GANGS };
  for (const stage of spec.stages) {
    const message = whyTooLarge(members, stage.demand);
    if (message !== undefined) return { message, hint: ASK_FOR_LESS };
  }
  if (members.size === 0) return undefined;
  for (const jobClass of possibleClasses(spec, policy)) {
    const scope = effectiveScope(policy.preset, policy.preset[jobClass].over);
    for (const stage of spec.stages) {
      const message = whyOutside(members, scope, jobClass, stage.demand);
      if (message !== undefined) return { message, hint: ASK_FOR_LESS };
    }
  }
  return whyNoGang(spec, policy, members);
}

/**
 * Describes needs of an accepted job's stage that no worker meets, for which it waits. undefined: none, or no worker
 * is known.
 */
export function whyUnmet(
  job: Pick<Job, 'spec' | 'class'>,
  stage: StageSpec,
  over: Scope,
  cluster: Cluster,
): string | undefined {
  const { members } = cluster;
  if (!cluster.isReady || members.size === 0) return undefined;
  const { prefer } = job.spec;
  return (
    missingRequirement(members, over, stage) ??
    whyTooLarge(members, stage.demand) ??
    whyOutside(members, over, job.class, stage.demand) ??
    whyNoGang({ stages: [stage], ...present({ prefer }) }, cluster.policy, members)?.message
  );
}

/** Whether no task of the job runs and no worker meets the requirements of its next stages. */
export function isUnmet(job: Job, cluster: Cluster): boolean {
  if (job.runningCount > 0 || cluster.members.size === 0) return false;
  const next = job.stages.filter(({ unfinished, blockers }) => unfinished > 0 && blockers === 0);
  return (
    next.length > 0 && next.every(({ spec }) => whyUnmet(job, spec, job.route.over, cluster) !== undefined)
  );
}

/**
 * Explains that only workers outside the partition are large enough. Missing attributes do not count, because the next
 * worker may have them.
 */
function whyOutside(
  members: Members,
  scope: Scope,
  jobClass: JobClass,
  demand: Resources,
): string | undefined {
  if (scope === 'all' || couldFit(members, scope, { demand }) || !couldFit(members, 'all', { demand }))
    return undefined;
  return `the workers with room for it are not in the ${scope} partition, which ${jobClass} jobs use`;
}

const STARTS_GANGS = 'the default policy, goshawk, and those of 3Sigma do (`goshawk policies`)';
const ASK_FOR_LESS = 'request less, or add a larger worker';

/** Explains why a gang cannot start, or why no worker meets the job's preferences. */
function whyNoGang(
  { stages, prefer = {} }: Pick<JobSpec, 'stages' | 'prefer'>,
  { preset }: PolicySettings,
  members: Members,
): Impossible | undefined {
  for (const stage of stages) {
    if (stage.gang !== true && !preset.gangs) continue;
    const count = countTasks(stage.tasks);
    const room = roomFor(members, stage, count, preset.packs);
    if (room >= count) continue;
    return {
      message: `its ${count} tasks start together, and the cluster has room for ${room} of them`,
      hint: 'submit fewer tasks, or add workers',
    };
  }
  if (!preset.gangs || mayMeet(members, prefer)) return undefined;
  return {
    message: `no worker has its preferred attributes: ${formatAttributes(prefer)}`,
    hint: '`goshawk workers --json` shows their attributes; omit the preference if any worker is acceptable',
  };
}

/**
 * Requirements that no eligible worker meets, for which the job waits; undefined: none, or no worker is known. For an
 * unclassified job, names a class that would wait.
 */
export function whatIsMissing(spec: JobSpec, policy: PolicySettings, members: Members): string | undefined {
  const classes = possibleClasses(spec, policy);
  for (const stage of spec.stages) {
    const scopes = classes.map((of) => effectiveScope(policy.preset, policy.preset[of].over));
    const missing = scopes.map((scope) => missingRequirement(members, scope, stage));
    const at = missing.findIndex((line) => line !== undefined);
    if (at < 0) continue;
    const isSure = missing.every((line) => line !== undefined);
    return isSure ? `${missing[at]!}` : `if the job turns out ${classes[at]!}: ${missing[at]!}`;
  }
  return undefined;
}
