import {
  effectiveScope,
  type JobSpec,
  missingRequirement,
  type PolicySettings,
  possibleClasses,
  present,
  type Scope,
  type StageSpec,
  whyNoGang,
  whyOutside,
  whyTooLarge,
} from '@goshawk/core';
import type { Job } from '../job/job.js';
import type { Cluster } from './cluster.js';
import type { Members } from './members.js';

/**
 * Describes the needs of a stage of an accepted job that no worker meets. Returns undefined if there are
 * none, or if no worker is known.
 */
export function unmetNeedOf(
  job: Pick<Job, 'spec' | 'class'>,
  stage: StageSpec,
  over: Scope,
  cluster: Cluster,
): string | undefined {
  const { members, policy } = cluster;
  if (policy === undefined || members.size === 0) return undefined;
  const { prefer } = job.spec;
  return (
    missingRequirement(members, over, stage) ??
    whyTooLarge(members, stage.demand) ??
    whyOutside(members, over, job.class, stage.demand) ??
    whyNoGang({ stages: [stage], ...present({ prefer }) }, policy, members)?.message
  );
}

/** Whether no task of the job runs and no worker meets the requirements of its next stages. */
export function hasUnmetNeeds(job: Job, cluster: Cluster): boolean {
  if (job.runningCount > 0 || cluster.members.size === 0) return false;
  const next = job.stages.filter(({ unfinished, blockers }) => unfinished > 0 && blockers === 0);
  return (
    next.length > 0 && next.every(({ spec }) => unmetNeedOf(job, spec, job.route.over, cluster) !== undefined)
  );
}

/**
 * Returns the requirements that no eligible worker meets; undefined if there are none, or if no worker is
 * known. For an unclassified job, names a class that would wait.
 */
export function unmetRequirements(
  spec: JobSpec,
  policy: PolicySettings,
  members: Members,
): string | undefined {
  const classes = possibleClasses(spec, policy);
  for (const stage of spec.stages) {
    const scopes = classes.map((of) => effectiveScope(policy.preset, policy.preset[of].over));
    const missing = scopes.map((scope) => missingRequirement(members, scope, stage));
    const at = missing.findIndex((line) => line !== undefined);
    if (at < 0) continue;
    const isCertain = missing.every((line) => line !== undefined);
    return isCertain ? `${missing[at]!}` : `if the job turns out ${classes[at]!}: ${missing[at]!}`;
  }
  return undefined;
}
