import type { JobRecord, Millis } from '@goshawk/core';
import type { Inheritance } from './contract.js';
import type { JobStore } from './job-store.js';
import type { Members } from './members.js';
import { rebuildJobs } from './rebuild.js';

/**
 * Brings the jobs of the incarnations before into the store.
 *
 * @returns the schedulers to which keys belonged, as far as that is known
 */
export function inherit(
  inheritance: Inheritance | undefined,
  jobs: JobStore,
  members: Members,
  wallOffsetMs: Millis,
): readonly string[] {
  let schedulers: readonly string[] = [];
  const records = inheritance?.records ?? [];
  function* ofJobs(): Iterable<JobRecord> {
    for (const record of records) {
      if (record.kind === 'schedulers') schedulers = record.names;
      else yield record;
    }
  }
  const rebuilt = [
    ...rebuildJobs(ofJobs(), {
      wallOffsetMs,
      idOf: (job) => jobs.idOf(job),
      formerly: (worker) => members.formerly(worker),
    }),
  ];
  // Those that ended are kept in the order of their ends.
  rebuilt.sort((a, b) => (a.job.endedAt ?? 0) - (b.job.endedAt ?? 0));
  for (const { job, key } of rebuilt) jobs.restore(job, key);
  return schedulers;
}
