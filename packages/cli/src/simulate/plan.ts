import { InputError, type PolicySettings } from '@goshawk/core';
import { parseEstimator } from '../replay/estimates.js';
import { policyNames, policyRecord, policySettings } from '../settings.js';
import { capacityOf } from './capacity.js';
import type { SimulateOptions } from './options.js';
import type { RunRequest } from './request.js';
import type { Survey } from './survey.js';

const DEFAULT_WORKERS = 15_000;

/** How large the cluster is, and how the arrivals are stretched, for the load that is asked for. */
export interface Sizing {
  readonly workers: number;
  readonly arrivalFactor: number;
  readonly offeredLoad: number;
}

export function sizeOf(
  { workers, slots, load }: Pick<SimulateOptions, 'workers' | 'slots' | 'load'>,
  { record }: Survey,
): Sizing {
  const busySlots =
    record.spanSeconds > 0 ? record.taskSeconds / record.spanSeconds : Number.POSITIVE_INFINITY;
  if (load !== undefined && record.spanSeconds <= 0) {
    throw new InputError(
      'bad-option',
      '--load: all jobs of the workload are submitted at once',
      'give --workers instead',
    );
  }
  if (load !== undefined && workers === undefined) {
    const picked = Math.max(1, Math.round(busySlots / load / slots));
    return { workers: picked, arrivalFactor: 1, offeredLoad: busySlots / (picked * slots) };
  }
  const given = workers ?? DEFAULT_WORKERS;
  const nominal = busySlots / (given * slots);
  return {
    workers: given,
    arrivalFactor: load === undefined ? 1 : nominal / load,
    offeredLoad: load ?? nominal,
  };
}

/** One request for each policy and seed, policies first. */
export function planRuns(
  workload: string,
  options: SimulateOptions,
  survey: Survey,
  sizing: Sizing,
): RunRequest[] {
  parseEstimator(options.estimator);
  const { workers, arrivalFactor } = sizing;
  const capacity = capacityOf(options);
  survey.demands.check(capacity);
  const span = survey.record.spanSeconds * arrivalFactor;
  const countedSeconds = [options.warmUp / 1_000, span - options.coolDown / 1_000] as const;
  if (countedSeconds[0] >= countedSeconds[1] && options.warmUp + options.coolDown > 0) {
    throw new InputError(
      'bad-option',
      `--warm-up and --cool-down leave nothing of ${Math.round(span)} s`,
      'give less',
    );
  }
  return policyNames(options.policy).flatMap((name) => {
    const policy = policySettings({ ...options, policy: name }, name, survey.facts);
    return Array.from({ length: options.seeds }, (_, i) => ({
      workload,
      policy,
      workers,
      slots: options.slots,
      capacity,
      schedulers: options.schedulers,
      seed: options.seed + i,
      networkDelayMs: options.networkDelay,
      estimator: options.estimator,
      firstSubmitSeconds: survey.firstSubmitSeconds,
      arrivalFactor,
      countedSeconds,
      jobs: survey.record.jobs,
      options: optionsRecord(options, policy, sizing, options.seed + i),
    }));
  });
}

/** Every setting that shaped a run. */
function optionsRecord(
  options: SimulateOptions,
  policy: PolicySettings,
  sizing: Sizing,
  seed: number,
): RunRequest['options'] {
  return {
    workers: sizing.workers,
    slots: options.slots,
    resources: options.resources ?? null,
    schedulers: options.schedulers,
    load: sizing.offeredLoad,
    arrivalFactor: sizing.arrivalFactor,
    seed,
    estimator: options.estimator,
    networkDelay: options.networkDelay / 1_000,
    warmUp: options.warmUp / 1_000,
    coolDown: options.coolDown / 1_000,
    ...policyRecord(policy),
  };
}
