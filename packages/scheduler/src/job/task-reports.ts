import type { AttemptView, JobNumber, JobRecord, JobRecordOf, Outcome, TaskIndex } from '@goshawk/core';
import { heapBytes } from './heap-bytes.js';
import { NumberPages } from './number-pages.js';

/** The last failure of a task, and its worker. */
interface TaskError {
  readonly outcome: Outcome;
  readonly worker: string;
}

/** Reads a record of a job from the journal; undefined if it cannot be read. */
export type Recall = (job: JobNumber, place: number) => JobRecord | undefined;

/** Maximum number of attempts whose end is kept, and of tasks in a detailed view. */
export const LISTED_MAX = 100;

const NONE: readonly AttemptView[] = [];

/**
 * Results of a job's attempts: return values and errors. For results in the journal only the position is kept: 8
 * bytes per task, or 2 once it is packed.
 */
export class TaskReports {
  /** Estimated heap size of results stored nowhere else. */
  bytes = 0;
  /** Estimated size of results in the journal. */
  recordedBytes = 0;
  /** Memory is short: optional data is not kept. */
  isBrief = false;
  #dropped = 0;
  readonly #job: number;
  readonly #isOpen: boolean;
  // Created on demand, because most jobs need none of these.
  #setbacks: AttemptView[] | undefined;
  #values: Map<number, unknown> | undefined;
  #errors: Map<number, TaskError> | undefined;
  #gpus: Map<number, readonly string[]> | undefined;
  /** Journal position plus one of each task's last report with contents; 0: none. */
  #places: NumberPages | undefined;

  /** @param isOpen tasks may be appended, so ends without contents are found again too: the job forgets their attempts */
  constructor(job: JobNumber, isOpen: boolean) {
    this.#job = job;
    this.#isOpen = isOpen;
  }

  /** The first unsuccessful attempts, with their errors. */
  get setbacks(): readonly AttemptView[] {
    return this.#setbacks ?? NONE;
  }

  noteSetback(attempt: AttemptView): void {
    this.#setbacks ??= [];
    if (this.#setbacks.length >= LISTED_MAX || this.isBrief) return;
    this.#setbacks.push(attempt);
    this.bytes += heapBytes(attempt);
  }

  /** @param place in the journal */
  setValue(task: TaskIndex, value: unknown, place?: number): void {
    // The place of an earlier attempt is not that of this one.
    if (place === undefined) this.#dropPlace(task);
    if (value === undefined || value === null) {
      if (this.#isOpen && place !== undefined) this.#put(task, place, undefined);
      return;
    }
    if (place !== undefined) return this.#put(task, place, value);
    this.#values ??= new Map();
    this.#values.set(task, value);
    this.bytes += heapBytes(value);
  }

  /** @param place in the journal */
  setGpus(task: TaskIndex, gpus: readonly string[] | undefined, place?: number): void {
    if (gpus === undefined) return;
    if (place !== undefined) return this.#put(task, place, gpus);
    this.#gpus ??= new Map();
    this.#gpus.set(task, gpus);
    this.bytes += heapBytes(gpus);
  }

  /** @param place in the journal */
  setError(task: TaskIndex, error: TaskError, place?: number): void {
    if (place !== undefined) return this.#put(task, place, error);
    this.#dropPlace(task);
    this.#errors ??= new Map();
    this.bytes += heapBytes(error) - heapBytes(this.#errors.get(task));
    this.#errors.set(task, error);
  }

  #dropPlace(task: TaskIndex): void {
    if (this.hasPlace(task)) this.#places!.set(task, 0);
  }

  /** Tasks run again, so their last failures are no longer final. @param marks 1 for each of them */
  forget(marks: Uint8Array): void {
    for (let task = 0; task < marks.length; task++) if (marks[task] === 1) this.#dropPlace(task);
    for (const [task, error] of this.#errors ?? []) {
      if (marks[task] !== 1) continue;
      this.bytes -= heapBytes(error);
      this.#errors!.delete(task);
    }
  }

  /** Drops values of tasks before this one, which are not requested again; the journal still has them. */
  drop(before: TaskIndex): void {
    if (this.#values === undefined) return;
    for (; this.#dropped < before; this.#dropped++) {
      const value = this.#values.get(this.#dropped);
      if (this.#values.delete(this.#dropped)) this.bytes -= heapBytes(value);
    }
  }

  /** Return value of a completed task; undefined without one. */
  valueOf(task: TaskIndex, recall: Recall | undefined): unknown {
    const outcome = this.#recalled(task, recall)?.outcome;
    return outcome?.kind === 'completed' ? (outcome.value ?? undefined) : this.#values?.get(task);
  }

  /** GPUs of a completed task; undefined: none. */
  gpusOf(task: TaskIndex, recall: Recall | undefined): readonly string[] | undefined {
    return this.#recalled(task, recall)?.outcome.gpus ?? this.#gpus?.get(task);
  }

  /** The last failure of a failed task. */
  errorOf(task: TaskIndex, recall: Recall | undefined): TaskError | undefined {
    return this.#recalled(task, recall) ?? this.#errors?.get(task);
  }

  /** Whether the journal has the end of the task. */
  hasPlace(task: TaskIndex): boolean {
    return this.#places !== undefined && this.#places.get(task) > 0;
  }

  /** The page of this task is settled. @param bytes that remain in the journal only */
  settled(task: TaskIndex, bytes: number): void {
    this.#places!.pack(task);
    this.recordedBytes += bytes;
  }

  /** The end of a settled task. */
  endOf(task: TaskIndex, recall: Recall | undefined): JobRecordOf<'attempt'> | undefined {
    return this.#recalled(task, recall);
  }

  #put(task: TaskIndex, place: number, report: unknown): void {
    if (report !== undefined) this.recordedBytes += heapBytes(report);
    this.#places ??= new NumberPages(true);
    this.#places.set(task, place + 1);
  }

  #recalled(task: TaskIndex, recall: Recall | undefined): JobRecordOf<'attempt'> | undefined {
    const place = this.#places?.get(task) ?? 0;
    const record = place === 0 ? undefined : recall?.(this.#job, place - 1);
    return record?.kind === 'attempt' && record.task === task ? record : undefined;
  }
}
