import {
  type Address,
  type Counters,
  HISTORY_STEP_MS,
  LOAD_LOST,
  type MessageOf,
  type Millis,
  sumOf,
} from '@goshawk/core';
import { lostNames } from './members/worker-membership.js';
import type { CentralState } from './state.js';

/** Time (ms) for schedulers to answer. */
const ANSWER_MS: Millis = 5_000;
/** Time (ms) until the first point, when members have registered again after a restart of central. */
const FIRST_MS: Millis = 10_000;

/** Records the state of the cluster every two minutes: asks all schedulers for their counters, and adds central's books. */
export class Chronicle {
  readonly #s: CentralState;
  #questions = 0;
  /** Names of the schedulers that have not answered yet; undefined: no question is open. */
  #open: Map<Address, string> | undefined;
  #counters: Record<string, Counters> = {};
  #askedAt: Millis = 0;

  constructor(s: CentralState) {
    this.#s = s;
  }

  start(now: Millis): void {
    if (this.#s.env.recordHistory !== undefined) this.#s.env.setTimer('chronicle', 0, now + FIRST_MS);
  }

  /** Asks schedulers; or records a point without those that have not answered. */
  wake(now: Millis): void {
    if (this.#open !== undefined) return this.#record(now);
    this.#askedAt = now;
    this.#counters = {};
    this.#questions++;
    const { members } = this.#s.registry.schedulers;
    this.#open = new Map([...members].map(([address, { name }]) => [address, name]));
    for (const address of members.keys()) this.#s.env.send(address, { type: 'count', id: this.#questions });
    if (this.#open.size === 0) this.#record(now);
    else this.#s.env.setTimer('chronicle', 0, now + ANSWER_MS);
  }

  counted(from: Address, { id, counters }: MessageOf<'counted'>, now: Millis): void {
    const name = this.#open?.get(from);
    if (id !== this.#questions || name === undefined) return;
    this.#open!.delete(from);
    this.#counters[name] = counters;
    if (this.#open!.size === 0) this.#record(now);
  }

  #record(now: Millis): void {
    this.#open = undefined;
    const { registry, dispatcher, pulls } = this.#s;
    const present = [...registry.workers.values()].map(({ address, name, slots, busy }) => {
      const cpus = (pulls ? dispatcher.loadAt(address).cpus : undefined) ?? busy;
      return { name, slots, busy, load: Math.min(100, Math.round((100 * cpus) / Math.max(1, slots, cpus))) };
    });
    const lost = lostNames(this.#s, now).map((name) => ({ name, slots: 0, load: LOAD_LOST }));
    this.#s.env.recordHistory!({
      waiting: sumOf([...registry.schedulers.members.values()], ({ waiting }) => waiting),
      busy: sumOf(present, ({ busy }) => busy),
      slots: sumOf(present, ({ slots }) => slots),
      shares: this.#s.dispatcher.shares(),
      workers: [...present, ...lost],
      counters: this.#counters,
    });
    this.#counters = {};
    this.#s.env.setTimer('chronicle', 0, Math.max(now, this.#askedAt + HISTORY_STEP_MS));
  }
}
