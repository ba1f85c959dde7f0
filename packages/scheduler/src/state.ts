import { LIMITS, type Millis } from '@goshawk/core';
import { Cluster } from './cluster/cluster.js';
import { Notices } from './cluster/notices.js';
import { SweepTimer } from './cluster/sweep-timer.js';
import { UnfitWorkers } from './cluster/unfit-workers.js';
import { Usage } from './cluster/usage.js';
import { JOB_LENGTHS, type SchedulerConfig, type SchedulerEnvironment } from './contract.js';
import { Accounting } from './durability/accounting.js';
import { ChunkedWork } from './durability/chunked-work.js';
import { JobStore } from './durability/job-store.js';
import { Ledger } from './durability/ledger.js';
import { type MemoryShares, sharesOf } from './durability/memory-shares.js';
import { NotDurableJobs } from './durability/not-durable-jobs.js';
import { Notifications } from './durability/notifications.js';
import { Quotas } from './durability/quotas.js';
import { type RebuildContext, rebuildEndedJob } from './durability/rebuild.js';
import type { Tombstone } from './durability/tombstones.js';
import { CrashesByProgram } from './job/crashes.js';
import { Forecasts } from './job/forecasts.js';
import { JobEvents, type SchedulerCounters } from './job/job-events.js';
import { Tallies } from './job/tallies.js';

/**
 * The state that all layers share: jobs, cluster, journal. Each layer adds its own: `dispatch/search.ts`,
 * `dispatch/dispatch.ts`, `life/life.ts`, `life/parts.ts`. Functions take the state of their layer as `s`, so they see
 * nothing above it. A class has state of its own.
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
  readonly sweepTimer: SweepTimer;

  constructor(config: SchedulerConfig, env: SchedulerEnvironment) {
    const { inheritance } = config;
    const lastJob = inheritance === undefined ? 0 : inheritance.lastJob + LIMITS.unrecordedJobsMax;
    const readArchivedRecords = ({ number, endedAt }: Tombstone) =>
      rebuildEndedJob(env.readJobRecords!(number), this.rebuildContext(endedAt));
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
    this.quotas = new Quotas(this.jobs);
    this.notifications = new Notifications(env, this.ledger, this.jobs);
    this.chunkedWork = new ChunkedWork(env, inheritance?.chunkSize);
    this.sweepTimer = new SweepTimer(env, this.cluster);
    this.forecasts = new Forecasts(config);
    this.notices = new Notices(env, config.wallOffsetMs);
  }

  /** Returns the context for rebuilding jobs from records. @param now no record about these jobs is later */
  rebuildContext(now: Millis): RebuildContext {
    const { config, jobs, cluster } = this;
    return {
      wallOffsetMs: config.wallOffsetMs,
      now,
      idOf: (job) => jobs.idOf(job),
      hasPrivateNames: config.hasPrivateNames ?? false,
      placeholderFor: (worker) => cluster.members.formerAddressOf(worker),
      isMemoryScarce: () => jobs.isMemoryScarce,
    };
  }
}
