import type { Millis } from '@goshawk/core';

/** Window over which the share of short work is taken, and the steps in which it slides. ms */
const WINDOW_MS = 3_600_000;
const STEP_MS = 60_000;
/** The partition is neither given up nor does it take most of the cluster, whatever the window says. */
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
