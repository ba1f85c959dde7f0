import { IndexedHeap, type Millis } from '@goshawk/core';
import type { WorkerView } from '@goshawk/policies';
import { addAmounts, alignment, dominantShare, fitsNow, fitsWithin } from '@goshawk/policies';
import { byArrival, type JobState, type StageState } from './jobs.js';
import type { Rooms } from './rooms.js';
import { type Party, partiesOf, type ShareRules, type Shares } from './shares.js';

/**
 * One scheduling turn. The passes below distribute its free resources, and start tasks until nothing fits.
 */

export interface Turn {
  readonly now: Millis;
  readonly rooms: Rooms;
  /** Capacity by resource. */
  readonly whole: Float64Array;
  /** Jobs with a waiting task that fits somewhere, in order of arrival. */
  readonly jobs: readonly JobState[];
  /** All jobs. */
  readonly allJobs: Iterable<JobState>;
  /** Fair share of each job. */
  readonly shares: () => Shares;
  /** Starts one task. @returns whether it could start */
  readonly start: (stage: StageState, worker: WorkerView) => boolean;
}

/** Serves jobs one after another; each starts everything that fits, breadth first. */
export function inOrder(turn: Turn, key: (job: JobState) => number): void {
  const keys = new Map(turn.jobs.map((job) => [job, key(job)]));
  const jobs = [...turn.jobs].sort((a, b) => keys.get(a)! - keys.get(b)! || byArrival(a, b));
  for (const job of jobs) for (const stage of job.breadthFirst) while (startOne(turn, stage)) {}
}

/** @returns false if no task of the stage waits, or none fits */
export function startOne(turn: Turn, stage: StageState): boolean {
  if (stage.view.waiting === 0) return false;
  const worker = turn.rooms.best(stage);
  return worker !== undefined && turn.start(stage, worker);
}

/**
 * The job or user with the lowest weighted dominant share starts a task, until nothing fits (Ghodsi et al.,
 * NSDI '11, Algorithm 1). Unlike in the paper, a job whose tasks do not fit is skipped and does not end the
 * pass.
 *
 * @param startFor starts the next task of a job and returns whether it could
 */
export function progressiveFilling(
  turn: Turn,
  by: ShareRules['by'],
  startFor: (job: JobState) => boolean = (job) => job.breadthFirst.some((stage) => startOne(turn, stage)),
): void {
  const hasRoom = new Set(turn.jobs);
  const parties = partiesOf(by === 'job' ? turn.jobs : turn.allJobs, by).map((party) => ({
    ...party,
    // Keeps the order of arrival, which breaks ties.
    left: party.jobs.filter((job) => hasRoom.has(job)),
  }));
  const shareOf = ({ jobs, weight }: Party) =>
    by === 'job'
      ? jobs[0]!.weightedShare()
      : dominantShare(sumOfUsed(jobs, turn.whole.length), turn.whole) / weight;
  const order = new IndexedHeap();
  parties.forEach((party, place) => {
    if (party.left.length > 0) order.set(place, shareOf(party));
  });
  while (order.size > 0) {
    const place = order.top();
    const party = parties[place]!;
    const job = leastOf(party.left, (each) => each.weightedShare());
    if (startFor(job)) {
      order.set(place, shareOf(party));
      continue;
    }
    party.left.splice(party.left.indexOf(job), 1);
    if (party.left.length === 0) order.delete(place);
  }
}

function sumOfUsed(jobs: readonly JobState[], resources: number): Float64Array {
  const used = new Float64Array(resources);
  for (const job of jobs) addAmounts(used, job.used, 1);
  return used;
}

/** Returns the first item with the lowest key. */
function leastOf<T extends object>(items: readonly T[], key: (item: T) => number): T {
  let least: T = items[0]!;
  let leastKey = key(least);
  for (const item of items) {
    const itemKey = key(item);
    if (itemKey >= leastKey) continue;
    least = item;
    leastKey = itemKey;
  }
  return least;
}

/**
 * Progressive filling up to the fair share. A job without running tasks may start one task above its share.
 */
export function strictFilling(turn: Turn, by: ShareRules['by']): void {
  const shares = turn.shares();
  progressiveFilling(turn, by, (job) => {
    const due = shares.of(job);
    return job.breadthFirst.some((stage) => {
      const left = due.map((amount, r) => amount - job.used[r]!);
      const isDue = job.view.running === 0 || fitsWithin(stage.view.demand, left, turn.whole);
      return isDue && startOne(turn, stage);
    });
  });
}

interface ScoreRules {
  /** Weight of remaining work: 1 in Tetris, 0 for packing alone. */
  readonly workWeight: number;
  /** Fraction of the jobs to skip, largest shares first; at least one job is considered. */
  readonly fairness: number;
}

/** How free resources are distributed after all required starts. */
export type Leftover =
  | { readonly kind: 'drf' | 'drf-strict' | 'srtf' | 'sjf' | 'none' }
  | ({ readonly kind: 'score' } & ScoreRules);

/**
 * Starts the task with the highest score on each worker, until nothing fits. The score is alignment minus remaining
 * work, scaled so that both weigh the same on average (Tetris, SIGCOMM '14).
 */
export function byScore(turn: Turn, rules: ScoreRules): void {
  const stages = turn.jobs.flatMap((job) => job.stages.filter(({ view }) => view.waiting > 0));
  const workers = new Set<WorkerView>();
  for (const stage of stages) {
    for (const worker of turn.rooms.candidates(stage)) {
      if (worker.open && fitsNow(stage.view, worker)) workers.add(worker);
    }
  }
  const work = new Map<JobState, number>();
  if (rules.workWeight > 0) for (const job of turn.jobs) work.set(job, job.remainingWork(turn.now));
  const inOrderOfJoining = [...workers].sort((a, b) => a.id - b.id);
  // Stages whose owner recently declined this worker are tried last.
  const refused = stages.filter(({ declinedBy }) => declinedBy !== undefined);
  fill(inOrderOfJoining, (worker) => stages.filter(({ declinedBy }) => declinedBy?.has(worker) !== true));
  if (refused.length > 0) fill(inOrderOfJoining, () => refused);
  for (const stage of stages) if (stage.view.waiting > 0) turn.rooms.hasRoom(stage);

  function fill(
    order: readonly WorkerView[],
    candidates: (worker: WorkerView) => readonly StageState[],
  ): void {
    for (const worker of order) {
      let fitting = candidates(worker);
      for (;;) {
        // A task that does not fit now will not fit later in this turn.
        fitting = fitting.filter(({ view }) => view.waiting > 0 && fitsNow(view, worker));
        if (fitting.length === 0) break;
        const stage = best(considered(fitting, rules.fairness), worker, rules.workWeight, work);
        if (!turn.start(stage, worker)) break;
      }
    }
  }
}

function considered(fitting: readonly StageState[], fairness: number): readonly StageState[] {
  if (fairness === 0) return fitting;
  const jobs = [...new Set(fitting.map(({ job }) => job))];
  jobs.sort((a, b) => a.weightedShare() - b.weightedShare() || byArrival(a, b));
  const kept = new Set(jobs.slice(0, Math.max(1, Math.ceil((1 - fairness) * jobs.length))));
  return fitting.filter(({ job }) => kept.has(job));
}

/**
 * Returns the stage with the highest score. Ties go to the first in the list, which is in order of arrival,
 * then stage.
 */
function best(
  fitting: readonly StageState[],
  worker: WorkerView,
  workWeight: number,
  work: ReadonlyMap<JobState, number>,
): StageState {
  const alignments = fitting.map(({ view }) => alignment(view.demand, worker.free, worker.capacity));
  let scale = 0;
  if (workWeight > 0) {
    let ofAlignments = 0;
    let ofWork = 0;
    fitting.forEach(({ job }, i) => {
      ofAlignments += alignments[i]!;
      ofWork += work.get(job)!;
    });
    if (ofWork > 0) scale = (workWeight * ofAlignments) / ofWork;
  }
  let bestStage = fitting[0]!;
  let bestScore = Number.NEGATIVE_INFINITY;
  fitting.forEach((stage, i) => {
    const score = alignments[i]! - (scale === 0 ? 0 : scale * work.get(stage.job)!);
    if (score <= bestScore) return;
    bestScore = score;
    bestStage = stage;
  });
  return bestStage;
}
