import type { AttemptView, JobNumber, JobRecord, JobRecordOf, Outcome, TaskIndex } from '@goshawk/core';
import { heapBytes } from './heap-bytes.js';
import { NumberPages } from './number-pages.js';

/** The last failure of a task, and the worker on which it happened. */
interface TaskError {
  readonly outcome: Outcome;
  readonly worker: string;
}

/** Reads a record of a job from the journal; undefined if it cannot be read. */
export type ReadRecord = (job: JobNumber, position: number) => JobRecord | undefined;

/** Maximum number of unsuccessful attempts that are kept, and of tasks of each kind in a detailed view. */
export const ATTEMPTS_LISTED_MAX = 100;

const NONE: readonly AttemptView[] = [];

/**
 * The results of a job's tasks: return values and errors. If a result is in the journal, only its position is kept in
 * memory: 8 bytes per task, or 2 after packing.
 */
export class TaskReports {
  /** Estimated heap size of the results that are kept in memory. */
  bytes = 0;
  /** Estimated size of results in the journal. */
  recordedBytes = 0;
  /** Whether to drop unsuccessful attempts because memory is scarce. */
  dropsOptional = false;
  #valuesDroppedBefore = 0;
  readonly #job: number;
  readonly #isOpen: boolean;
  // Created on demand, because most jobs need none of these.
  #unsuccessful: AttemptView[] | undefined;
  #values: Map<number, unknown> | undefined;
  #errors: Map<number, TaskError> | undefined;
  #gpus: Map<number, readonly string[]> | undefined;
  /** Journal position of each task's last result, plus one. 0: not recorded. */
  #positions: NumberPages | undefined;

  /**
   * @param isOpen whether tasks may be appended. For an open job, the position of each task's end is kept
   *   even if the task returned no value, because ended tasks are archived
   */
  constructor(job: JobNumber, isOpen: boolean) {
    this.#job = job;
    this.#isOpen = isOpen;
  }

  /** The first unsuccessful attempts and their errors. */
  get unsuccessful(): readonly AttemptView[] {
    return this.#unsuccessful ?? NONE;
  }

  addUnsuccessful(attempt: AttemptView): void {
    this.#unsuccessful ??= [];
    if (this.#unsuccessful.length >= ATTEMPTS_LISTED_MAX || this.dropsOptional) return;
    this.#unsuccessful.push(attempt);
    this.bytes += heapBytes(attempt);
  }

  /** @param position of the result in the journal; undefined: not recorded */
  setValue(task: TaskIndex, value: unknown, position?: number): void {
    // An existing position belongs to an earlier attempt.
    if (position === undefined) this.#dropPosition(task);
    if (value === undefined || value === null) {
      if (this.#isOpen && position !== undefined) this.#setPosition(task, position, undefined);
      return;
    }
    if (position !== undefined) return this.#setPosition(task, position, value);
    this.#values ??= new Map();
    this.#values.set(task, value);
    this.bytes += heapBytes(value);
  }

  /** @param position of the result in the journal; undefined: not recorded */
  setGpus(task: TaskIndex, gpus: readonly string[] | undefined, position?: number): void {
    if (gpus === undefined) return;
    if (position !== undefined) return this.#setPosition(task, position, gpus);
    this.#gpus ??= new Map();
    this.#gpus.set(task, gpus);
    this.bytes += heapBytes(gpus);
  }

  /** @param position of the result in the journal; undefined: not recorded */
  setError(task: TaskIndex, error: TaskError, position?: number): void {
    if (position !== undefined) return this.#setPosition(task, position, error);
    this.#dropPosition(task);
    this.#errors ??= new Map();
    this.bytes += heapBytes(error) - heapBytes(this.#errors.get(task));
    this.#errors.set(task, error);
  }

  #dropPosition(task: TaskIndex): void {
    if (this.isRecorded(task)) this.#positions!.set(task, 0);
  }

  /** Drops the failures of tasks that are retried. @param marks 1 for each of these tasks */
  dropFailures(marks: Uint8Array): void {
    for (let task = 0; task < marks.length; task++) if (marks[task] === 1) this.#dropPosition(task);
    for (const [task, error] of this.#errors ?? []) {
      if (marks[task] !== 1) continue;
      this.bytes -= heapBytes(error);
      this.#errors!.delete(task);
    }
  }

  /** Drops the in-memory values of the tasks before this one, because the client has received them. */
  dropValues(before: TaskIndex): void {
    if (this.#values === undefined) return;
    for (; this.#valuesDroppedBefore < before; this.#valuesDroppedBefore++) {
      const value = this.#values.get(this.#valuesDroppedBefore);
      if (this.#values.delete(this.#valuesDroppedBefore)) this.bytes -= heapBytes(value);
    }
  }

  /** The return value of a completed task; undefined if it has none. */
  valueOf(task: TaskIndex, readRecord: ReadRecord | undefined): unknown {
    const outcome = this.#readEnd(task, readRecord)?.outcome;
    return outcome?.kind === 'completed' ? (outcome.value ?? undefined) : this.#values?.get(task);
  }

  /** The GPUs of a completed task; undefined if it had none. */
  gpusOf(task: TaskIndex, readRecord: ReadRecord | undefined): readonly string[] | undefined {
    return this.#readEnd(task, readRecord)?.outcome.gpus ?? this.#gpus?.get(task);
  }

  /** The last failure of a task. */
  errorOf(task: TaskIndex, readRecord: ReadRecord | undefined): TaskError | undefined {
    return this.#readEnd(task, readRecord) ?? this.#errors?.get(task);
  }

  /** Whether the position of the task's end in the journal is known. */
  isRecorded(task: TaskIndex): boolean {
    return this.#positions !== undefined && this.#positions.get(task) > 0;
  }

  /** Records that the page of a task was archived. @param bytes size of the state now only in the journal */
  archived(task: TaskIndex, bytes: number): void {
    this.#positions!.pack(task);
    this.recordedBytes += bytes;
  }

  /** Reads the end of an archived task from the journal. */
  endOf(task: TaskIndex, readRecord: ReadRecord | undefined): JobRecordOf<'attempt'> | undefined {
    return this.#readEnd(task, readRecord);
  }

  #setPosition(task: TaskIndex, position: number, report: unknown): void {
    if (report !== undefined) this.recordedBytes += heapBytes(report);
    this.#positions ??= new NumberPages(true);
    this.#positions.set(task, position + 1);
  }

  #readEnd(task: TaskIndex, readRecord: ReadRecord | undefined): JobRecordOf<'attempt'> | undefined {
    const position = this.#positions?.get(task) ?? 0;
    const record = position === 0 ? undefined : readRecord?.(this.#job, position - 1);
    return record?.kind === 'attempt' && record.task === task ? record : undefined;
  }
}
