import type { Address, MessageType, Millis, Random } from '@goshawk/core';
import type { Delays, WorkerRange } from './contract.js';
import type { MeasuredProfile } from './profile.js';

/** Draws from the distributions of a profile. */
export class MeasuredDelays implements Delays {
  readonly #workers: WorkerRange;
  readonly #processes: number;
  readonly #random: Random;
  /** Never drawn from: each instant of a party has a stream of its own. */
  readonly #instants: Random;
  readonly #between: ReadonlyMap<MessageType, Float64Array>;
  readonly #withinProcess: ReadonlyMap<MessageType, Float64Array>;
  /** Of what the profile does not name. */
  readonly #any: Float64Array;
  readonly #sleepLateMs: Float64Array;
  readonly #timerLateMs: Float64Array;
  readonly #submissionMs: Float64Array;
  readonly #newsMs: Float64Array;

  constructor(profile: MeasuredProfile, workers: WorkerRange, random: Random) {
    this.#workers = workers;
    this.#processes = Math.ceil(workers.count / profile.workersPerProcess);
    this.#random = random;
    this.#instants = random.fork('instants');
    this.#between = byType(profile, false);
    this.#withinProcess = byType(profile, true);
    this.#any = Float64Array.from(profile.messages.flatMap(({ ms }) => ms));
    this.#sleepLateMs = Float64Array.from(profile.sleepLateMs);
    this.#timerLateMs = Float64Array.from(profile.timerLateMs);
    this.#submissionMs = Float64Array.from(profile.submissionMs);
    this.#newsMs = Float64Array.from(profile.newsMs);
  }

  messageMs(from: Address, to: Address, type: MessageType): Millis {
    const within = this.#shareProcess(from, to) ? this.#withinProcess.get(type) : undefined;
    return this.#draw(within ?? this.#between.get(type) ?? this.#any);
  }

  sleepLateMs(): Millis {
    return this.#draw(this.#sleepLateMs);
  }

  timerLateMs(of: Address, at: Millis): Millis {
    return draw(this.#timerLateMs, this.#instants.fork(`${of} ${at}`));
  }

  submissionMs(): Millis {
    return this.#draw(this.#submissionMs);
  }

  newsMs(): Millis {
    return this.#draw(this.#newsMs);
  }

  #draw(values: Float64Array): Millis {
    return draw(values, this.#random);
  }

  #shareProcess(from: Address, to: Address): boolean {
    const sender = from - this.#workers.first;
    const receiver = to - this.#workers.first;
    const { count } = this.#workers;
    if (sender < 0 || receiver < 0 || sender >= count || receiver >= count) return false;
    return this.#processOf(sender) === this.#processOf(receiver);
  }

  /** Workers are dealt to processes evenly, neighbours to one, as `goshawk up` does. */
  #processOf(worker: number): number {
    return Math.floor((this.#processes * (worker + 1) - 1) / this.#workers.count);
  }
}

/** Inverse transform: the values are equally likely. Without any, nothing takes any time. */
function draw(values: Float64Array, random: Random): Millis {
  return values[Math.floor(random.next() * values.length)] ?? 0;
}

function byType({ messages }: MeasuredProfile, sameProcess: boolean): ReadonlyMap<MessageType, Float64Array> {
  const listed = messages.filter((message) => message.sameProcess === sameProcess);
  return new Map(listed.map(({ type, ms }) => [type, Float64Array.from(ms)]));
}
