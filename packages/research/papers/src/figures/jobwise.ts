import { meanOf, sumOf } from '@goshawk/core';
import { meanFields, percentileOfSorted, summarise } from '@goshawk/report';

/** The part of a run that these functions need: its jobs in the order of the workload. */
interface RunOfJobs {
  readonly jobs?: {
    /** NaN for jobs that did not complete. */
    readonly runtimeSeconds: Float64Array;
    readonly details?: JobDetails;
  };
}

/** Speed-up of the jobs of one variant over the same jobs under another variant (SLearn §5.2.1). */
export interface Speedup {
  /** Mean run time under the other variant over mean run time under this one, averaged over the seeds. */
  readonly average: number;
  /** Median over all jobs of the run time under the other variant over the run time under this one. */
  readonly p50: number;
}

/** Facts about the jobs of a run besides their times, in job order; NaN if unknown. */
export interface JobDetails {
  readonly submitSeconds: Float64Array;
  readonly tasks: Float64Array;
  /** Mean wait of the tasks over their mean run time (SLearn §5.2.5). */
  readonly normalisedWaits: Float64Array;
  /** True mean task run time. */
  readonly meanSeconds: Float64Array;
  /** Estimated mean task run time. */
  readonly estimateSeconds: Float64Array;
  /** Percentage of the tasks that are pilots, if the job has its own sampling ratio. */
  readonly ratioPercents: Float64Array;
}

/** @returns undefined if no job completed under both */
export function speedup(of: readonly RunOfJobs[], over: readonly RunOfJobs[]): Speedup | undefined {
  const averages: number[] = [];
  const ratios: number[] = [];
  for (const [index, { jobs }] of of.entries()) {
    const others = over[index]?.jobs;
    if (jobs === undefined || others === undefined) continue;
    let ours = 0;
    let theirs = 0;
    for (const [own, other] of pairsOf(jobs, others)) {
      ours += own;
      theirs += other;
      ratios.push(other / own);
    }
    if (ours > 0) averages.push(theirs / ours);
  }
  if (averages.length === 0) return undefined;
  return { average: meanOf(averages), p50: summarise(ratios).p50! };
}

function* pairsOf(
  jobs: RunOfJobs['jobs'] & {},
  others: RunOfJobs['jobs'] & {},
): Iterable<readonly [own: number, other: number]> {
  for (let job = 0; job < jobs.runtimeSeconds.length; job++) {
    const own = jobs.runtimeSeconds[job]!;
    const other = others.runtimeSeconds[job]!;
    if (own > 0 && other > 0) yield [own, other];
  }
}

/**
 * Bounds of normalized waits: below the first, a wait is negligible; above the second, it is long (SLearn
 * §5.2.5).
 */
const WAIT_BOUNDS = [0.04, 1.9] as const;
export type WaitSegment = 'none' | 'moderate' | 'long';
export const WAIT_SEGMENTS: readonly WaitSegment[] = ['none', 'moderate', 'long'];

/** The jobs with at least three tasks whose wait lies in one segment. */
export interface WaitShare {
  /** Share of the jobs that wait in this segment under this variant. */
  readonly own: number;
  /** Share of the jobs that wait in this segment under both variants. */
  readonly common: number;
  /** Share of the common jobs that wait less under this variant. */
  readonly lower: number | undefined;
}

/** Shares of the jobs with at least three tasks, by segment. */
export type WaitShares = Readonly<Record<WaitSegment, WaitShare>>;

/** @returns undefined if waits are unknown */
export function waitShares(of: readonly RunOfJobs[], over: readonly RunOfJobs[]): WaitShares | undefined {
  let jobs = 0;
  const own = { none: 0, moderate: 0, long: 0 };
  const common = { none: 0, moderate: 0, long: 0 };
  const lower = { none: 0, moderate: 0, long: 0 };
  for (const [index, { jobs: ofRun }] of of.entries()) {
    const here = ofRun?.details;
    const there = over[index]?.jobs?.details;
    if (here === undefined || there === undefined) continue;
    for (let job = 0; job < here.tasks.length; job++) {
      const wait = here.normalisedWaits[job]!;
      const other = there.normalisedWaits[job]!;
      if (!isWide(here, job) || Number.isNaN(wait) || Number.isNaN(other)) continue;
      jobs++;
      const segment = segmentOf(wait);
      own[segment]++;
      if (segmentOf(other) !== segment) continue;
      common[segment]++;
      if (wait < other) lower[segment]++;
    }
  }
  if (jobs === 0) return undefined;
  const share = (segment: WaitSegment): WaitShare => ({
    own: own[segment] / jobs,
    common: common[segment] / jobs,
    lower: common[segment] === 0 ? undefined : lower[segment] / common[segment],
  });
  return { none: share('none'), moderate: share('moderate'), long: share('long') };
}

function segmentOf(wait: number): WaitSegment {
  if (wait < WAIT_BOUNDS[0]) return 'none';
  return wait > WAIT_BOUNDS[1] ? 'long' : 'moderate';
}

/** Estimates of the jobs with at least three tasks. */
export interface EstimateAccuracy {
  /** Median of |estimate − truth| ÷ truth. */
  readonly errorP50: number;
  /** Share of these jobs whose estimate selects the right queue of `gs` (SLearn Table 7). */
  readonly rightQueueShare: number;
}

/** @returns undefined without estimates */
export function estimateAccuracy(runs: readonly RunOfJobs[]): EstimateAccuracy | undefined {
  const errors: number[] = [];
  let right = 0;
  for (const { jobs } of runs) {
    const details = jobs?.details;
    if (details === undefined) continue;
    for (let job = 0; job < details.tasks.length; job++) {
      const truth = details.meanSeconds[job]!;
      const estimate = details.estimateSeconds[job]!;
      if (!isWide(details, job) || !(truth > 0) || !(estimate >= 0)) continue;
      errors.push(Math.abs(estimate - truth) / truth);
      const tasks = details.tasks[job]!;
      if (queueOf(estimate * tasks) === queueOf(truth * tasks)) right++;
    }
  }
  if (errors.length === 0) return undefined;
  const errorP50 = summarise(errors).p50!;
  return { errorP50, rightQueueShare: right / errors.length };
}

/** Returns the queue of a job in `gs` with its default options (SLearn §5.2.1). */
function queueOf(sizeSeconds: number): number {
  return Math.min(9, Math.max(0, Math.floor(Math.log10(Math.max(1, sizeSeconds))) - 2));
}

/** Share of the sampled jobs by sampling ratio, in percent. */
export function ratioShares(runs: readonly RunOfJobs[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  let jobs = 0;
  for (const { jobs: ofRun } of runs) {
    for (const percent of ofRun?.details?.ratioPercents ?? []) {
      if (Number.isNaN(percent)) continue;
      jobs++;
      counts.set(percent, (counts.get(percent) ?? 0) + 1);
    }
  }
  return new Map([...counts].map(([percent, count]) => [percent, count / jobs]));
}

/** The sampling ratio of each sampled job of the first run; undefined: no job has one. */
export function ratioCourse([first]: readonly RunOfJobs[]): readonly number[] | undefined {
  const chosen = [...(first?.jobs?.details?.ratioPercents ?? [])].filter((percent) => !Number.isNaN(percent));
  return chosen.length === 0 ? undefined : chosen;
}

/** Length of a window of load, and the distance of windows (SLearn Table 5). */
const WINDOW_SECONDS = 1_000;
const WINDOW_STEP_SECONDS = 100;

/** Work that arrives in a window over the capacity of the slots in that time. */
export interface WindowLoad {
  readonly p50: number;
  readonly p90: number;
  /** Share of all work in the largest job. */
  readonly largestShare: number;
}

/** Averages over the runs; undefined without jobs. */
export function windowLoad(runs: readonly RunOfJobs[], slots: number): WindowLoad | undefined {
  const loads = runs.flatMap(({ jobs }) => (jobs?.details === undefined ? [] : loadsOf(jobs.details, slots)));
  return loads.length === 0 ? undefined : meanFields(loads);
}

function loadsOf({ submitSeconds, tasks, meanSeconds }: JobDetails, slots: number): WindowLoad[] {
  const arrived = Array.from(submitSeconds, (at, job) => [at, tasks[job]! * meanSeconds[job]!] as const)
    .filter(([at, work]) => at >= 0 && work >= 0)
    .sort(([one], [other]) => one - other);
  if (arrived.length === 0) return [];
  const [first, last] = [arrived[0]![0], arrived.at(-1)![0]];
  const loads: number[] = [];
  let [from, to, work] = [0, 0, 0];
  for (let start = first; start === first || start + WINDOW_SECONDS <= last; start += WINDOW_STEP_SECONDS) {
    for (; to < arrived.length && arrived[to]![0] < start + WINDOW_SECONDS; to++) work += arrived[to]![1];
    for (; arrived[from]![0] < start; from++) work -= arrived[from]![1];
    loads.push(work / (slots * WINDOW_SECONDS));
  }
  const sorted = Float64Array.from(loads).sort();
  const works = arrived.map(([, each]) => each);
  return [
    {
      p50: percentileOfSorted(sorted, 50)!,
      p90: percentileOfSorted(sorted, 90)!,
      largestShare: Math.max(...works) / sumOf(works),
    },
  ];
}

/** Jobs with fewer tasks are thin jobs (SLearn §5.1.2). */
const WIDE_TASKS = 3;

function isWide({ tasks }: JobDetails, job: number): boolean {
  return tasks[job]! >= WIDE_TASKS;
}
