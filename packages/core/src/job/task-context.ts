/**
 * The second argument of a module task's function, besides its input.
 * @typeParam Signal `AbortSignal`
 */
export interface TaskContext<Signal> {
  /** Id of the job. */
  readonly job: string;
  /** Number of the task in its job, from 0. */
  readonly index: number;
  /** Number of this attempt, from 1. */
  readonly attempt: number;
  /** GPUs that are the task's until it ends, as its worker names them: indices, from 0. */
  readonly gpus: readonly string[];
  /** Return values of the tasks of an earlier stage, in order, if this stage names it in `inputs`; null for none. */
  results(stage: string): readonly unknown[];
  /**
   * Aborts when the task must end: cancelled, timed out, preempted, or its worker stops. A task that has read it then has 2 s
   * to return; the thread of any other task ends at once.
   */
  readonly signal: Signal;
  /** A line of the task's output. */
  log(line: string): void;
  /** Progress, as a line on its stderr: the final one, and others at most once per second. */
  progress(done: number, total: number): void;
}
