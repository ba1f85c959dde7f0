import { Central, type CentralConfig, type CentralEnvironment } from '@goshawk/central';
import type { Millis } from '@goshawk/core';

/** Checks its waiting times for the time that it is. */
export class CheckedCentral extends Central {
  readonly #now: () => Millis;

  constructor(config: CentralConfig, environment: CentralEnvironment, now: () => Millis) {
    super(config, environment);
    this.#now = now;
  }

  override checkInvariants(): void {
    super.checkInvariants(this.#now());
  }
}
