/**
 * Where a task is. Every task is in exactly one of these states:
 *
 *     blocked → waiting → running → completed
 *                 ↓  ↑       ↓
 *               placing → placed → running …      (placed by central)
 *     and from any of them to failed or cancelled
 */
export const TaskState = {
  /** Its stage waits for another stage, or it has failed and rests before it is tried again. */
  blocked: 0,
  /** May start; no worker has it. */
  waiting: 1,
  /** Central has been asked for a worker. */
  placing: 2,
  /** In the queue of a worker that central has chosen. */
  placed: 3,
  running: 4,
  completed: 5,
  failed: 6,
  cancelled: 7,
} as const;
export type TaskState = (typeof TaskState)[keyof typeof TaskState];

export const TASK_STATE_NAMES = Object.keys(TaskState) as (keyof typeof TaskState)[];
