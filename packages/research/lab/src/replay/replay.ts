import { resolve } from 'node:path';
import type { Context, Progress } from '@goshawk/command';
import { attributesOfAll, sizeOfWorker } from '@goshawk/command/cluster';
import { NO_FACTS, policySettings, type WorkloadFacts } from '@goshawk/command/policy';
import { counted, InputError, type PolicySettings, type Preset, startsGangs } from '@goshawk/core';
import { formatTally, formatToWrite, type TraceJob, writeTrace } from '@goshawk/traces';
import { namedResources } from '../simulate/capacity.js';
import { jobsWithProgress, openWithProgress } from '../workload.js';
import type { PolicyRun, Shape } from './contract.js';
import { checkEstimator } from './estimates.js';
import { type ReplayOptions, replayVariants } from './options.js';
import { type PlannedJob, planReplay, type ReplayPlan } from './plan.js';
import { runPolicy } from './run-policy.js';
import { onExistingCluster, onLocalCluster } from './targets.js';
import { misfitLines, planLines, runLines } from './wording.js';

/** Result of a replay. */
export interface Replayed {
  readonly plan: ReplayPlan;
  readonly shape: Shape;
  /** One run per policy, in the order of the option. */
  readonly runs: readonly PolicyRun[];
}

/** Runs a workload under each policy, on a new cluster each time. */
export async function replayLocally(
  context: Context,
  options: ReplayOptions,
  spec: string,
): Promise<Replayed> {
  const { workers, schedulers, resources, attribute } = options;
  const { slots, capacity } = sizeOfWorker(options);
  const shape = { workers, slots, schedulers };
  const variants = replayVariants(options);
  const settingsOf = ({ options: of }: (typeof variants)[number], facts: WorkloadFacts): PolicySettings => {
    checkEstimator(of.estimator);
    return policySettings(of, of.policy, facts);
  };
  // Errors that do not depend on the workload are reported before reading it.
  for (const variant of variants) settingsOf(variant, NO_FACTS);
  // All plans have the same jobs and times; estimates depend on the estimator, gangs on the policy.
  const plans = new Map<string, ReplayPlan>();
  const planKey = (variant: (typeof variants)[number]): string => {
    const { preset } = settingsOf(variant, NO_FACTS);
    return `${variant.options.estimator} ${startsGangs(preset)}`;
  };
  for (const variant of variants) {
    const { preset } = settingsOf(variant, NO_FACTS);
    const key = planKey(variant);
    if (!plans.has(key)) plans.set(key, await makePlan(context, variant.options, spec, shape, preset));
  }
  const plan = plans.get(planKey(variants[0]!))!;
  const first = settingsOf(variants[0]!, plan.facts);
  const cluster = {
    workers,
    slots,
    capacity,
    attributes: attributesOfAll(attribute, workers),
  };
  // Only the workers know their memory if no option sets it.
  plan.needs.check({ ...cluster, capacity: { memory: Number.POSITIVE_INFINITY, ...cluster.capacity } });
  for (const variant of variants) {
    const settings = settingsOf(variant, plan.facts);
    const { needs } = plans.get(planKey(variant))!;
    needs.checkSpread(settings, cluster);
    if (startsGangs(settings.preset)) needs.checkGangs(cluster, settings.preset.gangs === 'all');
  }
  for (const line of planLines(plan, { load: options.load, workers }, first)) context.note(line);
  const runs: PolicyRun[] = [];
  for (const variant of variants) {
    const settings = settingsOf(variant, plan.facts);
    let shown: Progress | undefined;
    const say = (line: string): void => (shown === undefined ? context.note(line) : shown.say(line));
    context.note(
      `${variant.label}: starting central, ${counted(schedulers, 'scheduler')} and ${counted(workers, 'worker')}`,
    );
    const done = await onLocalCluster(context, { ...shape, resources, attribute }, settings, say, (target) =>
      runPolicy(
        context,
        variant.options,
        plans.get(planKey(variant))!,
        { ...target, label: variant.label },
        (now) => {
          shown = now;
        },
      ),
    );
    for (const line of runLines(done)) context.note(line);
    runs.push(done);
  }
  return { plan, shape, runs };
}

/**
 * Runs a workload on an existing cluster, under its policy.
 *
 * @param policies requested policies, if any
 * @throws InputError if the cluster has another policy
 */
export function replayOnCluster(
  context: Context,
  options: ReplayOptions,
  spec: string,
  policies: readonly string[] | undefined,
): Promise<Replayed> {
  return onExistingCluster(context, async (target, url) => {
    const { settings, shape } = target;
    checkPolicy(settings, url, policies);
    const plan = await makePlan(context, options, spec, shape, settings.preset);
    const { workers } = shape;
    const lines = planLines(plan, { load: options.load, workers }, settings);
    for (const line of [...lines, ...misfitLines(plan, settings)]) context.note(line);
    const done = await runPolicy(context, options, plan, target, () => {});
    for (const line of runLines(done)) context.note(line);
    return { plan, shape, runs: [done] };
  });
}

async function makePlan(
  context: Context,
  options: ReplayOptions,
  spec: string,
  { workers, slots }: Shape,
  preset: Preset,
): Promise<ReplayPlan> {
  const resources = namedResources(options);
  const workload = await openWithProgress(context, spec, undefined, undefined, resources);
  for (const line of formatTally(workload.tallied)) context.note(line);
  const jobs = jobsWithProgress(context, workload, 'drawing jobs');
  const plan = await planReplay(workload, jobs, {
    ...options,
    workers,
    slots,
    forMs: options.for,
    estimator: options.estimator,
    startsGangs: startsGangs(preset),
  });
  if (options.saveJobs !== undefined) {
    const file = resolve(context.cwd, options.saveJobs);
    await writeTrace(file, formatToWrite(file), plan.jobs.map(traceJob));
    context.note(`the scaled jobs are in ${options.saveJobs}`);
  }
  return plan;
}

/** Returns the job as executed, with the estimate that the cluster gets. */
export function traceJob({ job, estimateMs }: PlannedJob): TraceJob {
  return estimateMs === undefined ? job : { ...job, estimateSeconds: estimateMs / 1_000 };
}

function checkPolicy({ policy }: PolicySettings, url: string, policies: readonly string[] | undefined): void {
  if (policies === undefined || (policies.length === 1 && policies[0] === policy)) return;
  throw new InputError(
    'bad-option',
    `--policy ${policies.join(',')}: the cluster at ${url} runs ${policy}`,
    'omit --policy, or omit --cluster to start separate clusters',
  );
}
