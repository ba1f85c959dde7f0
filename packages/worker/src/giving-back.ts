import type { Address, Environment, TaskAttempt } from '@goshawk/core';
import type { WorkerCounters } from './contract.js';
import type { Entry } from './entry.js';
import type { WorkerQueue } from './queue.js';

/**
 * What a worker says when something that was meant to run here will not: the owner hears that it must look
 * elsewhere, and central that the task no longer counts in this worker's waiting time.
 */
export class GivingBack {
  readonly #env: Environment<never>;
  readonly #counters: WorkerCounters;
  readonly #central: Address;

  constructor(env: Environment<never>, counters: WorkerCounters, central: Address) {
    this.#env = env;
    this.#counters = counters;
    this.#central = central;
  }

  entry(entry: Entry): void {
    if (entry.placed === undefined) this.#probes(entry, 1);
    else this.placed(entry);
  }

  /** One message for all probes of a batch. */
  all(entries: readonly Entry[]): void {
    const batches = new Map<string, { entry: Entry; probes: number }>();
    for (const entry of entries) {
      if (entry.placed !== undefined) {
        this.placed(entry);
        continue;
      }
      const key = `${entry.owner}/${entry.job}/${entry.stage}`;
      const batch = batches.get(key);
      if (batch === undefined) batches.set(key, { entry, probes: 1 });
      else batch.probes++;
    }
    for (const { entry, probes } of batches.values()) this.#probes(entry, probes);
  }

  /** A task that its owner believes to be here, bound or placed. */
  task(owner: Address, job: number, stage: number, task: number, attempt: number): void {
    this.#counters.declined++;
    this.#env.send(owner, { type: 'declined', job, stage, probes: 0, placed: { task, attempt } });
  }

  placed(entry: Entry): void {
    if (entry.placed === undefined) return;
    this.placementOver(entry);
    this.task(entry.owner, entry.job, entry.stage, entry.placed.task, entry.placed.attempt);
  }

  /** The owner knows already; central does not. */
  placementOver({ owner, job, placed }: Entry): void {
    if (placed === undefined) return;
    this.#env.send(this.#central, { type: 'placementEnded', owner, job, ...placed });
  }

  #probes({ owner, job, stage }: Entry, probes: number): void {
    this.#counters.declined++;
    this.#env.send(owner, { type: 'declined', job, stage, probes, placed: undefined });
  }

  /** A task is not wanted any more, and neither runs nor has ended here. */
  cancelled(owner: Address, { job, task, attempt }: { job: number } & TaskAttempt, queue: WorkerQueue): void {
    const waiting = queue.removePlaced(owner, job, task, attempt);
    if (waiting !== undefined) this.placementOver(waiting);
    // Said also when it was never here: the owner asks until it knows.
    this.task(owner, job, waiting?.stage ?? 0, task, attempt);
  }

  tellCentral(
    type: 'placementStarted' | 'placementEnded',
    owner: Address,
    { job, task, attempt }: { job: number } & TaskAttempt,
  ): void {
    this.#env.send(this.#central, { type, owner, job, task, attempt });
  }
}
