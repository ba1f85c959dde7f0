import type { Millis, Scope, TaskIndex } from '@goshawk/core';
import type { Evidence, SamplePlan } from '@goshawk/predictor';
import { type Batch, NonPilotBatch, PilotBatch, type Stage } from './batch.js';

/** Number of failed runs of pilots kept, to estimate a job whose pilots all fail. */
const FAILED_RUNS_MAX = 100;
/** Pilots are few, and all other tasks wait for them, so they get more probes. */
const PILOT_PROBE_FACTOR = 2;

/**
 * The sample of one job (SLearn §5.1): its pilots and their outcomes. Until the job is classified, the other tasks of
 * its startable stages are separate batches, whose probes may go where long tasks run.
 */
export class Sample {
  readonly plan: SamplePlan;
  /** Ascending. */
  readonly tasks: readonly number[];
  readonly pilots: PilotBatch;
  /** Batches that may run before the decision, by stage. */
  readonly nonPilots: readonly NonPilotBatch[];
  /** Whether the class of the job is decided. */
  isDecided = false;
  /** Whether the class is decided, and the pilots have yet to determine the estimate. */
  isEstimatePending = false;
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

  /** The batch that replaces this one until the job is classified: its stage without the pilots. */
  nonPilotsOf(batch: Batch): Batch {
    return this.nonPilots[batch.index] ?? batch;
  }

  /** Whether the task is a pilot and the class is still undecided. */
  isUndecidedPilot(task: TaskIndex): boolean {
    return !this.isDecided && this.#isPilot.has(task);
  }

  /** Whether the task is a pilot, decided or not. */
  isPilot(task: TaskIndex): boolean {
    return this.#isPilot.has(task);
  }

  /** Whether the end of the task may still change the decision or the estimate. */
  isPending(task: TaskIndex): boolean {
    return this.#isPilot.has(task) && (!this.isDecided || this.isEstimatePending);
  }

  attemptFailed(task: TaskIndex, runMs: Millis): void {
    if (this.isUndecidedPilot(task) && this.#failedRunsMs.length < FAILED_RUNS_MAX)
      this.#failedRunsMs.push(runMs);
  }

  /** @param look state of a task: run time if completed, run time so far, or that it will never complete */
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
