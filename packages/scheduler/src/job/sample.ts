import type { Millis, Scope, TaskIndex } from '@goshawk/core';
import type { Evidence, SamplePlan } from '@goshawk/predictor';
import { type Batch, PilotBatch, RestBatch, type Stage } from './batch.js';

/** Failed runs of pilots that are kept: the estimate of a job whose pilots all fail comes from them. */
const FAILED_RUNS_MAX = 100;
/** They are few, and all the others wait for them: a pilot behind a long task is worth more probes than a task. */
const PILOT_PROBE_FACTOR = 2;

/**
 * The sample of one job (SLearn §5.1): which of its tasks are pilots, and what became of them. The rest of the
 * sampled stage, and of others that may start at once, is batches by themselves until it is decided: their probes
 * go where long tasks may run too, and are not those of the stage.
 */
export class Sample {
  readonly plan: SamplePlan;
  /** Ascending. */
  readonly tasks: readonly number[];
  readonly pilots: PilotBatch;
  /** Batches that may run before the decision, by stage. */
  readonly rest: readonly RestBatch[];
  /** It is known what the job is. */
  isDecided = false;
  /** It was decided what the job is, and its pilots have yet to tell how long its tasks run. */
  estimateFollows = false;
  readonly #isPilot: ReadonlySet<number>;
  readonly #failedRunsMs: Millis[] = [];

  /**
   * @param tasks distinct ones of the stage
   * @param stages of the job
   * @param over where tasks of which the class is not known may run
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
    this.rest = stages.map((of) => new RestBatch(stages.length + 1 + of.index, of, over));
  }

  /** The batch that stands for this one until the job's class is decided: the rest of its stage, without the pilots. */
  restOf(batch: Batch): Batch {
    return this.rest[batch.index] ?? batch;
  }

  /** A pilot, and it matters which tasks are. */
  holds(task: TaskIndex): boolean {
    return !this.isDecided && this.#isPilot.has(task);
  }

  /** A pilot, whether it was decided or not. */
  isPilot(task: TaskIndex): boolean {
    return this.#isPilot.has(task);
  }

  /** The end of the task, a pilot, may tell more. */
  heeds(task: TaskIndex): boolean {
    return this.#isPilot.has(task) && (!this.isDecided || this.estimateFollows);
  }

  attemptFailed(task: TaskIndex, runMs: Millis): void {
    if (this.holds(task) && this.#failedRunsMs.length < FAILED_RUNS_MAX) this.#failedRunsMs.push(runMs);
  }

  /**
   * @param look what became of a task: its run time when it completed, for how long it has run, or that it never will
   */
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
