import type { Inheritance, JournalEntry } from '../contract.js';
import type { Accounting } from '../durability/accounting.js';
import { rebuildJobs } from '../durability/rebuild.js';
import { setOpenTimer } from '../job/job-timers.js';
import type { Keys } from '../state/keys.js';
import { rebuildContextOf, type SchedulerState } from '../state/state.js';
import { endIfDone } from './endings.js';
import { addBeginTime } from './holds.js';
import { trackPredecessors } from './predecessors.js';

// Loads the jobs of earlier incarnations. `reconciling.ts` then asks workers which tasks run, and starts the others.

/** @returns steps, each with its number of records */
export function* loadJobs(s: SchedulerState): Iterable<number> {
  const { jobs, chunkedWork, config } = s;
  const { inheritance } = config;
  if (inheritance !== undefined) {
    const { accounting } = s;
    const context = { ...rebuildContextOf(s, inheritance.now), accounting };
    yield* rebuildJobs(entriesOfJobs(inheritance, s.keys, accounting), context, (job) => {
      if (!jobs.restore(job)) s.env.leftInJournal?.(job.id, job.bytes.total);
      s.notifications.restored(job);
    });
    jobs.sortEnded();
  }
  jobs.start(chunkedWork.now);
  // Ends jobs whose tasks have all ended, but whose end was not recorded.
  for (const job of [...jobs.active()]) {
    endIfDone(s, job, chunkedWork.now);
    yield 1;
  }
  for (const job of jobs.active()) {
    job.client.activeAt = chunkedWork.now;
    setOpenTimer(job, s.env);
    s.ledger.resumed(job, chunkedWork.now);
    if (job.hasPendingPredecessors) trackPredecessors(s, job, chunkedWork.now);
    addBeginTime(s, job, chunkedWork.now);
    yield 1;
  }
}

/** Loads the records without a job (schedulers and usage), and returns the others. */
function* entriesOfJobs(
  { entries }: Inheritance,
  keys: Keys,
  accounting: Accounting,
): Iterable<JournalEntry> {
  for (const entry of entries) {
    const [, record] = entry;
    if (record.kind === 'schedulers') keys.loadOwners(record.names);
    else if (record.kind === 'usage') accounting.loadRecord(record);
    else yield entry;
  }
}
