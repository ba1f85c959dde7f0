import {
  type Address,
  effectiveScope,
  invariant,
  type Millis,
  type PolicySettings,
  type Scope,
} from '@goshawk/core';
import { type Labelled, relabel, shortWanted } from './partition.js';
import { isActive, type Side, type WorkerRecord } from './registry.js';
import { WorkShare } from './work-share.js';

/** The Google trace's (Hawk §4.1), until `auto` has seen work of its own. */
const SHARE_BEFORE_ANY_WORK = 0.17;

/**
 * How the cluster is split at present (Hawk §3.4): over the workers that take work, in the order in which they joined.
 * Kept in step worker by worker, since thousands of them may join at once.
 */
export class Partitions {
  readonly #policy: PolicySettings;
  /** Something that central decided about runs or waits there. */
  readonly #isBusy: (worker: Address) => boolean;
  readonly #share = new WorkShare();
  /** The workers that central may use: those of whichever class it decides about. */
  readonly #scope: Scope;
  /** In the order in which they joined; also those that take no work. */
  readonly #joined: WorkerRecord[] = [];
  /** Workers that take work, and those of them in the short partition. */
  #active = 0;
  #short = 0;

  constructor(policy: PolicySettings, isBusy: (worker: Address) => boolean) {
    this.#policy = policy;
    this.#isBusy = isBusy;
    const { long, short } = policy.preset;
    const isLongDecided = long.by === 'central' || long.by === 'matching';
    this.#scope = effectiveScope(policy.preset, isLongDecided ? long.over : short.over);
  }

  /** Central may send work there. */
  isOpen(worker: WorkerRecord): boolean {
    return isActive(worker) && (this.#scope === 'all' || this.#scope === worker.partition);
  }

  /** The worker is new, or something about it has changed. */
  update(worker: WorkerRecord): void {
    const before = worker.side;
    const side = isActive(worker) ? worker.partition : 'inactive';
    if (side === before) return;
    if (before === undefined) this.#joined.push(worker);
    else this.#count(before, -1);
    this.#count(side, 1);
    worker.side = side;
  }

  remove(worker: WorkerRecord): void {
    this.#count(worker.side ?? 'inactive', -1);
    worker.side = undefined;
    const index = this.#joined.indexOf(worker);
    if (index >= 0) this.#joined.splice(index, 1);
  }

  /** Run time of tasks that ended, by which `auto` sizes the short partition. */
  worked(shortMs: Millis, longMs: Millis, now: Millis): void {
    this.#share.add(shortMs, longMs, now);
  }

  /** In the short partition, and holds tasks that may not be there. */
  isMislabelled({ partition, address }: WorkerRecord): boolean {
    return partition === 'short' && this.#scope === 'general' && this.#isBusy(address);
  }

  /** Brings the partitions to their sizes, as far as what runs allows it. @returns the workers that have changed sides */
  relabel(): readonly WorkerRecord[] {
    const wanted = this.#shortWanted();
    if (wanted === this.#short) return NOBODY_CHANGES;
    const labelled = {
      length: this.#joined.length,
      // Those that take no work belong to neither side, and stay there.
      at: (index: number): Labelled => {
        const worker = this.#joined[index]!;
        const active = isActive(worker);
        const freeOfLong = active && !this.#isBusy(worker.address);
        return { short: active && worker.partition === 'short', freeOfLong };
      },
    };
    const changed = relabel(labelled, wanted, this.#short).map((index) => this.#joined[index]!);
    for (const worker of changed) {
      worker.partition = worker.partition === 'short' ? 'general' : 'short';
      this.update(worker);
    }
    return changed;
  }

  checkInvariants(workers: Iterable<WorkerRecord>): void {
    const active = [...workers].filter(isActive);
    const short = active.filter(({ partition }) => partition === 'short').length;
    invariant(
      active.length === this.#active && short === this.#short,
      () => `${short} of ${active.length} are short, counted ${this.#short} of ${this.#active}`,
    );
    for (const worker of workers)
      invariant(
        !this.isMislabelled(worker),
        () => `${worker.name} is in the short partition and holds long tasks`,
      );
  }

  #shortWanted(): number {
    return shortWanted(this.#policy, () => this.#share.shareOfShort(SHARE_BEFORE_ANY_WORK), this.#active);
  }

  #count(side: Side, change: 1 | -1): void {
    if (side !== 'inactive') this.#active += change;
    if (side === 'short') this.#short += change;
  }
}

const NOBODY_CHANGES: readonly WorkerRecord[] = [];
