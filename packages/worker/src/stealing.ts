import {
  type Address,
  drawIndex,
  type Environment,
  type MessageOf,
  type Millis,
  NOBODY,
  type PolicySettings,
} from '@goshawk/core';
import type { WorkerCounters, WorkerTimer } from './contract.js';
import { type Entry, probeOfEntry, type WorkerQueue } from './queue.js';
import type { Slots } from './slots.js';

/** What stealing has to know of the worker around it. */
interface Surroundings {
  readonly queue: WorkerQueue;
  readonly slots: Slots;
  readonly counters: WorkerCounters;
  /** A slot is free, nothing waits, and the worker takes work. */
  wantsWork(): boolean;
  policy(): PolicySettings | undefined;
  /** A victim was asked: see to it that silence is noticed. */
  askedVictim(now: Millis): void;
}

/**
 * Stealing (Hawk §3.6), both halves. As a thief: a round asks up to `stealCap` distinct general workers,
 * drawn at random, one after another, and ends with the first that gives something, or when there is work
 * again. As a victim: gives what `WorkerQueue.takeStealable` says, and tells the owners where it went.
 */
export class Stealing {
  readonly #self: Address;
  readonly #env: Environment<WorkerTimer>;
  readonly #around: Surroundings;
  /** At hand, since most thieves are turned away by a look at them. */
  readonly #queue: WorkerQueue;
  readonly #slots: Slots;
  #victims: readonly Address[] = [];
  #tried: Address[] = [];
  /** Numbers the rounds, so that an answer that comes late is not taken for one to this round. */
  #round = 0;
  /** Who was asked and has not answered; NOBODY between rounds. */
  #asked: Address = NOBODY;
  #askedAt: Millis = 0;
  #pauseMs = 0;

  constructor(self: Address, env: Environment<WorkerTimer>, around: Surroundings) {
    this.#self = self;
    this.#env = env;
    this.#around = around;
    this.#queue = around.queue;
    this.#slots = around.slots;
  }

  get inRound(): boolean {
    return this.#asked !== NOBODY;
  }

  /** The general workers; the thief leaves itself out. */
  setVictims(victims: readonly Address[], now: Millis): void {
    this.#victims = victims;
    const policy = this.#around.policy();
    if (policy?.preset.stealing && this.#around.wantsWork() && !this.inRound) this.#pause(policy, now);
  }

  /** A slot is free: starts a round, when there is nothing else to do. */
  begin(now: Millis): void {
    const policy = this.#around.policy();
    if (policy === undefined || !policy.preset.stealing || this.inRound || !this.#around.wantsWork()) return;
    this.#round++;
    this.#tried = [];
    this.#askNext(policy, now);
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
    const current = this.#asked === from && this.#round === round;
    if (probes.length > 0) {
      if (current) this.end();
      this.#around.counters.stealSuccesses++;
      this.#around.counters.probesMoved += probes.length;
      this.foundWork();
    } else if (current) {
      this.#goOn(now);
    }
    return probes;
  }

  /** A victim that has been silent for `silenceMs` is given up. */
  sweep(silenceMs: Millis, now: Millis): void {
    if (this.inRound && now - this.#askedAt >= silenceMs) this.#goOn(now);
  }

  end(): void {
    this.#asked = NOBODY;
  }

  /** The next pause between rounds is the shortest again. */
  foundWork(): void {
    this.#pauseMs = 0;
  }

  /** The victim's half. */
  give(thief: Address, round: number): void {
    const queue = this.#queue;
    const entries =
      queue.length === 0 ? NO_ENTRIES : queue.takeStealable(this.#slots.executesLong, this.#limit);
    if (entries.length === 0) return this.#env.send(thief, { type: 'stolen', round, probes: NO_PROBES });
    this.#env.send(thief, { type: 'stolen', round, probes: entries.map(probeOfEntry) });
    this.#tellOwners(entries, thief);
  }

  /** Probes given at one steal at most. */
  get #limit(): number {
    return this.#around.policy()?.stealLimit ?? Number.POSITIVE_INFINITY;
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
    const policy = this.#around.policy();
    if (policy === undefined || !this.#around.wantsWork()) this.end();
    else this.#askNext(policy, now);
  }

  #askNext(policy: PolicySettings, now: Millis): void {
    this.#asked = this.#tried.length < policy.stealCap ? this.#draw() : NOBODY;
    if (this.#asked === NOBODY) return this.#pause(policy, now);
    this.#askedAt = now;
    this.#tried.push(this.#asked);
    this.#around.counters.stealAttempts++;
    this.#env.send(this.#asked, { type: 'steal', round: this.#round });
    this.#around.askedVictim(now);
  }

  /** Until the next round: doubles each time, with jitter so that idle workers spread out. */
  #pause(policy: PolicySettings, now: Millis): void {
    if (policy.stealRetry === 'never') return;
    this.#pauseMs = Math.min(policy.stealBackoffMaxMs, Math.max(policy.stealBackoffMs, this.#pauseMs * 2));
    this.#env.setTimer('steal', 0, now + this.#pauseMs * (0.5 + this.#env.random()));
  }

  /** One that was not tried in this round, or NOBODY. */
  #draw(): Address {
    const victims = this.#victims;
    const random = () => this.#env.random();
    // Few of many have been tried, as a rule, so that drawing again is cheaper than keeping a list.
    for (let misses = 0; misses < 32; misses++) {
      if (victims.length === 0) return NOBODY;
      const victim = victims[drawIndex(random, victims.length)]!;
      if (victim !== this.#self && !this.#tried.includes(victim)) return victim;
    }
    const left = victims.filter((victim) => victim !== this.#self && !this.#tried.includes(victim));
    return left.length === 0 ? NOBODY : left[drawIndex(random, left.length)]!;
  }
}

const NO_ENTRIES: readonly Entry[] = [];
const NO_PROBES: MessageOf<'stolen'>['probes'] = [];
