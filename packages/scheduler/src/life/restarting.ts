import type { Inheritance, JournalEntry } from '../contract.js';
import type { Accounting } from '../durability/accounting.js';
import { rebuildJobs } from '../durability/rebuild.js';
import { setOpenTimer } from '../job/job-timers.js';
import type { SchedulerState } from '../state.js';
import type { Endings } from './endings.js';
import type { Holds } from './holds.js';
import type { Keys } from './keys.js';
import type { Predecessors } from './predecessors.js';

/** Loads the jobs of earlier incarnations. `Reconciler` then asks workers which tasks run, and starts the others. */
export class Restarting {
  readonly #s: SchedulerState;
  readonly #keys: Keys;
  readonly #predecessors: Predecessors;
  readonly #holds: Holds;
  readonly #endings: Endings;

  constructor(s: SchedulerState, keys: Keys, predecessors: Predecessors, holds: Holds, endings: Endings) {
    this.#s = s;
    this.#keys = keys;
    this.#predecessors = predecessors;
    this.#holds = holds;
    this.#endings = endings;
  }

  /** @returns steps, each with its number of records */
  *loadJobs(): Iterable<number> {
    const { jobs, chunkedWork, config } = this.#s;
    const { inheritance } = config;
    if (inheritance !== undefined) {
      const { accounting } = this.#s;
      const context = { ...this.#s.rebuildContext(inheritance.now), accounting };
      yield* rebuildJobs(entriesOfJobs(inheritance, this.#keys, accounting), context, (job) => {
        if (!jobs.restore(job)) this.#s.env.leftInJournal?.(job.id, job.bytes.total);
        this.#s.notifications.restored(job);
      });
      jobs.sortEnded();
    }
    jobs.start(chunkedWork.now);
    // Ends jobs whose tasks have all ended, but whose end was not recorded.
    for (const job of [...jobs.active()]) {
      this.#endings.endIfDone(job, chunkedWork.now);
      yield 1;
    }
    for (const job of jobs.active()) {
      job.client.activeAt = chunkedWork.now;
      setOpenTimer(job, this.#s.env);
      this.#s.ledger.resumed(job, chunkedWork.now);
      if (job.hasPendingPredecessors) this.#predecessors.track(job, chunkedWork.now);
      this.#holds.add(job, chunkedWork.now);
      yield 1;
    }
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
