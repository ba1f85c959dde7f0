import { present } from '@goshawk/core';
import { WorkloadError } from './errors.js';
import { type HeadedRow, readHeadedCsv } from './formats/csv-rows.js';
import type { TraceJob } from './job.js';

/** Features that a trace of times alone lacks, and the task count that identifies the job. */
type JobFeatures = Pick<TraceJob, 'name' | 'user' | 'logicalName' | 'schedulingClass'>;

/** Features of the jobs of one `.tr` file by line; task counts verify that the file matches. */
export interface SideFile {
  readonly file: string;
  readonly byLine: ReadonlyMap<number, JobFeatures & { readonly tasks: number | undefined }>;
}

/**
 * Reads what is known of the jobs of a `.tr` file beside their times: a CSV file, gzip'd or not, with a row for each
 * job of which something is known. `line` is that of the job, from 1 on; `user`, `job_name`, `logical_job_name` and
 * `scheduling_class` are what is known; and `tasks`, where it is there, must be what the trace says.
 *
 * @throws WorkloadError with file and line
 */
export async function readSideFile(file: string): Promise<SideFile> {
  const byLine = new Map<number, JobFeatures & { tasks: number | undefined }>();
  for await (const row of readHeadedCsv(file, ['line'])) {
    const line = row.required('line');
    if (byLine.has(line)) {
      throw new WorkloadError(`line ${line} of the trace is described twice`, 'remove one of the two', row);
    }
    byLine.set(line, { ...featuresOf(row), tasks: row.amount('tasks') });
  }
  return { file, byLine };
}

/** `user`, `job_name`, `logical_job_name` and `scheduling_class` of a row, as far as it has them. */
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
    `line ${line} of the trace has ${length} ${length === 1 ? 'task' : 'tasks'}, and ${tasks} here`,
    'these features belong to another trace',
    { file },
  );
}

/** A job that ran before a trace begins. Times are in seconds, since the same instant in the past. */
export interface PastJob extends JobFeatures {
  readonly submitSeconds: number;
  readonly endSeconds: number;
  /** Time from the start of the first task to the end of the last; the run time of a task only if the job has one task. */
  readonly runSeconds: number;
  /** 1 where it is not known. */
  readonly tasks: number;
}

/**
 * Reads jobs that ran before: a CSV file, gzip'd or not, of `submit_s`, `start_s` and `end_s`, and as far as they are
 * known `tasks`, `user`, `job_name`, `logical_job_name` and `scheduling_class`.
 *
 * @returns by the time of their end, since what is learnt from them is learnt then
 * @throws WorkloadError with file and line
 */
export async function readPastJobs(file: string): Promise<PastJob[]> {
  const jobs: PastJob[] = [];
  for await (const row of readHeadedCsv(file, ['submit_s', 'start_s', 'end_s'])) {
    const startSeconds = row.required('start_s');
    const endSeconds = row.required('end_s');
    if (endSeconds < startSeconds) {
      throw new WorkloadError(
        `the job ends at ${endSeconds} s and starts at ${startSeconds} s`,
        'correct it',
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
