import type { Address, Millis, Probe } from '@goshawk/core';
import { type Entry, entryOfProbe, probeOfEntry } from './entry.js';

/**
 * Shares immutable entries between the workers of a process. In the simulator all probes of a batch are one object,
 * so the workers can share one entry, and thieves one probe. This saves a tenth of the time of simulating Sparrow.
 */
export class SharedProbes {
  /** The last conversions in each direction. */
  #taken: { readonly probe: object; readonly entry: Entry } | undefined;
  #given: { readonly entry: Entry; readonly probe: Probe } | undefined;

  entryOf(owner: Address, probe: Omit<Probe, 'owner'>, now: Millis): Entry {
    const taken = this.#taken;
    if (taken?.probe === probe && taken.entry.owner === owner) {
      const { sizeMs, since } = taken.entry;
      if (sizeMs === 0 || since === now) return taken.entry;
    }
    const entry = entryOfProbe(owner, probe, now);
    this.#taken = { probe, entry };
    return entry;
  }

  probeOf(entry: Entry): Probe {
    if (this.#given?.entry === entry) return this.#given.probe;
    const probe = probeOfEntry(entry);
    this.#given = { entry, probe };
    return probe;
  }
}
