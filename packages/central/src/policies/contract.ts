import type { Address, BatchPart, Millis, Resources } from '@goshawk/core';

/**
 * The contract of central policies: a read-only view of the cluster and its jobs in, a plan out. Whoever calls it
 * checks the plan against what is true by then, applies what still can be, and refuses the rest singly; what was
 * refused is in the next view as it was. A policy is deterministic, and keeps no books of what runs: the view does.
 *
 * Beside the waiting work it may keep an order of its own, brought up to date by the view's news.
 */
export interface CentralPolicy {
  /** Called when something has changed that may let a task start, and when the time has come that the last plan gave. */
  plan(view: ClusterView, now: Millis): Plan;
}

export interface ClusterView {
  /** Of all workers that take work. */
  readonly slots: number;
  /** Workers that take work and have a slot free, each once. */
  freeWorkers(): Iterable<WorkerView>;
  readonly freeWorkerCount: number;
  /** Batches of which a task waits for a worker. */
  batches(): Iterable<BatchView>;
  /** Tasks that run, or are on their way to a worker. */
  runs(): Iterable<RunView>;
  /** How many of those were started with this tag. */
  runsTagged(tag: number): number;
  readonly news: News;
}

/** What is new since the last plan; a policy that looks at everything each time does without. */
export interface News {
  /** Batches that came, changed or went; of those that went, no task waits. */
  readonly batches: readonly BatchView[];
}

export interface WorkerView {
  readonly address: Address;
  readonly slots: number;
  readonly capacity: Resources;
  /** Slots that a task could start in. */
  readonly free: number;
  /** What is free beside them. */
  readonly spare: Resources;
}

export interface JobView {
  readonly owner: Address;
  /** Its number at its owner. */
  readonly job: number;
  /** When its owner accepted it, by the clock here. */
  readonly arrivedAt: Millis;
  /** In all its stages. */
  readonly tasks: number;
  /** Tasks that run, or are on their way to a worker. */
  readonly running: number;
  /** Slot time that its tasks have had, as far as is known here. */
  attainedMs(now: Millis): Millis;
}

/** Tasks of one job that are alike, and wait at their owner. */
export interface BatchView {
  /** Small; given out again once the batch is gone. */
  readonly id: number;
  readonly job: JobView;
  readonly stage: number;
  readonly part: BatchPart;
  readonly long: boolean;
  /** Mean run time of the job's tasks, as its owner believes it; 0: nothing is known. */
  readonly estimateMs: Millis;
  readonly demand: Resources;
  /** Tasks that no worker was found for; 0 once it is gone. */
  readonly waiting: number;
  /** When it came, or when a worker was last found for it. */
  readonly waitsSince: Millis;
}

export interface RunView {
  readonly job: JobView;
  readonly worker: Address;
  readonly startedAt: Millis;
  readonly tag: number;
}

export interface Plan {
  readonly starts: readonly Start[];
  /** Ask again after so long, though nothing else may have changed. */
  readonly againInMs?: Millis;
}

/** A task of the batch, whichever is next, starts at the worker. */
export interface Start {
  readonly batch: BatchView;
  readonly worker: Address;
  /** The policy's own, by which runs are counted; a small whole number. */
  readonly tag: number;
}

export const NO_STARTS: Plan = { starts: [] };
