import type { PolicySettings } from '@goshawk/core';
import type { OptionValues } from '@goshawk/report';
import type { Shape } from './contract.js';
import type { ReplayOptions } from './options.js';
import type { ReplayPlan } from './plan.js';

/** Every setting that shaped a run. Times are in seconds of the run, as everything that is reported of it. */
export function optionsRecord(
  { load, seed, estimator }: Pick<ReplayOptions, 'load' | 'seed' | 'estimator'>,
  shape: Shape,
  { fit, jobs }: ReplayPlan,
  settings: PolicySettings,
): OptionValues {
  const { preset } = settings;
  return {
    policy: settings.policy,
    workers: shape.workers,
    slots: shape.slots,
    schedulers: shape.schedulers,
    load,
    jobs: jobs.length,
    seed,
    estimator,
    scale: fit.divisor,
    taskFactor: fit.taskFactor,
    cutoff: settings.cutoffMs / 1_000,
    shortPartition: preset.partition ? settings.shortPartition : null,
    probeRatio: settings.probeRatio,
    stealCap: settings.stealCap,
    stealLimit: settings.stealLimit,
    stealRetry: settings.stealRetry,
    stealBackoff: settings.stealBackoffMs / 1_000,
    stealBackoffMax: settings.stealBackoffMaxMs / 1_000,
    cancel: settings.cancel,
    short: `${preset.short.by} over ${preset.short.over}`,
    long: `${preset.long.by} over ${preset.long.over}`,
    central: preset.short.by === 'central' || preset.long.by === 'central',
    partition: preset.partition,
    stealing: preset.stealing,
  };
}
