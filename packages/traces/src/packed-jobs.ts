import type { TraceJob } from './job.js';

/**
 * Jobs as a few columns: as little memory as they can do with, which threads share instead of copying it. A
 * message between threads carries it as it is.
 */
export interface PackedJobs {
  readonly submitSeconds: Float64Array;
  readonly meanSeconds: Float64Array;
  /** Of all jobs, one behind another. */
  readonly durationsSeconds: Float64Array;
  /** Where in them each job's own end; there the next job's begin. */
  readonly ends: Float64Array;
  /** What else there is to say of a job, by its place; most traces say nothing. */
  readonly more: ReadonlyMap<number, More>;
}

type More = Omit<TraceJob, 'submitSeconds' | 'meanSeconds' | 'durationsSeconds'>;

/** What an entry of `more` takes, names and stages included. An estimate. */
const MORE_BYTES = 1_024;
const JOB_BYTES = 3 * Float64Array.BYTES_PER_ELEMENT;

/** Packs the jobs that it is shown one by one, unless they turn out to be too many. */
export class JobPacker {
  readonly #bytesMax: number;
  #jobs: TraceJob[] | undefined = [];
  readonly #more = new Map<number, More>();
  #durations = 0;

  /** @param bytesMax jobs that take more are not packed */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(job: TraceJob): void {
    if (this.#jobs === undefined) return;
    const more = moreOf(job);
    if (more !== undefined) this.#more.set(this.#jobs.length, more);
    this.#jobs.push(job);
    this.#durations += job.durationsSeconds.length;
    if (this.#bytes() <= this.#bytesMax) return;
    this.#jobs = undefined;
    this.#more.clear();
  }

  /** All jobs that were added, or undefined when they were too many. */
  finish(): PackedJobs | undefined {
    const jobs = this.#jobs;
    if (jobs === undefined) return undefined;
    const submitSeconds = sharedColumn(jobs.length);
    const meanSeconds = sharedColumn(jobs.length);
    const ends = sharedColumn(jobs.length);
    const durationsSeconds = sharedColumn(this.#durations);
    let end = 0;
    jobs.forEach((job, place) => {
      submitSeconds[place] = job.submitSeconds;
      meanSeconds[place] = job.meanSeconds;
      durationsSeconds.set(job.durationsSeconds, end);
      end += job.durationsSeconds.length;
      ends[place] = end;
    });
    return { submitSeconds, meanSeconds, durationsSeconds, ends, more: this.#more };
  }

  #bytes(): number {
    const columns = this.#durations * Float64Array.BYTES_PER_ELEMENT + this.#jobs!.length * JOB_BYTES;
    return columns + this.#more.size * MORE_BYTES;
  }
}

/** The jobs as they were; can be walked any number of times. */
export function unpackedJobs({
  submitSeconds,
  meanSeconds,
  durationsSeconds,
  ends,
  more,
}: PackedJobs): Iterable<TraceJob> {
  return {
    *[Symbol.iterator]() {
      let start = 0;
      for (let place = 0; place < ends.length; place++) {
        const end = ends[place]!;
        const job = {
          submitSeconds: submitSeconds[place]!,
          durationsSeconds: durationsSeconds.subarray(start, end),
          meanSeconds: meanSeconds[place]!,
        };
        start = end;
        const rest = more.get(place);
        yield rest === undefined ? job : { ...job, ...rest };
      }
    },
  };
}

function moreOf(job: TraceJob): More | undefined {
  let hasMore = false;
  for (const field in job) {
    if (field !== 'submitSeconds' && field !== 'durationsSeconds' && field !== 'meanSeconds') hasMore = true;
  }
  if (!hasMore) return undefined;
  const { submitSeconds: _, durationsSeconds: __, meanSeconds: ___, ...more } = job;
  return more;
}

function sharedColumn(length: number): Float64Array {
  return new Float64Array(new SharedArrayBuffer(length * Float64Array.BYTES_PER_ELEMENT));
}
