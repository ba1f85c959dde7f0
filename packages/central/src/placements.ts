import type { Address, Environment, MessageOf, Millis } from '@goshawk/core';
import type { CentralCounters } from './contract.js';
import { PendingTasks } from './pending-tasks.js';
import type { PlacedTask, WaitingTimeQueue } from './waiting-time-queue.js';

/**
 * Central placement of tasks (Hawk §3.7): each goes to the worker where it would wait the least, and waits here while
 * there is none. Owners may ask twice, and an older attempt may come late: of each task the latest attempt counts.
 */
export class Placements {
  readonly #env: Pick<Environment, 'send'>;
  readonly #queue: WaitingTimeQueue;
  readonly #counters: CentralCounters;
  /** Tasks that no worker can take at present, in order of arrival. */
  readonly #pending = new PendingTasks();

  constructor(env: Pick<Environment, 'send'>, queue: WaitingTimeQueue, counters: CentralCounters) {
    this.#env = env;
    this.#queue = queue;
    this.#counters = counters;
  }

  /** Tasks that no worker can take at present. */
  get pending(): number {
    return this.#pending.size;
  }

  place(owner: Address, message: MessageOf<'place'>, now: Millis): void {
    const { job, stage, long, estimateMs, demand } = message;
    const at: MessageOf<'placed'>['at'][number][] = [];
    for (const { task, attempt } of message.tasks) {
      const worker = this.#placeTask({ owner, job, stage, task, attempt, long, estimateMs, demand }, now);
      if (worker !== undefined) at.push({ task, attempt, worker });
    }
    if (at.length > 0) this.#env.send(owner, { type: 'placed', job, at });
  }

  /** There is, or may be, room that there was not before. */
  placePending(now: Millis): void {
    for (const task of this.#pending.takeAll()) {
      const worker = this.#placeTask(task, now);
      if (worker === undefined) continue;
      this.#env.send(task.owner, {
        type: 'placed',
        job: task.job,
        at: [{ task: task.task, attempt: task.attempt, worker }],
      });
    }
  }

  started(from: Address, { owner, job, task, attempt }: MessageOf<'placementStarted'>, now: Millis): void {
    const place = this.#queue.find(owner, job, task);
    if (place?.server.worker !== from || place.task.attempt !== attempt) return;
    this.#queue.started(place, now);
  }

  ended(from: Address, { owner, job, task, attempt }: MessageOf<'placementEnded'>, now: Millis): void {
    const place = this.#queue.find(owner, job, task);
    if (place?.server.worker !== from || place.task.attempt !== attempt) return;
    this.#queue.ended(place, now);
  }

  /** Tasks of the job that no worker has are not wanted any more. */
  withdraw(owner: Address, job: number): void {
    this.#pending.remove((task) => task.owner === owner && task.job === job);
  }

  ownerGone(owner: Address): void {
    this.#pending.remove((task) => task.owner === owner);
  }

  /** @returns where the task is now; undefined when it waits here, or when a later attempt is known */
  #placeTask(task: PlacedTask, now: Millis): Address | undefined {
    const { owner, job, attempt } = task;
    const known = this.#queue.find(owner, job, task.task);
    if (known !== undefined && known.task.attempt > attempt) return undefined;
    if (known?.task.attempt === attempt) {
      // The owner asks because it heard nothing; maybe the worker has not either.
      this.#assign(task, known.server.worker);
      return known.server.worker;
    }
    if (known !== undefined) this.#queue.ended(known, now);
    const worker = this.#queue.place(task, now);
    if (worker === undefined) {
      this.#pending.add(task);
      return undefined;
    }
    this.#counters.tasksPlaced++;
    this.#assign(task, worker);
    return worker;
  }

  #assign(placed: PlacedTask, worker: Address): void {
    const { owner, job, stage, task, attempt, long, estimateMs, demand } = placed;
    this.#env.send(worker, { type: 'assign', owner, job, stage, task, attempt, long, estimateMs, demand });
  }
}
