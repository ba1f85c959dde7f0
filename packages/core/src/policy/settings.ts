import { z } from 'zod';
import { InputError } from '../errors.js';
import type { Millis } from '../ids.js';
import { firstIssue } from '../issues.js';
import { LIMITS } from '../limits.js';
import { formatCount } from '../text/counts.js';
import { CUTOFF_JOBS_MIN } from './job-lengths.js';
import { GANG_RULES, PRESETS, type Preset, ROUTES, SCOPES } from './presets.js';

/** Selects the waiting tasks that may start on CPUs that running tasks lend. */
export const LENDINGS = ['all', 'short', 'none'] as const;
export type Lending = (typeof LENDINGS)[number];

export const MATCHINGS = ['auto', 'always'] as const;

// Schemas are built lazily by small functions: building all of them takes zod 10 ms, and simulations parse
// none.
const ms = () => z.number().nonnegative();
const fraction = () => z.number().min(0).max(1);
const route = () => z.strictObject({ by: z.enum(ROUTES), over: z.enum(SCOPES) });

const decidedBy = () =>
  z.strictObject({
    policy: z.string().min(1).max(LIMITS.nameLengthMax),
    options: z.record(z.string().max(LIMITS.nameLengthMax), z.union([z.number(), z.string(), z.boolean()])),
  });

const common = () => ({
  policy: z.string().max(LIMITS.nameLengthMax),
  preset: z.strictObject({
    title: z.string(),
    short: route(),
    long: route(),
    partition: z.boolean(),
    stealing: z.boolean(),
    decidedBy: decidedBy(),
    byClass: z.boolean(),
    declares: z.boolean(),
    gangs: z.enum(GANG_RULES),
    abandons: z.boolean(),
    packs: z.boolean(),
  }),
  /** A job is long if its estimated mean task run time is at least this (ms). */
  cutoffMs: ms(),
  /** Number of jobs from which central learned the cutoff; 0: not learned yet. null: configured, so fixed. */
  cutoffJobs: z.number().int().nonnegative().nullable(),
  /** Fraction of workers reserved for short tasks, or `auto`: the share of task seconds of short jobs. */
  shortPartition: z.union([fraction(), z.literal('auto')]),
  /** Probes per task (Sparrow and Hawk §4.1: 2). */
  probeRatio: z.number().min(1).max(100),
  /**
   * `distinct`: the probes of a batch go to different workers (Sparrow). `independent`: each worker is drawn
   * separately and may be drawn twice, as in the Hawk authors' simulator.
   */
  probeDraw: z.enum(['distinct', 'independent']),
  /** Workers that an idle worker contacts in one round of stealing (Hawk §4.1: 10). */
  stealCap: z.number().int().min(1).max(100_000),
  /** Maximum number of probes in one steal; null: as many as a message may contain. */
  stealLimit: z.number().int().min(1).nullable(),
  /** `never`: the next round starts when a slot becomes free again (Hawk). `backoff`: also after a pause. */
  stealRetry: z.enum(['never', 'backoff']),
  /** First and longest pause (ms) between unsuccessful rounds; each pause doubles, with jitter. */
  stealBackoffMs: ms(),
  stealBackoffMaxMs: ms(),
});

const matching = () => ({
  /**
   * Matching: the fraction of slots reserved for short tasks, or `auto`: what short jobs have needed
   * recently.
   */
  reserve: z.union([fraction(), z.literal('auto')]),
  /**
   * Matching: which waiting tasks may start on CPUs that running tasks lend. `short`: only short tasks beside long ones. `all`: also
   * tasks of users below their share, and those that would miss a deadline.
   */
  lend: z.enum(LENDINGS),
  /**
   * Matching: whether an overloaded central continues to match short jobs. `auto`: workers and schedulers
   * find each other until the load falls.
   */
  matching: z.enum(MATCHINGS),
});

const seekingAndPilots = () => ({
  /** Seeking: the number of schedulers that a free worker asks in turn for a waiting task. 0: none. */
  seekCap: z.number().int().min(0).max(1_000),
  /**
   * Seeking: how often central tells schedulers which workers run only long tasks, so that probes avoid them.
   * ms; 0: never
   */
  bitmapMs: ms(),
  /** The estimator that classifies jobs: a name of the predictor's table. */
  estimator: z.string().min(1).max(LIMITS.nameLengthMax),
  /** Fraction of a job's tasks that run first as pilots, or `adaptive` (SLearn Figure 4). */
  pilotRatio: z.union([fraction(), z.literal('adaptive')]),
  /** Maximum number of pilots of one job. */
  pilotsMax: z.number().int().min(1).nullable(),
  /** Fraction of the pilots that must have ended before their mean counts. */
  pilotQuorum: fraction(),
  /** Combine the pilots with recently ended jobs (SLearn §4.1). */
  pilotPrior: z.boolean(),
  /** Jobs with fewer tasks are not sampled. */
  thinLimit: z.number().int().min(0),
  /**
   * Features by which estimators that learn find similar jobs, such as `user+name`. null: the predictor's default.
   */
  features: z.array(z.string().min(1).max(LIMITS.nameLengthMax)).min(1).max(LIMITS.featuresMax).nullable(),
  /**
   * Matching and seeking: maximum time for which a slot runs tiny tasks of one scheduler in a row before
   * others have their turn. In ms; 0: never.
   */
  seriesMs: ms(),
  /**
   * Once all tasks of a batch are bound: `proactive` cancels its other probes, `lazy` refuses them when they
   * are served.
   */
  cancel: z.enum(['proactive', 'lazy']),
});

/**
 * How a cluster schedules. Central sends the settings to every worker and scheduler that joins, so that a
 * cluster never runs two policies at once.
 */
export const policySettingsSchema = z.lazy(() =>
  z.strictObject({ ...common(), ...matching(), ...seekingAndPilots() }),
);

export type PolicySettings = z.infer<typeof policySettingsSchema>;

/**
 * Heartbeats, leases and retry intervals. 0 disables one, which is safe only if the driver's network loses
 * nothing.
 */
const timingsSchema = z.lazy(() =>
  z.strictObject({
    heartbeatMs: ms(),
    /** A party without a heartbeat for this long is lost. */
    leaseMs: ms(),
    /** Interval at which unanswered questions are retried. */
    retryMs: ms(),
    /** Maximum number of retries of one question. */
    retriesMax: z.number().int().min(1),
    /** How long membership changes are collected before they are published. */
    publishMs: ms(),
    /** Interval of progress events for watched jobs. */
    progressMs: ms(),
  }),
);

export type Timings = z.infer<typeof timingsSchema>;

export const clusterSettingsSchema = z.lazy(() =>
  z.strictObject({ policy: policySettingsSchema, timings: timingsSchema }),
);

/** Settings that central sends to each party that joins. */
export type ClusterSettings = z.infer<typeof clusterSettingsSchema>;

/**
 * A party that has had no answer for this many heartbeat intervals works without central until central
 * responds. Answers are immediate unless central is down or overloaded.
 */
export const SILENT_HEARTBEATS = 1.5;

export const LIVE_TIMINGS: Timings = {
  heartbeatMs: 1_000,
  leaseMs: 5_000,
  retryMs: 1_000,
  retriesMax: 5,
  publishMs: 20,
  progressMs: 200,
};

/** For a network that neither loses nor duplicates messages. */
export const RELIABLE_TIMINGS: Timings = {
  heartbeatMs: 0,
  leaseMs: 0,
  retryMs: 0,
  retriesMax: 1,
  publishMs: 0,
  progressMs: 0,
};

/**
 * Hawk §4.1, SLearn §5.1; the short partition is the share of task seconds of short jobs in the Google trace.
 */
export const DEFAULT_POLICY: PolicySettings = {
  policy: 'hawk',
  preset: { ...PRESETS.hawk },
  cutoffMs: 10_000,
  cutoffJobs: null,
  shortPartition: 0.17,
  probeRatio: 2,
  probeDraw: 'distinct',
  stealCap: 10,
  stealLimit: null,
  stealRetry: 'backoff',
  stealBackoffMs: 20,
  // With pauses that double from 20 ms to an hour, an idle worker contacts 10 workers 18 times in its first
  // hour. Shorter pauses would flood an idle cluster of 15,000 workers with steal requests.
  stealBackoffMaxMs: 3_600_000,
  reserve: 'auto',
  lend: 'all',
  matching: 'auto',
  seekCap: 1,
  bitmapMs: 100,
  estimator: 'given',
  pilotRatio: 0.03,
  pilotsMax: null,
  pilotQuorum: 1,
  pilotPrior: false,
  thinLimit: 3,
  features: null,
  seriesMs: 100,
  cancel: 'proactive',
};

/** The cutoff between short and long jobs. */
export type Cutoff = Pick<PolicySettings, 'cutoffMs' | 'cutoffJobs'>;

/** Describes the origin of a cutoff. */
export function cutoffOrigin({ cutoffJobs }: Pick<Cutoff, 'cutoffJobs'>): string {
  if (cutoffJobs === null) return 'said';
  return cutoffJobs === 0
    ? `the default until ${CUTOFF_JOBS_MIN} jobs have completed`
    : `learned from ${formatCount(cutoffJobs)} jobs`;
}

/** Returns the settings with a learned cutoff; `seriesMs` is limited to a hundredth of it. */
export function withCutoff(policy: PolicySettings, cutoffMs: Millis, cutoffJobs: number): PolicySettings {
  return { ...policy, cutoffMs, cutoffJobs, seriesMs: Math.min(policy.seriesMs, cutoffMs / 100) };
}

/** @throws InputError with one line that names the setting */
export function parseClusterSettings(value: unknown): ClusterSettings {
  // A process parses settings once or twice, so compiling a validator would not pay off.
  const result = clusterSettingsSchema.safeParse(value, { jitless: true, reportInput: true });
  if (!result.success) throw new InputError('bad-settings', `settings: ${firstIssue(result.error)}`);
  return result.data;
}

/** The scope is always `all` without partitions. */
export function effectiveScope(preset: Preset, scope: (typeof SCOPES)[number]): (typeof SCOPES)[number] {
  return preset.partition ? scope : 'all';
}

/** Window over which the demand of short work is averaged: 4 cutoffs, about an hour for the Google trace. */
export function reserveWindowMs({ cutoffMs }: Pick<PolicySettings, 'cutoffMs'>): number {
  return 4 * cutoffMs;
}

/** A job that has waited for this many cutoffs goes first, so that none starves. */
const PATIENCE_CUTOFFS = 20;

/** How long (ms) a job may wait before it goes first; Infinity with a cutoff of 0. */
export function patienceMsOf({ cutoffMs }: PolicySettings): number {
  return PATIENCE_CUTOFFS * cutoffMs || Number.POSITIVE_INFINITY;
}
