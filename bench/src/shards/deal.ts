import { type Random, sumOf } from '@goshawk/core';
import type { TraceJob } from '@goshawk/traces';

/** A rule by which owners divide jobs among shards. */
export type Rule = 'one' | 'shorter of two' | 'shorter of two, wide jobs over all';

/** A job of a shard, all or some tasks of a job of the workload. */
export interface Part {
  /** Index of the whole job in the workload. */
  readonly of: number;
  readonly job: TraceJob;
}

/** Interval at which centrals publish the work that they have. */
const PUBLISH_SECONDS = 5;
/** A job is wide if it has more tasks than this share of the workers of a shard. */
const WIDE_SHARE = 0.01;

/**
 * Divides jobs without stages among shards. An owner knows the work of a shard, in task seconds, as of its last
 * publication.
 *
 * @returns the jobs of each shard, in order of submission
 */
export function deal(
  jobs: readonly TraceJob[],
  { shards, workersOfEach, rule, random }: Dealing,
): readonly (readonly Part[])[] {
  const parts: Part[][] = Array.from({ length: shards }, () => []);
  const backlog = new Backlog(shards, workersOfEach);
  for (const [of, job] of jobs.entries()) {
    backlog.advance(job.submitSeconds);
    const isWide =
      rule === 'shorter of two, wide jobs over all' &&
      job.durationsSeconds.length > WIDE_SHARE * workersOfEach;
    const pieces = isWide ? dealt(job, shards) : [job];
    const first = rule === 'one' ? below(random, shards) : backlog.shorterOfTwo(random);
    for (const [place, piece] of pieces.entries()) {
      const shard = (first + place) % shards;
      backlog.add(shard, sumOf(piece.durationsSeconds));
      parts[shard]!.push({ of, job: piece });
    }
  }
  return parts;
}

export interface Dealing {
  readonly shards: number;
  readonly workersOfEach: number;
  readonly rule: Rule;
  readonly random: Random;
}

/** Splits a job into up to `count` jobs of as many tasks. Each keeps the mean, which stands for the estimate. */
function dealt(job: TraceJob, count: number): TraceJob[] {
  const all = [...job.durationsSeconds];
  return Array.from({ length: Math.min(count, all.length) }, (_, place) => ({
    ...job,
    durationsSeconds: Float64Array.from(all.filter((_, task) => task % count === place)),
  }));
}

/** Work of each shard in task seconds, as if workers were never idle while there is work. */
class Backlog {
  readonly #current: Float64Array;
  #published: Float64Array;
  readonly #workers: number;
  #now = 0;
  #publishedAt = 0;

  constructor(shards: number, workers: number) {
    this.#current = new Float64Array(shards);
    this.#published = this.#current.slice();
    this.#workers = workers;
  }

  advance(now: number): void {
    const done = (now - this.#now) * this.#workers;
    this.#now = now;
    for (const [shard, work] of this.#current.entries()) this.#current[shard] = Math.max(0, work - done);
    if (now - this.#publishedAt < PUBLISH_SECONDS) return;
    this.#publishedAt = now;
    this.#published = this.#current.slice();
  }

  add(shard: number, seconds: number): void {
    this.#current[shard]! += seconds;
  }

  shorterOfTwo(random: Random): number {
    const one = below(random, this.#published.length);
    const other = below(random, this.#published.length);
    return this.#published[one]! <= this.#published[other]! ? one : other;
  }
}

function below(random: Random, count: number): number {
  return Math.floor(random.next() * count);
}
