import {
  ablate,
  type ClusterSettings,
  clusterSettingsSchema,
  DEFAULT_POLICY,
  InputError,
  LIVE_TIMINGS,
  maySeek,
  NOTHING_ABLATED,
  type PolicySettings,
  type Preset,
  parseDuration,
  type Timings,
} from '@goshawk/core';
import { decidedWith, deciderOf, presetNamed } from '@goshawk/policies';
import { estimatorKind, FeatureKeys } from '@goshawk/predictor';
import type { PolicyOptions } from './policy-options.js';
import { scaled, setOptions, setTexts } from './set-options.js';

/** Returns the estimator of the cluster's schedulers, which never know the true run times. */
export function schedulersEstimator(text: string): string {
  return estimatorKind(text).kind.needsTruth ? 'given' : text;
}

/** Facts about a workload, on which settings depend. */
export interface WorkloadFacts {
  /** Divisor of the workload's durations in the run; 1 if they are unchanged. */
  readonly divisor: number;
  /** The 90th percentile (ms) of the jobs' mean task run times. */
  readonly meanP90Ms: number;
  /** Returns the cutoff (ms) that a live cluster would learn from the jobs. */
  learnedCutoffMs(): number;
  /** Returns the share of task seconds in jobs below a cutoff. */
  shareBelow(cutoffMs: number): number;
}

/** Neutral facts, for checking options without a workload. */
export const NO_FACTS: WorkloadFacts = {
  divisor: 1,
  meanP90Ms: 0,
  learnedCutoffMs: () => 0,
  shareBelow: () => 0,
};

/**
 * Returns the policy settings that the options request, for one of the policies named.
 *
 * @param facts facts about the workload, if there is one; `p90` needs them
 * @throws InputError for an unknown policy and for invalid values
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
    probeDraw: options.probeDraw ?? (seeks ? 'distinct' : 'independent'),
    stealCap: options.stealCap,
    stealLimit: options.stealLimit ?? null,
    stealRetry: options.stealRetry,
    cancel: options.cancel ?? (seeks ? 'proactive' : 'lazy'),
    reserve: fractionOf('--reserve', options.reserve, 'auto' as const),
    lend: options.lend,
    seekCap: options.seek,
    // Long tasks run for about the cutoff or longer, so a hundredth of it is frequent enough.
    bitmapMs: timeOf('--bitmap', options.bitmap, Math.min(10_000, Math.max(100, cutoffMs / 100))),
    estimator: schedulersEstimator(options.estimator),
    pilotRatio: pilotRatioOf(options.pilotRatio),
    pilotsMax: (options.pilotsMax ?? (keepsReserve(preset) ? MATCHED_PILOTS_MAX : 0)) || null,
    pilotQuorum: keepsReserve(preset) ? MATCHED_QUORUM : DEFAULT_POLICY.pilotQuorum,
    pilotPrior: keepsReserve(preset),
    thinLimit: options.thinLimit,
    features: featuresOf(options.historyFeatures),
    matching: options.matching === 'always' ? 'always' : 'auto',
    // A delay of 100 ms is hardly noticeable.
    seriesMs: timeOf('--series', options.series, Math.min(100, cutoffMs / 100)),
  };
}

/**
 * With matching, pilots of long jobs use the reserve for short jobs. Three pilots suffice, and half of them
 * decide, with a prior. Without matching, all pilots decide, without a prior, as in the paper
 * (`docs/DESIGN.md`).
 */
const MATCHED_PILOTS_MAX = 3;
const MATCHED_QUORUM = 0.5;

function keepsReserve(preset: Preset): boolean {
  return maySeek(preset) && preset.byClass;
}

/** @throws InputError if the estimator names an ordering that the policy does not support */
function checkOrder(estimator: string, preset: Preset): void {
  const { kind } = estimatorKind(estimator);
  const servesIt = Object.values(deciderOf(preset).module.options).some(({ flag }) => flag === '--estimator');
  if (kind.orders !== true || servesIt) return;
  throw new InputError(
    'bad-option',
    `--estimator ${estimator} is an ordering of policy gs, not an estimator`,
    'use it with --policy gs',
  );
}

/** Policies with shares, listed here for hints because most of them are not loaded. */
export const SHARING_POLICIES = [
  'goshawk',
  'goshawk-peer',
  'carbyne',
  'carbyne-pack',
  'carbyne-paper',
  'drf',
  'drf-strict',
];

/** Orderings of jobs by their `--estimator` names. */
const ORDERS: Readonly<Record<string, string>> = { las: 'service', fifo: 'arrival' };

/** Returns the options of the policy by which central decides. */
function decidingOptions(
  { estimator, set, shareBy, decisionInterval }: PolicyOptions,
  chosen: string,
  preset: Preset,
  facts: WorkloadFacts | undefined,
): Record<string, number | string | boolean> {
  const { module, options } = deciderOf(preset);
  if (shareBy !== undefined) checkShareBy(shareBy, chosen, module.options.shareBy?.choices);
  const named = [
    ...(shareBy === undefined ? [] : [`shareBy=${shareBy}`]),
    ...(decisionInterval === undefined ? [] : [`decisionIntervalMs=${decisionInterval}`]),
  ];
  const order = ORDERS[estimator];
  const ordered = Object.entries(module.options).flatMap(([name, { flag }]) =>
    flag === '--estimator' && order !== undefined ? [[name, order]] : [],
  );
  const resolved = setOptions(chosen, preset, [...set, ...named]);
  return scaled(module, { ...options, ...resolved, ...Object.fromEntries(ordered) }, facts?.divisor ?? 1);
}

/** @throws InputError if the policy does not share by this unit */
function checkShareBy(unit: string, policy: string, units: readonly unknown[] | undefined): void {
  if (units?.includes(unit)) return;
  throw new InputError(
    'bad-option',
    `--share-by ${unit}: policy ${policy} ${units === undefined ? 'has no shares' : `shares by ${units.join(' or ')}`}`,
    units === undefined
      ? `policies with shares: ${SHARING_POLICIES.join(', ')}`
      : `use ${units.join(' or ')}`,
  );
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

/** @throws InputError for an unknown feature */
function featuresOf(text: string | undefined): PolicySettings['features'] {
  if (text === undefined) return null;
  const features = [...new Set(text.split(',').map((feature) => feature.trim()))];
  // The constructor rejects unknown features.
  new FeatureKeys(features);
  return features;
}

/** @throws InputError if the settings' schema rejects a combination */
export function clusterSettings(policy: PolicySettings, timings: Timings = LIVE_TIMINGS): ClusterSettings {
  return clusterSettingsSchema.parse({ policy, timings });
}

/**
 * Parses a list of policies, such as `hawk,sparrow`, without repetitions.
 *
 * @param besides names that are valid here although no preset has them
 * @throws InputError
 */
export function policyNames(text: string, besides: readonly string[] = []): string[] {
  const names = text.split(',').map((name) => name.trim());
  for (const name of names) if (!besides.includes(name)) presetNamed(name);
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) throw new InputError('bad-option', `--policy lists ${duplicate} twice`);
  return names;
}

function cutoffOf(text: string | undefined, facts: WorkloadFacts | undefined): number {
  if (text === undefined) return facts?.meanP90Ms ?? DEFAULT_POLICY.cutoffMs;
  if (text === 'p90' || text === 'learned') {
    if (facts !== undefined) return text === 'p90' ? facts.meanP90Ms : facts.learnedCutoffMs();
    throw new InputError(
      'bad-option',
      `--cutoff ${text}: only a workload determines it in advance`,
      'give a number of seconds, or omit --cutoff: a live cluster learns it from its jobs',
    );
  }
  const seconds = text.trim() === '' ? Number.NaN : Number(text);
  const ms = /[a-z]$/.test(text) ? parseDuration(text, '--cutoff') : seconds * 1_000;
  if (!Number.isFinite(ms) || ms < 0) {
    throw new InputError(
      'bad-option',
      `--cutoff: "${text}" is not a number of seconds, a time such as 10s, p90 or learned`,
    );
  }
  return ms / (facts?.divisor ?? 1);
}

/**
 * Returns the size of the partition: the share of task seconds in short jobs (Hawk §3.4), if the workload is
 * known.
 */
function shortPartitionOf(
  text: string | undefined,
  cutoffMs: number,
  facts: WorkloadFacts | undefined,
): PolicySettings['shortPartition'] {
  const share = facts?.shareBelow(cutoffMs);
  if (text === undefined) return share ?? DEFAULT_POLICY.shortPartition;
  return fractionOf('--short-partition', text, share ?? 'auto');
}

/** @throws InputError if it is not a fraction, `auto` or `none` */
function fractionOf<Auto>(flag: string, text: string, auto: Auto): number | Auto {
  if (text === 'auto') return auto;
  if (text === 'none') return 0;
  const fraction = text.trim() === '' ? Number.NaN : Number(text);
  if (fraction >= 0 && fraction < 1) return fraction;
  throw new InputError(
    'bad-option',
    `${flag}: "${text}" is neither a fraction from 0 to 1, nor auto, nor none`,
  );
}

/**
 * @returns ms; 0 for `none`
 * @throws InputError if it is not a time, `auto` or `none`
 */
function timeOf(flag: string, text: string, autoMs: number): number {
  if (text === 'auto') return autoMs;
  return text === 'none' ? 0 : parseDuration(text, flag);
}

/** Returns the settings of a policy for reports, by the names of the flags; durations in seconds. */
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
    lend: settings.lend,
    seek: settings.seekCap,
    bitmap: settings.bitmapMs === 0 ? null : settings.bitmapMs / 1_000,
    pilotRatio: settings.pilotRatio,
    pilotsMax: settings.pilotsMax,
    thinLimit: settings.thinLimit,
    historyFeatures: settings.features?.join(',') ?? null,
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
