/**
 * The state of a task. Every task is in exactly one of these:
 *
 *     blocked → waiting → running → completed
 *                 ↓          ↑
 *               placed ──────┘                      (queued at a worker by central)
 *     and from any of them to failed or cancelled
 *     skipped from the start                        (a retry as a new job)
 */
export const TaskState = {
  /** An earlier stage has not completed, or the task is in back-off before a retry. */
  blocked: 0,
  /** May start; no worker has it. */
  waiting: 1,
  /** In the queue of a worker that central selected. */
  placed: 2,
  running: 3,
  completed: 4,
  failed: 5,
  cancelled: 6,
  /** Never runs: the job is a retry of other tasks. */
  skipped: 7,
} as const;
export type TaskState = (typeof TaskState)[keyof typeof TaskState];

export const TASK_STATE_NAMES = Object.keys(TaskState) as (keyof typeof TaskState)[];
