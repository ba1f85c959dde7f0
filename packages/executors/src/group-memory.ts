import { memoryOfGroups } from './process-identity.js';

/** Sampling interval. A sample scans all processes, and sampling takes at most a twentieth of the time. */
const LOOK_MS = 250;
const LOOK_SHARE = 20;

/**
 * Peak memory of running process groups: the sum of the peaks of processes that exist together. A group that ends before the
 * first sample has none.
 */
export class GroupMemory {
  readonly #peaks = new Map<number, number>();
  #timer: NodeJS.Timeout | undefined;

  add(group: number): void {
    this.#peaks.set(group, 0);
    this.#timer ??= setTimeout(() => this.#look(), LOOK_MS).unref();
  }

  /** Stops watching the group. @returns bytes; undefined if unknown */
  take(group: number): number | undefined {
    const peak = this.#peaks.get(group);
    this.#peaks.delete(group);
    return peak === 0 ? undefined : peak;
  }

  #look(): void {
    this.#timer = undefined;
    if (this.#peaks.size === 0) return;
    const began = performance.now();
    for (const [group, bytes] of memoryOfGroups(this.#peaks))
      this.#peaks.set(group, Math.max(bytes, this.#peaks.get(group)!));
    const tookMs = performance.now() - began;
    this.#timer = setTimeout(() => this.#look(), Math.max(LOOK_MS, LOOK_SHARE * tookMs)).unref();
  }
}
