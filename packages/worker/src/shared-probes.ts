import type { Address, Millis, Probe } from '@goshawk/core';
import { type Entry, entryOfProbe, probeOfEntry } from './entry.js';

/**
 * Where one object comes as the probes of a whole batch, as it does within a process, its workers share one entry for all
 * of them, and one probe when they are given to thieves: they are never changed, and there are many. Simulating Sparrow
 * takes a tenth less time so.
 */
export class SharedProbes {
  /** The last entry that was made of a probe, and the last probe that was made of an entry. */
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
