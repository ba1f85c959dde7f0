import type { OptionSpecs, Resolved } from '@goshawk/command';
import { ATTRIBUTE_OPTION, CPUS_OPTION, RESOURCES_OPTION, SHADOW_OPTION } from '@goshawk/command/cluster';
import { POLICY_OPTIONS } from '@goshawk/command/policy';
import { LIMITS } from '@goshawk/core';
import { ALL_POLICY_NAMES } from '@goshawk/policies';
import { ESTIMATOR_FORMS } from '@goshawk/predictor';
import { CSV_OPTION, FIGURE_OPTION, REPORT_OPTION, SAVE_RESULTS_OPTION } from '../output/comparison.js';
import { VARY_OPTION } from '../variants.js';
import { REFERENCES, referenceLines } from './references.js';

export const ON_OPTION = {
  type: 'text',
  value: 'URL',
  setting: false,
  describe:
    'cluster that runs each simulation as a task; its workers must see this folder and installation at the same paths',
} as const;

export const SIMULATED_USERS_OPTION = {
  type: 'text',
  setting: true,
  value: 'FILE',
  describe: 'weights and limits of users, as for `up` (default: equal weights)',
} as const;

export const SEEDS_OPTION = {
  type: 'count',
  setting: true,
  default: 1,
  min: 1,
  max: 1_000,
  describe: 'number of seeds to average over',
} as const;

export const PARALLEL_OPTION = {
  type: 'count',
  setting: true,
  min: 1,
  max: 64,
  describe: 'concurrent simulations (default: one per core)',
} as const;

export const WORKLOAD_CUTOFF_OPTION = {
  ...POLICY_OPTIONS.cutoff,
  value: 'TIME|p90|learned',
  describe:
    'mean task run time at which a job counts as long: 10s, 500ms, a number of seconds, the 90th percentile of the workload (p90), or what a live cluster would learn from the workload (learned)',
  whenUnset: 'p90',
} as const;

/** The defaults follow the papers (Hawk §4.1) where their simulators differ from a live cluster. */
export const SIMULATE_OPTIONS = {
  ...POLICY_OPTIONS,
  policy: {
    type: 'text',
    setting: true,
    value: 'NAMES',
    suggests: [...ALL_POLICY_NAMES, ...Object.keys(REFERENCES)],
    default: 'goshawk',
    describe: `scheduling policy, or several to compare, each with optional settings: hawk,hawk:no-stealing; the first is the baseline. \`goshawk policies\` lists them. Idealized variants for comparison: ${referenceLines(Object.keys(REFERENCES)).join('; ')}`,
  },
  cutoff: WORKLOAD_CUTOFF_OPTION,
  shortPartition: {
    ofPolicy: true,
    type: 'text',
    setting: true,
    default: '0.17',
    value: 'FRACTION',
    describe: 'fraction of workers that run no long tasks; auto: the share of short work; none',
  },
  probeDraw: {
    ofPolicy: true,
    type: 'text',
    setting: true,
    value: 'HOW',
    choices: POLICY_OPTIONS.probeDraw.choices,
    describe: `${POLICY_OPTIONS.probeDraw.describe} (default: independent; where workers seek, and live, distinct)`,
  },
  stealRetry: {
    ...POLICY_OPTIONS.stealRetry,
    default: 'never',
    describe: `${POLICY_OPTIONS.stealRetry.describe}; live clusters: backoff`,
  },
  cancel: {
    ofPolicy: true,
    type: 'text',
    setting: true,
    value: 'WHEN',
    choices: POLICY_OPTIONS.cancel.choices,
    describe: `${POLICY_OPTIONS.cancel.describe} (default: lazy; where workers seek, and live, proactive)`,
  },
  vary: VARY_OPTION,
  workers: {
    type: 'count',
    setting: true,
    min: 1,
    max: LIMITS.membersMax,
    describe: 'number of workers (default: 15000, or from --load)',
  },
  schedulers: {
    type: 'count',
    setting: true,
    default: 10,
    min: 1,
    max: 10_000,
    describe: 'number of schedulers',
  },
  cpus: CPUS_OPTION,
  resources: RESOURCES_OPTION,
  attribute: ATTRIBUTE_OPTION,
  users: SIMULATED_USERS_OPTION,
  load: {
    type: 'number',
    setting: true,
    min: 0.001,
    max: 100,
    describe:
      'offered load as a fraction of all CPUs: determines --workers, or scales the arrivals if --workers is set',
  },
  networkDelay: {
    type: 'text',
    setting: true,
    value: 'DELAY',
    default: '0.5ms',
    describe: 'one-way delay of a message: 0.5ms, normal:0.5ms,0.1ms (mean, deviation), measured:FILE.json',
  },
  speeds: {
    type: 'text',
    setting: true,
    value: 'NUMBERS',
    rare: true,
    describe:
      'speeds of the workers, in turn: 1,0.5; a task takes its run time divided by the speed of its worker (default: 1)',
  },
  stragglers: {
    type: 'text',
    setting: true,
    value: 'FRACTION,TIMES',
    rare: true,
    describe: 'fraction of the runs of tasks that are slow, and how many times as long they take: 0.05,8',
  },
  failures: {
    type: 'text',
    setting: true,
    value: 'MEAN,AWAY',
    rare: true,
    describe:
      'mean time until a worker fails, and how long it is away: 1d,10m; its tasks run again once it is missed, after 5s',
  },
  estimator: {
    type: 'text',
    setting: true,
    default: 'oracle',
    value: 'NAME',
    describe: `estimator of task run times; several values are compared: ${ESTIMATOR_FORMS}`,
  },
  durations: {
    type: 'text',
    setting: true,
    value: 'ORDER',
    choices: ['start', 'task'],
    default: 'start',
    rare: true,
    describe:
      'how run times are assigned to the tasks of a job: start, in order of start as in the papers, or task, fixed per task',
  },
  features: {
    type: 'text',
    setting: true,
    value: 'FILE',
    rare: true,
    describe: 'CSV file with features of the jobs of a .tr file',
  },
  history: {
    type: 'text',
    setting: true,
    value: 'FILE',
    rare: true,
    describe: 'CSV file with past jobs for estimators to learn from',
  },
  shadow: SHADOW_OPTION,
  seed: { type: 'count', setting: true, default: 1, describe: 'seed of random numbers' },
  seeds: { ...SEEDS_OPTION, describe: `${SEEDS_OPTION.describe}, starting at --seed` },
  warmUp: {
    type: 'duration',
    setting: true,
    default: '0s',
    rare: true,
    describe: 'ignore jobs submitted before this time',
  },
  coolDown: {
    type: 'duration',
    setting: true,
    default: '0s',
    rare: true,
    describe: 'ignore jobs submitted within this time before the last one',
  },
  parallel: PARALLEL_OPTION,
  on: ON_OPTION,
  effectsHash: {
    type: 'flag',
    setting: true,
    rare: true,
    describe: 'add a hash of all effects to each run, to compare runs; slow',
  },
  saveResults: SAVE_RESULTS_OPTION,
  csv: CSV_OPTION,
  report: REPORT_OPTION,
  figure: FIGURE_OPTION,
} as const satisfies OptionSpecs;

export type SimulateOptions = Resolved<typeof SIMULATE_OPTIONS>;
