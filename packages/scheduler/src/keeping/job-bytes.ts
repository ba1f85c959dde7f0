import type { JobSpec, TaskList } from '@goshawk/core';
import { heapBytes } from './heap-bytes.js';

/**
 * What jobs take of an owner's memory, estimated from what was submitted: enough to bound it, not to account for
 * it. In bytes.
 */
export class JobBytes {
  readonly #byJob = new Map<number, number>();
  #active = 0;
  #ended = 0;

  /** Of jobs that have not ended. */
  get active(): number {
    return this.#active;
  }

  /** Of jobs that have ended and are kept. */
  get ended(): number {
    return this.#ended;
  }

  add(job: number, bytes: number): void {
    this.#byJob.set(job, bytes);
    this.#active += bytes;
  }

  of(job: number): number {
    return this.#byJob.get(job) ?? 0;
  }

  /** A job that has not ended takes so much by now. */
  set(job: number, bytes: number): void {
    this.#active += bytes - this.of(job);
    this.#byJob.set(job, bytes);
  }

  jobEnded(job: number): void {
    const bytes = this.#byJob.get(job) ?? 0;
    this.#active -= bytes;
    this.#ended += bytes;
  }

  /** Of a job that has ended. */
  forget(job: number): void {
    this.#ended -= this.#byJob.get(job) ?? 0;
    this.#byJob.delete(job);
  }
}

/** A job's record, and each task's state, attempts, times and worker. */
const JOB_BYTES = 3_200;
const TASK_BYTES = 64;

/** What a job will take while it is held. */
export function bytesOf(spec: JobSpec): number {
  const awaited = heapBytes([spec.after ?? [], spec.afterOk ?? []]);
  return spec.stages.reduce((sum, { tasks }) => sum + taskListBytes(tasks), JOB_BYTES + awaited);
}

function taskListBytes(tasks: TaskList): number {
  if ('count' in tasks) return tasks.count * TASK_BYTES + heapBytes(tasks.run);
  if ('sleepsMs' in tasks) return tasks.sleepsMs.length * TASK_BYTES;
  return tasks.each.reduce((sum, payload) => sum + TASK_BYTES + heapBytes(payload), 0);
}
