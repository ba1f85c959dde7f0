import { present } from '@goshawk/core';
import { WorkloadError } from './errors.js';
import { type HeadedRow, readHeadedCsv } from './formats/csv-rows.js';
import type { TraceJob } from './job.js';

/** What a trace that is only times does not say of a job, and what it can be recognised by. */
type JobFeatures = Pick<TraceJob, 'name' | 'user' | 'logicalName' | 'schedulingClass'>;

/** Of the jobs of one `.tr` file, by line; told apart from those of another by the numbers of tasks. */
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
 * What is known of the job of a line, if anything is.
 *
 * @param length how many tasks it has
 * @throws WorkloadError when the side file is about another trace
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
  /** From the start of its first task to the end of its last. Only of a job of one task is it that of a task. */
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
