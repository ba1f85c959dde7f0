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
 * Both halves of stealing (Hawk §3.6). As a thief: a round asks up to `stealCap` distinct random general workers in
 * turn, until one gives something or the worker has other work. As a victim: gives what `WorkerQueue.takeStealable`
 * returns, and tells the owners the new worker.
 */
export class Stealing {
  readonly #w: WorkerState;
  readonly #self: Address;
  /** undefined: no attributes. */
  readonly #attributes: readonly Attribute[] | undefined;
  settings: ClusterSettings;
  /** Possible victims: the general workers. */
  #victims: readonly Address[] = [];
  /** The last victim asked, NOBODY between rounds, and when it was asked. */
  #asked: Address = NOBODY;
  #askedAt: Millis = 0;
  #round = 0;
  /** Victims asked in this round. */
  #tried: Address[] = [];
  /** The last pause between rounds; 0 if there was work since. */
  #pauseMs: Millis = 0;
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

  /** Sets the general workers, from which the thief excludes itself. */
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
    if (!this.#policy().preset.stealing || this.inRound || !this.#hasNothingToDo()) return;
    this.#round++;
    this.#tried = [];
    this.#askNext(now);
  }

  /** A victim has answered. Its probes are queued even if they are late, because no other worker has them. */
  answered(from: Address, { round, probes }: MessageOf<'stolen'>, now: Millis): void {
    const isCurrent = this.#asked === from && this.#round === round;
    if (probes.length === 0) {
      if (isCurrent) this.#goOn(now);
      return;
    }
    if (isCurrent) this.end();
    this.successes++;
    this.probesMoved += probes.length;
    const { steals } = this.#w.memory;
    steals.successes++;
    steals.probesMoved += probes.length;
    this.foundWork();
  }

  /** Resets the pause between rounds to the shortest. */
  foundWork(): void {
    this.#pauseMs = 0;
  }

  /** Gives up on a victim that has been silent for `silenceMs`. */
  sweep(silenceMs: Millis, now: Millis): void {
    if (this.inRound && now - this.#askedAt >= silenceMs) this.#goOn(now);
  }

  /** Ends the round, also if the worker accepts no more work. */
  end(): void {
    this.#asked = NOBODY;
  }

  /** The victim's half. @returns whether it gave something */
  give(thief: Address, { round, attributes }: MessageOf<'steal'>, now: Millis): boolean {
    const { env, memory, queue, slots } = this.#w;
    const isBehindLong = slots.executesLong(now - this.#overdueMs());
    const entries = queue.takeStealable(isBehindLong, this.#limit(), attributes);
    if (entries.length === 0) {
      env.send(thief, nothingToSteal(round));
      return false;
    }
    env.send(thief, { type: 'stolen', round, probes: entries.map((entry) => memory.probes.probeOf(entry)) });
    this.#tellOwners(entries, thief);
    return true;
  }

  #policy(): PolicySettings {
    return this.settings.policy;
  }

  /**
   * Run time after which a task counts as long, regardless of its job class: pilots run before the class is known. If
   * jobs are classified on arrival, their class counts (Hawk §3.6).
   */
  #overdueMs(): Millis {
    const { estimator, cutoffMs } = this.#policy();
    return estimator === 'given' ? Number.POSITIVE_INFINITY : cutoffMs;
  }

  /** Maximum number of probes in one steal. */
  #limit(): number {
    return Math.min(this.#policy().stealLimit ?? LIMITS.stolenProbesMax, LIMITS.stolenProbesMax);
  }

  /** One message for each batch: neighbors in a queue often belong together. */
  #tellOwners(entries: readonly Entry[], thief: Address): void {
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

  #goOn(now: Millis): void {
    // A worker that accepts no more work ends its round elsewhere.
    if (this.#hasNothingToDo()) this.#askNext(now);
    else this.end();
  }

  /** A slot is free and the queue is empty. */
  #hasNothingToDo(): boolean {
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
    // Retries are off if messages cannot be lost.
    if (timings.retryMs === 0) return;
    this.#askedAt = now;
    this.#w.armSweep(now);
  }

  /** Pauses before the next round: doubles each time, with jitter so that idle workers spread out. */
  #pause(now: Millis): void {
    const { stealRetry, stealBackoffMs, stealBackoffMaxMs } = this.#policy();
    if (stealRetry === 'never') return;
    const { env } = this.#w;
    this.#pauseMs = Math.min(stealBackoffMaxMs, Math.max(stealBackoffMs, this.#pauseMs * 2));
    env.setTimer('steal', 0, now + this.#pauseMs * (0.5 + env.random()));
  }

  /** A random victim not asked in this round, or NOBODY. */
  #draw(): Address {
    const victims = this.#victims;
    if (victims.length === 0) return NOBODY;
    // Usually few of many have been asked, so rejection sampling is cheaper than a list.
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

/** Rounds are numbered, so that a late reply is not mistaken for one to the current round. */
const requestOf = sharedByNumber(
  (round): MessageOf<'steal'> => ({
    type: 'steal',
    round,
    attributes: undefined,
  }),
);

/** Reply of a victim that has nothing to steal, as most do. */
export const nothingToSteal = sharedByNumber((round): MessageOf<'stolen'> => {
  return { type: 'stolen', round, probes: NO_PROBES };
});
