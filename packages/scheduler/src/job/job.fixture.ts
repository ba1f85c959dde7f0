import { type Address, type JobClass, type JobInput, parseJobSpec, type Route } from '@goshawk/core';
import { arrivingJobOf } from './arriving.js';
import { Job } from './job.js';
import { TaskState } from './task-state.js';

/** A classified job accepted at time 0. */
export function jobOf(
  input: JobInput,
  {
    number = 1,
    key,
    class: jobClass = 'short',
    route = { by: 'probing', over: 'all' },
    acceptedAt = 0,
  }: Partial<Fields> = {},
): Job {
  const spec = parseJobSpec(input);
  return new Job({
    number,
    id: `a-${number}`,
    key,
    spec,
    arriving: arrivingJobOf(spec, 0, false),
    prediction: { kind: 'unknown' },
    decision: {
      class: jobClass,
      by: 'given',
      estimateMs: spec.estimateMs,
      guessMs: undefined,
      route,
      lane: 'normal',
    },
    acceptedAt,
  });
}

/** Starts tasks at a worker. */
export function startTasks(job: Job, ...tasks: readonly number[]): void {
  for (const task of tasks) {
    job.tasks.setWorker(task, 1 as Address);
    job.setState(task, TaskState.running);
  }
}

interface Fields {
  readonly number: number;
  readonly key: string | undefined;
  readonly class: JobClass;
  readonly route: Route;
  readonly acceptedAt: number;
}
