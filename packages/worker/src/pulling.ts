import { type Address, cpusOf, type MessageOf, type Millis, NOBODY, pulls } from '@goshawk/core';
import { type Entry, entryOfGiven } from './entry.js';
import type { WorkerState } from './state.js';

/** Upper bound of the number of matches that central makes for this worker and that are all lost. */
const MATCHES_UNHEARD_MAX = 1_000_000;

/**
 * The worker's half of matching: reports free slots to central, together with the matches received so far. Each message
 * carries absolute state, so the next one replaces a lost one.
 */
export class Pulling {
  readonly #w: WorkerState;
  /** The latest received matches, as many as may be unconfirmed at central. */
  #heard: readonly number[] = [];
  /** Number of further matches during which an unconfirmed task may take less than a CPU. */
  #fractionsLeft = 0;
  /** Number below all matches of this central; undefined before the first central. */
  #floor: number | undefined;
  /** The last match from each owner, by address; messages of one owner arrive in order. */
  readonly #lastOf: (number | undefined)[] = [];
  /** The highest match of all lost owners. Older messages of theirs may still arrive, but must not start a task twice. */
  #lastOfLost = 0;
  /** Number of free slots in central's view: those in the last report, less the matches received since. */
  #believedFree = 0;
  #believedLong = 0;
  /** Total run time in ms of short tasks that completed since the last message to central. */
  #shortMs = 0;

  constructor(w: WorkerState) {
    this.#w = w;
  }

  /**
   * Prepares for a new central, which continues numbering after the highest number that it receives. This worker reports
   * one that the previous central cannot have reached, so that matches of that central that are still in flight are not
   * mistaken for new ones.
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

  /** Reports free slots that no queued task can use. */
  pullIfFree(): void {
    if (this.#w.needsWork) this.pull();
  }

  /** Reports free slots unless central knows of them already. */
  pullIfNew(): void {
    const { queue } = this.#w;
    if (this.#free > this.#believedFree && queue.isEmpty) this.pull();
    else this.takeBack();
  }

  /** Corrects central's view after this worker took work from another source. */
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
      spare: this.#w.spare,
      long: slots.longCount,
      shortMs: this.#shortMs,
      runs: this.#runs,
      gpuParts: slots.gpuParts,
      gpus: slots.gpuShares,
    });
    this.#shortMs = 0;
  }

  /** Adds the run time of a completed short task, unless submitters give run times. */
  shortEnded(runMs: Millis): void {
    if (this.#isOn() && this.#w.membership.settings?.policy.estimator !== 'given') this.#shortMs += runMs;
  }

  /**
   * Accepts a task after a match. Refuses a repeated match: its task may have run here already, which only its owner
   * knows.
   * @returns the task as an entry; undefined if it was refused or cannot run here now
   */
  accept(owner: Address, message: MessageOf<'run'>): Entry | undefined {
    const { match, long } = message;
    if (match > (this.#floor ?? 0) && !this.#heard.includes(match)) {
      const { slots } = this.#w;
      const isFraction = cpusOf(message.demand) < 1;
      this.#fractionsLeft = isFraction ? slots.count : Math.max(0, this.#fractionsLeft - 1);
      // Central cannot have more unconfirmed tasks that take a whole CPU than there are CPUs.
      const count = this.#fractionsLeft > 0 ? slots.count : slots.cpus;
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

  /** Number of slots that are idle or will soon be. */
  get #free(): number {
    return this.#w.slots.openCount + (this.#w.knownAhead?.open ?? 0);
  }

  /** Matches of tasks that run here, except in slots that count as free. */
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
