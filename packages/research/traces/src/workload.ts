import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { asName, nameProblem, present, type Resources } from '@goshawk/core';
import { WorkloadError } from './errors.js';
import { readSideFile } from './features.js';
import { emptyTrace } from './formats/files.js';
import { detectFormat } from './formats/index.js';
import { tr, trWith } from './formats/tr.js';
import type { TraceFormat } from './formats/trace-format.js';
import type { ConfiguredGenerator } from './generators/generator.js';
import { configureGenerator, findGenerator, GENERATORS } from './generators/index.js';
import type { Jobs, TraceStage } from './job.js';
import {
  bySubmission,
  flattened,
  inBatches,
  type JobBatches,
  joined,
  type PackedJobs,
  unpackedJobs,
} from './packed-jobs.js';
import { findPublished, PUBLISHED } from './published.js';
import { type Tallied, Tally } from './tally.js';

/** Files with at most this many tasks are kept in memory: 8 bytes per task. */
const HELD_TASKS_MAX = 32_000_000;

const HASHED_CHUNK_BYTES = 1024 * 1024;
const PAUSE_EACH = 1_024;

/** A workload and its origin. */
export interface Workload {
  /** The base name of the file or folder, or the generator's specification with all options. */
  readonly name: string;
  readonly jobCount: number;
  /** Omissions and changes while reading the file. */
  readonly tallied: readonly Tallied[];
  /** The jobs in order of submission; can be iterated any number of times. */
  jobs(): Jobs;
  /** The jobs in batches; a single batch if they are kept in memory. */
  batches(): JobBatches;
  /**
   * SHA-256 in hexadecimal: of the file's bytes; of a folder's listing by `sha256sum`, in order of time; or of a
   * generator's name, options and jobs. Computed on demand, because it reads the file, or generates all jobs, again.
   *
   * @param signal aborts the computation; its reason is the error
   */
  sha256(signal?: AbortSignal): Promise<string>;
}

interface OpenOptions {
  /** Files with more tasks are streamed on each iteration. Default: 32 million. */
  readonly heldTasksMax?: number;
  /** Called with the number of new jobs while jobs are read before the workload is open. */
  readonly onJobsRead?: (count: number) => void;
  /** The side file of a `.tr` file, with features of its jobs. */
  readonly features?: string | undefined;
  /** Resources of the machines: other demands of foreign traces are omitted and tallied. Default: keep all. */
  readonly resources?: readonly string[] | undefined;
  /** Aborts the reading before the workload is open. */
  readonly signal?: AbortSignal;
}

/**
 * Opens a workload by its path, by a generator's specification `name:key=value,…`, or by the name of a published trace whose
 * file is here. A generator's name takes precedence over a file with that name; write `./name` for the file.
 *
 * A file or folder is read immediately, so that errors anywhere in it are found here, and sorted by
 * submission. With more than `heldTasksMax` tasks it is streamed on each iteration instead, and must be in
 * order already.
 *
 * @throws WorkloadError, one line with the error and its remedy; the signal's reason
 */
export async function openWorkload(spec: string, options: OpenOptions = {}): Promise<Workload> {
  const { features } = options;
  if (findGenerator(spec) !== undefined) {
    if (features !== undefined) throw carriesItsOwn(spec, 'a generator');
    return generatedWorkload(configureGenerator(spec));
  }
  if (!(await exists(spec))) {
    const published = await findPublished(spec);
    if (published === undefined) throw neitherFileNorGenerator(spec);
    return openWorkload(published, options);
  }
  const format = await detectFormat(spec);
  if (features === undefined) return fileWorkload(spec, format, options);
  if (format.name !== tr.name) throw carriesItsOwn(spec, format.name);
  return fileWorkload(spec, trWith(await readSideFile(features)), options);
}

function carriesItsOwn(spec: string, kind: string): WorkloadError {
  return new WorkloadError(
    `--features: ${spec} is not a .tr file (${kind}); only .tr files accept a feature file`,
    'omit --features: other workloads contain the features of their jobs',
  );
}

async function fileWorkload(path: string, format: TraceFormat, options: OpenOptions): Promise<Workload> {
  const tally = new Tally();
  const read = (tally?: Tally, signal?: AbortSignal): AsyncIterable<PackedJobs> => {
    const batches = withNames(format.read(path, tally, signal), tally);
    if (options.resources === undefined || format.isForeign === undefined) return batches;
    return withoutDemands(batches, new Set(options.resources), tally ?? new Tally());
  };
  const { held, jobCount } = await readOnce(read(tally, options.signal), path, format, options, tally);
  return {
    name: basename(resolve(path)),
    jobCount,
    tallied: tally.list(),
    jobs: () => (held === undefined ? flattened(read()) : unpackedJobs(held)),
    batches: () => (held === undefined ? read() : [held]),
    sha256: once((signal) => hashFiles(path, format, options.features, signal)),
  };
}

function generatedWorkload(generator: ConfiguredGenerator): Workload {
  return {
    name: generator.canonical,
    jobCount: generator.jobCount,
    tallied: [],
    jobs: generator.generate,
    batches: () => inBatches(generator.generate()),
    sha256: once((signal) => hashJobs(generator, signal)),
  };
}

/**
 * Reads all jobs, sorted by submission (equal times keep the file's order). If there are too many tasks for memory,
 * returns only their number, after checking that the jobs are in order.
 */
async function readOnce(
  batches: AsyncIterable<PackedJobs>,
  file: string,
  { aJob }: TraceFormat,
  { heldTasksMax: tasksMax = HELD_TASKS_MAX, onJobsRead }: OpenOptions,
  tally: Tally,
): Promise<{ held: PackedJobs | undefined; jobCount: number }> {
  let held: PackedJobs[] | undefined = [];
  let jobCount = 0;
  let tasks = 0;
  let latest = 0;
  let disorder: string | undefined;
  for await (const batch of batches) {
    tasks += batch.durationsSeconds.length;
    if (tasks > tasksMax) held = undefined;
    held?.push(batch);
    for (const submitSeconds of batch.submitSeconds) {
      jobCount++;
      if (submitSeconds < latest) {
        disorder ??= `job ${jobCount} is submitted at ${submitSeconds} s, before the previous one (${latest} s)`;
      }
      latest = submitSeconds;
    }
    if (held === undefined && disorder !== undefined) throw tooLargeToSort(disorder, tasksMax, file);
    // Signals are delivered only during a pause.
    await setImmediate();
    onJobsRead?.(batch.ends.length);
  }
  if (jobCount === 0) throw emptyTrace(file, aJob, tally.list());
  if (held === undefined) return { held, jobCount };
  const all = joined(held);
  return { held: disorder === undefined ? all : bySubmission(all), jobCount };
}

/** Corrects names that a cluster would refuse; the format `jsonl` has refused them already. */
async function* withNames(
  batches: AsyncIterable<PackedJobs>,
  tally: Tally | undefined,
): AsyncGenerator<PackedJobs> {
  for await (const batch of batches) {
    const more = new Map(batch.more);
    for (const [place, job] of batch.more) {
      const { name, user, logicalName, stages, ...rest } = job;
      const names = [name, user, logicalName, ...(stages ?? []).map((stage) => stage.name)];
      if (names.every((each) => each === undefined || nameProblem(each) === undefined)) continue;
      more.set(place, {
        ...rest,
        ...present({
          name: name === undefined ? undefined : asName(name),
          user: user === undefined ? undefined : asName(user),
          logicalName: logicalName === undefined ? undefined : asName(logicalName),
          stages: stages?.map(withStageName),
        }),
      });
      tally?.add({
        code: 'names-corrected',
        what: 'jobs with names that have control characters, surrounding spaces or too many characters: without them',
      });
    }
    yield { ...batch, more };
  }
}

/** The place keeps corrected names of stages different. */
function withStageName(stage: TraceStage, place: number): TraceStage {
  if (nameProblem(stage.name) === undefined) return stage;
  return { ...stage, name: `${asName(stage.name.slice(0, STAGE_NAME_KEPT)) ?? 'stage'}#${place}` };
}

const STAGE_NAME_KEPT = 240;

/** Removes demands for resources that machines do not have. */
async function* withoutDemands(
  batches: AsyncIterable<PackedJobs>,
  resources: ReadonlySet<string>,
  tally: Tally,
): AsyncGenerator<PackedJobs> {
  const kept = (demand: Resources | undefined, lost: Set<string>): Resources | undefined => {
    if (demand === undefined) return undefined;
    const entries = Object.entries(demand).filter(([name]) => {
      if (resources.has(name)) return true;
      lost.add(name);
      return false;
    });
    return entries.length === 0 ? undefined : Object.fromEntries(entries);
  };
  for await (const batch of batches) {
    const more = new Map(batch.more);
    for (const [place, { demand, stages, ...rest }] of batch.more) {
      const lost = new Set<string>();
      const own = kept(demand, lost);
      const ofStages = stages?.map(({ demand: each, ...stage }) => ({
        ...stage,
        ...present({ demand: kept(each, lost) }),
      }));
      if (lost.size === 0) continue;
      more.set(place, { ...rest, ...present({ demand: own, stages: ofStages }) });
      for (const name of lost) {
        tally.add({
          code: `demands-left-out-${name}`,
          what: `jobs whose demand for ${name} is ignored (to use it, set the capacity of each worker with --resources ${name}=AMOUNT)`,
        });
      }
    }
    yield { ...batch, more };
  }
}

function tooLargeToSort(disorder: string, tasksMax: number, file: string): WorkloadError {
  return new WorkloadError(
    `${disorder}, and more than ${tasksMax} tasks are too many to sort in memory`,
    'sort it first (a .tr file: sort -g), or use part of it',
    { file },
  );
}

type Computation<T> = (signal?: AbortSignal) => Promise<T>;

function once<T>(compute: Computation<T>): Computation<T> {
  let result: Promise<T> | undefined;
  return (signal) => {
    result ??= compute(signal);
    return result;
  };
}

/** Combines both hashes if there is a side file. */
async function hashFiles(
  path: string,
  format: TraceFormat,
  features: string | undefined,
  signal?: AbortSignal,
): Promise<string> {
  const trace = await hashTrace(path, format, signal);
  if (features === undefined) return trace;
  return createHash('sha256')
    .update(`${trace}\n${await hashFile(features, signal)}\n`)
    .digest('hex');
}

/** Returns the hash of a folder: the hash of the `sha256sum` output for its files. */
async function hashTrace(path: string, format: TraceFormat, signal?: AbortSignal): Promise<string> {
  if (format.filesIn === undefined) return hashFile(path, signal);
  const hash = createHash('sha256');
  for (const name of await format.filesIn(path))
    hash.update(`${await hashFile(join(path, name), signal)}  ${name}\n`);
  return hash.digest('hex');
}

async function hashFile(file: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { highWaterMark: HASHED_CHUNK_BYTES })) {
    signal?.throwIfAborted();
    hash.update(chunk as Buffer);
  }
  return hash.digest('hex');
}

/** Hashes the jobs in addition to the options, so that a changed generator counts as a new workload. */
async function hashJobs(generator: ConfiguredGenerator, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256').update(generator.canonical);
  let jobs = 0;
  for (const job of generator.generate()) {
    if (++jobs % PAUSE_EACH === 0) {
      // Abort signals are delivered only during a pause.
      await setImmediate();
      signal?.throwIfAborted();
    }
    const { durationsSeconds, ...others } = job;
    hash.update(JSON.stringify({ ...others, tasks: durationsSeconds.length }));
    hash.update(durationsSeconds);
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
  // Names with a folder or an extension are assumed to be paths.
  if (/[/\\.]/.test(name)) return new WorkloadError('no such file', 'check the path', { file: spec });
  return new WorkloadError(
    `'${name}' is neither a file nor a generator`,
    `known generators are ${known}; published traces are ${Object.keys(PUBLISHED).join(', ')}; or use the path of a trace`,
  );
}
