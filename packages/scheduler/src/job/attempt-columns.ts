import { type Address, type AttemptNumber, type Millis, NOBODY, type TaskIndex } from '@goshawk/core';
import { type Assignment, codeOf } from './assignment.js';
import { PAGE } from './number-pages.js';

type Column = Uint8Array | Uint32Array | Int32Array | Float64Array;

/** Appends zeros to a column, in place if it has capacity. An empty column gets no spare capacity: most jobs do not grow. */
export function resized<T extends Column>(column: T, length: number): T {
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

/** Stands for the columns of all jobs that do not grow and have not started a task. Nothing is written to it. */
const UNUSED = new Columns(0);
const UNUSED_PAGES: (Columns | undefined)[] = [UNUSED];

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

/** Selects one in 32 tasks, at varying distances, because inputs may repeat periodically. */
export function isSampled(task: TaskIndex): boolean {
  return task % SAMPLING_INTERVAL === (Math.floor(task / SAMPLING_INTERVAL) * 13) % SAMPLING_INTERVAL;
}

/**
 * Numbers, workers and times of the current attempts of a job's tasks, in columns of numbers, so that large jobs take
 * little memory.
 *
 * An open job stores its columns in pages. Once all tasks of a page have ended, the page is archived: it is dropped if
 * the journal can be read. An archived task takes about 5 bytes.
 */
export class AttemptColumns {
  /** Number of tasks. */
  count: number;
  readonly #shift: number;
  readonly #mask: number;
  /** undefined: archived */
  #pages: (Columns | undefined)[];
  /** undefined: no page is archived */
  #archive: Archive | undefined;
  /** Whether earlier incarnations of the owner may have started attempts. See `trackUsedAttempts`. */
  hasEarlierOwner = false;

  /** @param isGrowing whether tasks may be appended */
  constructor(count: number, isGrowing: boolean) {
    this.count = count;
    const { shift, mask } = isGrowing ? PAGED : SINGLE_PAGE;
    this.#shift = shift;
    this.#mask = mask;
    this.#pages = UNUSED_PAGES;
    if (isGrowing) this.#fillPages();
  }

  /** Adds tasks. */
  grow(more: number): void {
    this.count += more;
    this.#fillPages();
  }

  #fillPages(): void {
    const size = this.#mask + 1;
    if (this.#pages === UNUSED_PAGES) this.#pages = [new Columns(0)];
    for (let at = this.#pages.length - 1; at * size < this.count; at++) {
      const count = Math.min(size, this.count - at * size);
      const page = this.#pages[at];
      if (at === this.#pages.length) this.#pages.push(new Columns(count));
      else if (page !== undefined) page.count = count;
    }
  }

  #pageOf(task: TaskIndex): Columns | undefined {
    return this.#pages[task >> this.#shift];
  }

  /** The page of a task for writing; undefined: archived. */
  #writablePageOf(task: TaskIndex): Columns | undefined {
    let page = this.#pageOf(task);
    if (page === UNUSED) {
      page = new Columns(this.count);
      this.#pages = [page];
    }
    return page;
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
    const page = this.#writablePageOf(task);
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
    const page = this.#writablePageOf(task);
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
    const page = this.#writablePageOf(task);
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
    const page = this.#writablePageOf(task);
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

  workerOf(task: TaskIndex): Address {
    const page = this.#pageOf(task);
    if (page === undefined) return this.#archivedRow(task).worker;
    return (page.workers[task & this.#mask] as Address | undefined) ?? NOBODY;
  }

  protected putWorker(task: TaskIndex, worker: Address): void {
    // The default takes no memory.
    if (worker === NOBODY && this.#pageOf(task)?.workers.length === 0) return;
    const page = this.#writablePageOf(task);
    if (page === undefined) this.#rowOf(task).worker = worker;
    else page.open().workers[task & this.#mask] = worker;
  }

  protected putAssignment(task: TaskIndex, assignment: Assignment, startedAt: Millis): void {
    const page = this.#writablePageOf(task);
    if (page === undefined) Object.assign(this.#rowOf(task), { startedAt, assignment: codeOf(assignment) });
    else {
      page.open().startedAt[task & this.#mask] = startedAt;
      page.assignments[task & this.#mask] = codeOf(assignment);
    }
  }

  protected assignmentCodeOf(task: TaskIndex): number {
    const page = this.#pageOf(task);
    return page === undefined
      ? this.#archivedRow(task).assignment
      : (page.assignments[task & this.#mask] ?? 0);
  }

  /** The request of the worker that assigned a running task; 0: none. */
  askOf(task: TaskIndex): number {
    return Math.max(0, -this.assignmentCodeOf(task));
  }

  /** Central's match that assigned a running task; 0: none. */
  matchOf(task: TaskIndex): number {
    return Math.max(0, this.assignmentCodeOf(task));
  }

  /** The number of the next attempt. */
  nextAttemptOf(task: TaskIndex): AttemptNumber {
    return Math.max(this.attemptOf(task), this.lastUsedAttemptOf(task)) + 1;
  }

  /** Advances to the next attempt, before the task is assigned. */
  nextAttempt(task: TaskIndex): void {
    this.setAttempt(task, this.nextAttemptOf(task));
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

  /** Number of completed tasks at other workers, reported to this incarnation of the owner. */
  protected countElsewhere(worker: Address, isCompleted: (task: TaskIndex) => boolean): number {
    let count = 0;
    for (const [at, completed] of this.#archive?.byWorker ?? [])
      if (at !== worker && at > NOBODY) count += completed;
    const note = (task: TaskIndex, at: Address): void => {
      if (isCompleted(task) && at !== worker && at > NOBODY) count++;
    };
    for (const [task, row] of this.#archive?.rows ?? []) note(task, row.worker);
    for (const [number, page] of this.#pages.entries())
      for (let at = 0; at < (page?.workers.length ?? 0); at++)
        note(number * (this.#mask + 1) + at, page!.workers[at]! as Address);
    return count;
  }

  /** Run times of one in 32 archived tasks. */
  protected get archivedRunMs(): readonly Millis[] {
    return this.#archive?.runMsSample ?? [];
  }

  /** Counts an ended task of its page, if pages are archived. */
  protected countEnd(task: TaskIndex): void {
    const page = this.#pageOf(task);
    if (page !== undefined && page !== UNUSED) page.endedCount++;
  }

  /** Counts the ended tasks of all pages again. */
  protected recountEnds(isFinal: (task: TaskIndex) => boolean): void {
    for (const [at, page] of this.#pages.entries()) {
      if (page === undefined || page === UNUSED) continue;
      const first = at * (this.#mask + 1);
      page.endedCount = 0;
      for (let task = first; task < first + page.count; task++) if (isFinal(task)) page.endedCount++;
    }
  }

  /**
   * Archives the page of a task if all tasks of the page have ended.
   *
   * @param isReadable whether the task has completed, and its end can be read from the journal
   * @returns number of tasks that were archived
   */
  protected archive(
    task: TaskIndex,
    isFinal: (task: TaskIndex) => boolean,
    isReadable: (task: TaskIndex) => boolean,
  ): number {
    const at = task >> this.#shift;
    const page = this.#pages[at];
    if (page === undefined || page.endedCount < PAGE || this.#shift !== PAGED.shift) return 0;
    const first = at * PAGE;
    const rows: TaskIndex[] = [];
    for (let of = first; of < first + PAGE; of++) {
      if (!isFinal(of)) return 0;
      if (page.executions[of - first] !== 1 || !isReadable(of)) rows.push(of);
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
}
