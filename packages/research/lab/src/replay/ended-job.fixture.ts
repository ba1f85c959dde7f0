import type { EndedJobWithTasks } from '@goshawk/client';
import { jobInputOf, jobSpecOf } from '@goshawk/traces';
import type { PlannedJob } from './plan.js';
import type { EndedReplayJob } from './submitter.js';

export function plannedJob(fields: Partial<PlannedJob> = {}): PlannedJob {
  const { trueMeanMs = 100, tasks = 1 } = fields;
  const job = {
    submitSeconds: 0,
    durationsSeconds: new Float64Array(tasks).fill(trueMeanMs / 1_000),
    meanSeconds: trueMeanMs / 1_000,
  };
  const spec = jobSpecOf(job, trueMeanMs);
  return {
    submitMs: 0,
    tasks,
    job,
    taskMs: trueMeanMs * tasks,
    trueMeanMs,
    estimateMs: trueMeanMs,
    spec,
    input: jobInputOf(spec),
    ...fields,
  };
}

/** An ended job with the fields that a replay uses. */
export function endedAs(fields: Partial<EndedJobWithTasks> = {}): EndedJobWithTasks {
  return {
    id: 'tag-1',
    state: 'completed',
    class: 'short',
    tasks: { total: 1, waiting: 0, running: 0, completed: 1, failed: 0, cancelled: 0 },
    attempts: { total: 1, failed: 0, lost: 0 },
    endedMs: 100,
    endedAtMs: 0,
    starts: [0],
    runs: [100],
    ...fields,
  } as EndedJobWithTasks;
}

export function endedJob(fields: Partial<EndedReplayJob> = {}): EndedReplayJob {
  return { planned: plannedJob(), submittedMs: 0, endedMs: 110, ended: endedAs(), ...fields };
}
