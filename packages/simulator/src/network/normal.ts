import type { Address, MessageType, Millis, Random } from '@goshawk/core';
import { ArrivalOrder } from './arrival-order.js';
import type { Delays, NormalNetwork } from './contract.js';

/** Marsaglia's polar method; values below the minimum are redrawn, less than twice on average. */
export class NormalDelays implements Delays {
  readonly #model: NormalNetwork;
  readonly #random: Random;
  readonly #order = new ArrivalOrder();
  /** Second value of the last draw, which yields two; NaN if it has been used. */
  #spare = Number.NaN;

  constructor(model: NormalNetwork, random: Random) {
    this.#model = model;
    this.#random = random;
  }

  arrivalAt(from: Address, to: Address, _type: MessageType, now: Millis): Millis {
    return this.#order.arrival(from, to, now + this.#delayMs(), now);
  }

  sleepLateMs(): Millis {
    return 0;
  }

  timerLateMs(): Millis {
    return 0;
  }

  /** 0, as with constant delays: times of jobs are measured at their owners. */
  submissionMs(): Millis {
    return 0;
  }

  newsMs(): Millis {
    return 0;
  }

  #delayMs(): Millis {
    const { meanMs, deviationMs, leastMs } = this.#model;
    for (;;) {
      const delayMs = meanMs + deviationMs * this.#standardNormal();
      if (delayMs >= leastMs) return delayMs;
    }
  }

  #standardNormal(): number {
    const spare = this.#spare;
    if (!Number.isNaN(spare)) {
      this.#spare = Number.NaN;
      return spare;
    }
    for (;;) {
      const x = 2 * this.#random.next() - 1;
      const y = 2 * this.#random.next() - 1;
      const square = x * x + y * y;
      if (square === 0 || square >= 1) continue;
      const factor = Math.sqrt((-2 * Math.log(square)) / square);
      this.#spare = y * factor;
      return x * factor;
    }
  }
}
