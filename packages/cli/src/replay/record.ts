import type { PolicySettings } from '@goshawk/core';
import type { OptionValues } from '@goshawk/report';
import type { ReplayPlan } from './plan.js';

export interface ReplaySetup {
  readonly workers: number;
  readonly slots: number;
  readonly schedulers: number;
  readonly load: number;
  readonly seed: number;
  readonly estimator: string;
}

/** Every setting that shaped a run. Times are in seconds of the run, as everything that is reported of it. */
export function optionsRecord(
  setup: ReplaySetup,
  { fit, jobs }: ReplayPlan,
  settings: PolicySettings,
): OptionValues {
  const { preset } = settings;
  return {
    policy: settings.policy,
    ...setup,
    jobs: jobs.length,
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
