import type { Millis } from '@goshawk/core';
import type { StageView, WorkerView } from './contract.js';
import { needsOf } from './fitting.js';
import type { FreeWorkers } from './free-workers.js';
import type { KeptWorkers } from './kept-workers.js';
import type { StageOrder } from './stage-order.js';

/** What a policy knows that serves one stage after another. */
export interface Serving {
  /** All of its orders. */
  readonly orders: readonly StageOrder[];
  /** The one whose first stage is next; undefined: nothing may run. */
  next(): StageOrder | undefined;
  mayRun(stage: StageView): boolean;
  /** @returns whether a task of the stage has started there */
  start(stage: StageView, worker: WorkerView): boolean;
}

/**
 * Starts what comes next on a worker with room for it, again and again. What fits nowhere is passed over, with all that need
 * the same. Stages for which workers are kept come first.
 */
export function serve(
  { orders, next, mayRun, start }: Serving,
  free: FreeWorkers,
  kept: KeptWorkers,
  source: { random(): number },
  now: Millis,
): void {
  kept.serve({ mayRun, start }, now);
  /** No worker has room for such tasks. While tasks start that stays so, unless fewer workers are kept. */
  let fitNowhere: Set<string> | undefined;
  while (free.size > kept.size) {
    const order = next();
    if (order === undefined) break;
    const stage = order.first()!;
    const isHopeless = fitNowhere?.has(needsOf(stage)) === true;
    const worker = isHopeless ? undefined : free.find(stage, source, (each) => !kept.has(each));
    if (worker === undefined) {
      fitNowhere ??= new Set();
      fitNowhere.add(needsOf(stage));
    }
    const before = kept.size;
    if (worker === undefined || !start(stage, worker)) order.passOverFirst();
    if (kept.size === before) continue;
    fitNowhere = undefined;
    for (const each of orders) each.takeBack();
  }
  for (const each of orders) each.takeBack();
}
