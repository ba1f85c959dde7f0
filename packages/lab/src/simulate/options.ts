import {
  ATTRIBUTE_OPTION,
  type OptionSpecs,
  POLICY_OPTIONS,
  RESOURCES_OPTION,
  type Resolved,
  SHADOW_OPTION,
  SLOTS_OR_NONE_OPTION,
} from '@goshawk/cli';
import { LIMITS } from '@goshawk/core';
import { ALL_POLICY_NAMES } from '@goshawk/policies';
import { ESTIMATOR_FORMS } from '@goshawk/predictor';
import { CSV_OPTION } from '../replay/report-file.js';
import { VARY_OPTION } from '../variants.js';
import { REFERENCES, referenceLines } from './references.js';

/** Where the papers' simulators and a live cluster do not do the same, a simulation does as the papers (Hawk §4.1). */
export const SIMULATE_OPTIONS = {
  ...POLICY_OPTIONS,
  policy: {
    type: 'text',
    suggests: [...ALL_POLICY_NAMES, ...Object.keys(REFERENCES)],
    default: 'goshawk',
    describe: `policies; the first is compared with the others; with settings of their own: hawk,hawk:no-stealing. There are ${ALL_POLICY_NAMES.join(', ')}, and ${referenceLines(Object.keys(REFERENCES)).join('; ')}`,
  },
  shortPartition: {
    type: 'text',
    default: '0.17',
    describe: 'fraction of the workers that long tasks never use; auto: the share of short work; none',
  },
  probeDraw: {
    type: 'text',
    choices: POLICY_OPTIONS.probeDraw.choices,
    describe: `${POLICY_OPTIONS.probeDraw.describe} (default: independent; where workers seek, and live, distinct)`,
  },
  stealRetry: {
    ...POLICY_OPTIONS.stealRetry,
    default: 'never',
    describe: `${POLICY_OPTIONS.stealRetry.describe}; live clusters: backoff`,
  },
  cancel: {
    type: 'text',
    choices: POLICY_OPTIONS.cancel.choices,
    describe: `${POLICY_OPTIONS.cancel.describe} (default: lazy; where workers seek, and live, proactive)`,
  },
  vary: VARY_OPTION,
  workers: {
    type: 'count',
    min: 1,
    max: LIMITS.membersMax,
    describe: 'workers (default: 15000, or what --load asks for)',
  },
  schedulers: { type: 'count', default: 10, min: 1, max: 10_000, describe: 'schedulers' },
  slots: SLOTS_OR_NONE_OPTION,
  resources: {
    ...RESOURCES_OPTION,
    describe: `${RESOURCES_OPTION.describe} (default: a cpu a slot)`,
  },
  attribute: ATTRIBUTE_OPTION,
  load: {
    type: 'number',
    min: 0.001,
    max: 100,
    describe:
      'work submitted over what the slots can do meanwhile: picks the workers, or with --workers scales arrivals',
  },
  networkDelay: {
    type: 'text',
    default: '0.5ms',
    describe:
      'what a message takes, one way: 0.5ms, normal:0.5ms,0.1ms (mean and deviation), measured:FILE.json',
  },
  estimator: {
    type: 'text',
    default: 'oracle',
    describe: `how it is found out which job is long; several are compared: ${ESTIMATOR_FORMS}`,
  },
  durations: {
    type: 'text',
    choices: ['start', 'task'],
    default: 'start',
    describe:
      "which task takes which of its job's durations: dealt as tasks start, as the papers' simulators do; or each its own, as in a replay",
  },
  features: {
    type: 'text',
    describe: 'of a .tr file: what is known of its jobs beside their times, a CSV file',
  },
  history: {
    type: 'text',
    describe: 'jobs that ended before, which estimators learn from first, a CSV file',
  },
  shadow: SHADOW_OPTION,
  seed: { type: 'count', default: 1, describe: 'of all random numbers' },
  seeds: {
    type: 'count',
    default: 1,
    min: 1,
    max: 1_000,
    describe: 'run so many seeds, from --seed on, and average',
  },
  warmUp: { type: 'duration', default: '0s', describe: 'leave out jobs submitted so early' },
  coolDown: {
    type: 'duration',
    default: '0s',
    describe: 'leave out jobs submitted so shortly before the last',
  },
  parallel: {
    type: 'count',
    min: 1,
    max: 64,
    describe: 'runs at a time, each in a thread (default: one a core)',
  },
  effectsHash: {
    type: 'flag',
    describe:
      'add to each run a hash of all that every machine did, to tell whether two runs are the same; slow',
  },
  saveResults: {
    type: 'text',
    describe: 'write what became of each job to this file, as JSON lines',
  },
  csv: CSV_OPTION,
  report: { type: 'text', describe: 'write a page with tables and charts to this file' },
} as const satisfies OptionSpecs;

export type SimulateOptions = Resolved<typeof SIMULATE_OPTIONS>;
