import type { Address, MessageOf, Millis } from '@goshawk/core';
import type { Entry } from './entry.js';
import type { Membership } from './membership.js';
import { Pulling } from './pulling.js';
import { Seeking } from './seeking.js';
import type { WorkerState } from './state.js';

/**
 * Finds work for an idle worker under policies with seeking or matching. The worker seeks first if the policy or the
 * state of central requires it, and otherwise, or if no scheduler has a task, reports its free slots to central.
 */
export class WorkFinder {
  readonly #w: WorkerState;
  readonly #seeking: Seeking;
  readonly #pulling: Pulling;
  #armed = false;
  /** When a slot that central does not know of became free. Used only while central sheds short jobs. */
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

  /** Looks for work for a slot that has become free. */
  freed(now: Millis): void {
    const { slots } = this.#w;
    // A slot without a free CPU is reported only if central does not count it yet.
    if (!this.#seeking.isOn(now))
      return slots.idleCount > 0 ? this.#pulling.pullIfFree() : this.#pulling.pullIfNew();
    if (slots.openCount === 0) return;
    if (slots.idleCount === 0 || !this.#seeking.beginUnlessFailed(now)) this.#reportLater(now);
  }

  /**
   * Reports the slot to central because no scheduler has a task for it. The report to an overloaded central is delayed,
   * because such a central matches only long tasks, which can wait.
   */
  #reportLater(now: Millis): void {
    const { membership } = this.#w;
    if (!membership.isShedding) return this.#pulling.pullIfNew();
    this.#freeSince = now;
    if (this.#armed) return;
    this.#armed = true;
    this.#w.env.setTimer('pull', 0, now + pauseMs(membership));
  }

  /** Prepares tasks that central has not matched for a registration. */
  numberUnmatched(): void {
    this.#pulling.numberUnmatched();
  }

  /** Whether this worker must register again, so that central counts all of its tasks. */
  isUnderreported(now: Millis): boolean {
    return this.#pulling.isUnderreported(now);
  }

  /** Returns whether the worker gets work only from matches of central. */
  pulls(now: Millis): boolean {
    return !this.#seeking.isOn(now) && !this.#w.membership.isShedding;
  }

  /** Reports the free slots and the classes of running tasks, which have changed. */
  report(): void {
    this.#pulling.pull();
  }

  /** Handles the timer of a delayed report: reports slots that have been free long enough. */
  wake(now: Millis): void {
    const dueAt = this.#freeSince + pauseMs(this.#w.membership);
    this.#armed = now < dueAt;
    if (this.#armed) this.#w.env.setTimer('pull', 0, dueAt);
    else this.#pulling.pullIfNew();
  }

  /** Accepts a task. Returns it as an entry if it was requested or matched, and can run here now. */
  accept(from: Address, message: MessageOf<'run'>, hasLenders: boolean): Entry | undefined {
    return message.ask > 0
      ? this.#seeking.accept(from, message)
      : this.#pulling.accept(from, message, hasLenders);
  }

  /** Handles the outcome of a task that arrived: it runs here or is kept, or was returned. */
  answered({ ask, borrows }: MessageOf<'run'>, isTaken: boolean, now: Millis): void {
    if (ask > 0) this.freed(now);
    // The owner returns the match of a borrower to central.
    else if (isTaken || borrows !== undefined) this.#pulling.correctReport();
    else this.#pulling.rejected();
  }

  /** Records that a task from any source runs here. */
  started(): void {
    this.#seeking.foundWork();
    this.#pulling.correctReport();
  }

  /** Records a completed task that is short or of unknown class. */
  shortEnded(runMs: Millis): void {
    this.#pulling.shortEnded(runMs);
  }

  /** Handles a scheduler's answer that it has no task. */
  refused(from: Address, ask: number, now: Millis): void {
    if (!this.#seeking.refused(from, ask, now)) this.#reportLater(now);
  }

  /** Stops looking for work. */
  end(): void {
    this.#seeking.end();
  }

  /** Seeks after a change: the worker accepts tasks again, schedulers have joined, or central is unresponsive. */
  seek(now: Millis): void {
    this.#seeking.beginUnlessFailed(now);
  }

  /** Reports free slots after a welcome. @param isAnother whether this central has no reports of this worker */
  welcomed(isAnother: boolean): void {
    if (isAnother) {
      this.#seeking.foundWork();
      this.#pulling.reset();
    }
    this.#pulling.pull();
  }

  ownerLost(owner: Address, now: Millis): void {
    this.#pulling.ownerLost(owner);
    if (this.#seeking.ownerLost(owner, now)) this.#reportLater(now);
  }

  sweep(silenceMs: Millis, triesMax: number, now: Millis): void {
    if (this.#seeking.sweep(silenceMs, triesMax, now)) this.#reportLater(now);
  }
}

/**
 * Returns the time in ms for which a slot must be free before it is reported to an overloaded central. Under load few
 * slots stay free that long, and long tasks can wait because they run for at least the cutoff.
 */
function pauseMs({ settings }: Membership): Millis {
  return Math.min(1_000, (settings?.policy.cutoffMs ?? 0) / 10);
}
