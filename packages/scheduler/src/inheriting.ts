import type { Millis } from '@goshawk/core';
import type { Inheritance } from './contract.js';
import type { JobStore } from './job-store.js';
import type { Members } from './members.js';
import { rebuildJobs } from './rebuild.js';

/** Brings the jobs of the incarnations before into the store. */
export function inherit(
  { records }: Inheritance,
  jobs: JobStore,
  members: Members,
  wallOffsetMs: Millis,
): void {
  const rebuilt = [
    ...rebuildJobs(records, {
      wallOffsetMs,
      idOf: (job) => jobs.idOf(job),
      formerly: (worker) => members.formerly(worker),
    }),
  ];
  // Those that ended are kept in the order of their ends.
  rebuilt.sort((a, b) => (a.job.endedAt ?? 0) - (b.job.endedAt ?? 0));
  for (const { job, key } of rebuilt) jobs.restore(job, key);
}
