import {
  ablate,
  type ClusterSettings,
  clusterSettingsSchema,
  DEFAULT_POLICY,
  InputError,
  LIMITS,
  LIVE_TIMINGS,
  MATCHINGS,
  maySeek,
  NOTHING_ABLATED,
  type PolicySettings,
  type Preset,
  parseDuration,
  type Timings,
} from '@goshawk/core';
import { ALL_POLICY_NAMES, decidedWith, deciderOf, presetNamed } from '@goshawk/policies';
import { ATTRIBUTES, ESTIMATOR_FORMS, estimatorKind, FeatureKeys } from '@goshawk/predictor';
import type { OptionSpecs, Resolved } from './options.js';
import { scaled, setOptions, setTexts } from './policy-options.js';

/** The estimator of the cluster's schedulers, who never know the truth. */
export function schedulersEstimator(text: string): string {
  return estimatorKind(text).kind.needsTruth ? 'given' : text;
}

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
  queues: { type: 'count', min: 1, max: LIMITS.queuesMax, describe: 'gs: priority queues (default: 10)' },
  queueBase: {
    type: 'number',
    min: 0.001,
    describe:
      'gs: estimated task seconds up to which a job is in the first queue; ten times as many for each further queue (default: 1000)',
  },
  shareBy: {
    type: 'text',
    value: 'UNIT',
    choices: ['job', 'user'],
    describe: 'drf, drf-strict, carbyne: unit of equal shares (default: job)',
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
    type: 'text',
    value: 'N',
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

export type PolicyOptions = Omit<Resolved<typeof POLICY_OPTIONS>, BestBySome> & {
  readonly [name in BestBySome]: string | undefined;
};

/** What a workload says that settings may depend on. */
export interface WorkloadFacts {
  /** Durations of the workload are divided by this in the run; 1 where they are as they were. */
  readonly divisor: number;
  /** The 90th percentile of the jobs' mean task run times. ms */
  readonly meanP90Ms: number;
  /** The share of task seconds in jobs below a cutoff. */
  shareBelow(cutoffMs: number): number;
}

/** For a look at what is wrong with options whatever the workload. */
export const NO_FACTS: WorkloadFacts = { divisor: 1, meanP90Ms: 0, shareBelow: () => 0 };

/** A cluster that nobody described a workload for: 10 s divide short from long. */
const DEFAULT_CUTOFF_MS = DEFAULT_POLICY.cutoffMs;

/**
 * The policy settings that the options ask for, for one of the policies named.
 *
 * @param facts of the workload, when there is one; without it `p90` has no meaning
 * @throws InputError for a policy that there is not, and for values that make no sense
 */
export function policySettings(
  options: PolicyOptions,
  policy: string,
  facts?: WorkloadFacts,
): PolicySettings {
  const keep = {
    ...NOTHING_ABLATED,
    central: options.central,
    partition: options.partition,
    stealing: options.stealing,
    matching: options.matching !== 'never',
  };
  const preset = ablate(presetNamed(policy), keep);
  const seeks = preset.short.by === 'seeking';
  const cutoffMs = cutoffOf(options.cutoff, facts);
  checkOrder(options.estimator, preset);
  return {
    ...DEFAULT_POLICY,
    policy,
    preset: {
      ...decidedWith(preset, decidingOptions(options, policy, preset, facts)),
      partition: preset.partition && options.shortPartition !== 'none',
    },
    cutoffMs,
    cutoffJobs: options.cutoff === undefined && facts === undefined ? 0 : null,
    shortPartition: shortPartitionOf(options.shortPartition, cutoffMs, facts),
    probeRatio: options.probeRatio,
    probeDraw: (options.probeDraw as PolicySettings['probeDraw']) ?? (seeks ? 'distinct' : 'independent'),
    stealCap: options.stealCap,
    stealLimit: options.stealLimit ?? null,
    stealRetry: options.stealRetry as PolicySettings['stealRetry'],
    cancel: (options.cancel as PolicySettings['cancel']) ?? (seeks ? 'proactive' : 'lazy'),
    reserve: reserveOf(options.reserve),
    seekCap: options.seek,
    bitmapMs: bitmapOf(options.bitmap, cutoffMs),
    estimator: schedulersEstimator(options.estimator),
    pilotRatio: pilotRatioOf(options.pilotRatio),
    pilotsMax: pilotsMaxOf(options.pilotsMax, preset),
    pilotQuorum: keepsReserve(preset) ? MATCHED_QUORUM : DEFAULT_POLICY.pilotQuorum,
    pilotPrior: keepsReserve(preset),
    thinLimit: options.thinLimit,
    features: featuresOf(options.historyFeatures),
    matching: options.matching === 'always' ? 'always' : 'auto',
    seriesMs: seriesOf(options.series, cutoffMs),
  };
}

/**
 * With matching, pilots of long jobs use the reserve of short ones: three are enough, half of them decide, together with a
 * prior. Without it, as in the paper, all decide alone (`docs/DESIGN.md`).
 */
const MATCHED_PILOTS_MAX = 3;
const MATCHED_QUORUM = 0.5;

function keepsReserve(preset: Preset): boolean {
  return maySeek(preset) && preset.byClass;
}

/** @throws InputError for a name of an order that nobody serves jobs in */
function checkOrder(estimator: string, preset: Preset): void {
  const { kind } = estimatorKind(estimator);
  const servesIt = Object.values(deciderOf(preset).module.options).some(({ flag }) => flag === '--estimator');
  if (kind.orders !== true || servesIt) return;
  throw new InputError(
    'bad-option',
    `--estimator ${estimator} is an order of policy gs, not an estimator`,
    'give --policy gs',
  );
}

/** Values of an order that jobs are served in, by the names that `--estimator` has for them. */
const ORDERS: Readonly<Record<string, string>> = { las: 'service', fifo: 'arrival' };

/** Options of the policy by which central decides. */
function decidingOptions(
  { queues, queueBase, estimator, set, shareBy, decisionInterval }: PolicyOptions,
  chosen: string,
  preset: Preset,
  facts: WorkloadFacts | undefined,
): Record<string, number | string | boolean> {
  const { module, options } = deciderOf(preset);
  const named = [
    ...(shareBy === undefined ? [] : [`shareBy=${shareBy}`]),
    ...(decisionInterval === undefined ? [] : [`decisionIntervalMs=${decisionInterval}`]),
  ];
  const byFlag: Record<string, number | string | undefined> = {
    '--queues': queues,
    '--queue-base': queueBase === undefined ? undefined : queueBase * 1_000,
    '--estimator': ORDERS[estimator],
  };
  const own = Object.entries(module.options).flatMap(([name, { flag, default: normal }]) =>
    flag === undefined ? [] : [[name, byFlag[flag] ?? normal]],
  );
  const given = { ...options, ...setOptions(chosen, preset, [...set, ...named]), ...Object.fromEntries(own) };
  return scaled(module, given, facts?.divisor ?? 1);
}

/** Options of that policy that have flags of their own, by these; durations in seconds. */
function recordOfOwnFlags(preset: Preset): Record<string, unknown> {
  const { module, options } = deciderOf(preset);
  const own = Object.entries(module.options).flatMap(([name, { flag, scales }]) => {
    if (flag === undefined || flag === '--estimator') return [];
    const key = flag.slice(2).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    return [[key, scales ? Number(options[name]) / 1_000 : options[name]]];
  });
  return Object.fromEntries(own);
}

function pilotRatioOf(text: string): PolicySettings['pilotRatio'] {
  if (text === 'adaptive') return text;
  const [, number, percent] = /^(\d*\.?\d+)(%?)$/.exec(text) ?? [];
  const ratio = Number(number) / (percent === '%' ? 100 : 1);
  if (ratio >= 0 && ratio <= 1) return ratio;
  throw new InputError(
    'bad-option',
    `--pilot-ratio: "${text}" is neither a share from 0% to 100%, nor adaptive`,
    'write 3% or 0.03',
  );
}

/** @throws InputError for a feature that there is not */
function featuresOf(text: string | undefined): PolicySettings['features'] {
  if (text === undefined) return null;
  const features = [...new Set(text.split(',').map((feature) => feature.trim()))];
  // Refuses what it does not know.
  new FeatureKeys(features);
  return features;
}

function pilotsMaxOf(text: string | undefined, preset: Preset): PolicySettings['pilotsMax'] {
  if (text === undefined) return keepsReserve(preset) ? MATCHED_PILOTS_MAX : null;
  if (text === 'none') return null;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InputError('bad-option', `--pilots-max: "${text}" is neither a number from 1 on nor none`);
}

/** @throws InputError when workers have no fixed number of slots, and the policy counts slots */
export function checkSlots(
  slots: number,
  { policy, preset }: Pick<PolicySettings, 'policy' | 'preset'>,
): void {
  if (slots > 0 || preset.packs) return;
  const packing = ALL_POLICY_NAMES.filter((name) => presetNamed(name).packs);
  throw new InputError(
    'bad-option',
    `--slots none: policy ${policy} needs slots`,
    `give a number of slots, or a policy that packs: ${packing.join(', ')}`,
  );
}

/** @throws InputError when some combination is refused by the settings' own schema */
export function clusterSettings(policy: PolicySettings, timings: Timings = LIVE_TIMINGS): ClusterSettings {
  return clusterSettingsSchema.parse({ policy, timings });
}

/**
 * `hawk,sparrow` as names that exist, each once.
 *
 * @param besides names that are good here, though no preset has them
 * @throws InputError
 */
export function policyNames(text: string, besides: readonly string[] = []): string[] {
  const names = text.split(',').map((name) => name.trim());
  for (const name of names) if (!besides.includes(name)) presetNamed(name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new InputError('bad-option', `--policy names ${twice} twice`);
  return names;
}

function cutoffOf(text: string | undefined, facts: WorkloadFacts | undefined): number {
  if (text === undefined) return facts?.meanP90Ms ?? DEFAULT_CUTOFF_MS;
  if (text === 'p90') {
    if (facts !== undefined) return facts.meanP90Ms;
    throw new InputError(
      'bad-option',
      '--cutoff p90 needs a workload to take the percentile of',
      'give seconds',
    );
  }
  const seconds = text.trim() === '' ? Number.NaN : Number(text);
  const ms = /[a-z]$/.test(text) ? parseDuration(text, '--cutoff') : seconds * 1_000;
  if (!Number.isFinite(ms) || ms < 0) {
    throw new InputError(
      'bad-option',
      `--cutoff: "${text}" is no number of seconds, no time such as 10s, and not p90`,
    );
  }
  return ms / (facts?.divisor ?? 1);
}

function shortPartitionOf(
  text: string | undefined,
  cutoffMs: number,
  facts: WorkloadFacts | undefined,
): PolicySettings['shortPartition'] {
  // Hawk §3.4 sizes the partition by the share of task seconds; where the workload is known, so is that.
  if (text === undefined)
    return facts === undefined ? DEFAULT_POLICY.shortPartition : facts.shareBelow(cutoffMs);
  if (text === 'auto') return facts === undefined ? 'auto' : facts.shareBelow(cutoffMs);
  if (text === 'none') return 0;
  const fraction = text.trim() === '' ? Number.NaN : Number(text);
  if (!(fraction >= 0 && fraction < 1)) {
    throw new InputError(
      'bad-option',
      `--short-partition: "${text}" is neither a fraction from 0 to 1, nor auto, nor none`,
    );
  }
  return fraction;
}

function reserveOf(text: string): PolicySettings['reserve'] {
  if (text === 'auto') return 'auto';
  if (text === 'none') return 0;
  const fraction = text.trim() === '' ? Number.NaN : Number(text);
  if (fraction >= 0 && fraction < 1) return fraction;
  throw new InputError(
    'bad-option',
    `--reserve: "${text}" is neither a fraction from 0 to 1, nor auto, nor none`,
  );
}

/** `auto`: long tasks last for a cutoff, so that a hundredth of it is soon enough. */
function bitmapOf(text: string, cutoffMs: number): number {
  if (text === 'none') return 0;
  if (text === 'auto') return Math.min(10_000, Math.max(100, cutoffMs / 100));
  return parseDuration(text, '--bitmap');
}

/** `auto`: a hundredth of the cutoff, from which on tasks are long; no more than people notice. */
function seriesOf(text: string, cutoffMs: number): number {
  if (text === 'none') return 0;
  if (text === 'auto') return Math.min(100, cutoffMs / 100);
  return parseDuration(text, '--series');
}

/** The settings of a policy as reports record them, by the names of the flags; durations in seconds. */
export function policyRecord({ preset, ...settings }: PolicySettings) {
  const set = setTexts(preset);
  return {
    policy: settings.policy,
    cutoff: settings.cutoffMs / 1_000,
    shortPartition: preset.partition ? settings.shortPartition : null,
    probeRatio: settings.probeRatio,
    probeDraw: settings.probeDraw,
    stealCap: settings.stealCap,
    stealLimit: settings.stealLimit,
    stealRetry: settings.stealRetry,
    stealBackoff: settings.stealBackoffMs / 1_000,
    stealBackoffMax: settings.stealBackoffMaxMs / 1_000,
    cancel: settings.cancel,
    reserve: settings.reserve,
    seek: settings.seekCap,
    bitmap: settings.bitmapMs === 0 ? null : settings.bitmapMs / 1_000,
    pilotRatio: settings.pilotRatio,
    pilotsMax: settings.pilotsMax,
    thinLimit: settings.thinLimit,
    historyFeatures: settings.features?.join(',') ?? null,
    ...recordOfOwnFlags(preset),
    ...(set.length === 0 ? {} : { set }),
    matching: settings.matching,
    series: settings.seriesMs === 0 ? null : settings.seriesMs / 1_000,
    short: `${preset.short.by} over ${preset.short.over}`,
    long: `${preset.long.by} over ${preset.long.over}`,
    central: preset.short.by === 'central' || preset.long.by === 'central',
    partition: preset.partition,
    stealing: preset.stealing,
  };
}
