import { countTasks, grown, type JobSpec, type Millis, NO_RESOURCES } from '@goshawk/core';
import type { JobResult } from '@goshawk/report';
import type { SimulatedEnd, SimulatedJob } from '@goshawk/simulator';

/** A job as submitted, with its true properties. */
export interface Arrival extends SimulatedJob {
  readonly tasks: number;
  /** The true mean run time. */
  readonly meanMs: Millis;
}

/**
 * Converts the ends of jobs into results, in seconds. Callers count the task times immediately, so all
 * results share one buffer, which is valid only for the latest result.
 */
export class Results {
  readonly #cutoffMs: Millis;
  #starts = new Float64Array(1_024);
  #runs = new Float64Array(1_024);

  constructor(cutoffMs: Millis) {
    this.#cutoffMs = cutoffMs;
  }

  of(end: SimulatedEnd<Arrival>): JobResult {
    const { index, job, endedMs, completed, tasksCompleted, attempts } = end;
    const started = this.#copyTimes(end);
    return {
      id: `${index + 1}`,
      class: job.meanMs < this.#cutoffMs ? 'short' : 'long',
      outcome: completed ? 'completed' : 'failed',
      submitSeconds: job.submitMs / 1_000,
      runtimeSeconds: (endedMs - job.submitMs) / 1_000,
      taskCount: job.tasks,
      ...statedIn(job.spec),
      tasksCompleted,
      attempts,
      taskStartsSeconds: this.#starts.subarray(0, started),
      taskRunSeconds: this.#runs.subarray(0, started),
    };
  }

  /** @returns the number of started tasks; in a failed job, some may never have started */
  #copyTimes({ completed, startsMs, runsMs }: SimulatedEnd): number {
    const { length } = startsMs;
    if (length > this.#starts.length) {
      this.#starts = grown(this.#starts, length);
      this.#runs = grown(this.#runs, length);
    }
    const starts = this.#starts;
    const runs = this.#runs;
    let started = 0;
    for (let task = 0; task < length; task++) {
      if (!completed && !(startsMs[task]! >= 0)) continue;
      starts[started] = startsMs[task]! / 1_000;
      runs[started] = runsMs[task]! / 1_000;
      started++;
    }
    return started;
  }
}

/** Returns the stated facts of a job: its deadline, and its stages if it has several or demands. */
export function statedIn({
  stages,
  weight,
  deadlineMs,
}: JobSpec): Pick<JobResult, 'deadlineSeconds' | 'stages' | 'weight'> {
  const deadline = deadlineMs === undefined ? {} : { deadlineSeconds: deadlineMs / 1_000 };
  if (stages.length === 1 && stages[0]!.demand === NO_RESOURCES) return deadline;
  return {
    ...deadline,
    weight,
    stages: stages.map(({ tasks, after, demand }) => ({ tasks: countTasks(tasks), after, demand })),
  };
}
