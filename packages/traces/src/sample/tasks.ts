import { meanOf, type Random } from '@goshawk/core';
import { apportion } from '../apportion.js';
import { urn } from '../draws.js';
import type { TraceJob } from '../job.js';

/**
 * A job with `tasksMax` of its tasks at most, drawn at random without replacement, in their order. Drawn,
 * and not the first ones, because the first tasks of a job are often of one kind, and their mean is not
 * the job's. Each stage keeps its part of them, and one at least; so a job of more stages than
 * `tasksMax` keeps one a stage.
 */
export function limitTasks(job: TraceJob, tasksMax: number, random: Random): TraceJob {
  const { durationsSeconds: all, stages } = job;
  if (all.length <= tasksMax) return job;
  if (stages === undefined) return withDurations(job, drawTasks(all, tasksMax, random));
  const parts = apportion(
    stages.map(({ tasks }) => tasks),
    tasksMax,
  );
  let start = 0;
  const kept = stages.flatMap(({ tasks }, i) => {
    const own = all.subarray(start, start + tasks);
    start += tasks;
    return [...drawTasks(own, parts[i]!, random)];
  });
  return {
    ...withDurations(job, Float64Array.from(kept)),
    stages: stages.map((stage, i) => ({ ...stage, tasks: parts[i]! })),
  };
}

function drawTasks(durations: Float64Array, count: number, random: Random): Float64Array {
  return durations.filter(urn(random, durations.length, count));
}

/** A mean that was stated stays as far from that of the durations as it was. */
function withDurations(job: TraceJob, durationsSeconds: Float64Array): TraceJob {
  const before = meanOf(job.durationsSeconds);
  const after = meanOf(durationsSeconds);
  const isStated = job.meanSeconds !== before;
  const meanSeconds = !isStated ? after : before > 0 ? job.meanSeconds * (after / before) : job.meanSeconds;
  return { ...job, durationsSeconds, meanSeconds };
}
