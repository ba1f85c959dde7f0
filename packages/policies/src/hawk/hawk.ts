import type { Millis } from '@goshawk/core';
import type {
  CentralPolicy,
  ClusterChange,
  ClusterView,
  Draft,
  PolicyContext,
  PolicyModule,
  StageView,
} from '../contract.js';
import { WaitingTimeQueue } from './waiting-time-queue.js';

/**
 * Hawk's central scheduler (§3.7): places each task immediately in the queue of the worker with the lowest waiting
 * time. Tasks that fit no open worker wait for one.
 */
export class WaitingTimes implements CentralPolicy {
  readonly #queue = new WaitingTimeQueue();
  /** Time (ms) within which workers register with a new central. */
  readonly #joinMs: Millis;
  /** When the first worker joined. */
  #openedAt: Millis | undefined;
  /**
   * Whether this central replaces an earlier one. It then waits for the workers to register again; otherwise the first of them would receive all tasks.
   */
  #isSuccessor = false;
  /** Stages with tasks to place, in order of arrival. */
  readonly #waiting = new Set<StageView>();
  /** Stages that fit no current worker. */
  readonly #stuck = new Set<StageView>();

  constructor({ joinMs = 0 }: PolicyContext) {
    this.#joinMs = joinMs;
  }

  update(changes: readonly ClusterChange[], now: Millis): void {
    for (const each of changes) {
      switch (each.kind) {
        case 'opened':
          this.#openedAt ??= now;
          this.#stuck.clear();
          this.#queue.setOpen(each.worker, true, now);
          break;
        case 'closed':
          this.#queue.setOpen(each.worker, false, now);
          break;
        case 'left':
          this.#queue.removeWorker(each.worker);
          break;
        case 'found':
          this.#isSuccessor = true;
          this.#queue.found(each.run, each.run.stage.estimateMs, now);
          break;
        case 'began':
          this.#queue.started(each.run, now);
          break;
        case 'ended':
          this.#queue.ended(each.run, now);
          break;
        case 'waiting':
          if (this.#openedAt === undefined) this.#isSuccessor = true;
          if (each.stage.waiting > 0) this.#waiting.add(each.stage);
          else this.#remove(each.stage);
          break;
        case 'gone':
          for (const stage of each.job.stages) this.#remove(stage);
          break;
      }
    }
  }

  plan(_: ClusterView, draft: Draft, now: Millis): void {
    if (this.#waiting.size === this.#stuck.size || this.#openedAt === undefined) return;
    const readyAt = this.#openedAt + (this.#isSuccessor ? this.#joinMs : 0);
    if (now < readyAt) return draft.again(readyAt);
    for (const stage of this.#waiting) if (!this.#stuck.has(stage)) this.#place(stage, draft, now);
  }

  #place(stage: StageView, draft: Draft, now: Millis): void {
    while (stage.waiting > 0) {
      const server = this.#queue.shortestWait(stage, now);
      const run = server && draft.place(stage, server.worker);
      if (run === undefined) {
        this.#stuck.add(stage);
        return;
      }
      this.#queue.put(run, server!, stage.estimateMs, now);
    }
    this.#waiting.delete(stage);
  }

  #remove(stage: StageView): void {
    this.#waiting.delete(stage);
    this.#stuck.delete(stage);
  }

  checkInvariants(): void {
    this.#queue.checkInvariants();
  }
}

export const hawk: PolicyModule<Record<never, never>> = {
  title: 'Hawk’s waiting-time queue: each task is placed where it would wait least',
  declares: false,
  options: {},
  make: (_, context) => new WaitingTimes(context),
};
