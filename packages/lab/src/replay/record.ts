import { policyRecord } from '@goshawk/cli';
import type { PolicySettings } from '@goshawk/core';
import type { OptionValues } from '@goshawk/report';
import type { Shape } from './contract.js';
import type { ReplayOptions } from './options.js';
import type { ReplayPlan } from './plan.js';

/** Every setting that shaped a run. Times are in seconds of the run, as everything that is reported of it. */
export function optionsRecord(
  {
    load,
    seed,
    estimator,
    resources,
    attribute,
  }: Pick<ReplayOptions, 'load' | 'seed' | 'estimator' | 'resources' | 'attribute'>,
  shape: Shape,
  { fit, jobs }: ReplayPlan,
  settings: PolicySettings,
): OptionValues {
  return {
    workers: shape.workers,
    slots: shape.slots,
    resources: resources ?? null,
    ...(attribute.length === 0 ? {} : { attribute }),
    schedulers: shape.schedulers,
    load,
    jobs: jobs.length,
    seed,
    estimator,
    scale: fit.divisor,
    taskFactor: fit.taskFactor,
    ...policyRecord(settings),
  };
}
