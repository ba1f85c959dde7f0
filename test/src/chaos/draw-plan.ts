import {
  type ClusterSettings,
  DEFAULT_POLICY,
  LIVE_TIMINGS,
  NEED_ORDERS,
  POLICY_NAMES,
  PRESETS,
  WORKER_ORDERS,
} from '@goshawk/core';
import { Draw } from './draw.js';
import { drawFaults } from './draw-faults.js';
import { CUTOFF_MS, drawOrder } from './draw-orders.js';
import type { Plan, ProcessPlan } from './plan.js';

/** Before this nothing is wrong, so that the cluster has come together. */
export const CALM_START_MS = 3_000;
const HOUR_MS = 3_600_000;

/** Everything about a run, from its seed. */
export function drawPlan(seed: string): Plan {
  const draw = new Draw(`${seed}/cluster`);
  const settings = drawSettings(draw);
  const processOf = (name: string): ProcessPlan => ({
    name,
    at: draw.int(0, 500),
    drift: draw.chance(0.5) ? 0 : (draw.random() - 0.5) / 20,
    wallErrorMs: draw.chance(0.5) ? 0 : draw.int(-HOUR_MS, HOUR_MS),
  });
  const memory = draw.chance(0.3) ? 10 : 0;
  const slots = draw.pick([1, 1, 2, 3]);
  const central = processOf('central');
  const workers = Array.from({ length: draw.int(2, 7) }, (_, i) => ({
    ...processOf(`w${i + 1}`),
    slots: draw.chance(0.8) ? slots : draw.int(1, 3),
    memory,
  }));
  const schedulers = Array.from({ length: draw.int(1, 3) }, (_, i) => processOf(`s${i + 1}`));
  const safetyMs = draw.int(10_000, 30_000);
  const network = {
    leastMs: draw.pick([0.1, 0.1, 1, 20]),
    moreMs: draw.pick([0.1, 1, 10, 100]),
    syncMs: draw.pick([0.1, 2, 20, 200]),
  };
  const orders = Array.from({ length: draw.int(2, 14) }, (_, i) =>
    drawOrder(
      new Draw(`${seed}/order ${i}`),
      i,
      { from: CALM_START_MS, to: safetyMs },
      memory,
      schedulers.length,
    ),
  );
  const names = { workers: workers.map(({ name }) => name), schedulers: schedulers.map(({ name }) => name) };
  const faults = drawFaults(seed, names, { from: CALM_START_MS, to: safetyMs });
  return { seed, settings, workers, schedulers, central, network, orders, faults, safetyMs };
}

function drawSettings(draw: Draw): ClusterSettings {
  // Our own have more parts that may fail each other than all others together.
  const policy = draw.pick([...POLICY_NAMES, 'goshawk', 'goshawk', 'goshawk-peer'] as const);
  const patience = draw.pick([0, 1, 5, 20]);
  return {
    policy: {
      ...DEFAULT_POLICY,
      policy,
      preset: { ...PRESETS[policy] },
      cutoffMs: CUTOFF_MS,
      shortPartition: draw.pick([0, 0.17, 0.4, 0.7, 'auto'] as const),
      probeRatio: draw.pick([1, 1.5, 2, 3]),
      probeDraw: draw.pick(['distinct', 'distinct', 'independent'] as const),
      stealCap: draw.pick([1, 2, 10]),
      stealLimit: draw.pick([null, 1, 3]),
      stealRetry: draw.pick(['never', 'backoff'] as const),
      stealBackoffMaxMs: 10_000,
      cancel: draw.pick(['proactive', 'lazy'] as const),
      estimator: draw.pick(
        policy === 'gs'
          ? ['given', 'pilot', 'pilot', 'las', 'fifo', '3sigma-tl']
          : ['given', 'given', 'pilot', 'pilot', 'hybrid', 'history'],
      ),
      pilotRatio: draw.pick([0.03, 0.3, 'adaptive'] as const),
      pilotsMax: draw.pick([null, 1, 3]),
      pilotQuorum: draw.pick([0.5, 1]),
      thinLimit: draw.pick([1, 3]),
      shortOrder: draw.pick(NEED_ORDERS),
      longOrder: draw.pick(NEED_ORDERS),
      reserve: draw.pick([0, 0.3, 'auto', 'auto'] as const),
      patience,
      longPatience: patience / 5,
      seekCap: draw.pick([0, 1, 2, 2, 10]),
      hints: draw.chance(0.7),
      bitmapMs: draw.pick([0, 100, 1_000]),
      workerOrder: draw.pick(WORKER_ORDERS),
      seriesMs: draw.pick([0, 100, 400]),
    },
    timings: LIVE_TIMINGS,
  };
}
