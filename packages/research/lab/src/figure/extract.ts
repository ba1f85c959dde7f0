import type { Context } from '@goshawk/command';
import { drawTo, type Random } from '@goshawk/core';
import { type JobBatches, type PackedJobs, readPastJobs, type TraceJob, unpackedJobs } from '@goshawk/traces';
import { type TrainingJob, trainingJobOf, trainingJobsOf } from '../predict/past.js';
import { type Survey, survey } from '../simulate/survey.js';
import { batchesWithProgress, openWithProgress } from '../workload.js';

/** The history, and the jobs to draw from. */
interface ExtractedJobs {
  readonly past: readonly TrainingJob[];
  readonly jobs: readonly TraceJob[];
}

/** Sources of a figure with drawn jobs. */
interface DrawnFrom {
  /** Path or generator. */
  readonly workload: string;
  readonly features: string | undefined;
  /** File of jobs that ended earlier; by default the first half of the workload is the history. */
  readonly history: string | undefined;
  readonly tasksMax: number;
}

/**
 * Reads a workload and its history.
 *
 * @throws WorkloadError
 */
export async function readExtracted(
  context: Context,
  { workload, features, history, tasksMax }: DrawnFrom,
): Promise<ExtractedJobs & Pick<Survey, 'record'>> {
  const opened = await openWithProgress(context, workload, undefined, features);
  const jobs: TraceJob[] = [];
  const { record } = await survey(
    opened,
    kept(batchesWithProgress(context, opened, 'reading jobs'), jobs),
    context.interrupted,
  );
  const past = history === undefined ? undefined : trainingJobsOf(await readPastJobs(history));
  return { ...extract(jobs, past, tasksMax), record };
}

/**
 * Splits jobs as SLearn does (§4.3): jobs to learn from, and jobs to draw from with at most `tasksMax` tasks.
 * If a trace names users for only some of its jobs, only those are drawn, since history cannot match the
 * others.
 *
 * @param jobs in order of submission
 * @param past jobs that ended earlier; by default the first half of `jobs`
 */
export function extract(
  jobs: readonly TraceJob[],
  past: readonly TrainingJob[] | undefined,
  tasksMax: number,
): ExtractedJobs {
  const narrow = jobs.filter(({ durationsSeconds: { length } }) => length <= tasksMax);
  const middle = Math.floor(narrow.length / 2);
  const [before, after] =
    past === undefined
      ? [narrow.slice(0, middle).map(trainingJobOf).sort(byEnd), narrow.slice(middle)]
      : [past, narrow];
  const known = after.filter(({ user, logicalName }) => user !== undefined || logicalName !== undefined);
  return { past: before, jobs: known.length > 0 ? known : after };
}

/** Draws `wanted` jobs, or all if there are fewer, in order of submission. */
export function drawJobs(jobs: readonly TraceJob[], wanted: number, random: Random): TraceJob[] {
  const places = drawInOrder(jobs.length, Math.min(wanted, jobs.length), random);
  return places.sort((a, b) => a - b).map((place) => jobs[place]!);
}

/** Draws `wanted` of the numbers below `count`, in the order of drawing. */
export function drawInOrder(count: number, wanted: number, random: Random): number[] {
  const source = { random: () => random.next() };
  const all = Array.from({ length: count }, (_, place) => place);
  for (let i = 0; i < wanted; i++) drawTo(i, all, source);
  return all.slice(0, wanted);
}

/** Returns the end time of a past job. */
export function endOf({ job, runtimeMs }: TrainingJob): number {
  return job.submittedAt + runtimeMs;
}

export function byEnd(a: TrainingJob, b: TrainingJob): number {
  return endOf(a) - endOf(b);
}

/** Passes batches on and records their jobs. */
async function* kept(batches: JobBatches, into: TraceJob[]): AsyncGenerator<PackedJobs> {
  for await (const batch of batches) {
    for (const job of unpackedJobs(batch)) into.push(job);
    yield batch;
  }
}
