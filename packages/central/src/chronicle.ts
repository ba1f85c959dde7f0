import {
  type Address,
  type Counters,
  HISTORY_STEP_MS,
  LOAD_LOST,
  type MessageOf,
  type Millis,
  sumOf,
} from '@goshawk/core';
import type { Membership } from './cluster/membership.js';
import type { CentralEnvironment } from './contract.js';
import type { Dispatcher } from './dispatch/dispatcher.js';

/** Time (ms) for schedulers to answer. */
const ANSWER_MS: Millis = 5_000;
/** Time (ms) until the first point, when members have registered again after a restart of central. */
const FIRST_MS: Millis = 10_000;

/** Records the state of the cluster every two minutes: asks all schedulers for their counters, and adds central's books. */
export class Chronicle {
  readonly #env: CentralEnvironment;
  readonly #members: Membership;
  readonly #dispatcher: Pick<Dispatcher, 'shares'>;
  readonly #books: Pick<Dispatcher, 'loadAt'> | undefined;
  #questions = 0;
  /** Names of the schedulers that have not answered yet; undefined: no question is open. */
  #open: Map<Address, string> | undefined;
  #counters: Record<string, Counters> = {};
  #askedAt: Millis = 0;

  /** @param books undefined: central does not match jobs and workers, so that only workers know their tasks */
  constructor(
    env: CentralEnvironment,
    members: Membership,
    dispatcher: Pick<Dispatcher, 'shares'>,
    books: Pick<Dispatcher, 'loadAt'> | undefined,
  ) {
    this.#env = env;
    this.#members = members;
    this.#dispatcher = dispatcher;
    this.#books = books;
  }

  start(now: Millis): void {
    if (this.#env.recordHistory !== undefined) this.#env.setTimer('chronicle', 0, now + FIRST_MS);
  }

  /** Asks schedulers; or records a point without those that have not answered. */
  wake(now: Millis): void {
    if (this.#open !== undefined) return this.#record(now);
    this.#askedAt = now;
    this.#counters = {};
    this.#questions++;
    const { members } = this.#members.registry.schedulers;
    this.#open = new Map([...members].map(([address, { name }]) => [address, name]));
    for (const address of members.keys()) this.#env.send(address, { type: 'count', id: this.#questions });
    if (this.#open.size === 0) this.#record(now);
    else this.#env.setTimer('chronicle', 0, now + ANSWER_MS);
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
    const { registry, workers } = this.#members;
    const present = [...registry.workers.values()].map(({ address, name, slots, busy }) => {
      const cpus = this.#books?.loadAt(address).cpus ?? busy;
      return { name, slots, busy, load: Math.min(100, Math.round((100 * cpus) / Math.max(1, slots, cpus))) };
    });
    const lost = workers.lostNames(now).map((name) => ({ name, slots: 0, load: LOAD_LOST }));
    this.#env.recordHistory!({
      waiting: sumOf([...registry.schedulers.members.values()], ({ waiting }) => waiting),
      busy: sumOf(present, ({ busy }) => busy),
      slots: sumOf(present, ({ slots }) => slots),
      shares: this.#dispatcher.shares(),
      workers: [...present, ...lost],
      counters: this.#counters,
    });
    this.#counters = {};
    this.#env.setTimer('chronicle', 0, Math.max(now, this.#askedAt + HISTORY_STEP_MS));
  }
}
