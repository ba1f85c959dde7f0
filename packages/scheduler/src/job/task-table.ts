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
import { NumberPages, PAGE } from './number-pages.js';
import type { TasksByWorker } from './tasks-by-worker.js';

/**
 * The state of a task. Every task is in exactly one of these:
 *
 *     blocked → waiting → running → completed
 *                 ↓          ↑
 *               placed ──────┘                      (queued at a worker by central)
 *     and from any of them to failed or cancelled
 *     skipped from the start                        (a retry as a new job)
 */
export const TaskState = {
  /** An earlier stage has not completed, or the task is in back-off before a retry. */
  blocked: 0,
  /** May start; no worker has it. */
  waiting: 1,
  /** In the queue of a worker that central selected. */
  placed: 2,
  running: 3,
  completed: 4,
  failed: 5,
  cancelled: 6,
  /** Never runs: the job is a retry of other tasks. */
  skipped: 7,
} as const;
export type TaskState = (typeof TaskState)[keyof typeof TaskState];

export const TASK_STATE_NAMES = Object.keys(TaskState) as (keyof typeof TaskState)[];

/** How a task was assigned to its worker. */
export const AssignedBy = {
  /** It was running when its owner restarted, or it was never assigned. */
  resumed: 0,
  /** A worker requested it: with an `ask`, a `seek`, or a report that requests the next task. */
  ask: 1,
  /** Central matched it with the worker. */
  match: 2,
} as const;
export type AssignedBy = (typeof AssignedBy)[keyof typeof AssignedBy];

/** Identifies the message that caused an assignment. A repeated message has the same values. */
export interface Assignment {
  readonly by: AssignedBy;
  /** Number of the worker's request or of central's match; 0 for resumed tasks. */
  readonly number: number;
}

/** Returns the assignment as one number: positive for a match, negative for a request of a worker, 0 for a resumed task. */
function codeOf({ by, number }: Assignment): number {
  return by === AssignedBy.match ? number : -number;
}

/** Identifies one attempt of one task. */
export interface AttemptRef {
  readonly job: JobNumber;
  readonly task: TaskIndex;
  readonly attempt: AttemptNumber;
}

/** Returns a key for sets and maps. */
export function attemptKey({ job, task, attempt }: AttemptRef): string {
  return `${job}/${task}/${attempt}`;
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

/** Whether a worker has the task, in its queue or in a slot. */
function isAssigned(state: TaskState): boolean {
  return state === TaskState.placed || state === TaskState.running;
}

/** Selects one in 32 tasks, at varying distances, because inputs may repeat periodically. */
function isSampled(task: TaskIndex): boolean {
  return task % SAMPLING_INTERVAL === (Math.floor(task / SAMPLING_INTERVAL) * 13) % SAMPLING_INTERVAL;
}

/** Returns a bit set of states. */
function bitSetOf(states: readonly TaskState[]): number {
  return states.reduce<number>((mask, state) => mask | (1 << state), 0);
}

type Column = Uint8Array | Uint32Array | Int32Array | Float64Array;

/** Appends zeros to a column, in place if it has capacity. An empty column gets no spare capacity: most jobs do not grow. */
function resized<T extends Column>(column: T, length: number): T {
  const Kind = column.constructor as new (
    from: ArrayBufferLike | number,
    offset?: number,
    length?: number,
  ) => T;
  const room = column.buffer.byteLength / column.BYTES_PER_ELEMENT;
  if (length <= room) return new Kind(column.buffer, 0, length);
  if (column.length === 0) return new Kind(length);
  const wider = new Kind(Math.max(64, 2 * length));
  wider.set(column);
  return new Kind(wider.buffer, 0, length);
}

const NO_COUNTS = new Uint32Array(0);
const NO_WORKERS = new Int32Array(0);
const NO_TIMES = new Float64Array(0);

/**
 * Attempts, workers and times of consecutive tasks, one column for each. The columns are empty until one of the tasks is
 * first assigned, because most jobs of a backlog have never run.
 */
class Columns {
  count: number;
  attempts = NO_COUNTS;
  executions = NO_COUNTS;
  workers = NO_WORKERS;
  /** See `codeOf`. */
  assignments = NO_TIMES;
  startedAt = NO_TIMES;
  runMs = NO_TIMES;
  /** Empty until an earlier incarnation of the owner is known to have started an attempt. */
  lastUsedAttempts = NO_COUNTS;
  /** Number of these tasks that have ended individually. */
  endedCount = 0;

  constructor(count: number) {
    this.count = count;
  }

  /** Returns the columns for writing. */
  open(): this {
    if (this.attempts.length < this.count) this.#resize();
    return this;
  }

  /** Columns double their capacity, so that copies are rare. */
  #resize(): void {
    const { count } = this;
    const before = this.workers.length;
    this.attempts = resized(this.attempts, count);
    this.executions = resized(this.executions, count);
    this.workers = resized(this.workers, count).fill(NOBODY, before);
    this.assignments = resized(this.assignments, count);
    this.startedAt = resized(this.startedAt, count);
    this.runMs = resized(this.runMs, count);
  }
}

/** A task of an archived page that stays in memory, because it did not complete at its first execution. */
interface TaskRow {
  attempt: AttemptNumber;
  executions: number;
  worker: Address;
  assignment: number;
  startedAt: Millis;
  runMs: Millis;
  lastUsedAttempt: AttemptNumber;
}

/** Stands for all tasks of archived pages that completed at their first execution. */
const COMPLETED_FIRST_TIME: Readonly<TaskRow> = {
  attempt: 1,
  executions: 1,
  worker: NOBODY,
  assignment: 0,
  startedAt: 0,
  runMs: 0,
  lastUsedAttempt: 0,
};
/** The tasks of archived pages. */
class Archive {
  /** Number of tasks without the rows. */
  count = 0;
  /** Tasks that did not complete at their first execution. */
  readonly rows = new Map<TaskIndex, TaskRow>();
  /** Number of the other tasks by worker. */
  readonly byWorker = new Map<Address, number>();
  readonly runMsSample: Millis[] = [];
}

/** A page with more such rows is not archived, because columns take less memory than rows. */
const EXCEPTIONS_MAX = PAGE / 8;
/** One in this many run times of archived pages is kept, for percentiles and estimators. */
const SAMPLING_INTERVAL = 32;

/** A job that accepts no further tasks has a single page. */
const SINGLE_PAGE = { shift: 31, mask: 2 ** 31 - 1 };
const PAGED = { shift: Math.log2(PAGE), mask: PAGE - 1 };

/**
 * The states and current attempts of a job's tasks, in columns of numbers, so that large jobs take little memory.
 *
 * An open job stores its columns in pages. Once all tasks of a page have ended, the page is archived: it is dropped if
 * the journal can be read. An archived task takes about 5 bytes.
 */
export class TaskTable {
  count: number;
  states: Uint8Array;
  /** Peak memory of the last attempt, in KiB; 0: not measured. Created on demand. */
  maxRssKiB: Uint32Array | undefined;
  /** Counter of tasks of the same user that have not started. Updated if present. */
  waitingOfUser: { waiting: number } | undefined;
  /** Index of the owner's tasks by worker, while the job is active. */
  #byWorker: TasksByWorker | undefined;
  readonly #job: JobNumber;
  /** Tasks in the order in which they ended. A retried task is listed once for each end. */
  readonly endOrder = new EndOrder();
  readonly #counts: number[] = new Array<number>(TASK_STATE_NAMES.length).fill(0);
  readonly #shift: number;
  readonly #mask: number;
  /** undefined: archived */
  readonly #pages: (Columns | undefined)[];
  /** undefined: no page is archived */
  #archive: Archive | undefined;
  /** Whether earlier incarnations of the owner may have started attempts. See `trackUsedAttempts`. */
  hasEarlierOwner = false;

  /** @param isGrowing whether tasks may be appended */
  constructor(job: JobNumber, count: number, isGrowing = false) {
    this.#job = job;
    this.count = count;
    this.states = new Uint8Array(count);
    const { shift, mask } = isGrowing ? PAGED : SINGLE_PAGE;
    this.#shift = shift;
    this.#mask = mask;
    this.#pages = [new Columns(Math.min(count, mask + 1))];
    this.#fillPages();
    this.#counts[TaskState.blocked] = count;
  }

  /** Adds blocked tasks. */
  grow(more: number): void {
    this.count += more;
    this.states = resized(this.states, this.count);
    this.#fillPages();
    this.#counts[TaskState.blocked]! += more;
    if (this.waitingOfUser !== undefined) this.waitingOfUser.waiting += more;
  }

  #fillPages(): void {
    const size = this.#mask + 1;
    for (let at = Math.max(0, this.#pages.length - 1); at * size < this.count; at++) {
      const count = Math.min(size, this.count - at * size);
      const page = this.#pages[at];
      if (at === this.#pages.length) this.#pages.push(new Columns(count));
      else if (page !== undefined) page.count = count;
    }
  }

  #pageOf(task: TaskIndex): Columns | undefined {
    return this.#pages[task >> this.#shift];
  }

  /** The state of a task of an archived page. */
  #archivedRow(task: TaskIndex): Readonly<TaskRow> {
    return this.#archive?.rows.get(task) ?? COMPLETED_FIRST_TIME;
  }

  /** The same for writing. */
  #rowOf(task: TaskIndex): TaskRow {
    this.#archive ??= new Archive();
    const { rows } = this.#archive;
    let row = rows.get(task);
    if (row === undefined) {
      row = { ...COMPLETED_FIRST_TIME };
      rows.set(task, row);
    }
    return row;
  }

  /** Number of the current attempt, including attempts that never started; 0 before the first. */
  attemptOf(task: TaskIndex): AttemptNumber {
    const page = this.#pageOf(task);
    return page === undefined ? this.#archivedRow(task).attempt : (page.attempts[task & this.#mask] ?? 0);
  }

  setAttempt(task: TaskIndex, attempt: AttemptNumber): void {
    const page = this.#pageOf(task);
    if (page === undefined) this.#rowOf(task).attempt = attempt;
    else page.open().attempts[task & this.#mask] = attempt;
  }

  /** How often the task has started: the attempt number that users see. */
  executionsOf(task: TaskIndex): number {
    const page = this.#pageOf(task);
    return page === undefined
      ? this.#archivedRow(task).executions
      : (page.executions[task & this.#mask] ?? 0);
  }

  setExecutions(task: TaskIndex, executions: number): void {
    const page = this.#pageOf(task);
    if (page === undefined) this.#rowOf(task).executions = executions;
    else page.open().executions[task & this.#mask] = executions;
  }

  /** When the current attempt was assigned; after its end, when it started. By the owner's clock. */
  startedAtOf(task: TaskIndex): Millis {
    const page = this.#pageOf(task);
    return page === undefined ? this.#archivedRow(task).startedAt : (page.startedAt[task & this.#mask] ?? 0);
  }

  runMsOf(task: TaskIndex): Millis {
    const page = this.#pageOf(task);
    return page === undefined ? this.#archivedRow(task).runMs : (page.runMs[task & this.#mask] ?? 0);
  }

  setTimes(task: TaskIndex, startedAt: Millis, runMs: Millis): void {
    const page = this.#pageOf(task);
    if (page === undefined) Object.assign(this.#rowOf(task), { startedAt, runMs });
    else {
      page.open().startedAt[task & this.#mask] = startedAt;
      page.runMs[task & this.#mask] = runMs;
    }
  }

  /** Tracks attempt numbers that earlier incarnations of the owner may have used. */
  trackUsedAttempts(): void {
    this.hasEarlierOwner = true;
  }

  /** The highest attempt number that an earlier incarnation of the owner may have used. */
  lastUsedAttemptOf(task: TaskIndex): AttemptNumber {
    const page = this.#pageOf(task);
    return page === undefined
      ? this.#archivedRow(task).lastUsedAttempt
      : (page.lastUsedAttempts[task & this.#mask] ?? 0);
  }

  setLastUsedAttempt(task: TaskIndex, attempt: AttemptNumber): void {
    const page = this.#pageOf(task);
    if (page === undefined) this.#rowOf(task).lastUsedAttempt = attempt;
    else {
      if (page.lastUsedAttempts.length < page.count)
        page.lastUsedAttempts = resized(page.lastUsedAttempts, page.count);
      page.lastUsedAttempts[task & this.#mask] = attempt;
    }
  }

  /** Whether the worker and the times of the task are only in the journal. It completed at its first execution. */
  isArchived(task: TaskIndex): boolean {
    return this.#pageOf(task) === undefined && this.#archive?.rows.has(task) !== true;
  }

  /** Number of archived tasks. */
  get archivedCount(): number {
    return this.#archive?.count ?? 0;
  }

  /**
   * Archives the page of a task if all tasks of the page have ended.
   *
   * @param isRecorded whether the end of a task can be read from the journal
   * @returns number of tasks that were archived
   */
  archivePage(task: TaskIndex, isRecorded: (task: TaskIndex) => boolean): number {
    const at = task >> this.#shift;
    const page = this.#pages[at];
    if (page === undefined || page.endedCount < PAGE || this.#shift !== PAGED.shift) return 0;
    const first = at * PAGE;
    const rows: TaskIndex[] = [];
    for (let of = first; of < first + PAGE; of++) {
      if (!this.isFinal(of)) return 0;
      const isUsual = this.states[of] === TaskState.completed && page.executions[of - first] === 1;
      if (!isUsual || !isRecorded(of)) rows.push(of);
      if (rows.length > EXCEPTIONS_MAX) return 0;
    }
    this.#archive ??= new Archive();
    const { rows: kept, byWorker, runMsSample } = this.#archive;
    for (const of of rows) {
      const i = of - first;
      kept.set(of, {
        attempt: page.attempts[i]!,
        executions: page.executions[i]!,
        worker: page.workers[i]! as Address,
        assignment: 0,
        startedAt: page.startedAt[i]!,
        runMs: page.runMs[i]!,
        lastUsedAttempt: page.lastUsedAttempts[i] ?? 0,
      });
    }
    const isRow = new Set(rows);
    for (let of = first; of < first + PAGE; of++) {
      if (isRow.has(of)) continue;
      const worker = page.workers[of - first]! as Address;
      byWorker.set(worker, (byWorker.get(worker) ?? 0) + 1);
      if (isSampled(of)) runMsSample.push(page.runMs[of - first]!);
    }
    this.#pages[at] = undefined;
    this.#archive.count += PAGE - rows.length;
    return PAGE - rows.length;
  }

  /** Start time of each task; 0 for archived tasks. See `startedAtOf`. */
  get startedAt(): Float64Array {
    return this.#column('startedAt');
  }

  /** Run time of each task; 0 for archived tasks. */
  get runMs(): Float64Array {
    return this.#column('runMs');
  }

  #column(name: 'startedAt' | 'runMs'): Float64Array {
    const [whole] = this.#pages;
    if (whole?.[name].length === this.count) return whole[name];
    const all = new Float64Array(this.count);
    for (const [at, page] of this.#pages.entries()) if (page !== undefined) all.set(page[name], at * PAGE);
    for (const [task, row] of this.#archive?.rows ?? []) all[task] = row[name];
    return all;
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
    const runs = [...(this.#archive?.runMsSample ?? [])];
    for (let task = 0; task < this.count; task++) {
      if (this.states[task] !== TaskState.completed || this.isArchived(task)) continue;
      if (isAll || isSampled(task)) runs.push(this.runMsOf(task) / (slowdownOf?.(task) ?? 1));
    }
    return Float64Array.from(runs);
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

  workerOf(task: TaskIndex): Address {
    const page = this.#pageOf(task);
    if (page === undefined) return this.#archivedRow(task).worker;
    return (page.workers[task & this.#mask] as Address | undefined) ?? NOBODY;
  }

  /** Number of tasks that completed at other workers, reported to this incarnation of the owner. */
  completedElsewhere(worker: Address): number {
    let count = 0;
    for (const [at, completed] of this.#archive?.byWorker ?? [])
      if (at !== worker && at > NOBODY) count += completed;
    const note = (task: TaskIndex, at: Address): void => {
      if (this.states[task] === TaskState.completed && at !== worker && at > NOBODY) count++;
    };
    for (const [task, row] of this.#archive?.rows ?? []) note(task, row.worker);
    for (const [number, page] of this.#pages.entries())
      for (let at = 0; at < (page?.workers.length ?? 0); at++)
        note(number * (this.#mask + 1) + at, page!.workers[at]! as Address);
    return count;
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
    this.#counts[before]!--;
    this.#counts[state]!++;
    this.states[task] = state;
    if (state >= TaskState.completed) {
      this.endOrder.push(task);
      const page = this.#pageOf(task);
      if (page !== undefined) page.endedCount++;
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
    const { states, endOrder } = this;
    const isEnd = to >= TaskState.completed;
    // Consecutive tasks are recorded as one range.
    let run = first;
    for (let task = first; task < end; task++) {
      const before = states[task]!;
      if (((mask >> before) & 1) === 1) {
        moved[before]!++;
        states[task] = to;
      } else {
        if (isEnd && task > run) endOrder.pushRange(run, task);
        run = task + 1;
      }
    }
    if (isEnd && end > run) endOrder.pushRange(run, end);
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
      if (this.workerOf(task) !== NOBODY) this.#putWorker(task, NOBODY);
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
    for (const [at, page] of this.#pages.entries())
      if (page !== undefined) page.endedCount = this.#finalIn(at * (this.#mask + 1), page.count);
  }

  #finalIn(first: TaskIndex, count: number): number {
    let found = 0;
    for (let task = first; task < first + count; task++) if (this.isFinal(task)) found++;
    return found;
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
    const page = this.#pageOf(task);
    if (page === undefined) Object.assign(this.#rowOf(task), { startedAt, assignment: codeOf(assignment) });
    else {
      page.open().startedAt[task & this.#mask] = startedAt;
      page.assignments[task & this.#mask] = codeOf(assignment);
    }
  }

  #assignmentCodeOf(task: TaskIndex): number {
    const page = this.#pageOf(task);
    return page === undefined
      ? this.#archivedRow(task).assignment
      : (page.assignments[task & this.#mask] ?? 0);
  }

  /** Whether a running task was running when its owner restarted, and central did not match it. */
  isResumed(task: TaskIndex): boolean {
    return this.#assignmentCodeOf(task) === 0;
  }

  /** The request of the worker that assigned a running task; 0: none. */
  askOf(task: TaskIndex): number {
    return Math.max(0, -this.#assignmentCodeOf(task));
  }

  /** Central's match that assigned a running task; 0: none. */
  matchOf(task: TaskIndex): number {
    return Math.max(0, this.#assignmentCodeOf(task));
  }

  setWorker(task: TaskIndex, worker: Address): void {
    const before = this.workerOf(task);
    this.#putWorker(task, worker);
    if (this.#byWorker === undefined || before === worker || !isAssigned(this.stateOf(task))) return;
    this.#byWorker.remove(before, this.#job, task);
    this.#byWorker.add(worker, this.#job, task);
  }

  #putWorker(task: TaskIndex, worker: Address): void {
    const page = this.#pageOf(task);
    if (page === undefined) this.#rowOf(task).worker = worker;
    else if (worker !== NOBODY || page.workers.length > 0) page.open().workers[task & this.#mask] = worker;
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
      if (this.states[task] === TaskState.running && this.#assignmentCodeOf(task) === code) return task;
    return -1;
  }

  /** The number of the next attempt. */
  nextAttemptOf(task: TaskIndex): AttemptNumber {
    return Math.max(this.attemptOf(task), this.lastUsedAttemptOf(task)) + 1;
  }

  /** Advances to the next attempt, before the task is assigned. */
  nextAttempt(task: TaskIndex): void {
    this.setAttempt(task, this.nextAttemptOf(task));
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
