import type { Millis } from '@goshawk/core';
import type { JobView, RunEnd, RunView, StageView, WorkerView } from '@goshawk/policies';
import { type Amounts, addAmounts, dominantShare, sumOfShares } from '@goshawk/policies';
import { type Durations, wholeMs } from './durations.js';
import type { PlanProblem } from './forward.js';
import type { KeptPlan } from './kept-plan.js';
import { depths, pathsToEnd } from './plan.js';

/** State of a stage that the books do not contain. */
export class StageState {
  readonly view: StageView;
  readonly job: JobState;
  readonly place: number;
  parents: readonly number[] = [];
  /** Position in the log of `Rooms` at which the stage last fit no worker; −1: never. */
  searchedUpTo = -1;
  /** Workers of the declined runs since a run last ended in another way. */
  declinedBy: Set<WorkerView> | undefined;
  durationMs: Millis = 1;
  /** Number of ended runs, and the sum of their run times. */
  readonly ran = { count: 0, sumMs: 0 };

  constructor(view: StageView, job: JobState, place: number) {
    this.view = view;
    this.job = job;
    this.place = place;
  }

  /** Tasks that have not started, eligible or not. */
  unstarted(): number {
    const { tasks, ended, running, waiting } = this.view;
    return Math.max(waiting, tasks - ended - running);
  }
}

export class JobState {
  readonly view: JobView;
  readonly stages: StageState[] = [];
  readonly #byIndex = new Map<number, StageState>();
  /** Stages by depth, then by index. */
  breadthFirst: readonly StageState[] = [];
  /** The longest path to the end of the job, by stage, in ms. */
  paths: Float64Array = new Float64Array();
  /** Critical path of the whole job at its arrival, in ms. */
  criticalPathMs: Millis = 0;
  plan: KeptPlan | undefined;
  /** Whether the job has changed since the last `refresh`. */
  isChanged = true;
  /** Number of starts and ends since the last plan. */
  changes = 0;
  /** Number of starts and ends off schedule since the last plan; Infinity: a new plan is required. */
  drift = 0;
  #used = new Float64Array();
  #whole: Amounts = [];
  #dominantShare = 0;

  constructor(view: JobView) {
    this.view = view;
  }

  stage(view: StageView): StageState {
    const known = this.#byIndex.get(view.index);
    if (known !== undefined) return known;
    // Adds all known stages in their order, because ties go by position.
    for (const each of this.view.stages) if (!this.#byIndex.has(each.index)) this.#add(each);
    return this.#byIndex.get(view.index) ?? this.#add(view);
  }

  #add(view: StageView): StageState {
    const stage = new StageState(view, this, this.stages.length);
    this.stages.push(stage);
    this.#byIndex.set(view.index, stage);
    this.isChanged = true;
    return stage;
  }

  stageOf(view: StageView): StageState {
    return this.#byIndex.get(view.index)!;
  }

  /** Updates values derived from the books. */
  refresh(durations: Durations, whole: Amounts): void {
    if (this.isChanged) {
      for (const view of this.view.stages) this.stage(view);
      for (const stage of this.stages) {
        stage.durationMs = durations.of(stage.view, stage.ran);
        stage.parents = stage.view.after.flatMap((index) => this.#byIndex.get(index)?.place ?? []);
      }
      const depth = depths(this.stages);
      this.breadthFirst = [...this.stages].sort(
        (a, b) => depth[a.place]! - depth[b.place]! || a.place - b.place,
      );
      this.paths = pathsToEnd(this.stages);
      if (this.criticalPathMs === 0) this.criticalPathMs = Math.max(0, ...this.paths);
    }
    if (this.isChanged || whole !== this.#whole) {
      this.#used = new Float64Array(whole.length);
      for (const { view } of this.stages) {
        if (view.running > 0) addAmounts(this.#used, view.demand, view.running);
      }
      this.#dominantShare = dominantShare(this.#used, whole);
      this.#whole = whole;
    }
    this.isChanged = false;
  }

  /** Records the start of a task. */
  started(stage: StageState, startedAt: Millis): void {
    this.changes++;
    if (this.plan?.take(stage.place, startedAt) !== true) this.drift++;
    addAmounts(this.#used, stage.view.demand, 1);
    this.#dominantShare = dominantShare(this.#used, this.#whole);
  }

  /** Records the end of a run. */
  ended(stage: StageState, { startedAt, worker }: RunView, now: Millis, how: RunEnd): void {
    const isDone = how === 'done';
    if (how !== 'declined') stage.declinedBy = undefined;
    else stage.declinedBy = (stage.declinedBy ?? new Set()).add(worker);
    this.isChanged = true;
    this.changes++;
    // The plan does not contain a task that must run again.
    if (!isDone) this.drift = Number.POSITIVE_INFINITY;
    else if (Math.abs(startedAt + stage.durationMs - now) > 1) this.drift++;
  }

  get used(): Amounts {
    return this.#used;
  }

  /** Dominant share over weight. */
  weightedShare(): number {
    return this.#dominantShare / this.view.weight;
  }

  /** Work of unfinished tasks: the sum of fractions of all resources, times ms. */
  remainingWork(now: Millis): number {
    const ofRuns = new Float64Array(this.stages.length);
    for (const { stage: view, startedAt } of this.view.runs) {
      const { place, durationMs } = this.stageOf(view);
      ofRuns[place]! += startedAt + durationMs - now;
    }
    let work = 0;
    for (const stage of this.stages) {
      // Sums over the runs of a stage, so that the remaining time of some runs offsets the overrun of others.
      const ms = stage.unstarted() * stage.durationMs + Math.max(stage.view.running, ofRuns[stage.place]!);
      if (ms > 0) work += ms * sumOfShares(stage.view.demand, this.#whole);
    }
    return work;
  }

  /** Resource time of the unfinished tasks. */
  needs(): Float64Array {
    const needs = new Float64Array(this.#whole.length);
    for (const { view, durationMs } of this.stages) {
      const tasks = Math.max(view.waiting + view.running, view.tasks - view.ended);
      if (tasks > 0) addAmounts(needs, view.demand, tasks * durationMs);
    }
    return needs;
  }

  /** Returns the number of tasks that have not started, by stage. */
  unstarted(): number[] {
    return this.stages.map((stage) => stage.unstarted());
  }

  problem(share: Amounts, now: Millis): PlanProblem {
    return {
      stages: this.stages.map((stage) => ({
        unstarted: stage.unstarted(),
        demand: stage.view.demand,
        durationMs: stage.durationMs,
        parents: stage.parents,
      })),
      running: [...this.view.runs].map(({ stage: view, startedAt }) => {
        const stage = this.stageOf(view);
        return { stage: stage.place, remainingMs: wholeMs(startedAt + stage.durationMs - now) };
      }),
      share,
      whole: this.#whole,
    };
  }

  /** Whether a running task has exceeded its estimate. */
  hasOverrun(now: Millis): boolean {
    for (const { stage, startedAt } of this.view.runs) {
      // Allows 1 ms, because plans use integer ms and the end may be reported after this turn.
      if (startedAt + this.stageOf(stage).durationMs + 1 < now) return true;
    }
    return false;
  }
}

/** Orders jobs by arrival. */
export function byArrival(a: JobState, b: JobState): number {
  return a.view.arrivedAt - b.view.arrivedAt || a.view.id - b.view.id;
}
