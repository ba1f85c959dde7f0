import { present } from '@goshawk/core';
import type { JobTimes } from './intervals.js';
import type { JobResult } from './job-result.js';
import type { PredictedJob } from './predictor-tally.js';

/** Record of each job for comparing runs job by job. Times are in seconds of the run. */
export interface JobRow {
  readonly policy: string;
  readonly seed: number;
  /** Position in the executed workload, from 1; equal in all runs of one command. */
  readonly job: number;
  readonly submitSeconds: number;
  readonly tasks: number;
  readonly meanSeconds: number;
  /** Class by the true mean run time of its tasks. */
  readonly class: JobResult['class'];
  /** Class that the policy assumed. */
  readonly judged: JobResult['class'];
  readonly estimateSeconds: number | null;
  readonly pilots: number;
  readonly decidedSeconds: number | null;
  readonly outcome: JobResult['outcome'];
  readonly runtimeSeconds: number;
  /** Deadline from submission; absent without one. */
  readonly deadlineSeconds?: number;
}

const SCHEMA = 'goshawk.results/1';

/** @param job position in the workload, from 1 */
export function jobRow(
  { policy, seed, job }: Pick<JobRow, 'policy' | 'seed' | 'job'>,
  result: JobResult,
  judged: PredictedJob,
): JobRow {
  return {
    policy,
    seed,
    job,
    submitSeconds: result.submitSeconds,
    tasks: result.taskCount,
    meanSeconds: judged.trueMeanSeconds,
    class: result.class,
    judged: judged.judgedLong ? 'long' : 'short',
    estimateSeconds: judged.estimateSeconds ?? null,
    pilots: judged.pilots,
    decidedSeconds: judged.decidedSeconds ?? null,
    outcome: result.outcome,
    runtimeSeconds: result.runtimeSeconds,
    ...present({ deadlineSeconds: result.deadlineSeconds }),
  };
}

/** Formats JSON lines: the schema, then one line per job, run after run and in the order of the workload. */
export function formatJobRows(runs: Iterable<readonly JobRow[]>): string {
  const lines = [JSON.stringify({ schema: SCHEMA })];
  for (const records of runs) {
    for (const record of records.toSorted((one, other) => one.job - other.job))
      lines.push(JSON.stringify(record));
  }
  return `${lines.join('\n')}\n`;
}

/**
 * Reads the times of each run from lines of `formatJobRows`, to pair runs of several commands job by job.
 *
 * @param jobs number of jobs in the workload
 * @returns undefined if the lines are something else
 */
export async function jobTimesIn(
  lines: AsyncIterable<string>,
  jobs: number,
): Promise<JobTimes[] | undefined> {
  const runs = new Map<string, JobTimes>();
  let isHeader = true;
  for await (const line of lines) {
    if (isHeader) {
      if (line !== JSON.stringify({ schema: SCHEMA })) return undefined;
      isHeader = false;
      continue;
    }
    const { policy, seed, job, class: of, outcome, runtimeSeconds } = JSON.parse(line) as JobRow;
    const key = JSON.stringify([policy, seed]);
    if (!runs.has(key)) {
      const unknown = new Float64Array(jobs).fill(Number.NaN);
      runs.set(key, { policy, seed, runtimeSeconds: unknown, isLong: new Uint8Array(jobs) });
    }
    const run = runs.get(key)!;
    if (!(job >= 1 && job <= jobs)) return undefined;
    if (outcome === 'completed') run.runtimeSeconds[job - 1] = runtimeSeconds;
    run.isLong[job - 1] = of === 'long' ? 1 : 0;
  }
  return [...runs.values()];
}
