import type { Millis } from '../ids.js';
import { sumOf } from '../sums.js';

/** Jobs with a similar mean task run time. */
export interface LengthCount {
  /** Mean task run times of 2^(length ÷ 4) ms to a quarter of a doubling more. */
  readonly length: number;
  readonly jobs: number;
  /** Run time of their tasks. ms */
  readonly workMs: Millis;
}

const STEPS_PER_DOUBLING = 4;
/** 2^50 ms: longer than anything. */
export const LENGTHS_MAX = 50 * STEPS_PER_DOUBLING;

/** A cutoff is learned from so many jobs at least. */
export const CUTOFF_JOBS_MIN = 100;
/** Beyond so many the past counts half, so that what comes later is heard. */
const JOBS_MAX = 2_000;
/** Long jobs are few and hold most of the work. */
const FEW = 0.1;
const MOST = 0.5;
/** More than so many are no kind among others. */
const ALL = 0.9;
/** If no small group has most of the work, this fraction may reach the cutoff. */
const SOME = 0.2;
/** Nobody is within an eightfold: these are two kinds of jobs. */
const GAP = 3 * STEPS_PER_DOUBLING;
/** A cutoff that is this near to the present one is no news. */
const NEWS = 1.5;

/** How long the tasks of jobs that completed took: how many jobs, and how much work, by the mean on a logarithmic scale. */
export class JobLengths {
  readonly #jobs = new Float64Array(LENGTHS_MAX + 1);
  readonly #workMs = new Float64Array(LENGTHS_MAX + 1);
  #remembered = 0;
  #heard = 0;

  /** Jobs that were ever heard of. */
  get heard(): number {
    return this.#heard;
  }

  /** So many that a cutoff follows from them. */
  get isEnough(): boolean {
    return this.#heard >= CUTOFF_JOBS_MIN;
  }

  /** A job has completed whose tasks took so long. ms */
  completed(runsMs: Float64Array): void {
    const workMs = sumOf(runsMs);
    const length = Math.floor(STEPS_PER_DOUBLING * Math.log2(Math.max(1, workMs / runsMs.length)));
    this.add([{ length: Math.min(LENGTHS_MAX, length), jobs: 1, workMs }]);
  }

  add(counts: readonly LengthCount[]): void {
    for (const { length, jobs, workMs } of counts) {
      const at = Math.min(LENGTHS_MAX, length);
      this.#jobs[at]! += jobs;
      this.#workMs[at]! += workMs;
      this.#remembered += jobs;
      this.#heard += jobs;
    }
    if (this.#remembered <= JOBS_MAX) return;
    this.#remembered /= 2;
    for (let at = 0; at <= LENGTHS_MAX; at++) {
      this.#jobs[at]! /= 2;
      this.#workMs[at]! /= 2;
    }
  }

  /** All that is remembered, in whole jobs. */
  counts(): LengthCount[] {
    return [...this.#jobs.keys()]
      .map((at) => ({ length: at, jobs: Math.round(this.#jobs[at]!), workMs: this.#workMs[at]! }))
      .filter(({ jobs }) => jobs > 0);
  }

  /**
   * The cutoff that divides these jobs into many short ones and the few long ones that hold most of the work.
   *
   * @param presentMs what it is now, and stays where these jobs say nothing else
   */
  cutoffMs(presentMs: Millis): Millis {
    if (!this.isEnough) return presentMs;
    const learnedMs = this.#middleOfGap() ?? this.#topTenth() ?? this.#aboveAll(presentMs);
    const isNews = Math.max(learnedMs / presentMs, presentMs / learnedMs) >= NEWS;
    return isNews ? learnedMs : presentMs;
  }

  /** Two kinds of jobs, between which there are none: the middle of the widest such gap below most of the work, not of the jobs. */
  #middleOfGap(): Millis | undefined {
    const total = sumOf(this.#workMs);
    let widest = GAP - 1;
    let middle: number | undefined;
    let workMs = 0;
    let jobs = 0;
    /** The least length that has jobs of those looked at. */
    let above: number | undefined;
    for (let at = LENGTHS_MAX; at >= 0; at--) {
      if (this.#jobs[at]! < 0.5) continue;
      const gap = above === undefined ? 0 : above - at - 1;
      if (gap > widest && workMs >= MOST * total && jobs <= ALL * this.#remembered) {
        widest = gap;
        middle = at + 1 + gap / 2;
      }
      workMs += this.#workMs[at]!;
      jobs += this.#jobs[at]!;
      above = at;
    }
    return middle === undefined ? undefined : millisOf(middle);
  }

  /** The longest tenth of the jobs, where it holds most of the work. */
  #topTenth(): Millis | undefined {
    let jobs = 0;
    let workMs = 0;
    let at = LENGTHS_MAX;
    for (; at >= 0 && jobs + this.#jobs[at]! <= FEW * this.#remembered; at--) {
      jobs += this.#jobs[at]!;
      workMs += this.#workMs[at]!;
    }
    return workMs >= MOST * sumOf(this.#workMs) ? millisOf(at + 1) : undefined;
  }

  /** No few jobs hold most of the work: none is long. */
  #aboveAll(presentMs: Millis): Millis {
    let reach = 0;
    let longest = 0;
    for (let at = 0; at <= LENGTHS_MAX; at++) {
      if (this.#jobs[at]! < 0.5) continue;
      longest = at;
      if (millisOf(at) >= presentMs) reach += this.#jobs[at]!;
    }
    return reach > SOME * this.#remembered ? 2 * millisOf(longest + 1) : presentMs;
  }
}

function millisOf(length: number): Millis {
  return 2 ** (length / STEPS_PER_DOUBLING);
}
