import type { Millis, Vector } from '@goshawk/core';
import { addVector } from '@goshawk/core';
import {
  type CentralPolicy,
  type ClusterView,
  choose,
  countIn,
  type Draft,
  fitsEver,
  fitsNow,
  freedBy,
  gangSize,
  type PolicyModule,
  type Reservation,
  Reservations,
  type RunView,
  type StageView,
  type WorkerView,
} from '@goshawk/policies';

/**
 * When runs end by their estimates, which are upper limits under EASY. A run without an estimate never ends, and one that
 * exceeds its estimate ends now.
 */
const ENDS = {
  endOf: (run: RunView, now: Millis): Millis =>
    Math.max(now, run.startedAt + ENDS.taskMs(run.stage) + run.pausedMs(now)),
  taskMs: ({ estimateMs }: StageView): Millis => (estimateMs > 0 ? estimateMs : Number.POSITIVE_INFINITY),
};

/**
 * EASY backfilling (Lifka, JSSPP 1995; Mu'alem and Feitelson, TPDS 2001): first come, first served, and the first job that does
 * not fit gets a reservation at the earliest time at which the estimates leave enough room. A later job may start if it ends by
 * then, or if it uses only what the reservation leaves. The tasks of a gang start together; other tasks are jobs of their own.
 */
class Easy implements CentralPolicy {
  update(): void {}

  plan(cluster: ClusterView, draft: Draft, now: Millis): void {
    const workers = [...cluster.workers].filter(({ open }) => open);
    const reservations = new Reservations(ENDS);
    for (const stage of inOrder(cluster)) {
      while (stage.waiting > 0 && startIn(stage, workers, reservations, draft, now));
      if (stage.waiting === 0 || reservations.size > 0) continue;
      // A job that never fits, or that declines the workers where it would, must not block the others.
      if (mostTasks(stage, workers) < gangSize(stage)) continue;
      const reservation = reservationFor(stage, workers, reservations, now);
      // Without a time, any later job could delay this one.
      if (reservation === undefined) return;
      reservations.add(reservation);
      draft.expect(stage.job, Math.max(now + 1, reservation.at));
    }
  }
}

/** Stages with waiting tasks, in the order in which their jobs arrived. */
function inOrder({ jobs }: ClusterView): StageView[] {
  return [...jobs]
    .sort((one, other) => one.arrivedAt - other.arrivedAt || one.number - other.number)
    .flatMap(({ stages }) => stages.filter(({ waiting }) => waiting > 0));
}

/** Number of tasks of the stage that would fit if nothing else ran, up to those that start together. */
function mostTasks(stage: StageView, workers: readonly WorkerView[]): number {
  const together = gangSize(stage);
  const chosen: WorkerView[] = [];
  for (const worker of workers)
    if (fitsEver(stage, worker) && stage.declinedBy?.has(worker) !== true)
      choose(worker, countIn(stage, worker.capacity, together), stage, together, chosen);
  return chosen.length;
}

/** Starts one task, or all of a gang, on the first workers with room. @returns whether they started */
function startIn(
  stage: StageView,
  workers: readonly WorkerView[],
  reservations: Reservations,
  draft: Draft,
  now: Millis,
): boolean {
  const together = gangSize(stage);
  const chosen: WorkerView[] = [];
  for (const worker of workers) {
    if (chosen.length === together) break;
    if (!fitsNow(stage, worker) || !reservations.admits(stage, worker, now)) continue;
    const room = reservations.roomFor(stage, worker, now);
    choose(
      worker,
      Math.min(worker.roomFor(stage.demand), countIn(stage, room, together)),
      stage,
      together,
      chosen,
    );
  }
  if (chosen.length < together) return false;
  const starts = chosen.map((worker) => ({ stage, worker }));
  const runs = together === 1 ? draft.start(stage, chosen[0]!) : draft.gang(starts);
  if (runs === undefined) return false;
  for (const worker of chosen) reservations.started(stage, worker, now);
  return true;
}

/**
 * Reserves room from the earliest time on at which all tasks fit. Of the workers with room then, it takes those that have none
 * now, so that most of what is free now stays usable ("extra nodes").
 *
 * @returns undefined if the time is unknown
 */
function reservationFor(
  stage: StageView,
  workers: readonly WorkerView[],
  reservations: Reservations,
  now: Millis,
): Reservation | undefined {
  const first = reservations.earliest(stage, workers, now);
  if (first === undefined || first.at === Number.POSITIVE_INFINITY) return undefined;
  const together = gangSize(stage);
  const candidates = workers
    .filter((worker) => fitsEver(stage, worker) && stage.declinedBy?.has(worker) !== true)
    .map((worker) => {
      const free = freeBy(worker, first.at, now);
      return {
        worker,
        free,
        count: countIn(stage, free, together),
        countNow: countIn(stage, worker.free, together),
      };
    })
    .sort(
      (one, other) =>
        one.countNow - other.countNow || other.count - one.count || one.worker.id - other.worker.id,
    );
  const chosen: WorkerView[] = [];
  const rooms = new Map<WorkerView, { readonly needed: Vector; readonly spare: number[] }>();
  for (const { worker, free, count } of candidates) {
    const before = chosen.length;
    choose(worker, count, stage, together, chosen);
    const taken = chosen.length - before;
    if (taken === 0) continue;
    const needed = stage.demand.map((amount) => amount * taken);
    const spare = [...free];
    addVector(spare, needed, -1);
    rooms.set(worker, { needed, spare });
  }
  return { ...first, rooms };
}

/** What the worker will have free at this time. */
function freeBy(worker: WorkerView, at: Millis, now: Millis): number[] {
  const free = [...worker.free];
  for (const run of worker.runs)
    if (!run.isQueued && ENDS.endOf(run, now) <= at) addVector(free, freedBy(run), 1);
  return free;
}

/** EASY backfilling, a baseline that no paper here compares. */
export const EASY: PolicyModule<Record<string, never>> = {
  title: 'first come, first served with EASY backfilling: later jobs start if they do not delay the first',
  declares: true,
  gangs: 'asked',
  packs: true,
  options: {},
  make: () => new Easy(),
};
