import type { Address, MessageOf, Millis } from '@goshawk/core';
import type { Entry } from './entry.js';
import type { Membership } from './membership.js';
import { Pulling } from './pulling.js';
import { Seeking } from './seeking.js';
import type { WorkerState } from './state.js';

/**
 * How an idle worker finds work under policies without probes or placement: it seeks short tasks at schedulers if the
 * policy does so, and otherwise, or without success, pulls from central.
 */
export class WorkFinder {
  readonly #w: WorkerState;
  readonly #seeking: Seeking;
  readonly #pulling: Pulling;
  #armed = false;
  /** While central sheds short jobs: when an unreported slot may have become free. */
  #freeSince: Millis = 0;

  constructor(w: WorkerState) {
    this.#w = w;
    this.#seeking = new Seeking(w);
    this.#pulling = new Pulling(w);
  }

  /** Whether schedulers have been asked and have not answered. */
  get isWaiting(): boolean {
    return this.#seeking.isWaiting;
  }

  /** A slot has become free. */
  freed(now: Millis): void {
    const { slots } = this.#w;
    // A place without a free CPU is worth a report only if central does not know of it.
    if (!this.#seeking.isOn(now))
      return slots.idleCount > 0 ? this.#pulling.pullIfFree() : this.#pulling.pullIfNew();
    if (slots.openCount === 0) return;
    if (slots.idleCount === 0 || !this.#seeking.beginOnce(now)) this.#tellCentral(now);
  }

  /**
   * Schedulers have no tasks. Central has only long work for the slot, which can wait while central is overloaded.
   */
  #tellCentral(now: Millis): void {
    const { membership } = this.#w;
    if (!membership.isShedding) return this.#pulling.pullIfNew();
    this.#freeSince = now;
    if (this.#armed) return;
    this.#armed = true;
    this.#w.env.setTimer('pull', 0, now + pauseMs(membership));
  }

  /** Whether central finds work for free slots and no scheduler is asked. */
  pulls(now: Millis): boolean {
    return !this.#seeking.isOn(now) && !this.#w.membership.isShedding;
  }

  /** Reports that the free slots, or the classes of running tasks, differ from the last report. */
  tell(): void {
    this.#pulling.pull();
  }

  /** Reports to central a slot that is still free, unless a task has run in it meanwhile. */
  wake(now: Millis): void {
    const dueAt = this.#freeSince + pauseMs(this.#w.membership);
    this.#armed = now < dueAt;
    if (this.#armed) this.#w.env.setTimer('pull', 0, dueAt);
    else this.#pulling.pullIfNew();
  }

  /** @returns the task as an entry if it was requested or matched, and can run here now */
  accept(from: Address, message: MessageOf<'run'>): Entry | undefined {
    return message.ask > 0 ? this.#seeking.accept(from, message) : this.#pulling.accept(from, message);
  }

  /** The bound task runs here or was returned. */
  settled({ ask }: MessageOf<'run'>, now: Millis): void {
    if (ask > 0) this.freed(now);
    else this.#pulling.takeBack();
  }

  /** A task runs here, from any source. */
  started(): void {
    this.#seeking.foundWork();
    this.#pulling.takeBack();
  }

  /** A task not known to be long has completed. */
  shortEnded(runMs: Millis): void {
    this.#pulling.shortEnded(runMs);
  }

  /** A scheduler has no task. */
  refused(from: Address, ask: number, now: Millis): void {
    if (!this.#seeking.refused(from, ask, now)) this.#tellCentral(now);
  }

  /** The worker accepts no more work. */
  end(): void {
    this.#seeking.end();
  }

  /** Looks for work after a change: the worker accepts tasks again, schedulers have joined, or central is silent. */
  lookAround(now: Millis): void {
    this.#seeking.beginOnce(now);
  }

  /** @param isAnother a different central than before, which has no reports of this worker */
  welcomed(isAnother: boolean): void {
    if (isAnother) {
      this.#seeking.foundWork();
      this.#pulling.startAnew();
    }
    this.#pulling.pull();
  }

  ownerLost(owner: Address, now: Millis): void {
    this.#pulling.ownerLost(owner);
    if (this.#seeking.ownerLost(owner, now)) this.#tellCentral(now);
  }

  sweep(silenceMs: Millis, triesMax: number, now: Millis): void {
    if (this.#seeking.sweep(silenceMs, triesMax, now)) this.#tellCentral(now);
  }
}

/**
 * How long a slot is free before an overloaded central is notified. At a high rate few slots are free that long, and
 * the long tasks for them take at least a cutoff.
 */
function pauseMs({ settings }: Membership): Millis {
  return Math.min(1_000, (settings?.policy.cutoffMs ?? 0) / 10);
}
