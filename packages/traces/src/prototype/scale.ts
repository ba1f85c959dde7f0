import { sum, type TraceJob } from '../job.js';
import type { Random } from '../random.js';

/**
 * Factor for the number of tasks of each job, so that the largest job has as many tasks as the cluster
 * has slots (Hawk §4.1, prototype); 1 when it has no more already.
 */
export function taskFactor(jobs: readonly TraceJob[], slots: number): number {
  let largest = 1;
  for (const job of jobs) largest = Math.max(largest, job.durationsSeconds.length);
  return Math.min(1, slots / largest);
}

/**
 * A job with `factor` times the tasks (rounded, one at least) and the same task seconds. The remaining
 * durations are the middles of equal slices of the sorted durations, so that they are spread as the
 * original's are, stretched to keep the sum, in random order.
 * @param factor in (0, 1]
 */
export function scaleTasks(job: TraceJob, factor: number, random: Random): TraceJob {
  const before = job.durationsSeconds;
  const tasks = Math.max(1, Math.round(before.length * factor));
  if (tasks === before.length) return job;
  const sorted = before.toSorted();
  const kept = new Float64Array(tasks);
  for (let i = 0; i < tasks; i++) kept[i] = sorted[Math.floor(((i + 0.5) * before.length) / tasks)]!;
  const taskSeconds = sum(before);
  const keptSeconds = sum(kept);
  for (let i = 0; i < tasks; i++) {
    kept[i] = keptSeconds > 0 ? kept[i]! * (taskSeconds / keptSeconds) : taskSeconds / tasks;
  }
  random.shuffle(kept);
  // The mean in the file is an estimate, which may differ from the durations: it is stretched alike.
  return { ...job, durationsSeconds: kept, meanSeconds: job.meanSeconds * (before.length / tasks) };
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
