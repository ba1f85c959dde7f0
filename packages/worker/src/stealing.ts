import {
  type Address,
  drawIndex,
  type Environment,
  type MessageOf,
  type Millis,
  NOBODY,
  type PolicySettings,
} from '@goshawk/core';
import type { WorkerTimer } from './contract.js';
import type { Entry } from './entry.js';
import type { Membership } from './membership.js';
import type { WorkerQueue } from './queue.js';
import { SharedProbes } from './shared-probes.js';
import type { Slots } from './slots.js';
import { type Surroundings, wantsWork } from './surroundings.js';

type StealingSurroundings = Omit<Surroundings, 'nextAsk'>;

/**
 * Stealing (Hawk §3.6), both halves. As a thief: a round asks up to `stealCap` distinct general workers,
 * drawn at random, one after another, and ends with the first that gives something, or when there is work
 * again. As a victim: gives what `WorkerQueue.takeStealable` says, and tells the owners where it went.
 */
export class Stealing {
  readonly #self: Address;
  readonly #env: Environment<WorkerTimer>;
  readonly #around: StealingSurroundings;
  readonly #queue: WorkerQueue;
  readonly #slots: Slots;
  readonly #membership: Membership;
  readonly #probes: SharedProbes;
  #victims: readonly Address[] = [];
  #tried: Address[] = [];
  /** The request of this round. Rounds are numbered, so that an answer that comes late is told from one to this. */
  #request: MessageOf<'steal'> = { type: 'steal', round: 0 };
  /** Who was asked and has not answered; NOBODY between rounds. */
  #asked: Address = NOBODY;
  #askedAt: Millis = 0;
  #pauseMs = 0;

  constructor(
    self: Address,
    env: Environment<WorkerTimer>,
    around: StealingSurroundings,
    probes: SharedProbes = new SharedProbes(),
  ) {
    this.#self = self;
    this.#env = env;
    this.#around = around;
    this.#probes = probes;
    this.#queue = around.queue;
    this.#slots = around.slots;
    this.#membership = around.membership;
  }

  get inRound(): boolean {
    return this.#asked !== NOBODY;
  }

  /** The general workers; the thief leaves itself out. */
  setVictims(victims: readonly Address[], now: Millis): void {
    this.#victims = victims;
    const policy = this.#policy;
    if (policy?.preset.stealing && wantsWork(this.#around) && !this.inRound) this.#pause(policy, now);
  }

  /** A slot is free: starts a round, when there is nothing else to do. */
  begin(now: Millis): void {
    const policy = this.#policy;
    if (policy === undefined || !policy.preset.stealing || this.inRound || !wantsWork(this.#around)) return;
    this.#request = { type: 'steal', round: this.#request.round + 1 };
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
    const current = this.#asked === from && this.#request.round === round;
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
  give(thief: Address, round: number, now: Millis): void {
    const entries = this.#queue.takeStealable(this.#slots.executesLong(now - this.#overdueMs), this.#limit);
    if (entries.length === 0) return this.#env.send(thief, nothingToSteal(round));
    this.#env.send(thief, {
      type: 'stolen',
      round,
      probes: entries.map((entry) => this.#probes.probeOf(entry)),
    });
    this.#tellOwners(entries, thief);
  }

  get #policy(): PolicySettings | undefined {
    return this.#membership.settings?.policy;
  }

  /**
   * For how long a task must have run to be taken for long, whatever its job is called: pilots run before anybody
   * knows. Where jobs are judged as they come, their class counts (Hawk §3.6).
   */
  get #overdueMs(): Millis {
    const policy = this.#policy;
    return policy === undefined || policy.estimator === 'given' ? Number.POSITIVE_INFINITY : policy.cutoffMs;
  }

  /** Probes given at one steal at most. */
  get #limit(): number {
    return this.#policy?.stealLimit ?? Number.POSITIVE_INFINITY;
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
    const policy = this.#policy;
    if (policy === undefined || !wantsWork(this.#around)) this.end();
    else this.#askNext(policy, now);
  }

  #askNext(policy: PolicySettings, now: Millis): void {
    this.#asked = this.#tried.length < policy.stealCap ? this.#draw() : NOBODY;
    if (this.#asked === NOBODY) return this.#pause(policy, now);
    this.#askedAt = now;
    this.#tried.push(this.#asked);
    this.#around.counters.stealAttempts++;
    this.#env.send(this.#asked, this.#request);
    this.#around.asked(now);
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
    if (victims.length === 0) return NOBODY;
    // Few of many have been tried, as a rule, so that drawing again is cheaper than keeping a list.
    for (let misses = 0; misses < 32; misses++) {
      const victim = victims[drawIndex(this.#env, victims.length)]!;
      if (victim !== this.#self && !this.#tried.includes(victim)) return victim;
    }
    const left = victims.filter((victim) => victim !== this.#self && !this.#tried.includes(victim));
    return left.length === 0 ? NOBODY : left[drawIndex(this.#env, left.length)]!;
  }
}

const NO_PROBES: MessageOf<'stolen'>['probes'] = [];

/** In a simulation they are a third of all messages. */
const FIRST_ANSWERS = Array.from({ length: 1_024 }, (_, round) => emptyAnswer(round));

/** What a thief hears from a victim that has nothing for it, as most have. */
export function nothingToSteal(round: number): MessageOf<'stolen'> {
  return round < FIRST_ANSWERS.length ? FIRST_ANSWERS[round]! : emptyAnswer(round);
}

function emptyAnswer(round: number): MessageOf<'stolen'> {
  return { type: 'stolen', round, probes: NO_PROBES };
}
