import { DEFAULT_POLICY, LENDINGS, MATCHINGS, type Preset } from '@goshawk/core';
import { ALL_POLICY_NAMES, deciderOf } from '@goshawk/policies';
import { ATTRIBUTES, ESTIMATOR_FORMS } from '@goshawk/predictor';
import type { OptionSpec, Resolved } from '../options.js';

/** Settings of policies, with the same names for `up`, `replay`, `simulate`, `central` and in files. */
export const POLICY_OPTIONS = ofPolicy({
  policy: {
    type: 'text',
    setting: true,
    suggests: ALL_POLICY_NAMES,
    default: 'goshawk',
    value: 'NAME',
    describe: 'scheduling policy; `goshawk policies` lists them',
  },
  estimator: {
    type: 'text',
    setting: true,
    suggests: ESTIMATOR_FORMS.split(', '),
    default: 'auto',
    value: 'NAME',
    describe: `estimator of task run times: ${ESTIMATOR_FORMS}`,
  },
  cutoff: {
    type: 'text',
    setting: true,
    value: 'TIME',
    describe: 'mean task run time at which a job counts as long: 10s, 500ms or a number of seconds',
    whenUnset: 'learned from completed jobs; 10s until then',
  },
  shortPartition: {
    type: 'text',
    setting: true,
    value: 'FRACTION',
    describe: 'fraction of workers that run no long tasks; auto: the share of short work; none',
  },
  probeRatio: { type: 'number', setting: true, default: 2, min: 1, max: 100, describe: 'probes per task' },
  probeDraw: {
    type: 'text',
    setting: true,
    value: 'HOW',
    default: DEFAULT_POLICY.probeDraw,
    choices: ['distinct', 'independent'],
    describe: 'whether the probes of a batch go to distinct workers or are drawn independently',
  },
  stealCap: {
    type: 'count',
    setting: true,
    default: 10,
    min: 1,
    describe: 'workers that an idle worker contacts per round of stealing',
  },
  stealLimit: { type: 'count', setting: true, min: 1, describe: 'maximum number of probes per steal' },
  stealRetry: {
    type: 'text',
    setting: true,
    value: 'WHEN',
    default: 'backoff',
    choices: ['never', 'backoff'],
    describe: 'whether stealing retries while a worker stays idle',
  },
  cancel: {
    type: 'text',
    setting: true,
    value: 'WHEN',
    default: 'proactive',
    choices: ['lazy', 'proactive'],
    describe: 'how probes that no task needs are cancelled',
  },
  reserve: {
    type: 'text',
    setting: true,
    value: 'FRACTION',
    default: 'auto',
    describe: 'matching: fraction of CPUs reserved for short tasks; auto: by the demand of short jobs; none',
  },
  lend: {
    type: 'text',
    setting: true,
    value: 'TASKS',
    default: DEFAULT_POLICY.lend,
    choices: LENDINGS,
    describe:
      'matching: which waiting tasks may start on the CPUs of running tasks, which pause meanwhile; short: only short tasks beside long ones; all: also for shares of users and deadlines',
  },
  matching: {
    type: 'text',
    setting: true,
    value: 'WHEN',
    default: DEFAULT_POLICY.matching,
    choices: [...MATCHINGS, 'never'],
    describe:
      'whether central matches short jobs; auto: unless central is overloaded; never: workers seek instead',
  },
  seek: {
    type: 'count',
    setting: true,
    default: DEFAULT_POLICY.seekCap,
    max: 1_000,
    describe: 'seeking: schedulers that a free worker contacts for a task; 0: none',
  },
  bitmap: {
    type: 'text',
    setting: true,
    value: 'TIME',
    default: 'auto',
    describe:
      'seeking: interval between reports of workers with long tasks: 10s; auto: derived from the cutoff; none',
  },
  shareBy: {
    type: 'text',
    setting: true,
    value: 'UNIT',
    choices: ['job', 'user', 'none'],
    describe:
      'unit of equal shares: user or none (goshawk, default: user), job or user (drf, drf-strict, carbyne, default: job)',
  },
  decisionInterval: {
    type: 'duration',
    setting: true,
    describe: 'fifo-ff, bfjs, vqs, vqs-bf: interval between placements (default: at once)',
  },
  set: {
    type: 'texts',
    setting: true,
    value: 'NAME=VALUE',
    describe: 'policy option; `goshawk policies NAME` lists them; repeatable',
  },
  pilotRatio: {
    type: 'text',
    setting: true,
    value: 'SHARE',
    default: '3%',
    describe: 'pilots: share of a job’s tasks that run first: 3%, 0.03 or adaptive',
  },
  pilotsMax: {
    type: 'count',
    setting: true,
    none: 0,
    min: 1,
    max: 999_999_999,
    describe: 'maximum number of pilots per job; none: only --pilot-ratio decides (default: 3 with matching)',
  },
  thinLimit: {
    type: 'count',
    setting: true,
    default: DEFAULT_POLICY.thinLimit,
    min: 0,
    describe: 'pilots: jobs with fewer tasks run without pilots',
  },
  historyFeatures: {
    type: 'text',
    setting: true,
    value: 'NAMES',
    describe: `history: features that make jobs similar, such as user+name,logical (of ${Object.keys(ATTRIBUTES).join(', ')})`,
  },
  series: {
    type: 'text',
    setting: true,
    value: 'TIME',
    default: 'auto',
    describe:
      'how long a worker runs tiny tasks of one scheduler back to back: 50ms; auto: derived from the cutoff; none',
  },
  central: {
    type: 'flag',
    setting: true,
    default: true,
    describe: 'place long jobs centrally (off: --no-central)',
  },
  partition: {
    type: 'flag',
    setting: true,
    default: true,
    describe: 'keep a short partition (off: --no-partition)',
  },
  stealing: {
    type: 'flag',
    setting: true,
    default: true,
    describe: 'let idle workers steal (off: --no-stealing)',
  },
});

/** Marks options as settings of a policy, except the common ones, which the help of commands shows. */
function ofPolicy<const S extends Readonly<Record<string, OptionSpec>>>(specs: S): S {
  const common = ['policy', 'estimator', 'cutoff', 'set'];
  const marked = Object.entries(specs).map(([name, spec]) => [
    name,
    common.includes(name) ? spec : { ...spec, ofPolicy: true },
  ]);
  return Object.fromEntries(marked) as S;
}

/**
 * Options whose default depends on the policy. Policies of papers follow their paper, and seeking policies
 * use the best value.
 */
type DefaultsByPolicy = 'cancel' | 'probeDraw';

type Given = Resolved<typeof POLICY_OPTIONS>;
export type PolicyOptions = Omit<Given, DefaultsByPolicy> & {
  readonly [Name in DefaultsByPolicy]: Given[Name] | undefined;
};

type Name = keyof typeof POLICY_OPTIONS;

/** Settings and the policies that use them, in display order. */
const USES: readonly [names: readonly Name[], by: (preset: Preset) => boolean][] = [
  [['shortPartition', 'partition'], ({ partition }) => partition],
  [['central'], ({ long }) => long.by === 'central'],
  [['probeRatio', 'probeDraw', 'cancel'], ({ short, byClass }) => byClass && short.by !== 'central'],
  [['stealing', 'stealCap', 'stealLimit', 'stealRetry'], ({ stealing }) => stealing],
  [['reserve', 'lend', 'matching', 'seek', 'bitmap'], (preset) => preset.byClass && isMatched(preset)],
  [['series'], isMatched],
  [['decisionInterval'], (preset) => 'decisionIntervalMs' in deciderOf(preset).module.options],
  [['shareBy'], (preset) => 'shareBy' in deciderOf(preset).module.options],
  [['pilotRatio', 'pilotsMax', 'thinLimit', 'historyFeatures'], () => true],
];

/** Returns the settings that a policy uses, besides `--estimator`, `--cutoff` and `--set`. */
export function settingsUsedBy(preset: Preset): [name: string, spec: OptionSpec][] {
  return USES.flatMap(([names, by]) => (by(preset) ? names : [])).map((name) => [name, POLICY_OPTIONS[name]]);
}

function isMatched({ short, long }: Preset): boolean {
  return [short, long].some(({ by }) => by === 'matching' || by === 'seeking');
}
