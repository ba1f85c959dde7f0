import { ESTIMATOR_FORMS } from '@goshawk/predictor';
import type { OptionSpecs, Resolved } from '../options.js';
import { RESOURCES_OPTION } from '../resources.js';
import { POLICY_OPTIONS, SLOTS_OPTION } from '../settings.js';

export const REPLAY_OPTIONS = {
  ...POLICY_OPTIONS,
  policy: {
    type: 'text',
    describe: 'policies, one after another; the first is compared with the others (default: hawk,sparrow)',
  },
  workers: { type: 'count', default: 100, min: 1, max: 10_000, describe: 'workers of each cluster' },
  schedulers: { type: 'count', default: 10, min: 1, max: 1_000, describe: 'schedulers of each cluster' },
  slots: SLOTS_OPTION,
  resources: RESOURCES_OPTION,
  load: {
    type: 'number',
    default: 0.9,
    min: 0.001,
    max: 100,
    describe: 'work submitted over what the slots can do meanwhile',
  },
  jobs: {
    type: 'count',
    default: 3_300,
    min: 1,
    describe: 'jobs drawn from the workload; all, if it has fewer',
  },
  scale: { type: 'number', min: 0.001, describe: 'divide all durations by this (Hawk: 1000)' },
  for: { type: 'duration', describe: 'or: so that a policy takes about so long (default: 60s)' },
  seed: { type: 'count', default: 1, describe: 'of the jobs drawn, their arrivals, and noisy estimates' },
  estimator: {
    type: 'text',
    default: 'oracle',
    describe: `how it is found out which job is long: ${ESTIMATOR_FORMS}`,
  },
  saveJobs: {
    type: 'text',
    describe: 'write the jobs as they are run to this trace (.tr, .jsonl), which `goshawk simulate` takes',
  },
  report: { type: 'text', describe: 'write a page with tables and charts to this file' },
} as const satisfies OptionSpecs;

export type ReplayOptions = Resolved<typeof REPLAY_OPTIONS>;

export const DEFAULT_POLICIES: readonly string[] = ['goshawk', 'hawk', 'sparrow'];
