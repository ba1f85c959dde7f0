import { flagOf, kebab, type OptionSpecs, type Origin, type Resolved } from '@goshawk/command';
import { ATTRIBUTE_OPTION, CPUS_OPTION, RESOURCES_OPTION } from '@goshawk/command/cluster';
import { POLICY_OPTIONS } from '@goshawk/command/policy';
import { InputError, POLICY_NAMES } from '@goshawk/core';
import { ESTIMATOR_FORMS } from '@goshawk/predictor';
import { CSV_OPTION, FIGURE_OPTION, REPORT_OPTION, SAVE_RESULTS_OPTION } from '../output/comparison.js';
import { WORKLOAD_CUTOFF_OPTION } from '../simulate/options.js';
import { POLICY_SETTINGS, VARY_OPTION, type Variant, variantsOf } from '../variants.js';

export const REPLAY_OPTIONS = {
  ...POLICY_OPTIONS,
  policy: {
    type: 'text',
    setting: true,
    value: 'NAMES',
    suggests: POLICY_NAMES,
    describe:
      'scheduling policy, or several to compare, each with optional settings: hawk,hawk:no-stealing; the first is the baseline (default: goshawk,hawk,sparrow)',
  },
  cutoff: WORKLOAD_CUTOFF_OPTION,
  vary: VARY_OPTION,
  workers: { type: 'count', setting: true, default: 100, min: 1, max: 10_000, describe: 'number of workers' },
  schedulers: {
    type: 'count',
    setting: true,
    default: 10,
    min: 1,
    max: 1_000,
    describe: 'number of schedulers',
  },
  cpus: CPUS_OPTION,
  resources: RESOURCES_OPTION,
  attribute: ATTRIBUTE_OPTION,
  load: {
    type: 'number',
    setting: true,
    default: 0.9,
    min: 0.001,
    max: 100,
    describe: 'offered load as a fraction of all CPUs: 0.9 is 90%',
  },
  jobs: {
    type: 'count',
    setting: true,
    default: 3_300,
    min: 1,
    describe: 'number of jobs drawn from the workload',
  },
  scale: {
    type: 'number',
    setting: true,
    min: 0.001,
    describe: 'divide all durations by N (the Hawk paper uses 1000)',
  },
  for: {
    type: 'duration',
    setting: true,
    describe: 'choose --scale so that each policy takes about this long (default: 60s)',
  },
  seed: {
    type: 'count',
    setting: true,
    default: 1,
    describe: 'seed of random numbers: drawn jobs, arrivals and noisy estimates',
  },
  estimator: {
    type: 'text',
    setting: true,
    default: 'auto',
    value: 'NAME',
    describe: `estimator of task run times; several values are compared: ${ESTIMATOR_FORMS}`,
  },
  saveJobs: {
    type: 'text',
    setting: true,
    value: 'FILE',
    describe: 'write the scaled jobs to this trace file (.tr, .jsonl), for `goshawk simulate`',
  },
  saveResults: SAVE_RESULTS_OPTION,
  csv: CSV_OPTION,
  report: REPORT_OPTION,
  figure: FIGURE_OPTION,
} as const satisfies OptionSpecs;

export type ReplayOptions = Resolved<typeof REPLAY_OPTIONS>;

/** Settings of an existing cluster. Whether jobs state their run times depends on the estimator. */
const CLUSTER_SETTINGS: readonly string[] = [
  'vary',
  ...Object.keys(POLICY_SETTINGS).filter((name) => name !== 'estimator'),
  'workers',
  'schedulers',
  'cpus',
  'resources',
  'attribute',
];

/**
 * Checks flags with --cluster. Files and environment are ignored, since they also serve other commands.
 * @throws InputError for flags without effect
 */
export function checkFlagsFor(
  cluster: string,
  options: Readonly<Record<string, unknown>>,
  origins: Readonly<Record<string, Origin>>,
): void {
  const given = CLUSTER_SETTINGS.filter((name) => origins[name] === 'flag').map((name) =>
    options[name] === false ? `--no-${kebab(name)}` : flagOf(name),
  );
  if (given.length === 0) return;
  throw new InputError(
    'bad-option',
    `${given.join(', ')}: the cluster at ${cluster} already defines ${given.length === 1 ? 'it' : 'them'}`,
    `omit ${given.length === 1 ? 'it' : 'them'}, or omit --cluster to start separate clusters`,
  );
}

const DEFAULT_POLICIES = 'goshawk,hawk,sparrow';

/**
 * Returns the variants to compare.
 * @throws InputError if a setting is unknown or invalid
 */
export function replayVariants(
  options: ReplayOptions,
): Variant<ReplayOptions & { readonly policy: string }>[] {
  return variantsOf({ ...options, policy: options.policy ?? DEFAULT_POLICIES }, POLICY_SETTINGS);
}
