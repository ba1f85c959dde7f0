import { concatenated, sumOf } from '@goshawk/core';
import type { TraceJob } from './job.js';

/**
 * Returns durations for a smaller number of tasks of a job, divided among stages in proportion.
 *
 * @param wanted number of tasks of the job
 * @param fewer selects this many durations of a stage
 */
export function fewerTasks(
  { durationsSeconds, stages }: TraceJob,
  wanted: number,
  fewer: (before: Float64Array, tasks: number) => Float64Array,
): Pick<TraceJob, 'durationsSeconds' | 'stages'> {
  if (stages === undefined) return { durationsSeconds: fewer(durationsSeconds, wanted) };
  const parts = apportion(
    stages.map(({ tasks }) => tasks),
    wanted,
  );
  let first = 0;
  const kept = stages.map(({ tasks }, place) => {
    const own = durationsSeconds.subarray(first, first + tasks);
    first += tasks;
    return fewer(own, parts[place]!);
  });
  return {
    durationsSeconds: concatenated(kept),
    stages: stages.map((stage, place) => ({ ...stage, tasks: parts[place]! })),
  };
}

/**
 * Divides `whole` among stages of these sizes: one each, and the rest in proportion, rounded by largest remainder.
 */
export function apportion(sizes: readonly number[], whole: number): number[] {
  const rest = Math.max(0, whole - sizes.length);
  const restOfSizes = sizes.reduce((total, size) => total + size - 1, 0);
  const exact = sizes.map((size) => (restOfSizes === 0 ? 0 : ((size - 1) / restOfSizes) * rest));
  const parts = exact.map((part) => 1 + Math.floor(part));
  const left = rest + sizes.length - sumOf(parts);
  const cutOff = (i: number) => exact[i]! - Math.floor(exact[i]!);
  const order = sizes.map((_, i) => i).sort((a, b) => cutOff(b) - cutOff(a) || a - b);
  for (const i of order.slice(0, left)) parts[i]!++;
  return parts;
}
