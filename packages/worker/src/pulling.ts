import { type Address, type MessageOf, type Millis, NOBODY, pulls } from '@goshawk/core';
import { type Entry, entryOfGiven } from './entry.js';
import type { WorkerState } from './state.js';

/** No central matches a worker so often without its hearing of any. */
const MATCHES_UNHEARD_MAX = 1_000_000;

/**
 * The worker's half of matching: reports free slots to central, with the matches included so far. Each
 * message has the complete state, so that the next one makes up for a lost one.
 */
export class Pulling {
  readonly #w: WorkerState;
  /** The last matches that were heard of, as many as there are slots. */
  #heard: readonly number[] = [];
  /** Matches of this central have higher numbers; undefined before there is one. */
  #floor: number | undefined;
  /** The last one of each owner, whose messages come in order, by address. */
  readonly #lastOf: (number | undefined)[] = [];
  /** The last one of all owners that were lost: what they sent before may still come, and may have run here. */
  #lastOfLost = 0;
  /** Central's view: the last report, less matches received since. */
  #believedFree = 0;
  #believedLong = 0;
  /** Run time of short tasks that completed since the last message to central. ms */
  #shortMs = 0;

  constructor(w: WorkerState) {
    this.#w = w;
  }

  /**
   * Another central than before counts on from what it hears: from a number that the one before has not come to, since
   * what that has matched may still be on its way, and be taken for a match of this one.
   */
  startAnew(): void {
    if (this.#floor === undefined) {
      this.#floor = 0;
    } else {
      const last = Math.max(this.#floor, ...this.#heard);
      this.#floor = MATCHES_UNHEARD_MAX * (1 + Math.floor(last / MATCHES_UNHEARD_MAX));
      this.#heard = [this.#floor];
    }
  }

  /** A slot is free, and no queued task can use it. */
  pullIfFree(): void {
    if (this.#w.wantsWork) this.pull();
  }

  /** The same, unless central believes so already. */
  pullIfNew(): void {
    const { queue } = this.#w;
    if (this.#free > this.#believedFree && queue.isEmpty) this.pull();
    else this.takeBack();
  }

  /** Less is free here, or fewer long tasks run, than central believes: something was found without it. */
  takeBack(): void {
    const slots = this.#w.slots;
    if (this.#free < this.#believedFree || slots.longCount < this.#believedLong) this.pull();
  }

  pull(): void {
    const { membership } = this.#w;
    if (!this.#isOn() || !this.#w.takesWork) return;
    const slots = this.#w.slots;
    this.#believedFree = this.#free;
    this.#believedLong = slots.longCount;
    this.#w.env.send(membership.central, {
      type: 'pull',
      heard: this.#heard,
      free: this.#free,
      spare: slots.spare,
      long: slots.longCount,
      shortMs: this.#shortMs,
      runs: this.#runs,
      gpuParts: slots.gpuParts,
    });
    this.#shortMs = 0;
  }

  /** A short task has completed. Where submitters say how long theirs take, nobody asks how long they took. */
  shortEnded(runMs: Millis): void {
    if (this.#isOn() && this.#w.membership.settings?.policy.estimator !== 'given') this.#shortMs += runMs;
  }

  /**
   * @returns the task as an entry of this worker's, when it can run here now. One that comes again may have run
   *   here already: nobody but its owner knows.
   */
  accept(owner: Address, message: MessageOf<'run'>): Entry | undefined {
    const { match, long } = message;
    if (match > (this.#floor ?? 0) && !this.#heard.includes(match)) {
      const { count } = this.#w.slots;
      this.#heard = count === 1 ? [match] : [...this.#heard, match].slice(-count);
      this.#believedFree = Math.max(0, this.#believedFree - 1);
      if (long) this.#believedLong++;
    }
    if (match <= (this.#lastOf[owner] ?? this.#lastOfLost)) return undefined;
    this.#lastOf[owner] = match;
    const isTaken = this.#w.canRun(message.demand) || this.#w.mayKeep(message);
    return isTaken ? entryOfGiven(owner, message) : undefined;
  }

  ownerLost(owner: Address): void {
    this.#lastOfLost = Math.max(this.#lastOfLost, this.#lastOf[owner] ?? 0);
    this.#lastOf[owner] = undefined;
  }

  /** Idle slots, and those that will be in a moment. */
  get #free(): number {
    return this.#w.slots.idleCount + (this.#w.knownAhead?.open ?? 0);
  }

  /** Matches of tasks that run here, or will in a slot that counts as free. */
  get #runs(): number[] {
    const { knownAhead: ahead, slots } = this.#w;
    if (ahead === undefined) return slots.matchesBut();
    const kept = ahead.kept.map(({ message }) => message.match);
    return [...slots.matchesBut((slot) => ahead.isAnnounced(slot)), ...kept];
  }

  #isOn(): boolean {
    const { central, settings } = this.#w.membership;
    return central !== NOBODY && settings !== undefined && pulls(settings.policy.preset);
  }
}
