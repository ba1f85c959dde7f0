import type { Address, Millis, Random, Role } from '@goshawk/core';
import type { Delays, PartyLayout } from './contract.js';
import type { MeasuredProfile } from './profile.js';

/** Draws from the distributions of a profile, by who sends to whom. */
export class MeasuredDelays implements Delays {
  readonly #layout: PartyLayout;
  readonly #random: Random;
  /** By role of the sender, then of the receiver. */
  readonly #routes: readonly (readonly Float64Array[])[];
  readonly #withinProcess: Float64Array;
  readonly #sleepLateMs: Float64Array;
  readonly #timerLateMs: Float64Array;
  readonly #submissionMs: Float64Array;
  readonly #newsMs: Float64Array;
  readonly #workers: number;
  readonly #processes: number;

  constructor(profile: MeasuredProfile, layout: PartyLayout, random: Random) {
    this.#layout = layout;
    this.#random = random;
    const all = Float64Array.from(profile.messages.flatMap(({ ms }) => ms));
    const between = (from: Role, to: Role): Float64Array | undefined => listed(profile, from, to, false);
    this.#routes = ROLES.map((from) => ROLES.map((to) => between(from, to) ?? all));
    this.#withinProcess = listed(profile, 'worker', 'worker', true) ?? between('worker', 'worker') ?? all;
    this.#sleepLateMs = Float64Array.from(profile.sleepLateMs);
    this.#timerLateMs = Float64Array.from(profile.timerLateMs);
    this.#submissionMs = Float64Array.from(profile.submissionMs);
    this.#newsMs = Float64Array.from(profile.newsMs);
    this.#workers = layout.firstOther - layout.firstWorker;
    this.#processes = Math.ceil(this.#workers / profile.workersPerProcess);
  }

  messageMs(from: Address, to: Address): Millis {
    const sender = this.#roleOf(from);
    const receiver = this.#roleOf(to);
    const near = sender === WORKER && receiver === WORKER && this.#processOf(from) === this.#processOf(to);
    return this.#draw(near ? this.#withinProcess : this.#routes[sender]![receiver]!);
  }

  sleepLateMs(): Millis {
    return this.#draw(this.#sleepLateMs);
  }

  timerLateMs(): Millis {
    return this.#draw(this.#timerLateMs);
  }

  submissionMs(): Millis {
    return this.#draw(this.#submissionMs);
  }

  newsMs(): Millis {
    return this.#draw(this.#newsMs);
  }

  /** Inverse transform: the values are equally likely. Without any, nothing is late. */
  #draw(values: Float64Array): Millis {
    return values[Math.floor(this.#random.next() * values.length)] ?? 0;
  }

  /** A place in `ROLES`. */
  #roleOf(address: Address): number {
    const { firstScheduler, firstWorker, firstOther } = this.#layout;
    // Parties that the caller added are taken for schedulers: they are processes of their own, too.
    if (address >= firstWorker && address < firstOther) return WORKER;
    return address >= firstScheduler ? SCHEDULER : CENTRAL;
  }

  /** Workers are dealt to processes evenly, neighbours to one, as `goshawk up` does. */
  #processOf(worker: Address): number {
    const number = worker - this.#layout.firstWorker;
    return Math.floor((this.#processes * (number + 1) - 1) / this.#workers);
  }
}

const ROLES: readonly Role[] = ['central', 'scheduler', 'worker'];
const SCHEDULER = ROLES.indexOf('scheduler');
const CENTRAL = ROLES.indexOf('central');
const WORKER = ROLES.indexOf('worker');

function listed(
  { messages }: MeasuredProfile,
  from: Role,
  to: Role,
  sameProcess: boolean,
): Float64Array | undefined {
  const route = messages.find((of) => of.from === from && of.to === to && of.sameProcess === sameProcess);
  return route === undefined ? undefined : Float64Array.from(route.ms);
}
