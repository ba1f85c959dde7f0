import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { basename } from 'node:path';
import { WorkloadError } from './errors.js';
import { detectFormat, type TraceFormat } from './formats/index.js';
import { checkReadable } from './formats/lines.js';
import type { ConfiguredGenerator } from './generators/generator.js';
import { configureGenerator, findGenerator, GENERATORS } from './generators/index.js';
import type { TraceJob } from './job.js';

/** A file whose tasks are no more than this is held in memory: 8 bytes a task. */
const HELD_TASKS_MAX = 32_000_000;

/** Jobs to be run, and where they come from. */
export interface Workload {
  /** The file's name without its folder, or the generator's specification with all options spelled out. */
  readonly name: string;
  /** Number of jobs, where known before they are read: not for a file too large to be held. */
  readonly jobCount: number | undefined;
  /** The jobs in order of submission; can be walked any number of times. */
  jobs(): AsyncIterable<TraceJob>;
  /**
   * SHA-256 in hexadecimal: of the file's bytes, or of a generator's name and options and the jobs that
   * it gives. Worked out when first asked for: it reads the file, or generates all jobs, once more.
   */
  sha256(): Promise<string>;
}

export interface OpenOptions {
  /** Files of more tasks are streamed at each walk instead of held. 32 million unless given. */
  readonly heldTasksMax?: number;
  /** Called for each job that is read before the workload is open. */
  readonly onJobRead?: () => void;
}

/**
 * Opens a workload by its path or by a generator's specification `name:key=value,…`. A generator's
 * name wins over a file of that name; write `./name` for the file.
 *
 * A file is read at once, so that a mistake anywhere in it is found here, and sorted by submission.
 * One of more than `heldTasksMax` tasks is streamed instead, and has to be in order already.
 *
 * @throws WorkloadError, one line: what is wrong with the file, generator or option, and what to do
 */
export async function openWorkload(spec: string, options: OpenOptions = {}): Promise<Workload> {
  if (findGenerator(spec) !== undefined) return generatedWorkload(configureGenerator(spec));
  if (!(await exists(spec))) throw neitherFileNorGenerator(spec);
  await checkReadable(spec);
  return fileWorkload(spec, await detectFormat(spec), options);
}

async function fileWorkload(file: string, format: TraceFormat, options: OpenOptions): Promise<Workload> {
  const held = await holdJobs(format.read(file), options);
  const jobs = held === undefined ? () => inOrder(format.read(file), file) : () => asyncOf(held);
  return { name: basename(file), jobCount: held?.length, jobs, sha256: once(() => hashFile(file)) };
}

function generatedWorkload(generator: ConfiguredGenerator): Workload {
  return {
    name: generator.canonical,
    jobCount: generator.jobCount,
    jobs: () => asyncOf(generator.generate()),
    sha256: once(async () => hashJobs(generator)),
  };
}

/** All jobs, sorted by submission (equal times keep the file's order), or undefined when too many. */
async function holdJobs(
  jobs: AsyncIterable<TraceJob>,
  { heldTasksMax: tasksMax = HELD_TASKS_MAX, onJobRead }: OpenOptions,
): Promise<TraceJob[] | undefined> {
  const held: TraceJob[] = [];
  let tasks = 0;
  for await (const job of jobs) {
    onJobRead?.();
    tasks += job.durationsSeconds.length;
    if (tasks > tasksMax) return undefined;
    held.push(job);
  }
  return held.sort((a, b) => a.submitSeconds - b.submitSeconds);
}

async function* inOrder(jobs: AsyncIterable<TraceJob>, file: string): AsyncGenerator<TraceJob> {
  let latest = 0;
  let position = 0;
  for await (const job of jobs) {
    position++;
    if (job.submitSeconds < latest) {
      throw new WorkloadError(
        `job ${position} is submitted at ${job.submitSeconds} s, before the one above it (${latest} s), and the file is too large to be sorted in memory`,
        'sort it by its first column (sort -g)',
        { file },
      );
    }
    latest = job.submitSeconds;
    yield job;
  }
}

async function* asyncOf(jobs: Iterable<TraceJob>): AsyncGenerator<TraceJob> {
  yield* jobs;
}

function once<T>(compute: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= compute();
    return result;
  };
}

async function hashFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** The jobs count as well as the options: a changed generator must not pass for the same workload. */
function hashJobs(generator: ConfiguredGenerator): string {
  const hash = createHash('sha256').update(generator.canonical);
  for (const job of generator.generate()) {
    hash.update(Float64Array.of(job.submitSeconds, job.meanSeconds, job.durationsSeconds.length));
    hash.update(job.durationsSeconds);
  }
  return hash.digest('hex');
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function neitherFileNorGenerator(spec: string): WorkloadError {
  const known = Object.keys(GENERATORS).join(', ');
  const name = spec.split(':', 1)[0]!;
  // What has a folder or an ending is meant as a path.
  if (/[/\\.]/.test(name)) return new WorkloadError('no such file', 'check the path', { file: spec });
  return new WorkloadError(
    `'${name}' is neither a file nor a generator`,
    `known generators are ${known}; or give the path of a trace`,
  );
}
