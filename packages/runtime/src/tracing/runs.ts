import type { Millis, Outcome } from '@goshawk/core';
import type { TaskOrder } from '@goshawk/worker';
import type { Tracing } from './spans.js';

/** Traceparent that makes a task's spans children of its run. */
export function traceparentOfRun(tracing: Tracing, { jobId, task, attempt }: TaskOrder): string {
  return tracing.traceparentOf(jobId, `run ${task}/${attempt}`);
}

/** Records the run of a task at its worker as a child of the attempt, which its owner records. */
export function traceRun(
  tracing: Tracing,
  worker: string,
  { jobId, task, attempt }: TaskOrder,
  { kind, errorCode }: Outcome,
  runMs: Millis,
  now: Millis,
): void {
  tracing.add({
    job: jobId,
    key: `run ${task}/${attempt}`,
    parent: `attempt ${task}/${attempt}`,
    from: now - runMs,
    to: now,
    attributes: {
      'goshawk.task': task,
      'goshawk.attempt': attempt,
      'goshawk.worker': worker,
      'goshawk.outcome': kind,
    },
    error: kind === 'completed' ? undefined : errorCode || kind,
  });
}
