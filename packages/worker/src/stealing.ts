import { type Address, drawIndex, type Millis, NOBODY, type PolicySettings } from '@goshawk/core';

/**
 * The thief's half of stealing (Hawk §3.6): whom to ask next, and when to give up. The victim's half is
 * `WorkerQueue.takeStealable`.
 *
 * A round asks up to `stealCap` distinct general workers, drawn at random, one after another, and ends
 * with the first that gives something, or when there is work again.
 */
export class Thief {
  readonly #self: Address;
  readonly #random: () => number;
  #victims: readonly Address[] = [];
  #tried: Address[] = [];
  /** Numbers the rounds, so that an answer that comes late is not taken for one to this round. */
  #round = 0;
  #asked: Address = NOBODY;
  #askedAt: Millis = 0;
  #pauseMs = 0;

  constructor(self: Address, random: () => number) {
    this.#self = self;
    this.#random = random;
  }

  get inRound(): boolean {
    return this.#asked !== NOBODY;
  }

  get round(): number {
    return this.#round;
  }

  /** When the victim that has not answered was asked. */
  get askedAt(): Millis {
    return this.#askedAt;
  }

  /** The general workers; the thief leaves itself out. */
  setVictims(victims: readonly Address[]): void {
    this.#victims = victims;
  }

  /** @returns whom to ask first, or NOBODY when there is no one */
  begin(cap: number, now: Millis): Address {
    this.#round++;
    this.#tried = [];
    return this.next(cap, now);
  }

  /** @returns whom to ask next, or NOBODY: the round is over and found nothing */
  next(cap: number, now: Millis): Address {
    this.#asked = this.#tried.length < cap ? this.#draw() : NOBODY;
    this.#askedAt = now;
    if (this.#asked !== NOBODY) this.#tried.push(this.#asked);
    return this.#asked;
  }

  isAnswerToThisRound(from: Address, round: number): boolean {
    return this.#asked === from && this.#round === round;
  }

  end(): void {
    this.#asked = NOBODY;
  }

  /** The pause before the next round: doubles each time, with jitter so that idle workers spread out. */
  nextPause(policy: PolicySettings): Millis {
    this.#pauseMs = Math.min(policy.stealBackoffMaxMs, Math.max(policy.stealBackoffMs, this.#pauseMs * 2));
    return this.#pauseMs * (0.5 + this.#random());
  }

  /** There was work: the next pause is the shortest again. */
  resetPause(): void {
    this.#pauseMs = 0;
  }

  /** One that was not tried in this round, or NOBODY. */
  #draw(): Address {
    const victims = this.#victims;
    // Few of many have been tried, as a rule, so that drawing again is cheaper than keeping a list.
    for (let misses = 0; misses < 32; misses++) {
      if (victims.length === 0) return NOBODY;
      const victim = victims[drawIndex(this.#random, victims.length)]!;
      if (victim !== this.#self && !this.#tried.includes(victim)) return victim;
    }
    const left = victims.filter((victim) => victim !== this.#self && !this.#tried.includes(victim));
    return left.length === 0 ? NOBODY : left[drawIndex(this.#random, left.length)]!;
  }
}
