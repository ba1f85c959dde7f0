import type { Address, MessageOf } from '@goshawk/core';
import type { SchedulerConfig, SchedulerEnvironment } from '../contract.js';
import { DispatchState } from '../dispatch/dispatch.js';
import type { UnreportedAttempt } from '../durability/accounting.js';
import type { AttemptRef } from '../job/assignment.js';
import type { Job } from '../job/job.js';
import { Keys } from './keys.js';
import { DEFAULT_LOAD_LIMITS, Overload } from './overload.js';
import { RefusedRequests } from './refused-requests.js';

export interface AbandonedAttempt {
  readonly ref: AttemptRef;
  readonly usage: UnreportedAttempt;
}

/** The state of accepting and ending jobs. */
export class LifeState extends DispatchState {
  readonly keys: Keys;
  readonly overload: Overload;
  readonly refusedSubmissions = new RefusedRequests();
  readonly refusedAppends = new RefusedRequests();
  /** Attempts that have ended here, but may still run, by worker and key, latest worker last. See `killing.ts`. */
  readonly abandoned = new Map<Address, Map<string, AbandonedAttempt>>();
  readonly failing = {
    /** Whether identical tasks of a job are being failed. */
    isIdentical: false,
    /** The job whose remaining tasks are being failed. None of its tasks may be assigned meanwhile. */
    job: undefined as Job | undefined,
  };
  /** The present round of `retries.ts`. */
  readonly sweeping = {
    /** Jobs that it has not visited yet. */
    round: undefined as Iterator<Job, undefined> | undefined,
    /** Whether a job that it has visited has unanswered messages. */
    hasUnanswered: false,
  };
  /** Last answer about many jobs to each client. A repeated request gets the same one, so that each job counts once. */
  readonly bulkAnswers = new Map<
    Address,
    { readonly request: number; readonly answer: MessageOf<'jobsCancelled'>['value'] }
  >();

  constructor(config: SchedulerConfig, env: SchedulerEnvironment) {
    super(config, env);
    this.keys = new Keys(config.name, this.ledger);
    const limits = { ...DEFAULT_LOAD_LIMITS, activeBytesMax: this.shares.activeMax, ...config.load };
    this.overload = new Overload(this.jobs, limits, () => env.random());
  }
}
