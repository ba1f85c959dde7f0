import { invariant, type TaskIndex } from '@goshawk/core';
import type { Batch, Stage } from './batch.js';
import type { Dag } from './dag.js';
import type { Sample } from './sample.js';
import { TaskState } from './task-state.js';
import type { TaskTable } from './task-table.js';

/** States of unfinished tasks that no worker has. */
const UNASSIGNED_STATES: readonly TaskState[] = [TaskState.blocked, TaskState.waiting];

/** Tracks which tasks of a job wait, by batch. Pilots form a batch until the job is classified. */
export class WaitingTasks {
  /** All batches by index: the stages come first. */
  batches: readonly Batch[];
  readonly #tasks: TaskTable;
  readonly #dag: Dag;
  #sample: Sample | undefined;

  constructor(tasks: TaskTable, dag: Dag) {
    this.#tasks = tasks;
    this.#dag = dag;
    this.batches = dag.stages;
  }

  /** Changes the state of a task, and updates the counts of its stage and batch. */
  setState(task: TaskIndex, state: TaskState): void {
    if (this.#tasks.states[task] === state) return;
    const { stages } = this.#dag;
    const stage = stages.length === 1 ? stages[0]! : this.#dag.stageOf(task);
    const batch = this.#sample?.isUndecidedPilot(task) ? this.#sample.pilots : stage;
    const before = this.#tasks.setState(task, state);
    if (before === TaskState.waiting) batch.waiting--;
    if (state === TaskState.waiting) batch.waiting++;
    if (state >= TaskState.completed) stage.unfinished--;
    invariant(
      batch.waiting >= 0 && stage.unfinished >= batch.waiting,
      () => `task ${task} became ${state}: ${batch.waiting} tasks wait, ${stage.unfinished} are unfinished`,
    );
  }

  /** Makes the blocked tasks of the stage eligible. @param from the first task to release */
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

  /** Cancels the unfinished tasks of the stage that no worker has. */
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

  /** The undecided pilots of the stage, which are counted separately from its other tasks. */
  #undecidedPilotsOf(stage: Stage): readonly TaskIndex[] {
    const sample = this.#sample;
    return sample?.state !== 'running' || sample.pilots.stage !== stage ? [] : sample.tasks;
  }

  /** Makes the task wait again after an attempt. It goes before tasks that never ran. */
  requeue(task: TaskIndex): void {
    this.setState(task, TaskState.waiting);
    if (this.#sample?.isUndecidedPilot(task)) this.#sample.pilots.queue.push(task);
    else this.#dag.stageOf(task).requeued.push(task);
  }

  /** Moves the pilots from their stage to a separate batch. */
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

  /** Moves the waiting pilots back to their stages. */
  endSample({ tasks, pilots }: Sample): void {
    for (const task of tasks) {
      if (this.#tasks.states[task] !== TaskState.waiting) continue;
      const stage = this.#dag.stageOf(task);
      pilots.waiting--;
      stage.waiting++;
      stage.requeued.push(task);
    }
  }

  /** The batch to which the task currently belongs. */
  batchOf(task: TaskIndex): Batch {
    return this.#sample?.isUndecidedPilot(task) ? this.#sample.pilots : this.#dag.stageOf(task);
  }

  /**
   * Takes the next task of the batch that may start: requeued tasks first, then new ones by index. The caller must
   * change its state.
   *
   * @param mayRun whether a requeued task may run at the worker; new tasks may run anywhere
   * @returns −1 if there is none
   */
  takeNext(batch: Batch, mayRun?: (task: TaskIndex) => boolean): TaskIndex {
    const sample = this.#sample;
    if (batch === sample?.pilots)
      return sample.state !== 'running' ? -1 : this.#takeFrom(sample.pilots.queue, mayRun);
    const { stage } = batch;
    // Without this check, the loop below would skip tasks that are not released yet.
    if (stage.waiting === 0) return -1;
    const requeued = this.#takeFrom(stage.requeued, mayRun);
    if (requeued >= 0) return requeued;
    const end = stage.first + stage.durableCount;
    while (stage.nextUntaken < end) {
      const task = stage.nextUntaken++;
      if (this.#tasks.states[task] === TaskState.waiting && !sample?.isUndecidedPilot(task)) return task;
    }
    return -1;
  }

  /** Takes up to `max` waiting tasks of the stage, by index. `takeNext` does not return them again. */
  takeAll(stage: Stage, max: number): TaskIndex[] {
    const all: TaskIndex[] = [];
    // Without this check, the loop below would skip tasks that are not released yet.
    if (stage.waiting === 0 || max === 0) return all;
    const end = stage.first + stage.durableCount;
    let next = stage.first;
    for (; next < end && all.length < max; next++)
      if (this.#tasks.states[next] === TaskState.waiting) all.push(next);
    stage.nextUntaken = Math.max(stage.nextUntaken, next);
    stage.requeued = stage.requeued.filter((task) => task >= next);
    return all;
  }

  #takeFrom(queue: number[], mayRun?: (task: TaskIndex) => boolean): TaskIndex {
    for (let index = 0; ; ) {
      // Most queues are empty, and this check is cheaper than a shift.
      if (queue.length === index) return -1;
      const task = queue[index]!;
      const isStale = this.#tasks.states[task] !== TaskState.waiting;
      if (!isStale && mayRun?.(task) === false) {
        index++;
        continue;
      }
      if (index === 0) queue.shift();
      else queue.splice(index, 1);
      if (!isStale) return task;
    }
  }

  /** Whether `takeNext` would return a task. */
  canTake(batch: Batch, mayRun: (task: TaskIndex) => boolean): boolean {
    const pilots = this.#sample?.pilots;
    const queue = batch === pilots ? pilots.queue : batch.stage.requeued;
    const waiting = queue.filter((task) => this.#tasks.states[task] === TaskState.waiting);
    return waiting.some(mayRun) || new Set(waiting).size < batch.waiting;
  }
}
