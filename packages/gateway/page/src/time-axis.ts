/** A time span, in seconds after the submission of a job. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** An interval in which nothing ran, which the axis leaves out. */
interface Cut extends Span {}

/** A pause is cut if it is longer than this, in seconds, and than the time in which tasks ran. */
const PAUSE_MIN_SECONDS = 10;
/** Width of a cut, as a share of the rest of the axis. */
const CUT_SHARE = 0.03;

/**
 * Returns the intervals in which attempts ran.
 *
 * @param all in order of start
 * @param isSample whether attempts are left out: they ran between two of the sample, unless the gap is unusually long
 */
export function unionOf(all: readonly Span[], isSample = false): Span[] {
  const spans: { from: number; to: number }[] = [];
  const gaps = all.slice(1).map(({ from }, index) => from - all[index]!.from);
  const bridged = isSample ? 4 * (gaps.toSorted((a, b) => a - b)[gaps.length >> 1] ?? 0) : 0;
  for (const { from, to } of all) {
    const last = spans.at(-1);
    if (last !== undefined && from <= last.to + bridged) last.to = Math.max(last.to, to);
    else spans.push({ from, to });
  }
  return spans;
}

/** A linear axis of seconds without long pauses, as between the end of a job and its retry. */
export class TimeAxis {
  readonly end: number;
  readonly cuts: readonly Cut[];
  readonly #shown: number;
  readonly #cutWidth: number;

  /**
   * @param runs intervals in which attempts ran, in order
   * @param end end of the axis, at least
   */
  constructor(runs: readonly Span[], end: number) {
    this.end = Math.max(0.001, end, ...runs.map(({ to }) => to));
    const busy = runs.reduce((sum, { from, to }) => sum + to - from, 0);
    const least = Math.max(PAUSE_MIN_SECONDS, busy);
    this.cuts = runs
      .slice(1)
      .map(({ from }, index) => ({ from: runs[index]!.to, to: from }))
      .filter(({ from, to }) => to - from > least);
    this.#shown = this.end - this.cuts.reduce((sum, { from, to }) => sum + to - from, 0);
    this.#cutWidth = CUT_SHARE * this.#shown;
  }

  /** Returns where a time is on the axis, from 0 to 1. */
  at(seconds: number): number {
    let passed = seconds;
    for (const { from, to } of this.cuts) {
      if (seconds <= from) break;
      const inside = Math.min(seconds, to) - from;
      passed -= inside * (1 - this.#cutWidth / (to - from));
    }
    return Math.max(0, Math.min(1, passed / (this.#shown + this.cuts.length * this.#cutWidth)));
  }

  /** Returns the time at a place on the axis. */
  timeAt(place: number): number {
    let [low, high] = [0, this.end];
    for (let step = 0; step < 50; step++) {
      const middle = (low + high) / 2;
      if (this.at(middle) < place) low = middle;
      else high = middle;
    }
    return high;
  }
}

/** Lengths of the runs between the cuts: a retry does not stretch the run time of a job. */
export function runLengths({ cuts }: TimeAxis, runs: readonly Span[]): number[] {
  const parts: Span[] = [];
  let first: Span | undefined;
  let last: Span | undefined;
  for (const run of runs) {
    if (last !== undefined && cuts.some(({ from, to }) => from === last!.to && to === run.from)) {
      parts.push({ from: first!.from, to: last.to });
      first = undefined;
    }
    first ??= run;
    last = run;
  }
  if (first !== undefined && last !== undefined) parts.push({ from: first.from, to: last.to });
  return parts.map(({ from, to }) => to - from);
}
