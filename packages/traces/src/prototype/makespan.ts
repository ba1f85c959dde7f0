import type { TraceJob } from '../job.js';

/**
 * When the last task ends, in seconds from time 0, if one ideal FIFO queue feeds all slots: each task in
 * order of submission takes the slot that is free first. What a run takes at least, nearly: at high
 * load, or where a task is longer than the submissions last, far more than the submissions take.
 * @param jobs in order of submission
 */
export function fifoMakespan(jobs: readonly TraceJob[], slots: number): number {
  // A binary heap of the times at which the slots become free, the earliest on top.
  const freeAt = new Float64Array(slots);
  let end = 0;
  for (const { submitSeconds, durationsSeconds } of jobs) {
    for (let task = 0; task < durationsSeconds.length; task++) {
      const taskEnd = Math.max(freeAt[0]!, submitSeconds) + durationsSeconds[task]!;
      replaceLeast(freeAt, taskEnd);
      if (taskEnd > end) end = taskEnd;
    }
  }
  return end;
}

function replaceLeast(heap: Float64Array, value: number): void {
  let at = 0;
  for (let child = 1; child < heap.length; child = 2 * at + 1) {
    if (child + 1 < heap.length && heap[child + 1]! < heap[child]!) child++;
    if (heap[child]! >= value) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = value;
}
