import { WorkloadError } from '../errors.js';
import { readHeadedCsv } from './headed-csv.js';
import { featuresOf, type JobFeatures } from './job-features.js';

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
