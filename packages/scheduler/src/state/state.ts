import { type Address, Deque, type FateOfJob, LIMITS, type MessageOf, type Millis } from '@goshawk/core';
import { Cluster } from '../cluster/cluster.js';
import { Notices } from '../cluster/notices.js';
import { SweepTimer } from '../cluster/sweep-timer.js';
import { UnfitWorkers } from '../cluster/unfit-workers.js';
import { Usage } from '../cluster/usage.js';
import { JOB_LENGTHS, type SchedulerConfig, type SchedulerEnvironment } from '../contract.js';
import { Accounting, type UnreportedAttempt } from '../durability/accounting.js';
import { ChunkedWork } from '../durability/chunked-work.js';
import { JobStore } from '../durability/job-store.js';
import { Ledger } from '../durability/ledger.js';
import { type MemoryShares, sharesOf } from '../durability/memory-shares.js';
import { NotDurableJobs } from '../durability/not-durable-jobs.js';
import { Notifications } from '../durability/notifications.js';
import { Quotas } from '../durability/quotas.js';
import { type RebuildContext, rebuildEndedJob } from '../durability/rebuild.js';
import type { Tombstone } from '../durability/tombstones.js';
import type { AttemptRef } from '../job/assignment.js';
import type { Batch } from '../job/batch.js';
import { CrashesByProgram } from '../job/crashes.js';
import { Forecasts } from '../job/forecasts.js';
import type { Job } from '../job/job.js';
import { JobEvents, type SchedulerCounters } from '../job/job-events.js';
import type { ProbesByUser } from '../job/probe-ledger.js';
import { Tallies } from '../job/tallies.js';

import { Estimators } from './estimators.js';
import { IdleHints } from './idle-hints.js';
import { Keys } from './keys.js';
import { Offers } from './offers.js';
import { DEFAULT_LOAD_LIMITS, Overload } from './overload.js';
import { RefusedRequests } from './refused-requests.js';
import { RequestNumbers } from './request-numbers.js';
import { WaitingSlots } from './waiting-slots.js';

export interface AbandonedAttempt {
  readonly ref: AttemptRef;
  readonly usage: UnreportedAttempt;
}

/** The scheduler that owns the jobs of a tag, if other jobs depend on them. */
export interface OwnerOfTag {
  address: Address;
  /** Whether it has answered since the last query. */
  hasAnswered: boolean;
  queryIntervalMs: Millis;
  nextQueryAt: Millis;
  /** Time of central’s first reply that names no owner; undefined: it names one, or has not replied. */
  goneSince: Millis | undefined;
}

/** Jobs of other schedulers on which those of one user are to depend. */
export interface RightsChecks {
  /** Whether the job with this id is one of the user; undefined: its owner has not answered. */
  readonly isOwn: Map<string, boolean | undefined>;
  /** When the owner of the jobs with this tag was last asked. */
  readonly askedAt: Map<string, Millis>;
}

/**
 * The whole state of a scheduler. Functions take it as `s`; each folder has the functions over a part of it. Members that are
 * classes keep state of their own, and know only what they are given here.
 */
export class SchedulerState {
  readonly config: SchedulerConfig;
  readonly env: SchedulerEnvironment;
  readonly counters: SchedulerCounters = {
    jobsAccepted: 0,
    jobsEnded: 0,
    tasksBound: 0,
    tasksCompleted: 0,
    tasksFailed: 0,
    retries: 0,
    lost: 0,
    probesSent: 0,
    probesRecalled: 0,
    asksRefused: 0,
    staleReports: 0,
  };
  readonly tallies = new Tallies();
  readonly events: JobEvents;
  readonly crashes = new CrashesByProgram();
  readonly unfit: UnfitWorkers;
  readonly cluster: Cluster;
  readonly usage: Usage;

  // The jobs, in memory and in the journal.
  readonly shares: MemoryShares;
  readonly ledger: Ledger;
  readonly accounting: Accounting;
  readonly jobs: JobStore;
  readonly notDurableJobs = new NotDurableJobs();
  readonly quotas: Quotas;
  readonly notifications: Notifications;
  readonly forecasts: Forecasts;
  readonly notices: Notices;
  readonly chunkedWork: ChunkedWork;

  // The estimator, and the search for workers.
  readonly estimators: Estimators;
  /** Batches that any worker may take tasks of. */
  readonly offers: Offers;
  readonly waitingSlots: WaitingSlots;
  /** Workers that are probably idle. */
  readonly hints = new IdleHints();
  /** Batches with probes at workers, and possibly some without. */
  readonly probing = new Map<Batch, Job>();
  /** Outstanding probes of tasks that seeking workers may take too. */
  readonly probesByUser: ProbesByUser = new Map();
  /** Numbers of the last requests and matches of workers. */
  readonly numbers = new RequestNumbers();

  // What is accepted.
  readonly keys: Keys;
  readonly overload: Overload;
  readonly refused = new RefusedRequests();
  /** Last answer about many jobs to each client. A repeated request gets the same one, so that each job counts once. */
  readonly bulkAnswers = new Map<
    Address,
    { readonly request: number; readonly answer: MessageOf<'jobsCancelled'>['value'] }
  >();
  /** Jobs that wait for others. See `life/predecessors.ts`. */
  readonly dependencies = {
    /** Waiting jobs by the id of a predecessor. */
    dependents: new Map<string, Set<Job>>(),
    /** Last known fates of other schedulers' jobs. */
    fates: new Map<string, FateOfJob>(),
    owners: new Map<string, OwnerOfTag>(),
    /** Schedulers that wait for the end of a local job, by its number. */
    subscribers: new Map<number, Set<Address>>(),
    /** Fates that are not processed yet. A queue avoids deep recursion along chains of jobs. */
    endedFates: new Deque<FateOfJob>(),
    isApplying: false,
  };
  /** Decides which jobs those of a user may depend on. See `life/predecessor-rights.ts`. */
  readonly rights = {
    /** Checks of predecessors, by user. */
    checks: new Map<string, RightsChecks>(),
    /** Addresses of owners that central has named, by the tags of their jobs. */
    owners: new Map<string, Address>(),
  };
  /** Jobs with a begin time, and when the next timer fires; Infinity: it is not set. See `life/holds.ts`. */
  readonly beginTimes = { jobs: new Set<Job>(), timerAt: Number.POSITIVE_INFINITY };
  /** Recent requests that have changed a hold or a priority: `${client} ${number}`. */
  readonly applied = new Map<string, true>();

  // Repair.
  readonly sweepTimer: SweepTimer;
  /** The present round of `life/retries.ts`. */
  readonly sweeping = {
    /** Jobs that it has not visited yet. */
    round: undefined as Iterator<Job, undefined> | undefined,
    /** Whether a job that it has visited has unanswered messages. */
    hasUnanswered: false,
  };
  /** What workers have answered since the start. See `life/reconciling.ts`. */
  readonly recovery = {
    /** Workers that were asked. */
    asked: new Set<Address>(),
    /** Asked workers that have not answered yet. */
    unconfirmed: new Set<Address>(),
    /** When the first workers were asked; undefined: not yet. */
    since: undefined as Millis | undefined,
    isOver: false,
  };
  readonly audit = {
    /** Workers that have not answered the last audit. */
    workers: new Set<Address>(),
    round: 0,
    at: Number.NEGATIVE_INFINITY,
    /** Tasks that started before this time should have reached their workers before the last audit. */
    startedBefore: Number.NEGATIVE_INFINITY,
  };
  /** Attempts that have ended here, but may still run, by worker and key, latest worker last. See `life/killing.ts`. */
  readonly abandoned = new Map<Address, Map<string, AbandonedAttempt>>();
  readonly failing = {
    /** Whether identical tasks of a job are being failed. */
    isIdentical: false,
    /** The job whose remaining tasks are being failed. None of its tasks may be assigned meanwhile. */
    job: undefined as Job | undefined,
  };

  constructor(config: SchedulerConfig, env: SchedulerEnvironment) {
    const { inheritance } = config;
    const lastJob = inheritance === undefined ? 0 : inheritance.lastJob + LIMITS.unrecordedJobsMax;
    const readArchivedRecords = ({ number, endedAt }: Tombstone) =>
      rebuildEndedJob(env.readJobRecords!(number), rebuildContextOf(this, endedAt));
    this.config = config;
    this.env = env;
    this.events = new JobEvents(env, this.counters, this.tallies);
    this.shares = sharesOf(config.memoryBytes ?? LIMITS.schedulerBytesMax);
    this.cluster = new Cluster(config, env);
    this.unfit = new UnfitWorkers(env, this.cluster.members);
    this.usage = new Usage(env, config.estimatorStates?.[JOB_LENGTHS]);
    this.ledger = new Ledger(env, config, this.shares);
    this.accounting = new Accounting(this.ledger, config);
    this.jobs = new JobStore({
      config,
      lastJob,
      shares: this.shares,
      records: this.accounting,
      random: () => env.random(),
      readJob: env.readJobRecords && readArchivedRecords,
      outputStore: env.outputStore,
    });
    this.quotas = new Quotas(this.jobs, (now) => this.cluster.isSilent(now));
    this.notifications = new Notifications(env, this.ledger, this.jobs);
    this.chunkedWork = new ChunkedWork(env, inheritance?.chunkSize);
    this.sweepTimer = new SweepTimer(env, this.cluster);
    this.forecasts = new Forecasts(config);
    this.notices = new Notices(env, config.wallOffsetMs);
    this.estimators = new Estimators(env, config.estimatorStates);
    this.offers = new Offers(this.cluster);
    this.waitingSlots = new WaitingSlots(this.cluster);
    this.keys = new Keys(config.name, this.ledger);
    const limits = { ...DEFAULT_LOAD_LIMITS, activeBytesMax: this.shares.activeMax, ...config.load };
    this.overload = new Overload(this.jobs, limits, () => env.random());
  }
}

/** Returns the context for rebuilding jobs from records. @param now no record about these jobs is later */
export function rebuildContextOf({ config, jobs, cluster }: SchedulerState, now: Millis): RebuildContext {
  return {
    wallOffsetMs: config.wallOffsetMs,
    now,
    idOf: (job) => jobs.idOf(job),
    hasPrivateNames: config.hasPrivateNames ?? false,
    placeholderFor: (worker) => cluster.members.formerAddressOf(worker),
    isMemoryScarce: () => jobs.isMemoryScarce,
  };
}
