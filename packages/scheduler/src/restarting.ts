import type { Address, MessageOf, Millis } from '@goshawk/core';
import type { Inheritance, JournalEntry } from './contract.js';
import { rebuildJobs } from './durability/rebuild.js';
import { watchDeadline, watchOpen, watchRest, watchTimeLimit } from './job/job-timers.js';
import type { Keys } from './life/keys.js';
import type { SchedulerParts } from './parts.js';

// A scheduler starts with the jobs of the incarnations before: it reads them, asks workers what runs, and starts the rest.

/** Workers are looked for for a job in the time of so many records of a journal. */
const STARTED_RECORDS = 5;

/** Takes in the jobs of the incarnations before. @returns steps, each worth so many records */
export function* takeIn(s: SchedulerParts): Iterable<number> {
  const { jobs, pieces, predecessors } = s;
  const { inheritance } = s.config;
  if (inheritance !== undefined) {
    const context = s.rebuildContext(inheritance.now);
    yield* rebuildJobs(entriesOfJobs(inheritance, s.keys), context, (job) => {
      if (!jobs.restore(job)) s.env.leftInJournal?.(job.id, job.bytes);
    });
    jobs.restored();
  }
  jobs.start(pieces.now);
  // Cancelled, and not yet said to have ended.
  for (const job of [...jobs.active()]) {
    s.endings.endIfDone(job, pieces.now);
    yield 1;
  }
  for (const job of jobs.active()) {
    job.heardAt = pieces.now;
    watchOpen(job, s.env);
    s.ledger.resumed(job, pieces.now);
    if (job.isAwaiting) predecessors.hold(job, pieces.now);
    s.holds.watch(job, pieces.now);
    yield 1;
  }
}

/** Records without a job list the schedulers. */
function* entriesOfJobs({ entries }: Inheritance, keys: Keys): Iterable<JournalEntry> {
  for (const entry of entries) {
    const [, record] = entry;
    if (record.kind === 'schedulers') keys.inherit(record.names);
    else yield entry;
  }
}

/** A worker has said what it holds of this owner's tasks. */
export function holding(s: SchedulerParts, from: Address, message: MessageOf<'holding'>, now: Millis): void {
  s.recovery.holding(from, message, now);
  startIfRecovered(s, now);
  s.sweepTimer.arm(now);
  // It may still be under way. If it was given back, the worker says so once more.
  for (const { job, task } of s.audit.missing(from, message)) s.delivery.send(job, task);
}

/** Once it is known what runs of the jobs that were here before, the rest may be given out. */
export function startIfRecovered(s: SchedulerParts, now: Millis): void {
  if (s.recovery.takeEnd()) s.pieces.begin(startRecovered(s), now);
}

function* startRecovered(s: SchedulerParts): Iterable<number> {
  for (const job of s.recovery.toStart()) {
    const { now } = s.pieces;
    s.sampler.resume(job, now);
    s.endings.breakPartialGangs(job, now);
    s.routing.findAll(job, now);
    watchDeadline(job, s.cluster.policy, s.env);
    watchTimeLimit(job, s.env);
    watchRest(job, s.env);
    yield STARTED_RECORDS;
  }
}
