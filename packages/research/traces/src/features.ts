import { present } from '@goshawk/core';
import { WorkloadError } from './errors.js';
import { type HeadedRow, readHeadedCsv } from './formats/csv-rows.js';
import type { TraceJob } from './job.js';

/** Features of a job that a trace with only times lacks. */
type JobFeatures = Pick<TraceJob, 'name' | 'user' | 'logicalName' | 'schedulingClass'>;

/** Features of the jobs of one `.tr` file, by line. Task counts show whether they belong to that file. */
export interface SideFile {
  readonly file: string;
  readonly byLine: ReadonlyMap<number, JobFeatures & { readonly tasks: number | undefined }>;
}

/**
 * Reads features of the jobs of a `.tr` file: a CSV file, optionally gzipped, with a row per job. `line` is the line
 * of the job, from 1; `user`, `job_name`, `logical_job_name` and `scheduling_class` are features; `tasks`, if
 * present, must match the trace.
 *
 * @throws WorkloadError with file and line
 */
export async function readSideFile(file: string): Promise<SideFile> {
  const byLine = new Map<number, JobFeatures & { tasks: number | undefined }>();
  for await (const row of readHeadedCsv(file, ['line'])) {
    const line = row.required('line');
    if (byLine.has(line)) {
      throw new WorkloadError(
        `this file has two rows for line ${line} of the trace`,
        'remove one of them',
        row,
      );
    }
    byLine.set(line, { ...featuresOf(row), tasks: row.amount('tasks') });
  }
  return { file, byLine };
}

/** Reads `user`, `job_name`, `logical_job_name` and `scheduling_class` of a row, if present. */
function featuresOf(row: HeadedRow): JobFeatures {
  const name = row.text('job_name');
  const user = row.text('user');
  const logicalName = row.text('logical_job_name');
  const schedulingClass = row.amount('scheduling_class');
  return {
    ...present({ name, user, logicalName, schedulingClass }),
  };
}

/**
 * Returns the features of a line's job, if any.
 * @param length number of tasks of the job
 * @throws WorkloadError if the side file belongs to another trace
 */
export function featuresAt(
  line: number,
  length: number,
  { file, byLine }: SideFile,
): JobFeatures | undefined {
  const known = byLine.get(line);
  if (known === undefined) return undefined;
  const { tasks, ...features } = known;
  if (tasks === undefined || tasks === length) return features;
  throw new WorkloadError(
    `line ${line} of the trace has ${length} ${length === 1 ? 'task' : 'tasks'}, but ${tasks} in this file`,
    'use the features file of this trace',
    { file },
  );
}

/** A job that ran before a trace begins. Times are in seconds since a common point in the past. */
export interface PastJob extends JobFeatures {
  readonly submitSeconds: number;
  readonly endSeconds: number;
  /** Time from the start of the first task to the end of the last; the run time of a task only if the job has one task. */
  readonly runSeconds: number;
  /** Number of tasks; 1 if unknown. */
  readonly tasks: number;
}

const PAST_COLUMNS = ['submit_s', 'start_s', 'end_s'];

/**
 * Reads earlier jobs: a CSV file, optionally gzipped, with `submit_s`, `start_s` and `end_s`, and optionally `tasks`,
 * `user`, `job_name`, `logical_job_name` and `scheduling_class`.
 *
 * @returns the jobs in the order in which they ended, because estimators learn from a job when it ends
 * @throws WorkloadError with file and line
 */
export async function readPastJobs(file: string, signal?: AbortSignal): Promise<PastJob[]> {
  const jobs: PastJob[] = [];
  for await (const row of readHeadedCsv(file, PAST_COLUMNS, PAST_COLUMNS, signal)) {
    const startSeconds = row.required('start_s');
    const endSeconds = row.required('end_s');
    if (endSeconds < startSeconds) {
      throw new WorkloadError(
        `the job ends at ${endSeconds} s and starts at ${startSeconds} s`,
        'correct the times',
        row,
      );
    }
    jobs.push({
      ...featuresOf(row),
      submitSeconds: row.required('submit_s'),
      endSeconds,
      runSeconds: endSeconds - startSeconds,
      tasks: row.amount('tasks') ?? 1,
    });
  }
  return jobs.sort((a, b) => a.endSeconds - b.endSeconds);
}
