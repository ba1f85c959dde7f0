import { meanOf, Random } from '@goshawk/core';
import { integer, microseconds, urn } from './draws.js';
import { checkCounts, WorkloadError } from './errors.js';
import { fewerTasks } from './fewer-tasks.js';
import type { Jobs, TraceJob } from './job.js';
import { Tally } from './tally.js';

export interface SampleOptions {
  /** Number of random jobs, without replacement; default: all. */
  readonly jobs?: number | undefined;
  /** Only jobs submitted from this time on; submissions become relative to it. */
  readonly fromSeconds?: number | undefined;
  /** Only jobs submitted before this time. */
  readonly toSeconds?: number | undefined;
  /** Maximum number of tasks per job, drawn without replacement; default: all. */
  readonly tasksMax?: number | undefined;
  /** Seed of the draws of jobs and tasks; default: 1. */
  readonly seed?: number | undefined;
}

const SAMPLE_COUNTS = {
  outsideWindow: { code: 'jobs-outside-window', what: 'jobs submitted outside the window: omitted' },
  notDrawn: { code: 'jobs-not-drawn', what: 'jobs that were not drawn: omitted' },
  tasksNotDrawn: {
    code: 'tasks-not-drawn',
    what: 'tasks of larger jobs that were not drawn: omitted',
  },
} as const;

/**
 * Samples a workload: first the window, then random jobs, then random tasks. Jobs keep the order of the workload, or
 * are sorted by submission if they are drawn. The result is streamed, except for a sample of jobs, which is kept in
 * memory. Sampled jobs keep their times, so that a tenth of them is a tenth of the load.
 *
 * Deterministic: the same jobs and options give the same sample.
 *
 * @param tally counts omissions; complete once all jobs are read
 * @throws WorkloadError if an option is invalid, or no job is submitted in the window
 */
export async function* sampleTrace(
  jobs: Jobs,
  options: SampleOptions,
  tally = new Tally(),
): AsyncGenerator<TraceJob> {
  checkOptions(options);
  const random = Random.seeded(options.seed ?? 1).fork('sample');
  const draws = { jobs: random.fork('jobs'), tasks: random.fork('tasks') };
  const { jobs: wanted, tasksMax = Infinity } = options;
  const inWindow = jobsInWindow(jobs, options, tally);
  for await (const job of wanted === undefined ? inWindow : drawJobs(inWindow, wanted, draws.jobs, tally)) {
    const limited = limitTasks(job, tasksMax, draws.tasks);
    tally.add(SAMPLE_COUNTS.tasksNotDrawn, job.durationsSeconds.length - limited.durationsSeconds.length);
    yield limited;
  }
}

async function* jobsInWindow(
  jobs: Jobs,
  { fromSeconds = 0, toSeconds = Infinity }: SampleOptions,
  tally: Tally,
): AsyncGenerator<TraceJob> {
  let taken = 0;
  let first = Infinity;
  let last = 0;
  for await (const job of jobs) {
    const { submitSeconds } = job;
    first = Math.min(first, submitSeconds);
    last = Math.max(last, submitSeconds);
    if (submitSeconds < fromSeconds || submitSeconds >= toSeconds) {
      tally.add(SAMPLE_COUNTS.outsideWindow);
      continue;
    }
    taken++;
    yield fromSeconds === 0 ? job : { ...job, submitSeconds: microseconds(submitSeconds - fromSeconds) };
  }
  if (taken > 0) return;
  if (first === Infinity) {
    throw new WorkloadError('the workload has no jobs', 'use a workload with at least one job');
  }
  throw new WorkloadError(
    `no job is submitted from ${fromSeconds} s ${toSeconds === Infinity ? 'on' : `to ${toSeconds} s`}`,
    `the workload's jobs are submitted from ${first} s to ${last} s`,
  );
}

async function* drawJobs(jobs: Jobs, wanted: number, random: Random, tally: Tally): AsyncGenerator<TraceJob> {
  const { sample, total } = await sampleJobs(jobs, wanted, random);
  tally.add(SAMPLE_COUNTS.notDrawn, total - sample.length);
  yield* sample;
}

function checkOptions(options: SampleOptions): void {
  const { jobs, tasksMax, fromSeconds, toSeconds } = options;
  checkCounts({ jobs, tasksMax });
  for (const [name, value] of Object.entries({ fromSeconds, toSeconds })) {
    if (value !== undefined && !(value >= 0 && value < Infinity)) {
      throw new WorkloadError(`${name} is ${value}`, 'use a number of seconds, at least 0');
    }
  }
  if ((fromSeconds ?? 0) >= (toSeconds ?? Infinity)) {
    throw new WorkloadError(
      `the window from ${fromSeconds ?? 0} s to ${toSeconds} s is empty`,
      'it must end after it begins',
    );
  }
}

/**
 * Draws `wanted` random jobs without replacement (all if there are fewer), in order of submission; equal times keep
 * the order of the workload. One pass, with memory for the sample only.
 */
export async function sampleJobs(
  jobs: Jobs,
  wanted: number,
  random: Random,
): Promise<{ sample: TraceJob[]; total: number }> {
  const reservoir: { job: TraceJob; position: number }[] = [];
  let total = 0;
  for await (const job of jobs) {
    const position = total++;
    if (reservoir.length < wanted) {
      reservoir.push({ job, position });
      continue;
    }
    // Vitter's algorithm R: the k-th job stays with probability wanted/k.
    const place = integer(random, total);
    if (place < wanted) reservoir[place] = { job, position };
  }
  reservoir.sort((a, b) => a.job.submitSeconds - b.job.submitSeconds || a.position - b.position);
  return { sample: reservoir.map(({ job }) => job), total };
}

/**
 * Returns a job with at most `tasksMax` of its tasks, drawn without replacement, in order. The first tasks
 * would be biased, since they are often of one kind with a different mean. Each stage keeps its proportion
 * and at least one task, so a job with more stages than `tasksMax` keeps one per stage.
 */
export function limitTasks(job: TraceJob, tasksMax: number, random: Random): TraceJob {
  if (job.durationsSeconds.length <= tasksMax) return job;
  const limited = fewerTasks(job, tasksMax, (own, tasks) => own.filter(urn(random, own.length, tasks)));
  return { ...job, ...limited, meanSeconds: meanOfFewer(job, limited.durationsSeconds) };
}

/** Keeps the ratio of a stated mean to that of the durations. */
function meanOfFewer({ durationsSeconds, meanSeconds }: TraceJob, kept: Float64Array): number {
  const before = meanOf(durationsSeconds);
  const after = meanOf(kept);
  if (meanSeconds === before) return after;
  return before > 0 ? meanSeconds * (after / before) : meanSeconds;
}
