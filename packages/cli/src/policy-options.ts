import { DEFAULT_POLICY, MATCHINGS, type Preset } from '@goshawk/core';
import { ALL_POLICY_NAMES, deciderOf } from '@goshawk/policies';
import { ATTRIBUTES, ESTIMATOR_FORMS } from '@goshawk/predictor';
import type { OptionSpec, OptionSpecs, Resolved } from './options.js';

/** The settings that shape a run: the same names for `up`, `replay`, `simulate`, `central` and in files. */
export const POLICY_OPTIONS = {
  policy: {
    type: 'text',
    suggests: ALL_POLICY_NAMES,
    default: 'goshawk',
    value: 'NAME',
    describe: 'scheduling policy; `goshawk policies` lists them',
  },
  estimator: {
    type: 'text',
    suggests: ESTIMATOR_FORMS.split(', '),
    default: 'auto',
    value: 'NAME',
    describe: `estimator of task run times: ${ESTIMATOR_FORMS}`,
  },
  cutoff: {
    type: 'text',
    value: 'TIME|p90',
    describe:
      'mean task run time from which a job is long, such as 10s or 500ms; a number alone is seconds; p90: percentile of the jobs of the workload',
    whenUnset: 'p90; of a live cluster learned from its jobs, 10 s until then',
  },
  shortPartition: {
    type: 'text',
    value: 'FRACTION',
    describe: 'fraction of the workers without long tasks; auto: the share of short work; none',
  },
  probeRatio: { type: 'number', default: 2, min: 1, max: 100, describe: 'probes for each task' },
  probeDraw: {
    type: 'text',
    value: 'HOW',
    default: DEFAULT_POLICY.probeDraw,
    choices: ['distinct', 'independent'],
    describe: 'workers of the probes of one batch: all distinct, or drawn independently',
  },
  stealCap: {
    type: 'count',
    default: 10,
    min: 1,
    describe: 'workers that an idle worker contacts in one round of stealing',
  },
  stealLimit: { type: 'count', min: 1, describe: 'probes of one steal at most' },
  stealRetry: {
    type: 'text',
    value: 'WHEN',
    default: 'backoff',
    choices: ['never', 'backoff'],
    describe: 'retry of stealing while a worker stays idle',
  },
  cancel: {
    type: 'text',
    value: 'WHEN',
    default: 'proactive',
    choices: ['lazy', 'proactive'],
    describe: 'cancellation of probes that no task needs',
  },
  reserve: {
    type: 'text',
    value: 'FRACTION',
    default: 'auto',
    describe:
      'matching: fraction of the slots that long tasks leave free; auto: by the need of short jobs; none',
  },
  matching: {
    type: 'text',
    value: 'WHEN',
    default: DEFAULT_POLICY.matching,
    choices: [...MATCHINGS, 'never'],
    describe: 'matching of short jobs by central; auto: unless central is overloaded; never: seeking',
  },
  seek: {
    type: 'count',
    default: DEFAULT_POLICY.seekCap,
    max: 1_000,
    describe: 'seeking: schedulers that a free worker contacts for a task; 0: none',
  },
  bitmap: {
    type: 'text',
    value: 'TIME',
    default: 'auto',
    describe:
      'seeking: interval between reports of workers with long tasks: 10s; auto: from the cutoff; none',
  },
  shareBy: {
    type: 'text',
    value: 'UNIT',
    choices: ['job', 'user', 'none'],
    describe:
      'unit of equal shares: user or none (goshawk, default: user), job or user (drf, drf-strict, carbyne, default: job)',
  },
  decisionInterval: {
    type: 'duration',
    describe: 'fifo-ff, bfjs, vqs, vqs-bf: interval between placements (default: at once)',
  },
  set: {
    type: 'texts',
    value: 'NAME=VALUE',
    describe: 'option of the policy of central; repeatable; `goshawk policies NAME` lists them',
  },
  pilotRatio: {
    type: 'text',
    value: 'SHARE',
    default: '3%',
    describe: 'pilots: share of the tasks of a job that run first: 3%, 0.03 or adaptive',
  },
  pilotsMax: {
    type: 'count',
    none: 0,
    min: 1,
    max: 999_999_999,
    describe: 'pilots of one job at most; none: only --pilot-ratio decides (default: 3 with matching)',
  },
  thinLimit: {
    type: 'count',
    default: DEFAULT_POLICY.thinLimit,
    min: 0,
    describe: 'pilots: jobs with fewer tasks run without pilots',
  },
  historyFeatures: {
    type: 'text',
    value: 'NAMES',
    describe: `history: features that similar jobs share, such as user+name,logical (of ${Object.keys(ATTRIBUTES).join(', ')})`,
  },
  series: {
    type: 'text',
    value: 'TIME',
    default: 'auto',
    describe:
      'time for which a slot runs tiny tasks of one scheduler back to back: 50ms; auto: from the cutoff; none',
  },
  central: { type: 'flag', default: true, describe: 'place long jobs centrally (off: --no-central)' },
  partition: { type: 'flag', default: true, describe: 'keep a short partition (off: --no-partition)' },
  stealing: { type: 'flag', default: true, describe: 'let idle workers steal (off: --no-stealing)' },
} as const satisfies OptionSpecs;

/** Where these are not said, a policy of the papers does as they do, and one in which workers seek as is best. */
type BestBySome = 'cancel' | 'probeDraw';

type Said = Resolved<typeof POLICY_OPTIONS>;
export type PolicyOptions = Omit<Said, BestBySome> & {
  readonly [Name in BestBySome]: Said[Name] | undefined;
};

type Name = keyof typeof POLICY_OPTIONS;

/** Which settings say something to which policies; in the order in which they are shown. */
const USES: readonly [names: readonly Name[], by: (preset: Preset) => boolean][] = [
  [['shortPartition', 'partition'], ({ partition }) => partition],
  [['central'], ({ long }) => long.by === 'central'],
  [['probeRatio', 'probeDraw', 'cancel'], ({ short, byClass }) => byClass && short.by !== 'central'],
  [['stealing', 'stealCap', 'stealLimit', 'stealRetry'], ({ stealing }) => stealing],
  [['reserve', 'matching', 'seek', 'bitmap'], (preset) => preset.byClass && isMatched(preset)],
  [['series'], isMatched],
  [['decisionInterval'], (preset) => 'decisionIntervalMs' in deciderOf(preset).module.options],
  [['shareBy'], (preset) => 'shareBy' in deciderOf(preset).module.options],
  [['pilotRatio', 'pilotsMax', 'thinLimit', 'historyFeatures'], () => true],
];

/** The settings that say something to clusters of such a policy, beside `--estimator`, `--cutoff` and `--set`. */
export function settingsUsedBy(preset: Preset): [name: string, spec: OptionSpec][] {
  return USES.flatMap(([names, by]) => (by(preset) ? names : [])).map((name) => [name, POLICY_OPTIONS[name]]);
}

function isMatched({ short, long }: Preset): boolean {
  return [short, long].some(({ by }) => by === 'matching' || by === 'seeking');
}
