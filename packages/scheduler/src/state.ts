import { LIMITS, type Millis } from '@goshawk/core';
import { Quotas } from './accepting/quotas.js';
import {
  JOB_LENGTHS,
  type SchedulerConfig,
  type SchedulerCounters,
  type SchedulerEnvironment,
} from './contract.js';
import { UnfitWorkers } from './ending/unfit-workers.js';
import { CrashesByProgram } from './job/crashes.js';
import { Cluster } from './joining/cluster.js';
import { Usage } from './joining/usage.js';
import { JobStore } from './keeping/job-store.js';
import { Ledger } from './keeping/ledger.js';
import { type MemoryShares, sharesOf } from './keeping/memory-shares.js';
import type { Trace } from './keeping/traces.js';
import { Unwritten } from './keeping/unwritten.js';
import { type Circumstances, circumstancesOf } from './observing/snapshot.js';
import { Tallies } from './observing/tallies.js';
import { type RebuildContext, rebuiltJob } from './recovering/rebuild.js';
import { Recovery } from './recovering/recovery.js';
import { SweepTimer } from './recovering/sweep-timer.js';

/**
 * The state of a scheduler: its jobs, its cluster, its journal. Nothing here calls the parts that act on it
 * (`parts.ts`).
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
  readonly crashes = new CrashesByProgram();
  readonly unfit: UnfitWorkers;
  readonly shares: MemoryShares;
  readonly cluster: Cluster;
  readonly usage: Usage;
  readonly ledger: Ledger;
  readonly jobs: JobStore;
  readonly unwritten = new Unwritten();
  readonly quotas: Quotas;
  readonly recovery: Recovery;
  readonly sweepTimer: SweepTimer;

  constructor(config: SchedulerConfig, env: SchedulerEnvironment) {
    const { inheritance } = config;
    const lastJob = inheritance === undefined ? 0 : inheritance.lastJob + LIMITS.unrecordedJobsMax;
    const recall = ({ number, endedAt }: Trace) =>
      rebuiltJob(env.recallJob!(number), this.rebuildContext(endedAt));
    this.config = config;
    this.env = env;
    this.shares = sharesOf(config.memoryBytes ?? LIMITS.schedulerBytesMax);
    this.cluster = new Cluster(config, env);
    this.unfit = new UnfitWorkers(env, this.cluster.members);
    this.usage = new Usage(env, config.estimatorStates?.[JOB_LENGTHS]);
    this.ledger = new Ledger(env, config, this.shares);
    const random = () => env.random();
    this.jobs = new JobStore(config, lastJob, this.shares, this.ledger, random, env.recallJob && recall);
    this.quotas = new Quotas(this.jobs);
    this.recovery = new Recovery(
      env,
      this.jobs,
      this.cluster.members,
      inheritance?.previousIncarnations ?? [],
      lastJob,
    );
    this.sweepTimer = new SweepTimer(env, this.cluster);
  }

  /** Returns the facts that explain why a task waits. */
  circumstances(now: Millis): Circumstances {
    return circumstancesOf(this.cluster, this.recovery, now);
  }

  /** Returns the context for rebuilding jobs. @param now no record about them is later */
  rebuildContext(now: Millis): RebuildContext {
    const { config, jobs, cluster } = this;
    return {
      wallOffsetMs: config.wallOffsetMs,
      now,
      idOf: (job) => jobs.idOf(job),
      formerly: (worker) => cluster.members.formerly(worker),
      isShort: () => jobs.isShort,
    };
  }
}
