import { concatenated, grown, sumOf } from '@goshawk/core';
import type { TraceJob } from './job.js';

/**
 * Jobs in a few columns: compact, and shareable between threads without copying. A message between threads carries
 * them as they are.
 */
export interface PackedJobs {
  readonly submitSeconds: Float64Array;
  readonly meanSeconds: Float64Array;
  /** Durations of all jobs, concatenated. */
  readonly durationsSeconds: Float64Array;
  /** End of each job's durations, which is the start of the next. */
  readonly ends: Float64Array;
  /** Optional facts by job index, ascending; most traces have none. */
  readonly more: ReadonlyMap<number, MoreOfJob>;
}

type MoreOfJob = Omit<TraceJob, 'submitSeconds' | 'meanSeconds' | 'durationsSeconds'>;

/** Jobs in batches, because creating and awaiting an object per job takes longer than reading it. */
export type JobBatches = Iterable<PackedJobs> | AsyncIterable<PackedJobs>;

/** Estimated size of an entry of `more`, including names and stages. */
const MORE_BYTES = 1_024;
const JOB_BYTES = 3 * Float64Array.BYTES_PER_ELEMENT;
const INITIAL_JOBS = 1_024;
const INITIAL_TASKS = 32_768;

/** Packs individual jobs. */
export class JobPacker {
  #submitSeconds = new Float64Array(INITIAL_JOBS);
  #meanSeconds = new Float64Array(INITIAL_JOBS);
  #durationsSeconds = new Float64Array(INITIAL_TASKS);
  #ends = new Float64Array(INITIAL_JOBS);
  #more = new Map<number, MoreOfJob>();
  #jobs = 0;
  #tasks = 0;

  get jobs(): number {
    return this.#jobs;
  }

  /** Whether the batch is large enough: many jobs, or a few large jobs. */
  get isFull(): boolean {
    return this.#jobs >= BATCH_JOBS || this.#tasks >= BATCH_TASKS;
  }

  add(job: TraceJob): void {
    const { length } = job.durationsSeconds;
    this.roomFor(length).set(job.durationsSeconds);
    this.close(job.submitSeconds, job.meanSeconds, length, moreOf(job));
  }

  /** Returns space for the durations of the next job. Close the job before requesting more. */
  roomFor(tasks: number): Float64Array {
    const end = this.#tasks + tasks;
    if (end > this.#durationsSeconds.length) this.#durationsSeconds = grown(this.#durationsSeconds, end);
    return this.#durationsSeconds.subarray(this.#tasks, end);
  }

  /** Adds the job whose durations were written to the space from `roomFor`. */
  close(submitSeconds: number, meanSeconds: number, tasks: number, more?: MoreOfJob): void {
    const place = this.#jobs++;
    if (place === this.#ends.length) {
      this.#submitSeconds = grown(this.#submitSeconds, place + 1);
      this.#meanSeconds = grown(this.#meanSeconds, place + 1);
      this.#ends = grown(this.#ends, place + 1);
    }
    this.#tasks += tasks;
    this.#submitSeconds[place] = submitSeconds;
    this.#meanSeconds[place] = meanSeconds;
    this.#ends[place] = this.#tasks;
    if (more !== undefined) this.#more.set(place, more);
  }

  /** Returns all jobs added since the last call. */
  take(): PackedJobs {
    const jobs = this.#jobs;
    const packed = {
      submitSeconds: shared(this.#submitSeconds.subarray(0, jobs)),
      meanSeconds: shared(this.#meanSeconds.subarray(0, jobs)),
      durationsSeconds: shared(this.#durationsSeconds.subarray(0, this.#tasks)),
      ends: shared(this.#ends.subarray(0, jobs)),
      more: this.#more,
    };
    this.#more = new Map();
    this.#jobs = 0;
    this.#tasks = 0;
    return packed;
  }
}

export function packed(jobs: Iterable<TraceJob>): PackedJobs {
  const packer = new JobPacker();
  for (const job of jobs) packer.add(job);
  return packer.take();
}

/** Number of jobs per batch unless the workload is read as one batch. */
const BATCH_JOBS = 1_024;
/** Number of tasks with which a batch is full: 8 MB. */
const BATCH_TASKS = 1_000_000;

export function* inBatches(jobs: Iterable<TraceJob>, size = BATCH_JOBS): Generator<PackedJobs> {
  const packer = new JobPacker();
  for (const job of jobs) {
    packer.add(job);
    if (packer.jobs >= size || packer.isFull) yield packer.take();
  }
  if (packer.jobs > 0) yield packer.take();
}

/** Concatenates the jobs of all batches. */
export function joined(batches: readonly PackedJobs[]): PackedJobs {
  if (batches.length === 1) return batches[0]!;
  const ends = sharedColumn(sumOf(batches, ({ ends: { length } }) => length));
  const more = new Map<number, MoreOfJob>();
  let place = 0;
  let tasks = 0;
  for (const batch of batches) {
    for (const [at, each] of batch.more) more.set(place + at, each);
    for (const end of batch.ends) ends[place++] = tasks + end;
    tasks += batch.durationsSeconds.length;
  }
  return {
    submitSeconds: concatenated(
      batches.map(({ submitSeconds }) => submitSeconds),
      sharedColumn,
    ),
    meanSeconds: concatenated(
      batches.map(({ meanSeconds }) => meanSeconds),
      sharedColumn,
    ),
    durationsSeconds: concatenated(
      batches.map(({ durationsSeconds }) => durationsSeconds),
      sharedColumn,
    ),
    ends,
    more,
  };
}

/** Sorts the jobs by submission; equal times keep their order. */
export function bySubmission(jobs: PackedJobs): PackedJobs {
  const { submitSeconds } = jobs;
  const places = Array.from(submitSeconds, (_, place) => place);
  places.sort((a, b) => submitSeconds[a]! - submitSeconds[b]!);
  return packed(places.map((place) => jobAt(jobs, place)));
}

/** Converts back to job objects; can be iterated any number of times. */
export function unpackedJobs(jobs: PackedJobs): Iterable<TraceJob> {
  return {
    *[Symbol.iterator]() {
      for (let place = 0; place < jobs.ends.length; place++) yield jobAt(jobs, place);
    },
  };
}

export async function* flattened(batches: JobBatches): AsyncGenerator<TraceJob> {
  for await (const batch of batches) yield* unpackedJobs(batch);
}

/** Returns the estimated size in memory. */
export function packedBytes({ durationsSeconds, ends, more }: PackedJobs): number {
  return durationsSeconds.byteLength + ends.length * JOB_BYTES + more.size * MORE_BYTES;
}

function jobAt(
  { submitSeconds, meanSeconds, durationsSeconds, ends, more }: PackedJobs,
  place: number,
): TraceJob {
  const job = {
    submitSeconds: submitSeconds[place]!,
    durationsSeconds: durationsSeconds.subarray(place === 0 ? 0 : ends[place - 1]!, ends[place]!),
    meanSeconds: meanSeconds[place]!,
  };
  const rest = more.get(place);
  return rest === undefined ? job : { ...job, ...rest };
}

function moreOf(job: TraceJob): MoreOfJob | undefined {
  let hasMore = false;
  for (const field in job) {
    if (field !== 'submitSeconds' && field !== 'durationsSeconds' && field !== 'meanSeconds') hasMore = true;
  }
  if (!hasMore) return undefined;
  const { submitSeconds: _, durationsSeconds: __, meanSeconds: ___, ...more } = job;
  return more;
}

function shared(column: Float64Array): Float64Array {
  return concatenated([column], sharedColumn);
}

function sharedColumn(length: number): Float64Array {
  return new Float64Array(new SharedArrayBuffer(length * Float64Array.BYTES_PER_ELEMENT));
}
