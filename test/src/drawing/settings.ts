import {
  type ClusterSettings,
  DEFAULT_POLICY,
  LIVE_TIMINGS,
  POLICY_NAMES,
  type PolicySettings,
} from '@goshawk/core';
import { addPapers } from '@goshawk/papers';
import { presetNamed } from '@goshawk/policies';
import type { Draw } from './draw.js';

/** Policies for which schedulers declare whole jobs to central, which plans by their stages. */
const OF_WHOLE_JOBS = ['carbyne', 'carbyne', 'drf'] as const;
const ESTIMATORS_OF_GS = ['given', 'pilot', 'pilot', 'las', 'fifo', '3sigma-tl'] as const;

addPapers();

/** A job is long if its mean task run time is at least this. */
export const CUTOFF_MS = 400;

/** @param estimators to draw from under all policies except `gs`, which has `ESTIMATORS_OF_GS` */
export function drawSettings(
  draw: Draw,
  estimators: readonly PolicySettings['estimator'][],
): ClusterSettings {
  // Goshawk's policies have the most interacting parts, so they are drawn more often.
  const policy = draw.pick([
    ...POLICY_NAMES,
    'gs',
    'goshawk',
    'goshawk',
    'goshawk-peer',
    ...OF_WHOLE_JOBS,
  ] as const);
  return {
    policy: {
      ...DEFAULT_POLICY,
      policy,
      preset: presetNamed(policy),
      cutoffMs: CUTOFF_MS,
      shortPartition: draw.pick([0, 0.17, 0.4, 0.7, 'auto'] as const),
      probeRatio: draw.pick([1, 1.5, 2, 3]),
      probeDraw: draw.pick(['distinct', 'distinct', 'independent'] as const),
      stealCap: draw.pick([1, 2, 10]),
      stealLimit: draw.pick([null, 1, 3]),
      stealRetry: draw.pick(['never', 'backoff'] as const),
      stealBackoffMaxMs: 10_000,
      cancel: draw.pick(['proactive', 'lazy'] as const),
      estimator: draw.pick(policy === 'gs' ? ESTIMATORS_OF_GS : estimators),
      pilotRatio: draw.pick([0.03, 0.3, 'adaptive'] as const),
      pilotsMax: draw.pick([null, 1, 3]),
      pilotQuorum: draw.pick([0.5, 1]),
      pilotPrior: draw.chance(0.75),
      thinLimit: draw.pick([1, 3]),
      reserve: draw.pick([0, 0.3, 'auto', 'auto'] as const),
      seekCap: draw.pick([0, 1, 2, 2, 10]),
      bitmapMs: draw.pick([0, 100, 1_000]),
      seriesMs: draw.pick([0, 100, 400, 2_000, 2_000]),
    },
    timings: LIVE_TIMINGS,
  };
}
