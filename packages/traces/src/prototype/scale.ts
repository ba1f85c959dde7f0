import { type Random, sumOf } from '@goshawk/core';
import { apportion } from '../apportion.js';
import { shuffle } from '../draws.js';
import type { TraceJob } from '../job.js';

/**
 * Factor for the number of tasks of each job, so that the largest job has as many tasks as the cluster
 * has slots (Hawk §4.1, prototype); 1 when it has no more already.
 */
function taskFactor(jobs: readonly TraceJob[], slots: number): number {
  let largest = 1;
  for (const job of jobs) largest = Math.max(largest, job.durationsSeconds.length);
  return Math.min(1, slots / largest);
}

/**
 * What goes with how long tasks take. The mean in the file and the submitter's are estimates, which may differ from the
 * durations.
 */
const STRETCHED = [
  'meanSeconds',
  'estimateSeconds',
  'timeoutSeconds',
  'timeLimitSeconds',
  'deadlineSeconds',
] as const;

/**
 * A job with `factor` times the tasks (rounded, one at least, and one at least of each stage) and the
 * same task seconds. The remaining durations are the middles of equal slices of the sorted durations, so
 * that they are spread as the original's are, stretched to keep the sum, in random order.
 * @param factor in (0, 1]
 */
export function scaleTasks(job: TraceJob, factor: number, random: Random): TraceJob {
  const { durationsSeconds: before, stages } = job;
  const tasks = Math.max(stages?.length ?? 1, Math.round(before.length * factor));
  if (tasks === before.length) return job;
  const stretch = before.length / tasks;
  const times: Partial<Record<(typeof STRETCHED)[number], number>> = {};
  for (const name of STRETCHED) if (job[name] !== undefined) times[name] = job[name] * stretch;
  const { maxRunning } = job;
  const stretched = {
    ...job,
    ...times,
    // As many times fewer run at once.
    ...(maxRunning === undefined ? {} : { maxRunning: Math.max(1, Math.round(maxRunning / stretch)) }),
  };
  if (stages === undefined) return { ...stretched, durationsSeconds: fewer(before, tasks, random) };
  const parts = apportion(
    stages.map((stage) => stage.tasks),
    tasks,
  );
  const durationsSeconds = new Float64Array(tasks);
  let from = 0;
  let to = 0;
  stages.forEach((stage, i) => {
    durationsSeconds.set(fewer(before.subarray(from, from + stage.tasks), parts[i]!, random), to);
    from += stage.tasks;
    to += parts[i]!;
  });
  return {
    ...stretched,
    durationsSeconds,
    stages: stages.map((stage, i) => {
      const { estimateSeconds } = stage;
      const longer =
        estimateSeconds === undefined ? {} : { estimateSeconds: (estimateSeconds * stage.tasks) / parts[i]! };
      return { ...stage, ...longer, tasks: parts[i]! };
    }),
  };
}

function fewer(before: Float64Array, tasks: number, random: Random): Float64Array {
  const sorted = before.toSorted();
  const kept = new Float64Array(tasks);
  for (let i = 0; i < tasks; i++) kept[i] = sorted[Math.floor(((i + 0.5) * before.length) / tasks)]!;
  const taskSeconds = sumOf(before);
  const keptSeconds = sumOf(kept);
  for (let i = 0; i < tasks; i++) {
    kept[i] = keptSeconds > 0 ? kept[i]! * (taskSeconds / keptSeconds) : taskSeconds / tasks;
  }
  return shuffle(random, kept);
}

/** `scaleTasks` for all jobs of a workload, by the factor that fits its largest job to the slots. */
export function scaleToCluster(
  jobs: readonly TraceJob[],
  slots: number,
  random: Random,
): { jobs: TraceJob[]; taskFactor: number } {
  const factor = taskFactor(jobs, slots);
  return { jobs: jobs.map((job) => scaleTasks(job, factor, random)), taskFactor: factor };
}
