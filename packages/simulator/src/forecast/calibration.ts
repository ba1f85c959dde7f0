import type { Millis } from '@goshawk/core';
import { normalDeviate } from './run-times.js';

/** The ends of a job in the simulated futures, from now. */
export interface RawForecast {
  readonly lowMs: Millis;
  readonly medianMs: Millis;
  readonly highMs: Millis;
  /** Whether tasks wait, so that the end depends on other jobs. */
  readonly waits: boolean;
  /** Whether the run times of its tasks are measured or declared, not estimated. */
  readonly isMeasured: boolean;
}

/** Forecasts of one kind have similar errors. */
function kindOf({ waits, isMeasured }: RawForecast): string {
  return `${waits} ${isMeasured}`;
}

interface Pending {
  /** A few forecasts for the job, at random. */
  readonly kept: { readonly at: Millis; readonly raw: RawForecast }[];
  /** Number of forecasts for the job so far. */
  of: number;
}

/** Forecasts of each kind whose errors are kept. */
const ERRORS_KEPT = 900;
/** Forecasts of one job whose errors are kept: a long job gets many, and its early ones err most. */
const KEPT_PER_JOB = 3;
/** Share of known errors below the interval, and above it. Errors of one job are alike, so that few jobs show too short tails. */
const TAIL = 0.02;
/** Errors below this are noise of clocks and messages. */
const SLACK_MS: Millis = 50;
/** Least half width of an interval, as a logarithm. Jobs that arrive later may delay a job of which tasks wait. */
const WIDTH_MIN = { waits: 0.1, runs: 0.01 };
/** No end is stated after this. A few large errors would otherwise widen intervals beyond the last valid date. */
const END_MAX_MS: Millis = 365 * 86_400_000;
/** Before outcomes are known, errors are twice as large as the futures suggest, in this many assumed outcomes. */
const ASSUMED = 40;
const ASSUMED_FACTOR = 2;
/** Half the range of five draws, in standard deviations. */
const HALF_RANGE = 1.16;
const ASSUMED_SCORES = Array.from(
  { length: ASSUMED },
  (_, index) => (ASSUMED_FACTOR * normalDeviate((index + 0.5) / ASSUMED)) / HALF_RANGE,
);
/** Assumed outcomes are dropped with this many real ones. */
const OUTCOMES_ENOUGH = 100;

/**
 * Adjusts forecasts to the outcomes of earlier ones (conformal prediction): an error counts in half widths of the range of the
 * simulated futures, and the interval covers the quantiles of past errors. So it also covers what futures do not contain,
 * such as jobs that arrive later.
 */
export class Calibration {
  readonly #scores = new Map<string, number[]>();
  /** Sorted scores by kind, until an outcome adds one. */
  readonly #sortedOf = new Map<string, Float64Array>();
  readonly #pending = new Map<string, Pending>();

  /** @returns the interval and the most likely end */
  adjust(raw: RawForecast): {
    readonly inMs: Millis;
    readonly earliestMs: Millis;
    readonly latestMs: Millis;
  } {
    const scores = this.#sorted(kindOf(raw));
    const width = widthOf(raw);
    const at = (share: number) => {
      const log = Math.log(raw.medianMs + SLACK_MS) + width * quantile(scores, share);
      return Math.min(END_MAX_MS, Math.max(0, Math.exp(log) - SLACK_MS));
    };
    return { inMs: at(0.5), earliestMs: at(TAIL), latestMs: at(1 - TAIL) };
  }

  /**
   * Keeps a few forecasts per job, at random, to compare them with the end.
   *
   * @param random uniform in 0 … 1
   */
  forecast(job: string, raw: RawForecast, at: Millis, random: number): void {
    const pending = this.#pending.get(job) ?? { kept: [], of: 0 };
    this.#pending.set(job, pending);
    pending.of++;
    const place = pending.kept.length < KEPT_PER_JOB ? pending.kept.length : Math.floor(random * pending.of);
    if (place < KEPT_PER_JOB) pending.kept[place] = { at, raw };
  }

  /** @param endedAt undefined: the job did not complete */
  ended(job: string, endedAt: Millis | undefined): void {
    const pending = this.#pending.get(job);
    this.#pending.delete(job);
    if (pending === undefined || endedAt === undefined) return;
    for (const { at, raw } of pending.kept) {
      const leftMs = Math.max(0, endedAt - at);
      const kind = kindOf(raw);
      const scores = this.#scores.get(kind) ?? [];
      this.#scores.set(kind, scores);
      this.#sortedOf.delete(kind);
      scores.push(Math.log((leftMs + SLACK_MS) / (raw.medianMs + SLACK_MS)) / widthOf(raw));
      if (scores.length > ERRORS_KEPT) scores.shift();
    }
  }

  /** Forgets jobs that are not listed any more. */
  keepOnly(jobs: ReadonlySet<string>): void {
    for (const job of this.#pending.keys()) if (!jobs.has(job)) this.#pending.delete(job);
  }

  #sorted(kind: string): Float64Array {
    const known = this.#sortedOf.get(kind);
    if (known !== undefined) return known;
    const scores = this.#scores.get(kind) ?? [];
    const assumed = scores.length >= OUTCOMES_ENOUGH ? [] : ASSUMED_SCORES;
    const sorted = Float64Array.from([...scores, ...assumed]).sort();
    this.#sortedOf.set(kind, sorted);
    return sorted;
  }
}

function widthOf({ lowMs, medianMs, highMs, waits }: RawForecast): number {
  const [low, median, high] = [lowMs, medianMs, highMs].map((ms) => Math.log(ms + SLACK_MS)) as [
    number,
    number,
    number,
  ];
  return Math.max((high - low) / 2, median - low, high - median, waits ? WIDTH_MIN.waits : WIDTH_MIN.runs);
}

/** Interpolates between the sorted values. */
function quantile(sorted: Float64Array, share: number): number {
  const place = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!];
  return below + (above - below) * (place - Math.floor(place));
}
