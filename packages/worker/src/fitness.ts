import { type Environment, type Millis, NOBODY, type Outcome, startFault } from '@goshawk/core';
import type { WorkerCounters } from './contract.js';
import type { Membership } from './membership.js';
import type { Running } from './slots.js';

/**
 * Pauses double from the first to the longest, and begin anew when a task has started. While it is not clear whose fault
 * it is they stay short: tasks that name a command that is nowhere must not keep a cluster from its work.
 */
const FIRST_PAUSE_MS = 200;
const PAUSE_MAX_MS = { worker: 5 * 60_000, unclear: 500 } as const;
/** Tasks that could not be started here and are remembered. */
const REMEMBERED_MAX = 1_000;

/**
 * A worker on which no task can be started is always free, and would draw all the work of the cluster. So it sets itself
 * aside for a while: at once when the system starts nothing any more, and when a task comes back that could not be
 * started here before. (A task that names a command that is nowhere goes to other workers, and ends there.)
 */
export class Fitness {
  readonly #env: Environment<'aside'>;
  readonly #membership: Membership;
  readonly #counters: WorkerCounters;
  /** Made when there is one. */
  #failedHere: Set<string> | undefined;
  #pauses = 0;
  #until: Millis = Number.NEGATIVE_INFINITY;
  /** What the last start failed of; empty while the worker is fit. */
  #reason = '';

  constructor(env: Environment<'aside'>, membership: Membership, counters: WorkerCounters) {
    this.#env = env;
    this.#counters = counters;
    this.#membership = membership;
  }

  get isAside(): boolean {
    return this.#reason !== '';
  }

  /** A task has really started. */
  started(): void {
    this.#pauses = 0;
  }

  /** A run is over. @returns whether the worker takes nothing from now on, and did before */
  ended(run: Running, outcome: Outcome, now: Millis): boolean {
    const fault = startFault(outcome);
    if (fault === undefined || this.isAside) return false;
    if (fault === 'unclear' && !this.#hasFailedHere(run)) return false;
    const pauseMs = Math.min(PAUSE_MAX_MS[fault], FIRST_PAUSE_MS * 2 ** this.#pauses);
    this.#pauses++;
    this.#counters.pauses++;
    this.#reason = `${outcome.errorCode}: ${outcome.errorMessage}`;
    this.#until = now + pauseMs;
    this.#env.setTimer('aside', 0, this.#until);
    this.tell();
    return true;
  }

  /** Tells central, which forgets it when it is not told again with each heartbeat. */
  tell(): void {
    if (this.isAside) this.#say(this.#reason);
  }

  /** @returns whether the pause is over, and the worker takes work again */
  wake(now: Millis): boolean {
    if (!this.isAside || now < this.#until) return false;
    this.#reason = '';
    this.#say('');
    return true;
  }

  #say(reason: string): void {
    const { central } = this.#membership;
    if (central !== NOBODY) this.#env.send(central, { type: 'aside', reason });
  }

  #hasFailedHere({ owner, job, task }: Running): boolean {
    const name = `${owner}/${job}/${task}`;
    this.#failedHere ??= new Set();
    if (this.#failedHere.delete(name)) return true;
    this.#failedHere.add(name);
    if (this.#failedHere.size > REMEMBERED_MAX)
      this.#failedHere.delete(this.#failedHere.values().next().value!);
    return false;
  }
}
