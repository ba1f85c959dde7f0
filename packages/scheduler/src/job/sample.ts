import type { Millis, Scope, TaskIndex } from '@goshawk/core';
import type { Evidence, SamplePlan } from '@goshawk/predictor';
import { type Batch, NonPilotBatch, PilotBatch, type Stage } from './batch.js';

/** Maximum number of failed pilot runs that are kept, to estimate a job whose pilots all fail. */
const FAILED_RUNS_MAX = 100;
/** The class of the job depends on few pilots, so they get more probes than other tasks. */
const PILOT_PROBE_FACTOR = 2;

/**
 * The pilots of one job and their outcomes (SLearn §5.1). Until the job is classified, the other tasks of each stage
 * form a separate batch with its own scope.
 */
export class Sample {
  readonly plan: SamplePlan;
  /** The pilots, in ascending order. */
  readonly tasks: readonly number[];
  readonly pilots: PilotBatch;
  /** The tasks that are not pilots, by stage. */
  readonly nonPilots: readonly NonPilotBatch[];
  /** `refining`: the job is classified as long, but its pilots have not determined its estimate yet. */
  state: 'running' | 'refining' | 'decided' = 'running';
  readonly #isPilot: ReadonlySet<number>;
  readonly #failedRunsMs: Millis[] = [];

  /**
   * @param tasks distinct tasks of the stage
   * @param stages of the job
   * @param over scope of tasks of unknown class
   */
  constructor(
    plan: SamplePlan,
    tasks: readonly number[],
    stage: Stage,
    stages: readonly Stage[],
    over: Scope,
  ) {
    this.plan = plan;
    this.tasks = [...tasks].sort((a, b) => a - b);
    this.#isPilot = new Set(tasks);
    this.pilots = new PilotBatch(stages.length, stage, PILOT_PROBE_FACTOR);
    this.nonPilots = stages.map((of) => new NonPilotBatch(stages.length + 1 + of.index, of, over));
  }

  /** The batch that replaces a stage until the job is classified. */
  nonPilotsOf(batch: Batch): Batch {
    return this.nonPilots[batch.index] ?? batch;
  }

  /** Whether the task is a pilot and the job is not classified yet. */
  isUndecidedPilot(task: TaskIndex): boolean {
    return this.state === 'running' && this.#isPilot.has(task);
  }

  /** Whether the task is or was a pilot. */
  isPilot(task: TaskIndex): boolean {
    return this.#isPilot.has(task);
  }

  /** Whether the end of the task may still affect the class or the estimate. */
  isPending(task: TaskIndex): boolean {
    return this.#isPilot.has(task) && this.state !== 'decided';
  }

  attemptFailed(task: TaskIndex, runMs: Millis): void {
    if (this.isUndecidedPilot(task) && this.#failedRunsMs.length < FAILED_RUNS_MAX)
      this.#failedRunsMs.push(runMs);
  }

  /** Collects the results of the pilots for the estimator. @param look returns a task's state and run time */
  evidence(look: (task: TaskIndex) => { ran: Millis } | { runs: Millis } | 'failed' | 'waiting'): Evidence {
    const runsMs: Millis[] = [];
    const elapsedMs: Millis[] = [];
    let failed = 0;
    for (const task of this.tasks) {
      const found = look(task);
      if (found === 'waiting') continue;
      if (found === 'failed') failed++;
      else if ('ran' in found) runsMs.push(found.ran);
      else elapsedMs.push(found.runs);
    }
    const { length: pilots } = this.tasks;
    return {
      pilots,
      stage: this.pilots.stage.index,
      runsMs,
      elapsedMs,
      failed,
      failedRunsMs: this.#failedRunsMs,
    };
  }
}
