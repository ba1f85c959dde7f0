import type { JobSpec, Millis } from '@goshawk/core';

/** Records when a job is on hold, by request or until its begin time. No task starts; running tasks continue. */
export class Hold {
  /** Whether the job is on hold, until its user releases it. */
  isHeld: boolean;
  /** Begin time on the wall clock; undefined if there is none or it has passed. */
  beginAt: Millis | undefined;
  /** When the current hold began, on the process's monotonic clock. */
  #since: Millis | undefined;
  readonly #spans: { readonly from: Millis; readonly to: Millis }[] = [];

  /** @param since start of the hold, on the process's monotonic clock */
  constructor(isHeld: boolean, beginAt: Millis | undefined, since: Millis) {
    this.isHeld = isHeld;
    this.beginAt = beginAt;
    if (this.isOn) this.#since = since;
  }

  get isOn(): boolean {
    return this.isHeld || this.beginAt !== undefined;
  }

  /** @returns whether the hold has ended */
  update(isHeld: boolean, beginAt: Millis | undefined, now: Millis): boolean {
    const wasOn = this.isOn;
    this.isHeld = isHeld;
    this.beginAt = beginAt;
    if (this.isOn) this.#since ??= now;
    else if (this.#since !== undefined) {
      this.#spans.push({ from: this.#since, to: now });
      if (this.#spans.length > SPANS_MAX) this.#spans.shift();
      this.#since = undefined;
    }
    return wasOn && !this.isOn;
  }

  /** Returns how long the job was on hold between `from` and `to`. */
  heldMsBetween(from: Millis, to: Millis): Millis {
    let sum = 0;
    for (const span of this.#spans) sum += Math.max(0, Math.min(to, span.to) - Math.max(from, span.from));
    return this.#since === undefined ? sum : sum + Math.max(0, to - Math.max(from, this.#since));
  }
}

/** Maximum number of past holds that are kept to explain where time was spent. */
const SPANS_MAX = 100;

/**
 * Returns the hold that a submitted job requests; undefined if it requests none.
 *
 * @param at time of acceptance on the process's monotonic clock
 * @param wallAt the same time on the wall clock
 */
export function holdOf({ hold, begin }: JobSpec, at: Millis, wallAt: Millis): Hold | undefined {
  const isHeld = hold === true;
  if (!isHeld && begin === undefined) return undefined;
  const beginAt = begin === undefined ? undefined : 'at' in begin ? begin.at : wallAt + begin.afterMs;
  const isLater = beginAt !== undefined && beginAt > wallAt;
  return isHeld || isLater ? new Hold(isHeld, isLater ? beginAt : undefined, at) : undefined;
}
