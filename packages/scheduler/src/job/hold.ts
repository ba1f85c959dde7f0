import type { JobSpec, Millis } from '@goshawk/core';

/** The holds of a job, at the user's request or until a begin time. On hold, no task starts; running tasks continue. */
export class Hold {
  /** Whether the user put the job on hold. */
  isHeld: boolean;
  /** Begin time, by the wall clock; undefined if there is none or it has passed. */
  beginAt: Millis | undefined;
  /** When the current hold began, by the monotonic clock. */
  #since: Millis | undefined;
  readonly #spans: { readonly from: Millis; readonly to: Millis }[] = [];

  /** @param since start of the hold, by the monotonic clock */
  constructor(isHeld: boolean, beginAt: Millis | undefined, since: Millis) {
    this.isHeld = isHeld;
    this.beginAt = beginAt;
    if (this.isOn) this.#since = since;
  }

  get isOn(): boolean {
    return this.isHeld || this.beginAt !== undefined;
  }

  /** Changes the hold. @returns whether the job was on hold and is not now */
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

  /** Returns how long the job was on hold between two times. */
  heldMsBetween(from: Millis, to: Millis): Millis {
    let sum = 0;
    for (const span of this.#spans) sum += Math.max(0, Math.min(to, span.to) - Math.max(from, span.from));
    return this.#since === undefined ? sum : sum + Math.max(0, to - Math.max(from, this.#since));
  }
}

/** Maximum number of past holds that are kept, to exclude them from waiting times. */
const SPANS_MAX = 100;

/**
 * Returns the initial hold of a submitted job; undefined if it may start immediately.
 *
 * @param at time of acceptance, by the monotonic clock
 * @param wallAt the same time, by the wall clock
 */
export function holdOf({ hold, begin }: JobSpec, at: Millis, wallAt: Millis): Hold | undefined {
  const isHeld = hold === true;
  if (!isHeld && begin === undefined) return undefined;
  const beginAt = begin === undefined ? undefined : 'at' in begin ? begin.at : wallAt + begin.afterMs;
  const isLater = beginAt !== undefined && beginAt > wallAt;
  return isHeld || isLater ? new Hold(isHeld, isLater ? beginAt : undefined, at) : undefined;
}
