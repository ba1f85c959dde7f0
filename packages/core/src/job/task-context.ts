/**
 * The second argument of a module task's function, after its input.
 *
 * @typeParam Signal `AbortSignal`
 */
export interface TaskContext<Signal> {
  /** Id of the job. */
  readonly job: string;
  /** Number of the task in its job, from 0. */
  readonly index: number;
  /** Number of this attempt, from 1. */
  readonly attempt: number;
  /** GPUs assigned to the task until it ends, by the worker's names for them: indices from 0. */
  readonly gpus: readonly string[];
  /**
   * Return values of the tasks of an earlier stage, in task order, if this stage names it in `inputs`; null
   * for a task without one.
   */
  results(stage: string): readonly unknown[];
  /**
   * Aborts when the task must end: it was cancelled, timed out or preempted, or its worker stops. A task that
   * has read the signal then has 2 s to return; the thread of any other task is terminated immediately.
   */
  readonly signal: Signal;
  /** Writes a line to the task's output. */
  log(line: string): void;
  /** Reports progress as a line on stderr: the final one, and others at most once per second. */
  progress(done: number, total: number): void;
}
