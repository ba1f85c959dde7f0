import { invariant, type Millis, setLatest } from '@goshawk/core';
import type { RunView, StageView, WorkerView } from '../contract.js';
import { gangSize, isPermitted } from '../fitting.js';
import type { Reservations } from '../reservations.js';

/** Maximum number of preempted jobs that are remembered. */
const LOST_MAX = 10_000;

/** Tasks that end together: one task, or all of a gang. */
interface Victim {
  readonly runs: readonly RunView[];
  /** Total run time lost. */
  readonly lostMs: Millis;
}

/** Chooses running tasks to preempt for a job that has reached its latest start. */
export class Preemption {
  /**
   * Run time that each job last lost, by id; it may be preempted again once it has run for as long. The record of a job
   * ends if its last task does before the scheduler reports that it waits again.
   */
  readonly #lost = new Map<string, Millis>();

  /** @param runs runs that the policy preempts */
  preempted(runs: readonly RunView[], now: Millis): void {
    const longest = new Map<string, Millis>();
    for (const run of runs) {
      const { name } = run.stage.job;
      longest.set(name, Math.max(longest.get(name) ?? 0, ranMsOf(run, now)));
    }
    for (const [name, ranMs] of longest) {
      const lostMs = this.#lost.get(name) ?? 0;
      invariant(ranMs >= lostMs, () => `job ${name} ran ${ranMs} ms, and lost ${lostMs} ms before`);
      setLatest(this.#lost, name, ranMs, LOST_MAX);
    }
  }

  /**
   * Chooses preemptible tasks whose end makes room for this many tasks of the stage at the least lost run time, and
   * where these tasks will start (a count for each worker).
   *
   * @param workers candidates
   * @returns undefined if that is not enough
   */
  victimsFor(
    stage: StageView,
    tasks: number,
    workers: readonly WorkerView[],
    reservations: Reservations,
    now: Millis,
  ): { readonly runs: readonly RunView[]; readonly counts: ReadonlyMap<WorkerView, number> } | undefined {
    // Which workers a task may use depends on those of the others.
    if (stage.needs.spread !== undefined && gangSize(stage) > 1) return undefined;
    const room: Room = new Map();
    for (const worker of workers) {
      if (!worker.open || reservations.isForcedAt(worker, stage) || !isPermitted(stage, worker)) continue;
      room.set(
        worker,
        worker.runs.filter(({ isPreempted }) => isPreempted),
      );
    }
    const chosen: Victim[] = [];
    const victims = this.#victims(stage, room, now);
    for (const victim of victims) {
      if (totalIn(stage, room, tasks) >= tasks) break;
      chosen.push(victim);
      add(room, victim);
    }
    if (totalIn(stage, room, tasks) < tasks) return undefined;
    // Removes victims that are not needed, those with the largest loss first.
    const needed: Victim[] = [];
    for (const victim of chosen.reverse()) {
      remove(room, victim);
      if (totalIn(stage, room, tasks) >= tasks) continue;
      add(room, victim);
      needed.push(victim);
    }
    return { runs: needed.flatMap(({ runs }) => runs), counts: countsIn(stage, room, tasks) };
  }

  /** Possible victims, sorted by their mean lost run time per task. */
  #victims(stage: StageView, room: Room, now: Millis): Victim[] {
    const gangs = new Map<StageView, RunView[]>();
    const victims: Victim[] = [];
    for (const worker of room.keys()) {
      for (const run of worker.runs) {
        const { job } = run.stage;
        if (!job.preemptible || job === stage.job || run.isPreempted || run.isQueued) continue;
        // CPUs that it has lent or borrowed do not become free at its end.
        if (run.borrower !== undefined || run.lenders.length > 0) continue;
        const ranMs = ranMsOf(run, now);
        if (ranMs < (this.#lost.get(job.name) ?? 0)) continue;
        if (!run.stage.gang) victims.push({ runs: [run], lostMs: ranMs });
        else
          gangs.set(
            run.stage,
            gangs.get(run.stage) ?? [...job.runs].filter((each) => each.stage === run.stage),
          );
      }
    }
    for (const runs of gangs.values())
      victims.push({ runs, lostMs: runs.reduce((sum, run) => sum + ranMsOf(run, now), 0) });
    const costs = new Map(victims.map((victim) => [victim, victim.lostMs / victim.runs.length]));
    return victims.sort(
      (one, other) => costs.get(one)! - costs.get(other)! || one.runs[0]!.id - other.runs[0]!.id,
    );
  }
}

/** How long the run has run, without pauses. */
function ranMsOf(run: RunView, now: Millis): Millis {
  return now - run.startedAt - run.pausedMs(now);
}

/** Runs that end at each worker on which the tasks may start, including those already preempted. */
type Room = Map<WorkerView, RunView[]>;

function add(room: Room, { runs }: Victim): void {
  for (const run of runs) room.get(run.worker)?.push(run);
}

function remove(room: Room, { runs }: Victim): void {
  for (const run of runs) {
    const ending = room.get(run.worker);
    if (ending !== undefined) ending.splice(ending.indexOf(run), 1);
  }
}

function totalIn(stage: StageView, room: Room, most: number): number {
  let count = 0;
  for (const each of countsIn(stage, room, most).values()) count += each;
  return count;
}

/** Number of tasks of the stage at each worker, up to a total. */
function countsIn(stage: StageView, room: Room, most: number): ReadonlyMap<WorkerView, number> {
  const counts = new Map<WorkerView, number>();
  let left = most;
  for (const [worker, ending] of room) {
    if (left === 0) break;
    const count = Math.min(left, worker.roomFor(stage.demand, ending));
    if (count > 0) counts.set(worker, count);
    left -= count;
  }
  return counts;
}
