import type { Address, MessageOf, Millis } from '@goshawk/core';
import type { Inheritance, JournalEntry } from '../contract.js';
import type { Delivery } from '../dispatch/delivery.js';
import type { Routing } from '../dispatch/routing.js';
import type { Sampler } from '../dispatch/sampler.js';
import type { Accounting } from '../durability/accounting.js';
import { rebuildJobs } from '../durability/rebuild.js';
import { watchDeadline, watchOpen, watchRest, watchTimeLimit } from '../job/job-timers.js';
import type { SchedulerState } from '../state.js';
import type { AbandonedAttempts } from './abandoned-attempts.js';
import type { Endings } from './endings.js';
import type { Holds } from './holds.js';
import type { Keys } from './keys.js';
import type { Predecessors } from './predecessors.js';

/** Starts with the jobs of earlier incarnations: reads them, asks workers what runs, and starts the rest. */
export class Restarting {
  readonly #s: SchedulerState;
  readonly #keys: Keys;
  readonly #predecessors: Predecessors;
  readonly #holds: Holds;
  readonly #endings: Endings;
  readonly #sampler: Sampler;
  readonly #routing: Routing;
  readonly #delivery: Delivery;
  readonly #abandoned: AbandonedAttempts;

  constructor(
    s: SchedulerState,
    keys: Keys,
    predecessors: Predecessors,
    holds: Holds,
    endings: Endings,
    sampler: Sampler,
    routing: Routing,
    delivery: Delivery,
    abandoned: AbandonedAttempts,
  ) {
    this.#s = s;
    this.#keys = keys;
    this.#predecessors = predecessors;
    this.#holds = holds;
    this.#endings = endings;
    this.#sampler = sampler;
    this.#routing = routing;
    this.#delivery = delivery;
    this.#abandoned = abandoned;
  }

  /** Takes in the jobs of earlier incarnations. @returns steps, each with its number of records */
  *takeIn(): Iterable<number> {
    const { jobs, pieces, config } = this.#s;
    const { inheritance } = config;
    if (inheritance !== undefined) {
      const { accounting } = this.#s;
      const context = { ...this.#s.rebuildContext(inheritance.now), accounting };
      yield* rebuildJobs(entriesOfJobs(inheritance, this.#keys, accounting), context, (job) => {
        if (!jobs.restore(job)) this.#s.env.leftInJournal?.(job.id, job.bytes);
      });
      jobs.restored();
    }
    jobs.start(pieces.now);
    // The job was cancelled, but its end was not recorded.
    for (const job of [...jobs.active()]) {
      this.#endings.endIfDone(job, pieces.now);
      yield 1;
    }
    for (const job of jobs.active()) {
      job.lastSeenAt = pieces.now;
      watchOpen(job, this.#s.env);
      this.#s.ledger.resumed(job, pieces.now);
      if (job.isAwaiting) this.#predecessors.hold(job, pieces.now);
      this.#holds.watch(job, pieces.now);
      yield 1;
    }
  }

  /** A worker has reported which tasks of this owner it holds. */
  holding(from: Address, message: MessageOf<'holding'>, now: Millis): void {
    for (const { job, held } of this.#s.recovery.holding(from, message, now))
      this.#abandoned.addUnrecorded(from, job, held, now);
    this.startIfRecovered(now);
    this.#s.sweepTimer.arm(now);
    // The task may still be in flight. If the worker returned it, it repeats that.
    for (const { job, task } of this.#s.audit.missing(from, message)) this.#delivery.send(job, task);
  }

  /** Once it is known which tasks of old jobs run, the others may be assigned. */
  startIfRecovered(now: Millis): void {
    if (this.#s.recovery.takeEnd()) this.#s.pieces.begin(this.#startRecovered(), now);
  }

  *#startRecovered(): Iterable<number> {
    for (const job of this.#s.recovery.toStart()) {
      const { now } = this.#s.pieces;
      this.#sampler.resume(job, now);
      this.#endings.breakPartialGangs(job, now);
      this.#routing.findAll(job, now);
      watchDeadline(job, this.#s.cluster.policy, this.#s.env);
      watchTimeLimit(job, this.#s.env);
      watchRest(job, this.#s.env);
      yield STARTED_RECORDS;
    }
  }
}

/** Starting a job takes as long as reading this many journal records. */
const STARTED_RECORDS = 5;

/** Records without a job list the schedulers, or contain usage. */
function* entriesOfJobs(
  { entries }: Inheritance,
  keys: Keys,
  accounting: Accounting,
): Iterable<JournalEntry> {
  for (const entry of entries) {
    const [, record] = entry;
    if (record.kind === 'schedulers') keys.inherit(record.names);
    else if (record.kind === 'usage') accounting.inherit(record);
    else yield entry;
  }
}
