import type { JobNumber } from '@goshawk/core';
import type { Entry } from './group-commit.js';

/** A group as sent to a journal that others may take over. */
export interface SentGroup {
  /** Sequence number, so that a group that is sent twice is written once. */
  readonly number: number;
  readonly kept: readonly Entry[];
  /** Jobs to delete. */
  readonly forgotten: readonly number[];
}

/** A key that belongs to another job. */
interface TakenKey {
  readonly job: JobNumber;
  readonly key: string;
}

/**
 * The protocol of one owner's writes to a shared journal: the same over PostgreSQL and in fault injection.
 */
export class SentGroups {
  /** Jobs whose key belongs to another job: nothing is written for them. */
  readonly #taken = new Set<number>();
  #number: number;

  /** @param written number of groups so far, by all owners */
  constructor(written: number) {
    this.#number = written;
  }

  next(group: readonly Entry[]): SentGroup {
    const forgotten = new Set(group.flatMap(({ job, bytes }) => (bytes === undefined ? [job] : [])));
    const kept = group.filter(
      ({ job, bytes }) => bytes !== undefined && !forgotten.has(job) && !this.#taken.has(job),
    );
    return { number: ++this.#number, kept, forgotten: [...forgotten] };
  }

  /** Records that a group was written except for the jobs whose keys belong to other jobs. Returns these keys. */
  answered({ kept }: SentGroup, jobs: readonly number[]): TakenKey[] {
    return jobs.map((job) => {
      this.#taken.add(job);
      const { key } = kept.find((entry) => entry.job === job && entry.key !== undefined)!;
      return { job, key: key! };
    });
  }
}
