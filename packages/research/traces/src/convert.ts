import { formatToWrite } from './formats/index.js';
import { writeTrace } from './formats/write.js';
import type { Jobs, TraceJob } from './job.js';
import { type SampleOptions, sampleTrace } from './sample.js';
import { type Tallied, Tally } from './tally.js';

interface ConvertOptions {
  /** Name of the output format; default: determined by the file's extension. */
  readonly format?: string | undefined;
  /** Writes a part of the workload. */
  readonly sample?: SampleOptions | undefined;
}

interface Conversion {
  readonly format: string;
  /** Number of jobs written. */
  readonly jobs: number;
  readonly tasks: number;
  /** Changes and omissions while reading, sampling and writing. */
  readonly tallied: readonly Tallied[];
}

/**
 * Writes a workload, or a sample of it, in order of submission.
 *
 * @param workload from `openWorkload`, in any format or from a generator
 * @param target a file, which is written atomically; or a stream, with `options.format`
 * @throws WorkloadError if the format is unclear or read-only, if there are no jobs, and for errors of reading
 */
export async function convertTrace(
  workload: { readonly jobs: () => Jobs; readonly tallied: readonly Tallied[] },
  target: string | { write(text: string): unknown },
  options: ConvertOptions = {},
): Promise<Conversion> {
  const format = formatToWrite(typeof target === 'string' ? target : '-', options.format);
  const tally = new Tally();
  const written = { jobs: 0, tasks: 0 };
  const source =
    options.sample === undefined ? workload.jobs() : sampleTrace(workload.jobs(), options.sample, tally);
  const jobs = counted(source, written);
  if (typeof target === 'string') await writeTrace(target, format, jobs, tally);
  else for await (const text of format.write(jobs, tally)) target.write(text);
  return { format: format.name, ...written, tallied: [...workload.tallied, ...tally.list()] };
}

async function* counted(jobs: Jobs, written: { jobs: number; tasks: number }): AsyncGenerator<TraceJob> {
  for await (const job of jobs) {
    written.jobs++;
    written.tasks += job.durationsSeconds.length;
    yield job;
  }
}
