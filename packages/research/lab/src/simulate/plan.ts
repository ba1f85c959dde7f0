import type { OptionSpecs } from '@goshawk/command';
import { attributesOfAll, parseAttributes, sizeOfWorker } from '@goshawk/command/cluster';
import { NO_FACTS, policyRecord, shadowNames } from '@goshawk/command/policy';
import { formatCount, InputError, LIMITS, type PolicySettings, present, startsGangs } from '@goshawk/core';
import type { NetworkModel } from '@goshawk/simulator';
import { configureGenerator, findGenerator } from '@goshawk/traces';
import { checkEstimator } from '../replay/estimates.js';
import { POLICY_SETTINGS, specsOf, type Variant, variantsOf } from '../variants.js';
import { SIMULATE_OPTIONS, type SimulateOptions } from './options.js';
import { simulatedPolicies } from './references.js';
import type { RunRequest } from './request.js';
import type { Survey } from './survey.js';
import { troubleOf } from './trouble.js';

const DEFAULT_WORKERS = 15_000;

/** Adds the capacity of the cluster that the workload's generator targets, unless the options define it. */
export function withClusterOf(workload: string, options: SimulateOptions): SimulateOptions {
  const { workers, cpus, resources, vary } = options;
  const isSpecified = resources !== undefined || cpus !== undefined;
  if (isSpecified || vary.some((text) => /^(cpus|slots)=/.test(text))) return options;
  const cluster = findGenerator(workload) === undefined ? undefined : configureGenerator(workload).cluster;
  if (cluster === undefined) return options;
  const isSized = workers !== undefined || options.load !== undefined;
  return { ...options, ...cluster, ...(isSized ? { workers } : {}) };
}

/** Cluster size and stretch factor of the arrivals that produce the requested load. */
export interface Sizing {
  readonly workers: number;
  readonly arrivalFactor: number;
  readonly offeredLoad: number;
}

/** @throws InputError if no cluster size, or no stretch of the arrivals, produces the requested load */
export function sizeOf(
  options: Pick<SimulateOptions, 'workers' | 'cpus' | 'resources' | 'load'>,
  { record, cpuSeconds }: Pick<Survey, 'record' | 'cpuSeconds'>,
): Sizing {
  const { workers, load } = options;
  const { slots: cpus } = sizeOfWorker(options);
  const busyCpus = record.spanSeconds > 0 ? cpuSeconds / record.spanSeconds : Number.POSITIVE_INFINITY;
  if (load === undefined) {
    const given = workers ?? DEFAULT_WORKERS;
    return { workers: given, arrivalFactor: 1, offeredLoad: busyCpus / (given * cpus) };
  }
  if (record.spanSeconds <= 0) throw noLoad('all jobs of the workload are submitted at once');
  if (record.taskSeconds <= 0) throw noLoad('all tasks of the workload take 0 s');
  if (cpuSeconds <= 0) throw noLoad('no task of the workload needs a CPU');
  if (workers !== undefined) {
    return { workers, arrivalFactor: busyCpus / (workers * cpus) / load, offeredLoad: load };
  }
  const picked = Math.max(1, Math.round(busyCpus / load / cpus));
  if (picked > LIMITS.membersMax) {
    throw noLoad(
      `${load} takes ${formatCount(picked)} workers, and ${formatCount(LIMITS.membersMax)} is the maximum`,
    );
  }
  return { workers: picked, arrivalFactor: 1, offeredLoad: busyCpus / (picked * cpus) };
}

function noLoad(why: string): InputError {
  return new InputError('bad-option', `--load: ${why}`, 'use --workers instead');
}

/**
 * Checks options that do not depend on the workload.
 * @throws InputError if an option is invalid
 */
export function checkOptions(options: SimulateOptions): void {
  shadowNames(options.shadow);
  parseAttributes(options.attribute);
  for (const { options: own } of simulateVariants(options)) {
    sizeOfWorker(own);
    checkEstimator(own.estimator);
    troubleOf(own);
    simulatedPolicies(own, NO_FACTS, NO_DELAY);
  }
}

/** Settings that may differ between runs, besides those of the policy. */
const VARIABLE: OptionSpecs = specsOf(SIMULATE_OPTIONS, [
  ...Object.keys(POLICY_SETTINGS),
  'workers',
  'cpus',
  'schedulers',
  'load',
  'networkDelay',
  'durations',
  'speeds',
  'stragglers',
  'failures',
]);

/**
 * Returns the variants to compare.
 * @throws InputError if a setting is unknown or invalid
 */
export function simulateVariants(options: SimulateOptions): Variant<SimulateOptions>[] {
  return variantsOf(options, VARIABLE);
}

const NO_DELAY: NetworkModel = { kind: 'constant', delayMs: 0 };

/**
 * Returns one request per policy and seed, policies first.
 *
 * @param label of the runs in tables; by default the policy's name
 */
export function planRuns(
  options: SimulateOptions,
  survey: Survey,
  sizing: Sizing,
  network: NetworkModel,
  label?: string,
): RunRequest[] {
  const { workers, arrivalFactor } = sizing;
  const { slots, capacity } = sizeOfWorker(options);
  const attributes = attributesOfAll(options.attribute, workers);
  const cluster = { workers, slots, capacity, attributes };
  survey.needs.check(cluster);
  const countedSeconds = countedTime(options, survey, arrivalFactor);
  return simulatedPolicies(options, survey.facts, network).flatMap(({ policy, network: of, estimator }) => {
    checkPartition(policy, workers);
    const places = survey.needs.placesIn(slots, policy.preset);
    survey.needs.checkSpread(policy, cluster);
    if (startsGangs(policy.preset))
      survey.needs.checkGangs({ ...cluster, places }, policy.preset.gangs === 'all');
    return Array.from({ length: options.seeds }, (_, i) => ({
      policy: label === undefined ? policy : { ...policy, policy: label },
      workers,
      slots,
      places,
      capacity,
      attribute: options.attribute,
      schedulers: options.schedulers,
      seed: options.seed + i,
      network: of,
      trouble: troubleOf(options),
      estimator,
      shadow: shadowNames(options.shadow),
      history: options.history,
      durations: options.durations as RunRequest['durations'],
      firstSubmitSeconds: survey.firstSubmitSeconds,
      arrivalFactor,
      countedSeconds,
      jobs: survey.record.jobs,
      needsEffectsHash: options.effectsHash,
      needsRecords: options.saveResults !== undefined,
      options: optionsRecord({ ...options, estimator }, policy, sizing, of, options.seed + i),
    }));
  });
}

/** Returns the interval of submissions that count, since the first one, after the arrivals are stretched. */
function countedTime(
  options: Pick<SimulateOptions, 'warmUp' | 'coolDown'>,
  { record, countWithin }: Survey,
  arrivalFactor: number,
): RunRequest['countedSeconds'] {
  const span = record.spanSeconds * arrivalFactor;
  const from = options.warmUp / 1_000;
  const to = options.coolDown > 0 ? span - options.coolDown / 1_000 : Number.POSITIVE_INFINITY;
  if (from > to || countWithin(from / arrivalFactor, to / arrivalFactor) === 0) {
    throw new InputError(
      'bad-option',
      `--warm-up and --cool-down exclude all ${record.jobs} jobs, which are submitted over ${Math.round(span)} s`,
      'shorten them',
    );
  }
  return [from, to];
}

/** @throws InputError if short jobs may use only the short partition, which is empty */
function checkPartition({ policy, preset }: PolicySettings, workers: number): void {
  if (!preset.partition || preset.short.over !== 'short' || workers > 1) return;
  throw new InputError(
    'bad-option',
    `--workers 1: ${policy} divides the workers between short and long jobs, so it needs at least two`,
    'use two or more',
  );
}

/** Returns a one-line note if the cluster is too small to reserve a worker for the partition, or nothing. */
export function partitionNote({ policy, preset, shortPartition }: PolicySettings, workers: number): string {
  if (!preset.partition || preset.short.over === 'short' || !(Number(shortPartition) > 0)) return '';
  const kept = Math.min(Math.round(Number(shortPartition) * workers), workers - 1);
  if (kept > 0) return '';
  const share = `${Number((Number(shortPartition) * 100).toPrecision(3))}%`;
  return `${policy}: ${share} of ${workers === 1 ? 'one worker' : `${workers} workers`} rounds to zero: no worker is reserved for short tasks`;
}

/** Returns a one-line note about a policy that does not support gangs, or nothing. */
export function gangNote({ policy, preset }: PolicySettings): string {
  return startsGangs(preset) ? '' : `${policy} does not support gangs; their tasks start one by one`;
}

/** Returns every setting that shaped a run. */
function optionsRecord(
  options: SimulateOptions,
  policy: PolicySettings,
  sizing: Sizing,
  network: NetworkModel,
  seed: number,
): RunRequest['options'] {
  const { speeds, stragglers, failures } = options;
  return {
    workers: sizing.workers,
    slots: sizeOfWorker(options).slots,
    resources: options.resources ?? null,
    ...(options.attribute.length === 0 ? {} : { attribute: options.attribute }),
    ...(options.users === undefined ? {} : { users: options.users }),
    schedulers: options.schedulers,
    load: Number.isFinite(sizing.offeredLoad) ? sizing.offeredLoad : null,
    arrivalFactor: sizing.arrivalFactor,
    seed,
    estimator: options.estimator,
    durations: options.durations,
    features: options.features ?? null,
    history: options.history ?? null,
    shadow: options.shadow ?? null,
    ...present({ speeds, stragglers, failures }),
    networkDelay: network.kind === 'constant' ? network.delayMs / 1_000 : options.networkDelay,
    warmUp: options.warmUp / 1_000,
    coolDown: options.coolDown / 1_000,
    ...policyRecord(policy),
  };
}
