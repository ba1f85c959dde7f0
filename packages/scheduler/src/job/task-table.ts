import {
  type Address,
  type AttemptNumber,
  invariant,
  type JobNumber,
  type Millis,
  NOBODY,
  type TaskIndex,
  type TaskRange,
} from '@goshawk/core';
import { type Assignment, type AttemptRef, codeOf } from './assignment.js';
import { AttemptColumns, isSampled, resized } from './attempt-columns.js';
import { NumberPages, PAGE } from './number-pages.js';
import { TASK_STATE_NAMES, TaskState } from './task-state.js';
import type { TasksByWorker } from './tasks-by-worker.js';

/** Whether a worker has the task, in its queue or in a slot. */
function isAssigned(state: TaskState): boolean {
  return state === TaskState.placed || state === TaskState.running;
}

/** Returns a bit set of states. */
function bitSetOf(states: readonly TaskState[]): number {
  return states.reduce<number>((mask, state) => mask | (1 << state), 0);
}

/** Jobs of at most this many tasks have a list of states. */
const LIST_MAX = 16;

/** The states of a job's tasks, with their counts, the order in which they ended, and an index by worker. */
export class TaskTable extends AttemptColumns {
  /** A list for few tasks, which takes a quarter of the memory of a typed array. */
  states: Uint8Array | TaskState[];
  /** Peak memory of the last attempt, in KiB; 0: not measured. Created on demand. */
  maxRssKiB: Uint32Array | undefined;
  /** Counter of tasks of the same user that have not started. Updated if present. */
  waitingOfUser: { waiting: number } | undefined;
  /** Tasks below this index may have run under an earlier incarnation of the owner without a record; see `rebuild.ts`. */
  mayHaveRunBelow: TaskIndex = 0;
  /** Index of the owner's tasks by worker, while the job is active. */
  #byWorker: TasksByWorker | undefined;
  readonly #job: JobNumber;
  /** Created with the first end. */
  #endOrder: EndOrder | undefined;
  readonly #counts: number[] = new Array<number>(TASK_STATE_NAMES.length).fill(0);

  /** @param isGrowing whether tasks may be appended */
  constructor(job: JobNumber, count: number, isGrowing = false) {
    super(count, isGrowing);
    this.#job = job;
    const isList = count <= LIST_MAX && !isGrowing;
    this.states = isList ? new Array<TaskState>(count).fill(TaskState.blocked) : new Uint8Array(count);
    this.#counts[TaskState.blocked] = count;
  }

  /** Adds blocked tasks. */
  override grow(more: number): void {
    super.grow(more);
    this.states = resized(
      this.states instanceof Uint8Array ? this.states : Uint8Array.from(this.states),
      this.count,
    );
    this.#counts[TaskState.blocked]! += more;
    if (this.waitingOfUser !== undefined) this.waitingOfUser.waiting += more;
  }

  /**
   * Archives the page of a task if all tasks of the page have ended.
   *
   * @param isRecorded whether the end of a task can be read from the journal
   * @returns number of tasks that were archived
   */
  archivePage(task: TaskIndex, isRecorded: (task: TaskIndex) => boolean): number {
    return this.archive(
      task,
      (of) => this.isFinal(of),
      (of) => this.states[of] === TaskState.completed && isRecorded(of),
    );
  }

  /**
   * Run times of the completed tasks. If tasks were archived, only of one task in 32.
   *
   * @param slowdownOf divisor for the run time of a task that is not archived
   */
  completedRunMs(slowdownOf?: (task: TaskIndex) => number): Float64Array {
    const isAll = this.archivedCount === 0;
    if (isAll && slowdownOf === undefined && this.countOf(TaskState.completed) === this.count)
      return this.runMs;
    const runs = [...this.archivedRunMs];
    for (let task = 0; task < this.count; task++) {
      if (this.states[task] !== TaskState.completed || this.isArchived(task)) continue;
      if (isAll || isSampled(task)) runs.push(this.runMsOf(task) / (slowdownOf?.(task) ?? 1));
    }
    return Float64Array.from(runs);
  }

  /** Tasks in the order in which they ended. A retried task is listed once for each end. */
  get endOrder(): Pick<EndOrder, 'length' | 'at'> {
    return this.#endOrder ?? NO_ENDS;
  }

  countOf(state: TaskState): number {
    return this.#counts[state]!;
  }

  /** The tasks in these states, in ascending order. */
  *inStates(...states: readonly TaskState[]): Iterable<TaskIndex> {
    let left = 0;
    for (const state of states) left += this.#counts[state]!;
    for (let task = 0; left > 0 && task < this.count; task++) {
      if (!states.includes(this.states[task] as TaskState)) continue;
      left--;
      yield task;
    }
  }

  stateOf(task: TaskIndex): TaskState {
    return this.states[task] as TaskState;
  }

  /** Number of tasks that completed at other workers, reported to this incarnation of the owner. */
  completedElsewhere(worker: Address): number {
    return this.countElsewhere(worker, (task) => this.states[task] === TaskState.completed);
  }

  isFinal(task: TaskIndex): boolean {
    return this.states[task]! >= TaskState.completed;
  }

  /** Number of tasks without a final state. */
  get unfinishedCount(): number {
    const counts = this.#counts;
    return (
      this.includedCount -
      counts[TaskState.completed]! -
      counts[TaskState.failed]! -
      counts[TaskState.cancelled]!
    );
  }

  /** Number of tasks without skipped ones. */
  get includedCount(): number {
    return this.count - this.#counts[TaskState.skipped]!;
  }

  /** Skips all other tasks. Called before any stage is released. */
  skipAllBut(ranges: readonly TaskRange[]): void {
    this.states.fill(TaskState.skipped);
    let kept = 0;
    for (const { first, last } of ranges) {
      this.states.fill(TaskState.blocked, first, last + 1);
      kept += last - first + 1;
    }
    this.#counts[TaskState.blocked] = kept;
    this.#counts[TaskState.skipped] = this.count - kept;
  }

  /** Number of tasks that no worker has started. */
  get notStartedCount(): number {
    const counts = this.#counts;
    return counts[TaskState.blocked]! + counts[TaskState.waiting]! + counts[TaskState.placed]!;
  }

  /** @returns the previous state */
  setState(task: TaskIndex, state: TaskState): TaskState {
    const before = this.states[task] as TaskState;
    invariant(
      before < TaskState.completed,
      () => `task ${task} of job ${this.#job} left the final state ${TASK_STATE_NAMES[before]}`,
    );
    invariant(
      !isAssigned(state) || this.workerOf(task) !== NOBODY,
      () => `task ${task} of job ${this.#job} is ${TASK_STATE_NAMES[state]} at no worker`,
    );
    this.#counts[before]!--;
    this.#counts[state]!++;
    this.states[task] = state;
    if (state >= TaskState.completed) {
      this.#endOrder ??= new EndOrder();
      this.#endOrder.push(task);
      this.countEnd(task);
    }
    if (this.#byWorker !== undefined && isAssigned(before) !== isAssigned(state)) {
      if (isAssigned(state)) this.#byWorker.add(this.workerOf(task), this.#job, task);
      else this.#byWorker.remove(this.workerOf(task), this.#job, task);
    }
    const isLess = before < TaskState.running;
    if (this.waitingOfUser !== undefined && isLess !== state < TaskState.running)
      this.waitingOfUser.waiting += isLess ? -1 : 1;
    return before;
  }

  /**
   * Changes the state of all tasks from `first` to `end` (exclusive) that are in one of the states `from`. No worker may
   * have them. This is one loop over a column, so that a million tasks take milliseconds.
   *
   * @returns number of changed tasks by previous state
   */
  moveAll(first: TaskIndex, end: TaskIndex, from: readonly TaskState[], to: TaskState): Uint32Array {
    const moved = new Uint32Array(TASK_STATE_NAMES.length);
    const mask = bitSetOf(from);
    const { states } = this;
    if (to >= TaskState.completed) this.#endOrder ??= new EndOrder();
    const endOrder = to >= TaskState.completed ? this.#endOrder : undefined;
    // Consecutive tasks are recorded as one range.
    let run = first;
    for (let task = first; task < end; task++) {
      const before = states[task]!;
      if (((mask >> before) & 1) === 1) {
        moved[before]!++;
        states[task] = to;
      } else {
        if (task > run) endOrder?.pushRange(run, task);
        run = task + 1;
      }
    }
    if (end > run) endOrder?.pushRange(run, end);
    for (const state of from) {
      invariant(
        state < TaskState.placed && state !== to,
        () => `tasks of job ${this.#job} were moved at once from ${TASK_STATE_NAMES[state]}`,
      );
      this.#counts[state]! -= moved[state]!;
      this.#counts[to]! += moved[state]!;
      if (this.waitingOfUser !== undefined && to >= TaskState.running)
        this.waitingOfUser.waiting -= moved[state]!;
    }
    return moved;
  }

  /** Blocks failed and cancelled tasks, so that they run again once their stages are released. @param marks 1 for each of them */
  reopen(marks: Uint8Array): void {
    const { states } = this;
    const moved = new Uint32Array(TASK_STATE_NAMES.length);
    for (let task = 0; task < this.count; task++) {
      if (marks[task] === 0) continue;
      moved[states[task]!]!++;
      states[task] = TaskState.blocked;
      // Avoids writing to memory of tasks that never ran.
      if (this.workerOf(task) !== NOBODY) this.putWorker(task, NOBODY);
      if (this.startedAtOf(task) !== 0 || this.runMsOf(task) !== 0) this.setTimes(task, 0, 0);
    }
    moved.forEach((count, before) => {
      invariant(
        count === 0 || before > TaskState.completed,
        () => `${count} tasks of job ${this.#job} were reopened while ${TASK_STATE_NAMES[before]}`,
      );
      this.#counts[before]! -= count;
      this.#counts[TaskState.blocked]! += count;
    });
    this.recountEnds((task) => this.isFinal(task));
  }

  setMaxRss(task: TaskIndex, bytes: number | undefined): void {
    if (bytes === undefined && this.maxRssKiB === undefined) return;
    if ((this.maxRssKiB?.length ?? 0) <= task)
      this.maxRssKiB = resized(this.maxRssKiB ?? new Uint32Array(0), this.count);
    this.maxRssKiB![task] = Math.min(2 ** 32 - 1, Math.ceil((bytes ?? 0) / 1024));
  }

  /** Assigns the task to a worker. */
  assign(task: TaskIndex, worker: Address, assignment: Assignment, startedAt: Millis): void {
    this.setWorker(task, worker);
    this.putAssignment(task, assignment, startedAt);
  }

  setWorker(task: TaskIndex, worker: Address): void {
    const before = this.workerOf(task);
    this.putWorker(task, worker);
    if (this.#byWorker === undefined || before === worker || !isAssigned(this.stateOf(task))) return;
    this.#byWorker.remove(before, this.#job, task);
    this.#byWorker.add(worker, this.#job, task);
  }

  /** Sets the index to update; undefined: none. */
  setIndex(places: TasksByWorker | undefined): void {
    const former = this.#byWorker;
    this.#byWorker = places;
    for (const task of this.inStates(TaskState.placed, TaskState.running)) {
      former?.remove(this.workerOf(task), this.#job, task);
      places?.add(this.workerOf(task), this.#job, task);
    }
  }

  /** Whether the index lists the task at its worker exactly if a worker has it. For invariants. */
  isIndexedCorrectly(task: TaskIndex, isAtWorker: boolean): boolean {
    return (
      this.#byWorker === undefined || this.#byWorker.has(this.workerOf(task), this.#job, task) === isAtWorker
    );
  }

  /** Finds the running task with this assignment at the worker; −1: none. */
  findAssigned(worker: Address, assignment: Assignment): TaskIndex {
    const code = codeOf(assignment);
    for (const task of this.#byWorker?.at(worker, this.#job) ?? [])
      if (this.states[task] === TaskState.running && this.assignmentCodeOf(task) === code) return task;
    return -1;
  }

  /** The current attempt of the task. */
  ref(task: TaskIndex): AttemptRef {
    return { job: this.#job, task, attempt: this.attemptOf(task) };
  }

  /** Whether this attempt is current and runs at the worker, as far as the owner knows. */
  isRunningAt(task: TaskIndex, attempt: AttemptNumber, worker: Address): boolean {
    return (
      task < this.count &&
      this.states[task] === TaskState.running &&
      this.attemptOf(task) === attempt &&
      this.workerOf(task) === worker
    );
  }
}

/** The tasks of a job in the order in which they ended. */
class EndOrder {
  length = 0;
  // Task indexes plus one, because 0 means that no number is set. Created on demand.
  #tasks: NumberPages | undefined;

  push(task: TaskIndex): void {
    this.#tasks ??= new NumberPages(false);
    this.#tasks.set(this.length++, task + 1);
    if (this.length % PAGE === 0) this.#tasks.pack(this.length - 1);
  }

  /** Appends the tasks from `first` up to `end`, exclusive. */
  pushRange(first: TaskIndex, end: TaskIndex): void {
    for (let task = first; task < end; task++) this.push(task);
  }

  at(index: number): TaskIndex | undefined {
    return index < this.length ? this.#tasks!.get(index) - 1 : undefined;
  }
}

const NO_ENDS = new EndOrder();
