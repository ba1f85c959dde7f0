import type { TaskIndex } from '@goshawk/core';
import type { Batch, Stage } from './batch.js';
import type { Dag } from './dag.js';
import type { Sample } from './sample.js';
import { TaskState, type TaskTable } from './task-table.js';

/** States in which no worker has the task. */
const UNASSIGNED_STATES: readonly TaskState[] = [TaskState.blocked, TaskState.waiting];

/** The waiting tasks of a job, and their batches: the stage, or the pilots until the class is decided. */
export class WaitingTasks {
  /** The stages, then the other batches, each at its index. */
  batches: readonly Batch[];
  readonly #tasks: TaskTable;
  readonly #dag: Dag;
  #sample: Sample | undefined;

  constructor(tasks: TaskTable, dag: Dag) {
    this.#tasks = tasks;
    this.#dag = dag;
    this.batches = dag.stages;
  }

  /** Moves a task to another state, and updates the counts of its stage and batch. */
  setState(task: TaskIndex, state: TaskState): void {
    if (this.#tasks.states[task] === state) return;
    const { stages } = this.#dag;
    const stage = stages.length === 1 ? stages[0]! : this.#dag.stageOf(task);
    const batch = this.#sample?.isUndecidedPilot(task) ? this.#sample.pilots : stage;
    const before = this.#tasks.setState(task, state);
    if (before === TaskState.waiting) batch.waiting--;
    if (state === TaskState.waiting) batch.waiting++;
    if (state >= TaskState.completed) stage.unfinished--;
  }

  /** All tasks of the stage, or those from this one on, may start from now on. */
  release(stage: Stage, from = stage.first): void {
    for (const task of this.#undecidedPilotsOf(stage)) {
      if (task < from || this.#tasks.states[task] !== TaskState.blocked) continue;
      this.setState(task, TaskState.waiting);
      this.#sample!.pilots.queue.push(task);
    }
    const end = stage.first + stage.durableCount;
    const moved = this.#tasks.moveAll(from, end, [TaskState.blocked], TaskState.waiting);
    stage.waiting += moved[TaskState.blocked]!;
  }

  /** Cancels all tasks of the stage that no worker has. */
  cancel(stage: Stage): void {
    for (const task of this.#undecidedPilotsOf(stage))
      if (UNASSIGNED_STATES.includes(this.#tasks.stateOf(task))) this.setState(task, TaskState.cancelled);
    const moved = this.#tasks.moveAll(
      stage.first,
      stage.first + stage.count,
      UNASSIGNED_STATES,
      TaskState.cancelled,
    );
    stage.waiting -= moved[TaskState.waiting]!;
    for (const state of UNASSIGNED_STATES) stage.unfinished -= moved[state]!;
  }

  /** Pilots are counted separately from the other tasks of their stage. */
  #undecidedPilotsOf(stage: Stage): readonly TaskIndex[] {
    const sample = this.#sample;
    return sample === undefined || sample.isDecided || sample.pilots.stage !== stage ? [] : sample.tasks;
  }

  /** The task waits again after an attempt, ahead of tasks that never ran. */
  requeue(task: TaskIndex): void {
    this.setState(task, TaskState.waiting);
    if (this.#sample?.isUndecidedPilot(task)) this.#sample.pilots.queue.push(task);
    else this.#dag.stageOf(task).requeued.push(task);
  }

  /** Some tasks run first. */
  startSample(sample: Sample): void {
    this.#sample = sample;
    this.batches = [...this.#dag.stages, sample.pilots, ...sample.nonPilots];
    for (const task of sample.tasks) {
      if (this.#tasks.states[task] !== TaskState.waiting) continue;
      this.#dag.stageOf(task).waiting--;
      sample.pilots.waiting++;
      sample.pilots.queue.push(task);
    }
  }

  /** Waiting pilots become ordinary tasks. */
  endSample({ tasks, pilots }: Sample): void {
    for (const task of tasks) {
      if (this.#tasks.states[task] !== TaskState.waiting) continue;
      const stage = this.#dag.stageOf(task);
      pilots.waiting--;
      stage.waiting++;
      stage.requeued.push(task);
    }
  }

  /** The batch of the task. */
  batchOf(task: TaskIndex): Batch {
    return this.#sample?.isUndecidedPilot(task) ? this.#sample.pilots : this.#dag.stageOf(task);
  }

  /**
   * The next waiting task of the batch, in task order, or −1. The caller must take it out of `waiting`.
   *
   * @param mayGo whether a returned task may run at the worker; tasks that never ran may run anywhere
   */
  takeNext(batch: Batch, mayGo?: (task: TaskIndex) => boolean): TaskIndex {
    const sample = this.#sample;
    if (batch === sample?.pilots) return sample.isDecided ? -1 : this.#takeFrom(sample.pilots.queue, mayGo);
    const { stage } = batch;
    // Keeps tasks that are not released yet for a later call.
    if (stage.waiting === 0) return -1;
    const returned = this.#takeFrom(stage.requeued, mayGo);
    if (returned >= 0) return returned;
    const end = stage.first + stage.durableCount;
    while (stage.nextNeverTaken < end) {
      const task = stage.nextNeverTaken++;
      if (this.#tasks.states[task] === TaskState.waiting && !sample?.isUndecidedPilot(task)) return task;
    }
    return -1;
  }

  /** The waiting tasks of the stage, at most `max`, in task order; `take` returns only others from now on. */
  takeAll(stage: Stage, max: number): TaskIndex[] {
    const all: TaskIndex[] = [];
    // Tasks that are not released yet are for a later call.
    if (stage.waiting === 0 || max === 0) return all;
    const end = stage.first + stage.durableCount;
    let next = stage.first;
    for (; next < end && all.length < max; next++)
      if (this.#tasks.states[next] === TaskState.waiting) all.push(next);
    stage.nextNeverTaken = Math.max(stage.nextNeverTaken, next);
    stage.requeued = stage.requeued.filter((task) => task >= next);
    return all;
  }

  #takeFrom(queue: number[], mayGo?: (task: TaskIndex) => boolean): TaskIndex {
    for (let at = 0; ; ) {
      // Most queues are always empty, and this check is cheaper than a shift.
      if (queue.length === at) return -1;
      const task = queue[at]!;
      const isStale = this.#tasks.states[task] !== TaskState.waiting;
      if (!isStale && mayGo?.(task) === false) {
        at++;
        continue;
      }
      if (at === 0) queue.shift();
      else queue.splice(at, 1);
      if (!isStale) return task;
    }
  }

  /** Whether `take` would find a task. */
  canTake(batch: Batch, mayGo: (task: TaskIndex) => boolean): boolean {
    const pilots = this.#sample?.pilots;
    const returned = batch === pilots ? pilots.queue : batch.stage.requeued;
    const returning = returned.filter((task) => this.#tasks.states[task] === TaskState.waiting);
    return returning.some(mayGo) || new Set(returning).size < batch.waiting;
  }
}
