import type { Millis } from '../ids.js';
import { sumOf } from '../numbers/sums.js';

/** Jobs with a similar mean task run time. */
export interface LengthCount {
  /** Bucket of mean task run times: 2^(length ÷ 4) up to 2^((length + 1) ÷ 4) ms. */
  readonly length: number;
  readonly jobs: number;
  /** Total run time (ms) of their tasks. */
  readonly workMs: Millis;
}

const STEPS_PER_DOUBLING = 4;
/** 2^50 ms, longer than any task. */
export const LENGTHS_MAX = 50 * STEPS_PER_DOUBLING;

/** Minimum number of jobs from which a cutoff is learned. */
export const CUTOFF_JOBS_MIN = 100;
/** Above this number of jobs all earlier counts are halved, so that recent jobs matter more. */
const JOBS_MAX = 2_000;
/** Long jobs are at most this fraction of the jobs, and have at least this fraction of the work. */
const LONG_JOBS_MAX = 0.1;
const LONG_WORK_MIN = 0.5;
/** A gap separates two kinds of jobs only if the jobs above it are at most this fraction. */
const GROUP_MAX = 0.9;
/** A cutoff separates two kinds if the shorter jobs’ share of the jobs exceeds their share of the work by this much. */
const EXCESS_MIN = 0.5;
/** The present cutoff stays while that excess is at least this, so that it does not alternate. */
const EXCESS_TO_KEEP = 0.4;
/** The longer jobs take at least four times as long (geometric means), in buckets. */
const LONGER_MIN = 2 * STEPS_PER_DOUBLING;
/** If all jobs are of one kind, the cutoff stays unless more than this fraction of them reaches it. */
const REACHED_MAX = 0.2;
/** A gap is an eightfold range of run times without jobs, in buckets. */
const GAP_MIN = 3 * STEPS_PER_DOUBLING;
/**
 * The minimum of a learned cutoff. A CPU idles for a few ms before each long task, until central has matched it, so
 * shorter tasks lose more as long tasks than classes gain.
 */
const CUTOFF_MIN_MS = 1_000;
/** A new cutoff within this factor of the present one is ignored. */
const CHANGE_MIN = 1.5;

/** Histogram of completed jobs: their number and work, by mean task run time on a logarithmic scale. */
export class JobLengths {
  readonly #jobs = new Float64Array(LENGTHS_MAX + 1);
  readonly #workMs = new Float64Array(LENGTHS_MAX + 1);
  #counted = 0;
  #seen = 0;

  /** Number of jobs ever recorded. */
  get seen(): number {
    return this.#seen;
  }

  /** Whether there are enough jobs to learn a cutoff. */
  get isEnough(): boolean {
    return this.#seen >= CUTOFF_JOBS_MIN;
  }

  /** Records a completed job with this mean task run time and total run time. */
  record(meanMs: Millis, workMs: Millis): void {
    const length = Math.floor(STEPS_PER_DOUBLING * Math.log2(Math.max(1, meanMs)));
    this.add([{ length: Math.min(LENGTHS_MAX, length), jobs: 1, workMs }]);
  }

  /**
   * Records a completed job.
   *
   * @param runsMs run times of its tasks, or of a sample of them
   * @param workMs sum of the run times of all tasks
   */
  completed(runsMs: Float64Array, workMs = sumOf(runsMs)): void {
    this.record(sumOf(runsMs) / runsMs.length, workMs);
  }

  add(counts: readonly LengthCount[]): void {
    for (const { length, jobs, workMs } of counts) {
      const at = Math.min(LENGTHS_MAX, length);
      this.#jobs[at]! += jobs;
      this.#workMs[at]! += workMs;
      this.#counted += jobs;
      this.#seen += jobs;
    }
    if (this.#counted <= JOBS_MAX) return;
    this.#counted /= 2;
    for (let at = 0; at <= LENGTHS_MAX; at++) {
      this.#jobs[at]! /= 2;
      this.#workMs[at]! /= 2;
    }
  }

  /** The histogram, in whole jobs. */
  counts(): LengthCount[] {
    return [...this.#jobs.keys()]
      .map((at) => ({ length: at, jobs: Math.round(this.#jobs[at]!), workMs: this.#workMs[at]! }))
      .filter(({ jobs }) => jobs > 0);
  }

  /**
   * The cutoff that separates many short jobs from the few long ones with most of the work.
   *
   * @param presentMs the current cutoff, returned if the jobs give no reason to change it
   */
  cutoffMs(presentMs: Millis): Millis {
    if (!this.isEnough) return presentMs;
    const learnedMs = Math.max(
      CUTOFF_MIN_MS,
      this.#middleOfGap() ?? this.#topTenth() ?? this.#aboveManyCheap(presentMs) ?? this.#aboveAll(presentMs),
    );
    const isChange = Math.max(learnedMs / presentMs, presentMs / learnedMs) >= CHANGE_MIN;
    return isChange ? learnedMs : presentMs;
  }

  /**
   * The middle of the widest gap between two kinds of jobs, if the jobs above it have most of the work but
   * are not most of the jobs.
   */
  #middleOfGap(): Millis | undefined {
    const total = sumOf(this.#workMs);
    let widest = GAP_MIN - 1;
    let middle: number | undefined;
    let workMs = 0;
    let jobs = 0;
    /** The smallest bucket examined so far that has jobs. */
    let above: number | undefined;
    for (let at = LENGTHS_MAX; at >= 0; at--) {
      if (this.#jobs[at]! < 0.5) continue;
      const gap = above === undefined ? 0 : above - at - 1;
      if (gap > widest && workMs >= LONG_WORK_MIN * total && jobs <= GROUP_MAX * this.#counted) {
        widest = gap;
        middle = at + 1 + gap / 2;
      }
      workMs += this.#workMs[at]!;
      jobs += this.#jobs[at]!;
      above = at;
    }
    return middle === undefined ? undefined : millisOf(middle);
  }

  /** The 90th percentile, if the longest tenth of the jobs has most of the work. */
  #topTenth(): Millis | undefined {
    let jobs = 0;
    let workMs = 0;
    let at = LENGTHS_MAX;
    for (; at >= 0 && jobs + this.#jobs[at]! <= LONG_JOBS_MAX * this.#counted; at--) {
      jobs += this.#jobs[at]!;
      workMs += this.#workMs[at]!;
    }
    return workMs >= LONG_WORK_MIN * sumOf(this.#workMs) ? millisOf(at + 1) : undefined;
  }

  /**
   * The cutoff at which the share of jobs below it exceeds their share of the work the most, if by at least
   * `EXCESS_MIN`; else the present cutoff if its excess is at least `EXCESS_TO_KEEP`. The jobs above must be much
   * longer.
   */
  #aboveManyCheap(presentMs: Millis): Millis | undefined {
    const totalMs = sumOf(this.#workMs);
    const lengths = sumOf(this.#jobs, (each, at) => each * at);
    const below = { jobs: 0, workMs: 0, lengths: 0 };
    let best = { excess: 0, at: 0 };
    let excessNow = 0;
    for (let at = 0; at <= LENGTHS_MAX; at++) {
      below.jobs += this.#jobs[at]!;
      below.workMs += this.#workMs[at]!;
      below.lengths += this.#jobs[at]! * at;
      const longer = (lengths - below.lengths) / (this.#counted - below.jobs) - below.lengths / below.jobs;
      const excess = longer >= LONGER_MIN ? below.jobs / this.#counted - below.workMs / totalMs : 0;
      if (excess > best.excess) best = { excess, at };
      if (millisOf(at + 1) <= presentMs) excessNow = excess;
    }
    if (best.excess >= EXCESS_MIN) return millisOf(best.at + 1);
    return excessNow >= EXCESS_TO_KEEP ? presentMs : undefined;
  }

  /** A cutoff above jobs of one kind, so that none is long; the present one if few jobs reach it. */
  #aboveAll(presentMs: Millis): Millis {
    let reach = 0;
    let longest = 0;
    for (let at = 0; at <= LENGTHS_MAX; at++) {
      if (this.#jobs[at]! < 0.5) continue;
      longest = at;
      if (millisOf(at) >= presentMs) reach += this.#jobs[at]!;
    }
    return reach > REACHED_MAX * this.#counted ? 2 * millisOf(longest + 1) : presentMs;
  }
}

function millisOf(length: number): Millis {
  return 2 ** (length / STEPS_PER_DOUBLING);
}
