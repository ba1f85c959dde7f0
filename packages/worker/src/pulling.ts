import { type Address, cpusOf, LIMITS, type MessageOf, type Millis, NOBODY, pulls } from '@goshawk/core';
import { type Entry, entryOfGiven } from './entry.js';
import type { WorkerState } from './state.js';

/** Upper bound of the number of consecutive matches for this worker that are lost in flight. */
const MATCHES_LOST_MAX = 1_000_000;

/**
 * The worker's half of matching: reports free slots to central, together with the matches received so far. Each message
 * carries absolute state, so the next one replaces a lost one.
 */
export class Pulling {
  readonly #w: WorkerState;
  /** The latest received matches: as many as central may not have seen in a report yet. */
  #received: readonly number[] = [];
  /** Number of further matches for which tasks that need less than one CPU may still be unconfirmed. */
  #fractionsLeft = 0;
  /** Number of further matches for which tasks that borrow CPUs may still be unconfirmed. */
  #loansLeft = 0;
  /** Matches since the last registration have higher numbers; undefined before the first central. */
  #floor: number | undefined;
  /** The last match from each owner, by address; messages of one owner arrive in order. */
  readonly #lastOf: (number | undefined)[] = [];
  /** The highest match of all lost owners. Their older messages may still arrive, but must not start a task twice. */
  #lastOfLost = 0;
  /** The last match number that this worker has given to a task. */
  #lastNumber = 0;
  /** Number of free slots in central's view: those in the last report, less the matches received since. */
  #reportedFree = 0;
  #reportedLong = 0;
  /** Total run time in ms of short tasks that completed since the last message to central. */
  #shortMs = 0;

  constructor(w: WorkerState) {
    this.#w = w;
  }

  /**
   * Prepares for a new central, which numbers its matches from the highest number that this worker reports. The worker
   * reports a number that the previous central cannot have reached, so that its matches in flight are not taken for new
   * ones.
   */
  reset(): void {
    if (this.#floor === undefined) {
      this.#floor = 0;
    } else {
      this.#floor = beyond(this.#lastMatch);
      this.#received = [this.#floor];
    }
  }

  /**
   * Gives a match number to each running task that a scheduler assigned while central was away, so that central counts
   * the task once this worker registers. No central has reached these numbers.
   */
  numberUnmatched(): void {
    const { slots } = this.#w;
    const unmatched = this.#matchesAll ? [...slots.unmatched()] : [];
    if (unmatched.length === 0) return;
    this.#lastNumber = beyond(this.#lastMatch);
    for (const slot of unmatched) slots.setMatch(slot, ++this.#lastNumber);
  }

  /** Whether central does not know a task that has run for a lease, because a scheduler assigned it. */
  isUnderreported(now: Millis): boolean {
    if (!this.#matchesAll) return false;
    const { slots, memory, timings } = this.#w;
    for (const slot of slots.unmatched())
      if (now - memory.slots.changedAt[slots.rowOf(slot)]! >= timings.leaseMs) return true;
    return false;
  }

  /** Whether central matches every task unless it is away. */
  get #matchesAll(): boolean {
    return this.#w.membership.settings?.policy.preset.short.by === 'matching';
  }

  /** The highest match that any central has sent or this worker has given. */
  get #lastMatch(): number {
    return Math.max(this.#lastNumber, this.#floor ?? 0, ...this.#received);
  }

  /** Reports free slots that no queued task can use. */
  pullIfFree(): void {
    if (this.#w.needsWork) this.pull();
  }

  /** Reports free slots that central does not count yet, or corrects its view. */
  pullIfNew(): void {
    const { queue } = this.#w;
    if (this.#free > this.#reportedFree && queue.isEmpty) this.pull();
    else this.correctReport();
  }

  /** Reports again if fewer slots are free, or fewer serve long work, than central counts. */
  correctReport(): void {
    const slots = this.#w.slots;
    if (this.#free < this.#reportedFree || slots.longCount < this.#reportedLong) this.pull();
  }

  /** Reports that a task was rejected. Central counts it until a report, which a full worker need not send before a task ends. */
  rejected(): void {
    if (this.#free === 0) this.pull();
    else this.correctReport();
  }

  pull(): void {
    const { membership } = this.#w;
    if (!this.#isOn() || !this.#w.takesWork) return;
    const slots = this.#w.slots;
    this.#reportedFree = this.#free;
    this.#reportedLong = slots.longCount;
    this.#w.env.send(membership.central, {
      type: 'pull',
      heard: this.#received,
      free: this.#free,
      spare: this.#w.spare,
      long: slots.longCount,
      shortMs: this.#shortMs,
      runs: this.#runs,
      gpuParts: slots.gpuParts,
      gpus: slots.gpuShares,
      ...(slots.pausedCount === 0 ? {} : { paused: slots.pausedMatches }),
    });
    this.#shortMs = 0;
  }

  /** Adds the run time of a completed short task, unless submitters give run times. */
  shortEnded(runMs: Millis): void {
    if (this.#isOn() && this.#w.membership.settings?.policy.estimator !== 'given') this.#shortMs += runMs;
  }

  /**
   * Accepts a task after a match. Rejects a repeated match, because its task may have run here already, and a forged one.
   * @param hasLenders whether tasks have made room for it
   * @returns the task as an entry; undefined if it was rejected or cannot run here now
   */
  accept(owner: Address, message: MessageOf<'run'>, hasLenders: boolean): Entry | undefined {
    const { match, long } = message;
    // Central counts on from the matches that this worker reports, so a far higher one is not from central.
    const floor = this.#floor ?? 0;
    const last = Math.max(this.#lastNumber, floor, this.#received.at(-1) ?? 0);
    if (match > last + MATCHES_LOST_MAX) return undefined;
    const { slots } = this.#w;
    const isNew = !this.#received.includes(match);
    // If this worker has registered again with the same central, that still counts its matches in flight.
    if (isNew && match <= floor) this.#received = [match, ...this.#received].slice(-2 * slots.count);
    else if (isNew) {
      const isFraction = cpusOf(message.demand) < 1;
      this.#fractionsLeft = isFraction ? slots.count : Math.max(0, this.#fractionsLeft - 1);
      // Central cannot have more unconfirmed tasks that take a whole CPU than there are CPUs, or twice as many with loans, and
      // with nested jobs as many again for each level.
      const most = slots.cpus * (message.borrows?.parent === undefined ? 2 : 1 + LIMITS.nestedMax);
      this.#loansLeft = Math.max(this.#loansLeft - 1, message.borrows === undefined ? 0 : most);
      const whole = Math.max(slots.cpus, this.#loansLeft > 0 ? 2 * slots.cpus : 0, this.#loansLeft);
      const count = this.#fractionsLeft > 0 ? Math.max(whole, slots.count) : whole;
      this.#received = count === 1 ? [match] : [...this.#received, match].slice(-count);
      // A borrower takes none of the free slots.
      if (message.borrows === undefined) this.#reportedFree = Math.max(0, this.#reportedFree - 1);
      if (long) this.#reportedLong++;
    }
    if (match <= (this.#lastOf[owner] ?? this.#lastOfLost)) return undefined;
    this.#lastOf[owner] = match;
    const isTaken = hasLenders || this.#w.canRun(message.demand) || this.#w.mayKeep(message);
    return isTaken ? entryOfGiven(owner, message) : undefined;
  }

  ownerLost(owner: Address): void {
    this.#lastOfLost = Math.max(this.#lastOfLost, this.#lastOf[owner] ?? 0);
    this.#lastOf[owner] = undefined;
  }

  /** Number of slots to report as free: free ones, and announced ones without a next task. */
  get #free(): number {
    return this.#w.slots.openCount + (this.#w.existingAhead?.open ?? 0);
  }

  /** Matches of tasks that run here, except in slots that count as free. */
  get #runs(): number[] {
    const { existingAhead: ahead, slots } = this.#w;
    if (ahead === undefined) return slots.matchesExcept();
    const kept = ahead.kept.map(({ message }) => message.match);
    return [...slots.matchesExcept((slot) => ahead.isAnnounced(slot)), ...kept];
  }

  #isOn(): boolean {
    const { central, settings } = this.#w.membership;
    return central !== NOBODY && settings !== undefined && pulls(settings.policy.preset);
  }
}

/** Returns a number that a central which has sent `last` cannot have reached. */
function beyond(last: number): number {
  return MATCHES_LOST_MAX * (1 + Math.floor(last / MATCHES_LOST_MAX));
}
