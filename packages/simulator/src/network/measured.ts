import type { Address, MessageType, Millis, Random } from '@goshawk/core';
import type { ClusterOutline, Delays } from './contract.js';
import { MeasuredTables } from './measured-tables.js';
import type { MeasuredProfile } from './profile.js';

/** Draws from the distributions of a profile, those of the phase that it is in. */
export class MeasuredDelays implements Delays {
  readonly #outline: ClusterOutline;
  readonly #processes: number;
  readonly #random: Random;
  /** Never drawn from: each instant of a party has a stream of its own. */
  readonly #instants: Random;
  readonly #phases: readonly MeasuredTables[];
  /** Where the time is that was last asked for. */
  #phase = 0;

  constructor(profile: MeasuredProfile, outline: ClusterOutline, random: Random) {
    this.#outline = outline;
    this.#processes = Math.ceil(outline.workers / profile.workersPerProcess);
    this.#random = random;
    this.#instants = random.fork('instants');
    const all = MeasuredTables.ofAll(profile.phases);
    this.#phases = profile.phases.map((phase) => new MeasuredTables(phase, all));
  }

  messageMs(from: Address, to: Address, type: MessageType, now: Millis): Millis {
    return draw(this.#at(now).message(type, this.#shareProcess(from, to)), this.#random);
  }

  sleepLateMs(until: Millis): Millis {
    return draw(this.#at(until).sleepLateMs, this.#random);
  }

  timerLateMs(of: Address, at: Millis): Millis {
    return draw(this.#at(at).timerLateMs, this.#instants.fork(`${of} ${at}`));
  }

  submissionMs(now: Millis): Millis {
    return draw(this.#at(now).submissionMs, this.#random);
  }

  newsMs(now: Millis): Millis {
    return draw(this.#at(now).newsMs, this.#random);
  }

  /** Looks around the phase that was asked for before: most times are near each other. */
  #at(time: Millis): MeasuredTables {
    const phases = this.#phases;
    const sinceBegin = time - this.#outline.beginsAt;
    let place = this.#phase;
    while (place + 1 < phases.length && phases[place + 1]!.fromMs <= sinceBegin) place++;
    while (place > 0 && phases[place]!.fromMs > sinceBegin) place--;
    this.#phase = place;
    return phases[place]!;
  }

  #shareProcess(from: Address, to: Address): boolean {
    const { firstWorker, workers } = this.#outline;
    const sender = from - firstWorker;
    const receiver = to - firstWorker;
    if (sender < 0 || receiver < 0 || sender >= workers || receiver >= workers) return false;
    return this.#processOf(sender) === this.#processOf(receiver);
  }

  /** Workers are dealt to processes evenly, neighbours to one, as `goshawk up` does. */
  #processOf(worker: number): number {
    return Math.floor((this.#processes * (worker + 1) - 1) / this.#outline.workers);
  }
}

/** Inverse transform: the values are equally likely. Without any, nothing takes any time. */
function draw(values: Float64Array, random: Random): Millis {
  return values[Math.floor(random.next() * values.length)] ?? 0;
}
