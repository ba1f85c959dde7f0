import type { Millis } from '../ids.js';
import type { NeedOrder } from './settings.js';

/** What the orders of jobs in need look at. */
export interface WorkInNeed {
  /** A task's run time, as it is believed. */
  readonly estimateMs: Millis;
  /** What it came with: estimate × tasks. */
  readonly sizeMs: Millis;
  /** Tasks without a worker. */
  readonly tasks: number;
}

/**
 * The key by which free workers serve jobs in need, the least first.
 *
 * @param arrival its place in the order of coming
 */
export function needKey(
  order: NeedOrder,
  { estimateMs, sizeMs, tasks }: WorkInNeed,
  arrival: number,
): number {
  switch (order) {
    case 'size':
      return sizeMs;
    case 'remaining':
      return estimateMs * tasks;
    case 'mean':
      return estimateMs;
    case 'tasks':
      return tasks;
    case 'fifo':
      return arrival;
  }
}
