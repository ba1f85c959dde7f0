import { formatDuration, type Millis } from '@goshawk/core';

/** Time in ms for which readings of a clock count: longer than most stalls, during which all are late. */
const PERIOD_MS = 30_000;
/** Minimum number of readings in a period, because a few may all be late. */
const READINGS_MIN = 10;
/** Minimum difference to report in ms. */
const DIFFERENCE_MIN_MS = 2_000;

/** The wall clock of another process, read from its heartbeats. Each reading is late by the delay of its message. */
export class ClockReadings {
  #since: Millis;
  #count = 0;
  #largest = Number.NEGATIVE_INFINITY;
  /** The largest of the period before; undefined: there was none. */
  #largestBefore: Millis | undefined;

  constructor(now: Millis) {
    this.#since = now;
  }

  /** @param aheadMs by how much the clock was ahead of this one when its time arrived */
  add(aheadMs: Millis, now: Millis): void {
    if (now - this.#since > PERIOD_MS && this.#count >= READINGS_MIN) {
      this.#since = now;
      this.#count = 0;
      this.#largestBefore = this.#largest;
      this.#largest = aheadMs;
    }
    this.#count++;
    this.#largest = Math.max(this.#largest, aheadMs);
  }

  /** Returns by how much the clock is ahead, from the heartbeat with the least delay; undefined: too few have arrived. */
  get aheadMs(): Millis | undefined {
    return this.#largestBefore === undefined ? undefined : Math.max(this.#largestBefore, this.#largest);
  }
}

/** Warns of each clock that differs from the median of all. @param schedulers by how much their clocks are ahead of central's */
export function clockWarnings(schedulers: ReadonlyMap<string, Millis>): string[] {
  const clocks = [
    ['central', 0] as const,
    ...[...schedulers].map(([name, ms]) => [`scheduler ${name}`, ms] as const),
  ];
  const sorted = clocks.map(([, ms]) => ms).sort((one, other) => one - other);
  const low = sorted[Math.floor((sorted.length - 1) / 2)]!;
  const high = sorted[Math.floor(sorted.length / 2)]!;
  // Central's clock counts as right if there are only two.
  const median = Math.abs(low) < Math.abs(high) ? low : high;
  return clocks.flatMap(([name, ms]) => {
    const differMs = Math.abs(ms - median);
    if (differMs < DIFFERENCE_MIN_MS) return [];
    const where = ms < median ? 'behind' : 'ahead of';
    return `the clock of ${name} is ${formatDuration(1_000 * Math.round(differMs / 1_000))} ${where} the others: its times are shown accordingly`;
  });
}
