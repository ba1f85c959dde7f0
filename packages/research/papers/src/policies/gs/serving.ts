import type { Millis, Needs, Vector } from '@goshawk/core';
import type { PolicyContext, RunTimeEstimates, StageOrder, StageView, WorkerView } from '@goshawk/policies';
import {
  type FreeWorkers,
  isDemanding,
  isSelective,
  RESERVATIONS_MAX,
  type Reservations,
  sampleOf,
} from '@goshawk/policies';

/** State of a policy that serves one stage after another. */
export interface Serving {
  /** Every order in which stages of the policy wait. */
  readonly orders: readonly StageOrder[];
  readonly free: FreeWorkers;
  /** Total capacity of the cluster. */
  readonly capacity: Vector;
  readonly reservations: Reservations;
  readonly estimates: RunTimeEstimates;
  readonly context: PolicyContext;
  /** The order whose first stage is next; undefined: none may run. */
  next(): StageOrder | undefined;
  /** @returns whether a task of the stage has started */
  start(stage: StageView, worker: WorkerView): boolean;
}

/**
 * Starts the next stage on a worker with room, repeatedly. Stages that fit nowhere, and all with equal needs,
 * are skipped. A demanding stage that has waited longer than its estimated run time gets a reservation.
 */
export function serve(
  serving: Serving,
  waiting: Iterable<StageView>,
  workers: Iterable<WorkerView>,
  now: Millis,
): void {
  const { orders, free, capacity, reservations, context } = serving;
  reserve(serving, waiting, workers, now);
  /** Needs for which no worker has room. Room cannot grow while tasks start. */
  const fitNowhere = new Set<Needs>();
  while (free.size > 0) {
    const order = serving.next();
    if (order === undefined) break;
    const stage = order.first()!;
    const worker = fitNowhere.has(stage.needs)
      ? undefined
      : free.find(stage, capacity, context, (each) => reservations.admits(stage, each, now));
    if (worker === undefined && reservations.size === 0 && !isSelective(stage)) fitNowhere.add(stage.needs);
    if (worker === undefined || !serving.start(stage, worker)) order.skipFirst();
    else reservations.started(stage, worker, now);
  }
  for (const order of orders) order.restoreSkipped();
}

/** Makes reservations for the stages that have waited longest among those that fit nowhere. */
function reserve(
  { free, reservations, estimates, context }: Serving,
  waiting: Iterable<StageView>,
  workers: Iterable<WorkerView>,
  now: Millis,
): void {
  reservations.renew();
  if (free.size === 0) return;
  const stuck: StageView[] = [];
  for (const stage of waiting) {
    if (!isDemanding(stage) || now - stage.waitsSince < estimates.taskMs(stage, now)) continue;
    if (!free.hasRoom(stage)) stuck.push(stage);
  }
  if (stuck.length === 0) return;
  const all = [...workers];
  stuck.sort((one, other) => one.waitsSince - other.waitsSince || one.id - other.id);
  for (const stage of stuck.slice(0, RESERVATIONS_MAX)) {
    const reservation = reservations.placeFor(stage, sampleOf(all, context), now);
    if (reservation !== undefined) reservations.add(reservation);
  }
}
