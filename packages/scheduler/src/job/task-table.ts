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
import type { TaskPlaces } from './task-places.js';

/**
 * The state of a task. Every task is in exactly one of these:
 *
 *     blocked → waiting → running → completed
 *                 ↓  ↑       ↓
 *               placing → placed → running …      (placed by central)
 *     and from any of them to failed or cancelled
 *     skipped from the start                        (a retry as a new job)
 */
export const TaskState = {
  /** An earlier stage has not completed, or the task is in back-off before a retry. */
  blocked: 0,
  /** Eligible; no worker has it. */
  waiting: 1,
  /** Central has been asked for a worker. */
  placing: 2,
  /** In the queue of a worker that central has chosen. */
  placed: 3,
  running: 4,
  completed: 5,
  failed: 6,
  cancelled: 7,
  /** Never runs: the job is a retry of other tasks. */
  skipped: 8,
} as const;
export type TaskState = (typeof TaskState)[keyof typeof TaskState];

export const TASK_STATE_NAMES = Object.keys(TaskState) as (keyof typeof TaskState)[];

/** How a task was assigned to its worker. */
export const AssignedBy = {
  /** It was running when its owner restarted, or was never assigned. */
  resumed: 0,
  /** A question of the worker assigned it: an `ask`, a `seek`, or a report that requests the next task. */
  ask: 1,
  /** A match of central assigned it. */
  match: 2,
} as const;
export type AssignedBy = (typeof AssignedBy)[keyof typeof AssignedBy];

/** The cause of an assignment: a question of the worker, or a match. A repeated message has the same. */
export interface Assignment {
  readonly by: AssignedBy;
  /** Number of the worker's question or of central's match; 0 for resumed tasks. */
  readonly number: number;
}

const RESUMED: Assignment = { by: AssignedBy.resumed, number: 0 };

/** One attempt of one task, as identified by its owner. */
export interface AttemptRef {
  readonly job: JobNumber;
  readonly task: TaskIndex;
  readonly attempt: AttemptNumber;
}

/** Key for sets and maps. */
export function attemptKey({ job, task, attempt }: AttemptRef): string {
  return `${job}/${task}/${attempt}`;
}

/** Integers of 4 bytes. */
class GrowingColumn {
  length = 0;
  #numbers = new Uint32Array(0);

  push(number: number): void {
    if (this.length === this.#numbers.length) {
      const wider = new Uint32Array(Math.max(4, 2 * this.length));
      wider.set(this.#numbers);
      this.#numbers = wider;
    }
    this.#numbers[this.length++] = number;
  }

  /** Appends the numbers from `first` up to `end`, exclusive. */
  pushRange(first: number, end: number): void {
    const length = this.length + end - first;
    if (length > this.#numbers.length) {
      const wider = new Uint32Array(Math.max(length, 2 * this.length));
      wider.set(this.#numbers);
      this.#numbers = wider;
    }
    for (let number = first; number < end; number++) this.#numbers[this.length++] = number;
  }

  at(index: number): number | undefined {
    return index < this.length ? this.#numbers[index] : undefined;
  }
}

/** Whether a worker has the task, queued or in a slot. */
function isOut(state: TaskState): boolean {
  return state === TaskState.placed || state === TaskState.running;
}

/** Bit set of states. */
function maskOf(states: readonly TaskState[]): number {
  return states.reduce<number>((mask, state) => mask | (1 << state), 0);
}

type Column = Uint8Array | Uint32Array | Int32Array | Float64Array;

/** The same numbers, followed by zeros; in place if there is capacity. */
function widened<T extends Column>(column: T, length: number): T {
  const Kind = column.constructor as new (
    from: ArrayBufferLike | number,
    offset?: number,
    length?: number,
  ) => T;
  const room = column.buffer.byteLength / column.BYTES_PER_ELEMENT;
  if (length <= room) return new Kind(column.buffer, 0, length);
  const wider = new Kind(Math.max(64, 2 * length));
  wider.set(column);
  return new Kind(wider.buffer, 0, length);
}

/**
 * The tasks of one job: states and current attempts. Stored in columns of numbers, so that large jobs take little
 * memory.
 */
export class TaskTable {
  count: number;
  states: Uint8Array;
  /** The number of the current attempt; 0 before the first. Counts attempts that never started. */
  attempts: Uint32Array;
  /** How often each task has started, as far as known: the attempt number that users see. */
  executions: Uint32Array;
  /**
   * The highest attempt number that earlier incarnations of the owner may have used; undefined for a job of this one.
   */
  usedUpTo: Uint32Array | undefined;
  /** Written only by `setWorker`. */
  workers!: Iterable<Address> & { readonly [task: number]: Address };
  /** When the current attempt was bound, later when the attempt that counts started. Owner's clock. */
  startedAt: Float64Array;
  runMs: Float64Array;
  /** Peak memory of the last attempt, in KiB; 0: not measured. Created on demand. */
  maxRssKiB: Uint32Array | undefined;
  /** Counter of unstarted tasks of the same user; updated if present. */
  waitingOfUser: { waiting: number } | undefined;
  /** Index of the owner's task locations, if one is kept. */
  #places: TaskPlaces | undefined;
  #workers!: Int32Array;
  /** Why workers have the tasks that they have. */
  readonly #assignments = new Map<TaskIndex, Assignment>();
  readonly #job: JobNumber;
  /** Tasks in the order in which they ended, once for each end. */
  readonly ended = new GrowingColumn();
  readonly #counts: number[] = new Array<number>(TASK_STATE_NAMES.length).fill(0);

  constructor(job: JobNumber, count: number) {
    this.#job = job;
    this.count = count;
    this.states = new Uint8Array(count);
    this.attempts = new Uint32Array(count);
    this.executions = new Uint32Array(count);
    this.#setWorkers(new Int32Array(count).fill(NOBODY));
    this.startedAt = new Float64Array(count);
    this.runMs = new Float64Array(count);
    this.#counts[TaskState.blocked] = count;
  }

  /** Adds blocked tasks. Columns double their capacity, so that copies are rare. */
  grow(more: number): void {
    const { count } = this;
    this.count += more;
    this.states = widened(this.states, this.count);
    this.attempts = widened(this.attempts, this.count);
    this.executions = widened(this.executions, this.count);
    if (this.usedUpTo !== undefined) this.usedUpTo = widened(this.usedUpTo, this.count);
    this.#setWorkers(widened(this.#workers, this.count).fill(NOBODY, count));
    this.startedAt = widened(this.startedAt, this.count);
    this.runMs = widened(this.runMs, this.count);
    this.#counts[TaskState.blocked]! += more;
    if (this.waitingOfUser !== undefined) this.waitingOfUser.waiting += more;
  }

  #setWorkers(workers: Int32Array): void {
    this.#workers = workers;
    this.workers = workers as Iterable<number> as typeof this.workers;
  }

  countOf(state: TaskState): number {
    return this.#counts[state]!;
  }

  /** The tasks in these states, by number. */
  *in(...states: readonly TaskState[]): Iterable<TaskIndex> {
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

  workerOf(task: TaskIndex): Address {
    return this.workers[task]!;
  }

  /** Tasks that this incarnation of the owner saw complete at other workers. */
  completedBesides(worker: Address): number {
    let count = 0;
    for (let task = 0; task < this.count; task++) {
      const at = this.workers[task]!;
      if (this.states[task] === TaskState.completed && at !== worker && at > NOBODY) count++;
    }
    return count;
  }

  isFinal(task: TaskIndex): boolean {
    return this.states[task]! >= TaskState.completed;
  }

  /** Number of tasks without a final state. */
  get unfinished(): number {
    const counts = this.#counts;
    return (
      this.included - counts[TaskState.completed]! - counts[TaskState.failed]! - counts[TaskState.cancelled]!
    );
  }

  /** Number of tasks, without skipped ones. */
  get included(): number {
    return this.count - this.#counts[TaskState.skipped]!;
  }

  /** Skips all tasks but these; called before any stage is released. */
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
  get waiting(): number {
    const counts = this.#counts;
    return (
      counts[TaskState.blocked]! +
      counts[TaskState.waiting]! +
      counts[TaskState.placing]! +
      counts[TaskState.placed]!
    );
  }

  /** @returns the previous state */
  setState(task: TaskIndex, state: TaskState): TaskState {
    const before = this.states[task] as TaskState;
    invariant(
      before < TaskState.completed,
      () => `task ${task} of job ${this.#job} left the final state ${TASK_STATE_NAMES[before]}`,
    );
    this.#counts[before]!--;
    this.#counts[state]!++;
    this.states[task] = state;
    if (before === TaskState.running) this.#assignments.delete(task);
    if (state >= TaskState.completed) this.ended.push(task);
    if (this.#places !== undefined && isOut(before) !== isOut(state)) {
      if (isOut(state)) this.#places.add(this.workers[task]!, this.#job, task);
      else this.#places.remove(this.workers[task]!, this.#job, task);
    }
    const isLess = before < TaskState.running;
    if (this.waitingOfUser !== undefined && isLess !== state < TaskState.running)
      this.waitingOfUser.waiting += isLess ? -1 : 1;
    return before;
  }

  /**
   * Moves all tasks from `first` to `end` (exclusive) in one of the states `from`, in which no worker has a task. A
   * single loop over a column, so that a million tasks take milliseconds.
   *
   * @returns how many moved, by previous state
   */
  moveAll(first: TaskIndex, end: TaskIndex, from: readonly TaskState[], to: TaskState): Uint32Array {
    const moved = new Uint32Array(TASK_STATE_NAMES.length);
    const mask = maskOf(from);
    const { states, ended } = this;
    const isEnd = to >= TaskState.completed;
    // Consecutive tasks are recorded as one range.
    let run = first;
    for (let task = first; task < end; task++) {
      const before = states[task]!;
      if (((mask >> before) & 1) === 1) {
        moved[before]!++;
        states[task] = to;
      } else {
        if (isEnd && task > run) ended.pushRange(run, task);
        run = task + 1;
      }
    }
    if (isEnd && end > run) ended.pushRange(run, end);
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

  /** Failed and cancelled tasks may run again once their stages are released. @param marks 1 for each of them */
  reopen(marks: Uint8Array): void {
    const { states, startedAt, runMs } = this;
    const workers = this.#workers;
    const moved = new Uint32Array(TASK_STATE_NAMES.length);
    for (let task = 0; task < this.count; task++) {
      if (marks[task] === 0) continue;
      moved[states[task]!]!++;
      states[task] = TaskState.blocked;
      // Avoids touching memory pages of tasks that never ran.
      if (workers[task] !== NOBODY) workers[task] = NOBODY;
      if (startedAt[task] !== 0) startedAt[task] = 0;
      if (runMs[task] !== 0) runMs[task] = 0;
    }
    moved.forEach((count, before) => {
      invariant(
        count === 0 || before > TaskState.completed,
        () => `${count} tasks of job ${this.#job} were reopened while ${TASK_STATE_NAMES[before]}`,
      );
      this.#counts[before]! -= count;
      this.#counts[TaskState.blocked]! += count;
    });
  }

  setMaxRss(task: TaskIndex, bytes: number | undefined): void {
    if (bytes === undefined && this.maxRssKiB === undefined) return;
    if ((this.maxRssKiB?.length ?? 0) <= task)
      this.maxRssKiB = widened(this.maxRssKiB ?? new Uint32Array(0), this.count);
    this.maxRssKiB![task] = Math.min(2 ** 32 - 1, Math.ceil((bytes ?? 0) / 1024));
  }

  /** The worker gets the task. */
  assign(task: TaskIndex, worker: Address, assignment: Assignment, startedAt: Millis): void {
    this.setWorker(task, worker);
    this.#assignments.set(task, assignment);
    this.startedAt[task] = startedAt;
  }

  /** Why its worker has the task. */
  assignmentOf(task: TaskIndex): Assignment {
    return this.#assignments.get(task) ?? RESUMED;
  }

  setWorker(task: TaskIndex, worker: Address): void {
    const before = this.workers[task]!;
    this.#workers[task] = worker;
    if (this.#places === undefined || before === worker || !isOut(this.stateOf(task))) return;
    this.#places.remove(before, this.#job, task);
    this.#places.add(worker, this.#job, task);
  }

  /** Starts or, if undefined, stops updating the index. */
  keepIn(places: TaskPlaces | undefined): void {
    const former = this.#places;
    this.#places = places;
    for (const task of this.in(TaskState.placed, TaskState.running)) {
      former?.remove(this.workers[task]!, this.#job, task);
      places?.add(this.workers[task]!, this.#job, task);
    }
  }

  /** Whether the index lists the task at its worker, and only while a worker has it. */
  isPlacedRight(task: TaskIndex, isOut: boolean): boolean {
    return this.#places === undefined || this.#places.has(this.workers[task]!, this.#job, task) === isOut;
  }

  /** The task that runs at the worker because of this assignment; −1: none. */
  assigned(worker: Address, { by, number }: Assignment): TaskIndex {
    for (const task of this.#places?.at(worker, this.#job) ?? []) {
      const given = this.assignmentOf(task);
      if (this.states[task] === TaskState.running && given.number === number && given.by === by) return task;
    }
    return -1;
  }

  /** The task is about to be assigned again. */
  nextAttempt(task: TaskIndex): void {
    const used = this.usedUpTo === undefined ? 0 : this.usedUpTo[task]!;
    this.attempts[task] = Math.max(this.attempts[task]!, used) + 1;
  }

  /** The current attempt of the task. */
  ref(task: TaskIndex): AttemptRef {
    return { job: this.#job, task, attempt: this.attempts[task]! };
  }

  /** Whether this attempt runs at the worker, as far as known here. */
  isRunning(task: TaskIndex, attempt: AttemptNumber, worker: Address): boolean {
    return (
      task < this.count &&
      this.states[task] === TaskState.running &&
      this.attempts[task] === attempt &&
      this.workers[task] === worker
    );
  }
}
