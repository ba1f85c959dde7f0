import type { Address, MessageType, Millis, Random } from '@goshawk/core';
import { ArrivalOrder } from './arrival-order.js';
import type { ClusterOutline, Delays } from './contract.js';
import { MeasuredTables } from './measured-tables.js';
import type { MeasuredProfile } from './profile.js';

/**
 * Draws from the distributions of the current phase of a profile. Two processes share a connection: messages
 * sent at one time form one frame and arrive together, so ten workers of two processes receive a message in
 * the time of two. Frames keep their order, because a busy CPU or garbage collection that delays a frame also
 * delays those behind it.
 */
export class MeasuredDelays implements Delays {
  readonly #outline: ClusterOutline;
  readonly #processes: number;
  readonly #random: Random;
  /** Forked for each instant of a party; it is never drawn from directly. */
  readonly #instants: Random;
  readonly #phases: readonly MeasuredTables[];
  /** Order between processes, which are numbered like parties here. */
  readonly #order = new ArrivalOrder();
  /** Phase of the last query. */
  #phase = 0;

  constructor(profile: MeasuredProfile, outline: ClusterOutline, random: Random) {
    this.#outline = outline;
    this.#processes = Math.ceil(outline.workers / profile.workersPerProcess);
    this.#random = random;
    this.#instants = random.fork('instants');
    const all = MeasuredTables.ofAll(profile.phases);
    this.#phases = profile.phases.map((phase) => new MeasuredTables(phase, all));
  }

  arrivalAt(from: Address, to: Address, type: MessageType, now: Millis): Millis {
    const sender = this.#processOf(from);
    const receiver = this.#processOf(to);
    const frameAt = this.#order.arrivalOfSameTime(sender, receiver, now);
    if (frameAt !== undefined) return frameAt;
    const at = now + draw(this.#at(now).message(type, sender === receiver), this.#random);
    return this.#order.arrival(sender, receiver, at, now);
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

  /** Starts at the last phase, because consecutive times are close to each other. */
  #at(time: Millis): MeasuredTables {
    const phases = this.#phases;
    const sinceBegin = time - this.#outline.beginsAt;
    let place = this.#phase;
    while (place + 1 < phases.length && phases[place + 1]!.fromMs <= sinceBegin) place++;
    while (place > 0 && phases[place]!.fromMs > sinceBegin) place--;
    this.#phase = place;
    return phases[place]!;
  }

  /**
   * Workers are assigned evenly to processes, in blocks, as by `goshawk up`; other parties have separate processes.
   */
  #processOf(party: Address): Address {
    const { firstWorker, workers } = this.#outline;
    const worker = party - firstWorker;
    if (worker < 0 || worker >= workers) return (this.#processes + party) as Address;
    return Math.floor((this.#processes * (worker + 1) - 1) / workers) as Address;
  }
}

/** Draws by inverse transform sampling: the values are equally likely. Without values the delay is 0. */
function draw(values: Float64Array, random: Random): Millis {
  return values[Math.floor(random.next() * values.length)] ?? 0;
}
