/**
 * What the function of a module task is given beside its input, as its second argument.
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
  /** GPUs that are the task's until it ends, as its worker names them: indices, from 0. */
  readonly gpus: readonly string[];
  /** What the tasks of an earlier stage returned, in order, where its stage names that one in `inputs`; null for nothing. */
  results(stage: string): readonly unknown[];
  /**
   * Aborts when the task is to end: cancelled, out of time, preempted, or its worker stops. Who has looked at it has 2 s from
   * then to return; the thread of others ends at once.
   */
  readonly signal: Signal;
  /** A line of the task's output. */
  log(line: string): void;
  /** How far it is, as a line of its stderr: the last word, and others at most once a second. */
  progress(done: number, total: number): void;
}
