import {
  type Address,
  effectiveScope,
  invariant,
  type Millis,
  type PolicySettings,
  type Scope,
} from '@goshawk/core';
import { isActive, type Side, type WorkerRecord } from './registry.js';

/** The Google trace's value (Hawk §4.1), until `auto` has observed work. */
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
  /** Workers that central may use: those of the classes it decides about. */
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
    // Those that take no work belong to neither side, and stay there.
    const labelOf = (worker: WorkerRecord): Labelled => {
      const active = isActive(worker);
      const freeOfLong = active && !this.#isBusy(worker.address);
      return { short: active && worker.partition === 'short', freeOfLong };
    };
    const changed = relabel(this.#joined, labelOf, wanted - this.#short);
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

  /** Workers that the short partition is to have, of those that take work. */
  #shortWanted(): number {
    const { preset, shortPartition } = this.#policy;
    if (!preset.partition) return 0;
    const fraction =
      shortPartition === 'auto' ? this.#share.shareOfShort(SHARE_BEFORE_ANY_WORK) : shortPartition;
    const least = preset.short.over === 'short' || preset.long.over === 'short' ? 1 : 0;
    return shortPartitionSize(fraction, this.#active, least);
  }

  #count(side: Side, change: 1 | -1): void {
    if (side !== 'inactive') this.#active += change;
    if (side === 'short') this.#short += change;
  }
}

const NOBODY_CHANGES: readonly WorkerRecord[] = [];

/**
 * How many of so many workers are kept free of long tasks (Hawk §3.4).
 *
 * @param fraction of the workers, in [0, 1]
 * @param least so many in any case, for policies that let short jobs run nowhere else
 * @returns the nearest whole number, but never all of them, since long jobs must have somewhere to go
 */
export function shortPartitionSize(fraction: number, workers: number, least: number): number {
  return Math.max(0, Math.min(Math.max(least, Math.round(fraction * workers)), workers - 1));
}

export interface Labelled {
  /** In the short partition. */
  readonly short: boolean;
  /** Free of long tasks, so that it may become short at once. */
  readonly freeOfLong: boolean;
}

/**
 * Which workers change sides so that the short partition grows, or shrinks, by so many: as few as possible, those that
 * joined last first. A worker becomes short only while no long task is there; it can become general at any
 * time, because short tasks run anywhere. So the partition may be too small for a while, never too large.
 *
 * @param workers in the order in which they joined; looked at from the end, and no further than needed
 */
export function relabel<Worker>(
  workers: readonly Worker[],
  labelOf: (worker: Worker) => Labelled,
  growth: number,
): Worker[] {
  let missing = growth;
  const changes: Worker[] = [];
  for (let i = workers.length - 1; i >= 0 && missing !== 0; i--) {
    const { short, freeOfLong } = labelOf(workers[i]!);
    if (missing < 0 ? !short : short || !freeOfLong) continue;
    changes.push(workers[i]!);
    missing -= Math.sign(missing);
  }
  return changes;
}

/** Window over which the share of short work is taken, and the steps in which it slides. ms */
const WINDOW_MS = 3_600_000;
const STEP_MS = 60_000;
/** Limits that keep the partition above zero and below most of the cluster. */
const LEAST = 0.01;
const MOST = 0.5;

/** The share of task seconds that short jobs have had of late (`--short-partition auto`, Hawk §3.4). */
export class WorkShare {
  #steps: { at: Millis; shortMs: number; longMs: number }[] = [];

  add(shortMs: number, longMs: number, now: Millis): void {
    const last = this.#steps.at(-1);
    if (last !== undefined && now - last.at < STEP_MS) {
      last.shortMs += shortMs;
      last.longMs += longMs;
    } else {
      this.#steps.push({ at: now, shortMs, longMs });
      this.#steps = this.#steps.filter((step) => now - step.at <= WINDOW_MS);
    }
  }

  /** @param otherwise the answer before any work was done */
  shareOfShort(otherwise: number): number {
    const short = this.#steps.reduce((sum, step) => sum + step.shortMs, 0);
    const all = this.#steps.reduce((sum, step) => sum + step.shortMs + step.longMs, 0);
    return all === 0 ? otherwise : Math.min(MOST, Math.max(LEAST, short / all));
  }
}
