import {
  type Address,
  type Attribute,
  type ClusterSettings,
  drawIndex,
  LIMITS,
  type MessageOf,
  type Millis,
  NOBODY,
  type PolicySettings,
  sharedByNumber,
} from '@goshawk/core';
import type { Entry } from './entry.js';
import type { WorkerState } from './state.js';

/**
 * Both halves of stealing (Hawk §3.6). A thief asks random general workers, one after another, until one gives it
 * probes, it has other work, or it has asked `stealCap` of them; this is a round. A victim gives the probes that
 * `WorkerQueue.takeStealable` returns, and tells their owners.
 */
export class Stealing {
  readonly #w: WorkerState;
  readonly #self: Address;
  /** Attributes of this worker; undefined if it has none. */
  readonly #attributes: readonly Attribute[] | undefined;
  settings: ClusterSettings;
  /** Possible victims: the general workers. */
  #victims: readonly Address[] = [];
  /** The victim that was asked last (NOBODY between rounds), and when. */
  #asked: Address = NOBODY;
  #askedAt: Millis = 0;
  #round = 0;
  /** Victims asked in this round. */
  #tried: Address[] = [];
  /** The last pause between rounds in ms; 0 if work has arrived since. */
  #pauseMs: Millis = 0;
  /** The earliest end of the last pause. */
  #pausedUntil: Millis = 0;
  /** Counters since the start. */
  attempts = 0;
  successes = 0;
  probesMoved = 0;

  constructor(w: WorkerState, settings: ClusterSettings) {
    this.#w = w;
    const { self, attributes = [] } = w.config;
    this.#self = self;
    this.#attributes = attributes.length === 0 ? undefined : attributes;
    this.settings = settings;
  }

  get inRound(): boolean {
    return this.#asked !== NOBODY;
  }

  /** Sets the possible victims. The worker itself is left out. */
  setVictims(victims: readonly Address[], now: Millis): void {
    this.#victims = victims;
    // After an unsuccessful round the next one is already scheduled.
    const isPausing = this.#pauseMs > 0;
    if (this.#policy().preset.stealing && this.#w.needsWork && !this.inRound && !isPausing) this.#pause(now);
  }

  /**
   * Starts a round if a slot is free and the worker has no other work. Callers know that the worker accepts tasks:
   * checking it here for each idle worker made simulations 2 to 7% slower.
   */
  begin(now: Millis): void {
    if (!this.#policy().preset.stealing || this.inRound || !this.#isIdle() || this.#mustWait(now)) return;
    this.#round++;
    this.#tried = [];
    this.#askNext(now);
  }

  /** Handles a victim's answer. The caller queues late probes, too, because no other worker has them. */
  answered(from: Address, { round, probes }: MessageOf<'stolen'>, now: Millis): void {
    const isCurrent = this.#asked === from && this.#round === round;
    if (probes.length === 0) {
      if (isCurrent) this.#askNextIfIdle(now);
      return;
    }
    if (isCurrent) this.end();
    this.successes++;
    this.probesMoved += probes.length;
    const { steals } = this.#w.memory;
    steals.successes++;
    steals.probesMoved += probes.length;
    if (this.#isMember) this.foundWork();
    else this.#pause(now);
  }

  /** Resets the pause between rounds to the shortest. */
  foundWork(): void {
    this.#pauseMs = 0;
  }

  /** Asks the next victim if the last one has not answered for `silenceMs`. */
  sweep(silenceMs: Millis, now: Millis): void {
    if (this.inRound && now - this.#askedAt >= silenceMs) this.#askNextIfIdle(now);
  }

  /** Ends the round. */
  end(): void {
    this.#asked = NOBODY;
  }

  /** Answers a thief. @returns whether it got any probes */
  give(thief: Address, { round, attributes }: MessageOf<'steal'>, now: Millis): boolean {
    const { env, memory, queue, slots } = this.#w;
    const isBehindLong = slots.executesLong(now - this.#overdueMs());
    const entries = queue.takeStealable(isBehindLong, this.#limit(), attributes);
    if (entries.length === 0) {
      env.send(thief, emptyReply(round));
      return false;
    }
    env.send(thief, { type: 'stolen', round, probes: entries.map((entry) => memory.probes.probeOf(entry)) });
    this.#notifyOwners(entries, thief);
    return true;
  }

  #policy(): PolicySettings {
    return this.settings.policy;
  }

  get #isMember(): boolean {
    return this.#w.membership.central !== NOBODY;
  }

  /** Owners refuse a worker that central has removed: without pauses it would steal and be refused in a loop. */
  #mustWait(now: Millis): boolean {
    return now < this.#pausedUntil && !this.#isMember;
  }

  /**
   * Returns the run time in ms after which a task counts as long, regardless of its class: pilots run before the
   * class of their job is known. If submitters give run times, only the class counts (Hawk §3.6).
   */
  #overdueMs(): Millis {
    const { estimator, cutoffMs } = this.#policy();
    return estimator === 'given' ? Number.POSITIVE_INFINITY : cutoffMs;
  }

  /** Returns the maximum number of probes in one steal. */
  #limit(): number {
    return Math.min(this.#policy().stealLimit ?? LIMITS.stolenProbesMax, LIMITS.stolenProbesMax);
  }

  /** Notifies owners of the new location of their probes, with one message per run of probes of one batch. */
  #notifyOwners(entries: readonly Entry[], thief: Address): void {
    let start = 0;
    for (let i = 1; i <= entries.length; i++) {
      const first = entries[start]!;
      const entry = entries[i];
      if (entry?.owner === first.owner && entry.job === first.job && entry.stage === first.stage) continue;
      const { job, stage } = first;
      this.#w.env.send(first.owner, { type: 'moved', job, stage, to: thief, probes: i - start });
      start = i;
    }
  }

  #askNextIfIdle(now: Millis): void {
    // There is no need to check `takesWork`: when the worker stops accepting work, `end` ends the round.
    if (this.#isIdle()) this.#askNext(now);
    else this.end();
  }

  /** Returns whether a slot is free and the queue is empty. */
  #isIdle(): boolean {
    const { memory, row } = this.#w;
    return memory.isQueueEmpty(row) && memory.workers.idle[row]! > 0;
  }

  #askNext(now: Millis): void {
    const { policy, timings } = this.settings;
    const victim = this.#tried.length < policy.stealCap ? this.#draw() : NOBODY;
    if (victim === NOBODY) {
      this.end();
      return this.#pause(now);
    }
    this.#tried.push(victim);
    this.#asked = victim;
    this.attempts++;
    this.#w.memory.steals.attempts++;
    const request = requestOf(this.#round);
    const attributes = this.#attributes;
    this.#w.env.send(victim, attributes === undefined ? request : { ...request, attributes });
    // If messages cannot be lost, an answer always arrives.
    if (timings.retryMs === 0) return;
    this.#askedAt = now;
    this.#w.armSweep(now);
  }

  /** Schedules the next round. The pause doubles each time, with jitter to spread idle workers. */
  #pause(now: Millis): void {
    const { stealRetry, stealBackoffMs, stealBackoffMaxMs } = this.#policy();
    const { env } = this.#w;
    this.#pauseMs = Math.min(stealBackoffMaxMs, Math.max(stealBackoffMs, this.#pauseMs * 2));
    this.#pausedUntil = now + this.#pauseMs / 2;
    if (stealRetry === 'never') return;
    env.setTimer('steal', 0, now + this.#pauseMs * (0.5 + env.random()));
  }

  /** Returns a random victim that was not asked in this round; NOBODY if there is none. */
  #draw(): Address {
    const victims = this.#victims;
    if (victims.length === 0) return NOBODY;
    // Only a few of many victims were asked, so rejection sampling is cheaper than building a list.
    for (let misses = 0; misses < 32; misses++) {
      const victim = victims[drawIndex(this.#w.env, victims.length)]!;
      if (this.#mayTry(victim)) return victim;
    }
    const left = victims.filter((victim) => this.#mayTry(victim));
    return left.length === 0 ? NOBODY : left[drawIndex(this.#w.env, left.length)]!;
  }

  #mayTry(victim: Address): boolean {
    if (victim === this.#self) return false;
    // Called for each draw; a loop is faster than `includes`.
    for (const tried of this.#tried) if (tried === victim) return false;
    return true;
  }
}

const NO_PROBES: MessageOf<'stolen'>['probes'] = [];

/** Requests contain the number of the round, so that a late reply is not mistaken for one to the current round. */
const requestOf = sharedByNumber(
  (round): MessageOf<'steal'> => ({
    type: 'steal',
    round,
    attributes: undefined,
  }),
);

/** Reply of a victim that has nothing to steal, as most do. */
export const emptyReply = sharedByNumber((round): MessageOf<'stolen'> => {
  return { type: 'stolen', round, probes: NO_PROBES };
});
