import type { Millis } from '@goshawk/core';
import type { Inheritance } from './contract.js';
import type { JobStore } from './job-store.js';
import type { Members } from './members.js';
import { type JournalEntry, rebuildJobs } from './rebuild.js';

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
  function* ofJobs(): Iterable<JournalEntry> {
    for (const entry of inheritance?.entries ?? []) {
      const [, record] = entry;
      if (record.kind === 'schedulers') schedulers = record.names;
      else yield entry;
    }
  }
  const rebuilt = rebuildJobs(ofJobs(), {
    wallOffsetMs,
    now: inheritance?.now ?? 0,
    idOf: (job) => jobs.idOf(job),
    formerly: (worker) => members.formerly(worker),
    isShort: () => jobs.isShort,
  });
  for (const { job, key } of rebuilt) jobs.restore(job, key);
  jobs.restored();
  return schedulers;
}
