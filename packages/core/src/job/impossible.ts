import type { Millis } from '../ids.js';
import { couldFit, type KnownWorkers, mayMeet, roomFor, whyTooLarge } from '../needs/able-workers.js';
import { formatAttributes, spreadOf } from '../needs/attributes.js';
import { type JobClass, type Scope, spreadsTasks, startsGangs } from '../policy/presets.js';
import { effectiveScope, type PolicySettings } from '../policy/settings.js';
import type { Resources } from '../resources/resources.js';
import { countTasks, hasGangs } from './parse.js';
import type { JobSpec } from './spec.js';

/** Message for the submitter. */
export interface Impossible {
  readonly message: string;
  readonly hint: string;
}

/**
 * Explains why the workers, alone or together, could never run some stage of this job. Returns undefined if they
 * could when idle, or while no worker is known.
 */
export function whyImpossible(
  spec: JobSpec,
  policy: PolicySettings,
  workers: KnownWorkers,
): Impossible | undefined {
  if (hasGangs(spec) && !startsGangs(policy.preset))
    return { message: `policy ${policy.policy} does not support gangs`, hint: STARTS_GANGS };
  if (spec.stages.some(({ requires }) => spreadOf(requires)) && !spreadsTasks(policy.preset))
    return { message: `policy ${policy.policy} does not spread the tasks of a job`, hint: SPREADS };
  for (const stage of spec.stages) {
    const message = whyTooLarge(workers, stage.demand);
    if (message !== undefined) return { message, hint: ASK_FOR_LESS };
  }
  if (workers.size === 0) return undefined;
  for (const jobClass of possibleClasses(spec, policy)) {
    const scope = effectiveScope(policy.preset, policy.preset[jobClass].over);
    for (const stage of spec.stages) {
      const message = whyOutside(workers, scope, jobClass, stage.demand);
      if (message !== undefined) return { message, hint: ASK_FOR_LESS };
    }
  }
  return whyNoGang(spec, policy, workers);
}

/**
 * Explains that only workers outside the partition are large enough. Missing attributes do not count, because the next
 * worker may have them.
 */
export function whyOutside(
  workers: KnownWorkers,
  scope: Scope,
  jobClass: JobClass,
  demand: Resources,
): string | undefined {
  if (scope === 'all' || couldFit(workers, scope, { demand }) || !couldFit(workers, 'all', { demand }))
    return undefined;
  return `the workers with room for it are not in the ${scope} partition, which ${jobClass} jobs use`;
}

const STARTS_GANGS =
  'the default policy, goshawk, does, and so do easy and those of 3Sigma (`goshawk policies`)';
const SPREADS = 'the default policy, goshawk, does, and others that match all jobs (`goshawk policies`)';
const ASK_FOR_LESS = 'request less, or add a larger worker';

/** Explains why a gang cannot start, or why no worker meets the job's preferences. */
export function whyNoGang(
  { stages, prefer = {} }: Pick<JobSpec, 'stages' | 'prefer'>,
  { preset }: PolicySettings,
  workers: KnownWorkers,
): Impossible | undefined {
  for (const stage of stages) {
    if (stage.gang !== true && preset.gangs !== 'all') continue;
    const count = countTasks(stage.tasks);
    const room = roomFor(workers, stage, count, preset.packs);
    if (room >= count) continue;
    return {
      message: `the ${count} tasks of the gang start together, and the cluster has room for ${room} of them`,
      hint: 'submit fewer tasks, or add workers',
    };
  }
  if (preset.gangs !== 'all' || mayMeet(workers, prefer)) return undefined;
  return {
    message: `no worker has its preferred attributes: ${formatAttributes(prefer)}`,
    hint: '`goshawk workers --json` shows their attributes; omit the preference if any worker is acceptable',
  };
}

/** Classes that the job may get, as far as its spec determines them. */
export function possibleClasses(spec: JobSpec, policy: PolicySettings): readonly JobClass[] {
  const { estimator, cutoffMs } = policy;
  const meanMs = statedMs(spec);
  const isDecided = estimator === 'given' || (estimator === 'auto' && meanMs !== undefined);
  if (!isDecided) return ['short', 'long'];
  return [meanMs !== undefined && meanMs >= cutoffMs ? 'long' : 'short'];
}

/** The submitter's estimate of the mean task run time: of the job, or over its stages. */
export function statedMs({ estimateMs, stages }: JobSpec): Millis | undefined {
  if (estimateMs !== undefined) return estimateMs;
  let tasks = 0;
  let workMs = 0;
  for (const stage of stages) {
    if (stage.estimateMs === undefined) return undefined;
    const count = countTasks(stage.tasks);
    tasks += count;
    workMs += count * stage.estimateMs;
  }
  return workMs / tasks;
}
