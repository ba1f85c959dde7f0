import {
  type Address,
  type ClusterSettings,
  drawIndex,
  type Environment,
  LIMITS,
  type MessageOf,
  type Millis,
  NOBODY,
  type PolicySettings,
  sharedByNumber,
} from '@goshawk/core';
import type { WorkerTimer } from './contract.js';
import type { Entry } from './entry.js';
import type { WorkerMemory } from './memory.js';
import type { Stolen, Victims } from './thief-columns.js';
import { type WorkerParts, wantsWork } from './worker-parts.js';

type StealingParts = Omit<WorkerParts, 'nextAsk' | 'membership'>;

/**
 * Stealing (Hawk §3.6), both halves. As a thief: a round asks up to `stealCap` distinct general workers,
 * drawn at random, one after another, and ends with the first that gives something, or when there is work
 * again. As a victim: gives what `WorkerQueue.takeStealable` says, and tells the owners where it went.
 */
export class Stealing {
  // What each answer needs comes first, and what changes with each lies in columns: two of three messages of a large
  // simulation are questions of thieves, and answers of victims that have nothing.
  readonly #memory: WorkerMemory;
  /** Of the worker, in all columns. */
  readonly #row: number;
  readonly #env: Environment<WorkerTimer>;
  #settings: ClusterSettings;
  #victims: Victims = NO_VICTIMS;
  readonly #self: Address;
  readonly #parts: StealingParts;

  constructor(
    self: Address,
    env: Environment<WorkerTimer>,
    settings: ClusterSettings,
    parts: StealingParts,
    memory: WorkerMemory,
  ) {
    this.#self = self;
    this.#env = env;
    this.#settings = settings;
    this.#parts = parts;
    this.#memory = memory;
    this.#row = parts.queue().number;
    memory.thieves.admit(this.#row);
  }

  set settings(settings: ClusterSettings) {
    this.#settings = settings;
  }

  get inRound(): boolean {
    return this.#memory.thieves.asked(this.#row) !== NOBODY;
  }

  /** What it has done since the start. */
  get counted(): Stolen {
    return this.#memory.thieves.counted(this.#row);
  }

  /** The general workers; the thief leaves itself out. */
  setVictims(victims: readonly Address[], now: Millis): void {
    this.#victims = this.#memory.thieves.victimsOf(victims);
    if (this.#policy().preset.stealing && wantsWork(this.#parts) && !this.inRound) this.#pause(now);
  }

  /**
   * Starts a round, when a slot is free and there is nothing else to do. Whoever calls knows that the worker takes work: to
   * ask it here, of each that goes idle, made simulations 2 to 7% slower.
   */
  begin(now: Millis): void {
    if (!this.#policy().preset.stealing || this.inRound || !this.#hasNothingToDo()) return;
    this.#memory.thieves.begin(this.#row);
    this.#askNext(now);
  }

  /**
   * A victim has answered. Probes are taken whenever they come: nobody else has them.
   *
   * @returns the probes, which go to the queue
   */
  answered(
    from: Address,
    { round, probes }: MessageOf<'stolen'>,
    now: Millis,
  ): MessageOf<'stolen'>['probes'] {
    const current = this.#memory.thieves.awaits(this.#row, from, round);
    if (probes.length > 0) {
      if (current) this.end();
      this.#memory.thieves.succeeded(this.#row, probes.length);
      this.#memory.thieves.foundWork(this.#row);
    } else if (current) {
      this.#goOn(now);
    }
    return probes;
  }

  /** A victim that has been silent for `silenceMs` is given up. */
  sweep(silenceMs: Millis, now: Millis): void {
    if (this.inRound && now - this.#memory.thieves.askedAt(this.#row) >= silenceMs) this.#goOn(now);
  }

  /** The round is over; also where the worker takes no more work. */
  end(): void {
    this.#memory.thieves.end(this.#row);
  }

  /** The victim's half. */
  give(thief: Address, round: number, now: Millis): void {
    const { queue, places } = this.#memory;
    const isBehindLong = places.of(this.#row).executesLong(now - this.#overdueMs());
    const entries = queue.of(this.#row).takeStealable(isBehindLong, this.#limit());
    if (entries.length === 0) return this.#env.send(thief, nothingToSteal(round));
    this.#env.send(thief, {
      type: 'stolen',
      round,
      probes: entries.map((entry) => this.#memory.probes.probeOf(entry)),
    });
    this.#tellOwners(entries, thief);
  }

  #policy(): PolicySettings {
    return this.#settings.policy;
  }

  /**
   * For how long a task must have run to be taken for long, whatever its job is called: pilots run before anybody
   * knows. Where jobs are judged as they come, their class counts (Hawk §3.6).
   */
  #overdueMs(): Millis {
    const { estimator, cutoffMs } = this.#policy();
    return estimator === 'given' ? Number.POSITIVE_INFINITY : cutoffMs;
  }

  /** Probes given at one steal at most. */
  #limit(): number {
    return Math.min(this.#policy().stealLimit ?? LIMITS.stolenProbesMax, LIMITS.stolenProbesMax);
  }

  /** One message for each batch: neighbours in a queue often belong together. */
  #tellOwners(entries: readonly Entry[], thief: Address): void {
    let start = 0;
    for (let i = 1; i <= entries.length; i++) {
      const first = entries[start]!;
      const entry = entries[i];
      if (entry?.owner === first.owner && entry.job === first.job && entry.stage === first.stage) continue;
      const { job, stage } = first;
      this.#env.send(first.owner, { type: 'moved', job, stage, to: thief, probes: i - start });
      start = i;
    }
  }

  #goOn(now: Millis): void {
    // A worker that takes no more work ends its round: it need not be asked here.
    if (this.#hasNothingToDo()) this.#askNext(now);
    else this.end();
  }

  /** A slot is free, and nothing waits. Seen in the columns: most thieves find nothing, and need not look further. */
  #hasNothingToDo(): boolean {
    const { entries, slots } = this.#memory;
    return entries.areEmpty(this.#row) && slots.idle[this.#row]! > 0;
  }

  #askNext(now: Millis): void {
    const { thieves } = this.#memory;
    const { policy, timings } = this.#settings;
    const victim = thieves.triedCount(this.#row) < policy.stealCap ? this.#draw() : NOBODY;
    if (victim === NOBODY) {
      this.end();
      return this.#pause(now);
    }
    thieves.ask(this.#row, victim);
    this.#env.send(victim, requestOf(thieves.round(this.#row)));
    // Where nothing is lost nobody has to be looked after.
    if (timings.retryMs === 0) return;
    thieves.setAskedAt(this.#row, now);
    this.#parts.asked(now);
  }

  /** Until the next round: doubles each time, with jitter so that idle workers spread out. */
  #pause(now: Millis): void {
    const { stealRetry, stealBackoffMs, stealBackoffMaxMs } = this.#policy();
    if (stealRetry === 'never') return;
    const { thieves } = this.#memory;
    const pauseMs = Math.min(stealBackoffMaxMs, Math.max(stealBackoffMs, thieves.pauseMs(this.#row) * 2));
    thieves.setPauseMs(this.#row, pauseMs);
    this.#env.setTimer('steal', 0, now + pauseMs * (0.5 + this.#env.random()));
  }

  /** One that was not tried in this round, or NOBODY. */
  #draw(): Address {
    const victims = this.#victims;
    if (victims.length === 0) return NOBODY;
    // Few of many have been tried, as a rule, so that drawing again is cheaper than keeping a list.
    for (let misses = 0; misses < 32; misses++) {
      const victim = victims[drawIndex(this.#env, victims.length)] as Address;
      if (this.#mayTry(victim)) return victim;
    }
    const left = victims.filter((victim) => this.#mayTry(victim as Address));
    return left.length === 0 ? NOBODY : (left[drawIndex(this.#env, left.length)] as Address);
  }

  #mayTry(victim: Address): boolean {
    return victim !== this.#self && !this.#memory.thieves.hasTried(this.#row, victim);
  }
}

const NO_VICTIMS: Victims = new Int32Array();
const NO_PROBES: MessageOf<'stolen'>['probes'] = [];

/** Rounds are numbered, so that an answer that comes late is told from one to this. */
const requestOf = sharedByNumber((round): MessageOf<'steal'> => ({ type: 'steal', round }));

/** What a thief hears from a victim that has nothing for it, as most have. */
export const nothingToSteal = sharedByNumber((round): MessageOf<'stolen'> => {
  return { type: 'stolen', round, probes: NO_PROBES };
});
