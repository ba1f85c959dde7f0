import {
  type Address,
  effectiveScope,
  invariant,
  type Millis,
  OrderedNumbers,
  type PolicySettings,
  type Scope,
} from '@goshawk/core';
import { type CountedAs, isActive, type WorkerRecord } from './registry.js';

/** The share of short jobs in the work of the Google trace (Hawk §4.1), used until `auto` has measured work. */
const DEFAULT_SHORT_SHARE = 0.17;

/**
 * Divides the active workers into partitions (Hawk §3.4). Updates are incremental, because thousands of workers may join
 * at once.
 */
export class Partitions {
  readonly #policy: PolicySettings;
  /** Returns whether tasks that central assigned run or wait at the worker. */
  readonly #isBusy: (worker: Address) => boolean;
  readonly #share = new WorkShare();
  /** Partition in which central may place tasks. The job classes that central places determine it. */
  readonly #scope: Scope;
  readonly #labels = new WorkerLabels<WorkerRecord>();
  /** Number of active workers, and of those in the short partition. */
  #active = 0;
  #short = 0;

  constructor(policy: PolicySettings, isBusy: (worker: Address) => boolean) {
    this.#policy = policy;
    this.#isBusy = isBusy;
    const { long, short } = policy.preset;
    const isLongDecided = long.by === 'central' || long.by === 'matching';
    this.#scope = effectiveScope(policy.preset, isLongDecided ? long.over : short.over);
  }

  /** Whether central may send tasks to the worker. */
  isOpen(worker: WorkerRecord): boolean {
    return isActive(worker) && (this.#scope === 'all' || this.#scope === worker.partition);
  }

  /** Updates the partition of a worker that is new or has changed. */
  update(worker: WorkerRecord): void {
    const before = worker.countedAs;
    const countedAs = isActive(worker) ? worker.partition : 'inactive';
    if (countedAs === before) return;
    if (before !== undefined) this.#count(before, -1);
    this.#count(countedAs, 1);
    worker.countedAs = countedAs;
    if (this.#policy.preset.partition) this.#labels.set(worker, countedAs);
  }

  remove(worker: WorkerRecord): void {
    this.#count(worker.countedAs ?? 'inactive', -1);
    worker.countedAs = undefined;
    this.#labels.delete(worker);
  }

  /** Call when no task that central assigned runs or waits at the worker any more. */
  freed(worker: WorkerRecord): void {
    this.#labels.freed(worker);
  }

  /** Records the run time of ended tasks, by which `auto` sizes the short partition. */
  recordWork(shortMs: Millis, longMs: Millis, now: Millis): void {
    this.#share.add(shortMs, longMs, now);
  }

  /** Returns whether the worker is in the short partition although it has long tasks. */
  isMislabelled({ partition, address }: WorkerRecord): boolean {
    return partition === 'short' && this.#scope === 'general' && this.#isBusy(address);
  }

  /**
   * Brings the partitions to their target sizes, as far as running tasks permit.
   *
   * @returns the workers whose partition changed
   */
  relabel(): readonly WorkerRecord[] {
    const wanted = this.#shortTarget();
    if (wanted === this.#short) return NO_CHANGES;
    const changed = this.#labels.newest(wanted - this.#short, ({ address }) => this.#isBusy(address));
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

  /** Target size of the short partition. */
  #shortTarget(): number {
    const { preset, shortPartition } = this.#policy;
    if (!preset.partition) return 0;
    const fraction =
      shortPartition === 'auto' ? this.#share.shareOfShort(DEFAULT_SHORT_SHARE) : shortPartition;
    const least = preset.short.over === 'short' || preset.long.over === 'short' ? 1 : 0;
    return shortPartitionSize(fraction, this.#active, least);
  }

  #count(countedAs: CountedAs, change: 1 | -1): void {
    if (countedAs !== 'inactive') this.#active += change;
    if (countedAs === 'short') this.#short += change;
  }
}

const NO_CHANGES: readonly WorkerRecord[] = [];

/**
 * Number of workers to keep free of long tasks (Hawk §3.4).
 *
 * @param fraction of the workers, in [0, 1]
 * @param least minimum, for policies in which short jobs run nowhere else
 * @returns the nearest integer, but never all workers, because long jobs need some
 */
export function shortPartitionSize(fraction: number, workers: number, least: number): number {
  return Math.max(0, Math.min(Math.max(least, Math.round(fraction * workers)), workers - 1));
}

/**
 * Selects the workers that must change their partition: as few as possible, newest first. A worker may become
 * short only while it has no long tasks. It may become general at any time, because short tasks may run
 * anywhere. The short partition may therefore be too small for a while, but never too large.
 */
export class WorkerLabels<Worker> {
  /** Numbers in the order in which the workers joined. */
  readonly #numbers = new Map<Worker, number>();
  readonly #workers = new Map<number, Worker>();
  readonly #short = new OrderedNumbers();
  /** General workers, without those that were busy when they were last considered. */
  readonly #general = new OrderedNumbers();
  readonly #busy = new Set<Worker>();
  #joined = 0;

  set(worker: Worker, label: CountedAs): void {
    const number = this.#numbers.get(worker) ?? this.#joined++;
    this.#numbers.set(worker, number);
    this.#workers.set(number, worker);
    this.#unlabel(worker, number);
    if (label === 'short') this.#short.add(number);
    else if (label === 'general') this.#general.add(number);
  }

  delete(worker: Worker): void {
    const number = this.#numbers.get(worker);
    if (number === undefined) return;
    this.#unlabel(worker, number);
    this.#numbers.delete(worker);
    this.#workers.delete(number);
  }

  freed(worker: Worker): void {
    if (this.#busy.delete(worker)) this.#general.add(this.#numbers.get(worker)!);
  }

  /** @param growth number of workers that the short partition gains; negative: that it loses */
  newest(growth: number, isBusy: (worker: Worker) => boolean): Worker[] {
    const from = growth < 0 ? this.#short : this.#general;
    const newest: Worker[] = [];
    let number = from.atMost(Number.POSITIVE_INFINITY);
    while (newest.length < Math.abs(growth) && !Number.isNaN(number)) {
      const worker = this.#workers.get(number)!;
      if (growth < 0 || !isBusy(worker)) newest.push(worker);
      else {
        this.#general.delete(number);
        this.#busy.add(worker);
      }
      number = from.atMost(number - 1);
    }
    return newest;
  }

  #unlabel(worker: Worker, number: number): void {
    this.#short.delete(number);
    this.#general.delete(number);
    this.#busy.delete(worker);
  }
}

/** Window in ms over which the share of short work is measured, and the steps in which it slides. */
const WINDOW_MS = 3_600_000;
const STEP_MS = 60_000;
/** Limits of the share, which keep the short partition from vanishing or taking most of the cluster. */
const SHORT_SHARE_MIN = 0.01;
const SHORT_SHARE_MAX = 0.5;

/** The recent share of short jobs in all task seconds (`--short-partition auto`, Hawk §3.4). */
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

  /** Returns the share of short work; `otherwise` before any work was measured. */
  shareOfShort(fallback: number): number {
    const short = this.#steps.reduce((sum, step) => sum + step.shortMs, 0);
    const all = this.#steps.reduce((sum, step) => sum + step.shortMs + step.longMs, 0);
    return all === 0 ? fallback : Math.min(SHORT_SHARE_MAX, Math.max(SHORT_SHARE_MIN, short / all));
  }
}
