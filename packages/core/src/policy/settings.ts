import { z } from 'zod';
import { formatCount } from '../counts.js';
import { InputError } from '../errors.js';
import type { Millis } from '../ids.js';
import { firstIssue } from '../issues.js';
import { LIMITS } from '../limits.js';
import { CUTOFF_JOBS_MIN } from './job-lengths.js';
import { PRESETS, type Preset, ROUTES, SCOPES } from './presets.js';

export const MATCHINGS = ['auto', 'always'] as const;

// Schemas are made when they are first used, of small functions: zod takes 10 ms for all of them, and who simulates
// parses none.
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
    gangs: z.boolean(),
    abandons: z.boolean(),
    packs: z.boolean(),
  }),
  /** A job whose estimated mean task run time reaches this is long. ms. */
  cutoffMs: ms(),
  /** Number of jobs from which central learned the cutoff; 0: not yet. null: it was configured and is fixed. */
  cutoffJobs: z.number().int().nonnegative().nullable(),
  /** Fraction of the workers that long tasks never use, or `auto`: the share of task seconds that short jobs had. */
  shortPartition: z.union([fraction(), z.literal('auto')]),
  /** Probes per task (Sparrow and Hawk §4.1: 2). */
  probeRatio: z.number().min(1).max(100),
  /**
   * `distinct`: the probes of a batch go to different workers (Sparrow). `independent`: each is drawn
   * separately, as in the simulator of Hawk's authors, and two may go to the same worker.
   */
  probeDraw: z.enum(['distinct', 'independent']),
  /** Workers that an idle worker contacts in one round of stealing (Hawk §4.1: 10). */
  stealCap: z.number().int().min(1).max(100_000),
  /** Probes taken at one steal at most. */
  stealLimit: z.number().int().min(1).nullable(),
  /** `never`: the next round starts when a slot becomes free again (Hawk). `backoff`: also after a while. */
  stealRetry: z.enum(['never', 'backoff']),
  /** First and longest pause between rounds that found nothing; each pause doubles, with jitter. ms. */
  stealBackoffMs: ms(),
  stealBackoffMaxMs: ms(),
});

const matching = () => ({
  /**
   * Matching: the fraction of all slots that long tasks leave to short ones, or `auto`: what short jobs have
   * needed lately.
   */
  reserve: z.union([fraction(), z.literal('auto')]),
  /**
   * Matching: whether central goes on to match short jobs when it has too much to do for it. `auto`: workers and
   * schedulers find each other until it has less to do.
   */
  matching: z.enum(MATCHINGS),
});

const seekingAndPilots = () => ({
  /** Seeking: schedulers that a free worker asks, one after another, whether a task waits there. 0: none. */
  seekCap: z.number().int().min(0).max(1_000),
  /**
   * Seeking: how often central tells schedulers which workers have no slot but for long tasks, so that probes
   * go elsewhere. ms; 0: never
   */
  bitmapMs: ms(),
  /** How schedulers find out which job is long: a name of the predictor's table. */
  estimator: z.string().min(1).max(LIMITS.nameLengthMax),
  /** Fraction of a job's tasks that run first as pilots, or `adaptive` (SLearn Figure 4). */
  pilotRatio: z.union([fraction(), z.literal('adaptive')]),
  /** Pilots of one job at most. */
  pilotsMax: z.number().int().min(1).nullable(),
  /** Fraction of the pilots that must have ended before their mean decides. */
  pilotQuorum: fraction(),
  /** Pilots are combined with recently ended jobs (SLearn §4.1), not trusted alone. */
  pilotPrior: z.boolean(),
  /** Jobs of fewer tasks are not sampled. */
  thinLimit: z.number().int().min(0),
  /** Features that make two jobs similar for estimators that learn: `user+name`. null: the predictor's default. */
  features: z.array(z.string().min(1).max(LIMITS.nameLengthMax)).min(1).max(LIMITS.featuresMax).nullable(),
  /**
   * Matching and seeking: for so long at most a slot takes tiny tasks of one scheduler one after another before
   * others have their turn, as if they were one task. ms; 0: never
   */
  seriesMs: ms(),
  /** When all tasks of a batch are bound: `proactive` cancels its other probes, `lazy` lets them find out. */
  cancel: z.enum(['proactive', 'lazy']),
});

/**
 * How a cluster schedules. Central holds them and hands them to every worker and scheduler that joins, so
 * that one cluster never runs two policies at once.
 */
export const policySettingsSchema = z.lazy(() =>
  z.strictObject({ ...common(), ...matching(), ...seekingAndPilots() }),
);

export type PolicySettings = z.infer<typeof policySettingsSchema>;

/**
 * Heartbeats, leases and the safety nets for lost messages. 0 switches one off, which only a driver with a
 * network that loses nothing may do.
 */
export const timingsSchema = z.lazy(() =>
  z.strictObject({
    heartbeatMs: ms(),
    /** A party that was not heard of for so long is taken for lost. */
    leaseMs: ms(),
    /** A question without an answer is asked again after this. */
    retryMs: ms(),
    /** A question asked so often without an answer is given up. */
    retriesMax: z.number().int().min(1),
    /** Time for which membership changes are collected before they are published. */
    publishMs: ms(),
    /** How often those who watch a job hear of its progress. */
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
 * An answer to a heartbeat comes at once, unless central is away or very busy. Who has had none for so many does
 * without central until it is heard again.
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

/** For a network that neither loses nor doubles anything. */
export const RELIABLE_TIMINGS: Timings = {
  heartbeatMs: 0,
  leaseMs: 0,
  retryMs: 0,
  retriesMax: 1,
  publishMs: 0,
  progressMs: 0,
};

/** Hawk §4.1, SLearn §5.1; the short partition is the share of task seconds that the Google trace's short jobs have. */
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
  // Doubling from 20 ms to an hour, a worker that stays idle asks 18 times 10 workers in its first hour: an
  // idle cluster of 15,000 must not drown in steal requests, and an idle worker gets probes anyhow.
  stealBackoffMaxMs: 3_600_000,
  reserve: 'auto',
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

/** Describes the origin of a cutoff. */
export function cutoffOrigin({ cutoffJobs }: Pick<PolicySettings, 'cutoffJobs'>): string {
  if (cutoffJobs === null) return 'said';
  return cutoffJobs === 0
    ? `the default until ${CUTOFF_JOBS_MIN} jobs have completed`
    : `learned from ${formatCount(cutoffJobs)} jobs`;
}

/** Returns the settings with a learned cutoff. Series of tiny tasks are disabled if one could take as long as a long task. */
export function withCutoff(policy: PolicySettings, cutoffMs: Millis, cutoffJobs: number): PolicySettings {
  return { ...policy, cutoffMs, cutoffJobs, seriesMs: Math.min(policy.seriesMs, cutoffMs / 100) };
}

/** @throws InputError with one line that names the setting */
export function parseClusterSettings(value: unknown): ClusterSettings {
  // A process reads them once or twice: without compiling a checker for that.
  const result = clusterSettingsSchema.safeParse(value, { jitless: true });
  if (!result.success) throw new InputError('bad-settings', `settings: ${firstIssue(result.error)}`);
  return result.data;
}

/** Without partitions the scope is called `all`, regardless of the route. */
export function effectiveScope(preset: Preset, scope: (typeof SCOPES)[number]): (typeof SCOPES)[number] {
  return preset.partition ? scope : 'all';
}

/** Over so much time the need of short work is averaged: 4 cutoffs, about an hour for the Google trace. */
export function reserveWindowMs({ cutoffMs }: PolicySettings): number {
  return 4 * cutoffMs;
}

/** A job that has waited for this many cutoffs goes first, so that none starves. */
export const PATIENCE_CUTOFFS = 20;

/** For how long a job may wait before it comes first. ms; Infinity, for ever, where no job is short */
export function patienceMsOf({ cutoffMs }: PolicySettings): number {
  return PATIENCE_CUTOFFS * cutoffMs || Number.POSITIVE_INFINITY;
}
