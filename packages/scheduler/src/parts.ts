import { LIMITS, type Millis } from '@goshawk/core';
import { Keys } from './accepting/keys.js';
import { DEFAULT_LOAD_LIMITS, Overload } from './accepting/overload.js';
import { Predecessors } from './accepting/predecessors.js';
import { RecentSubmissions } from './accepting/recent-submissions.js';
import { Binder } from './binding/binder.js';
import { Delivery } from './binding/delivery.js';
import { Answers } from './clients/answers.js';
import { JobViews } from './clients/job-views.js';
import { Watching } from './clients/watching.js';
import {
  JOB_LENGTHS,
  type SchedulerConfig,
  type SchedulerCounters,
  type SchedulerEnvironment,
} from './contract.js';
import { AbandonedAttempts } from './ending/abandoned-attempts.js';
import { Cancelling } from './ending/cancelling.js';
import { Endings } from './ending/endings.js';
import { Routing } from './finding/routing.js';
import { Cluster } from './joining/cluster.js';
import { Usage } from './joining/usage.js';
import { JobStore } from './keeping/job-store.js';
import { Ledger } from './keeping/ledger.js';
import { sharesOf } from './keeping/memory-shares.js';
import type { Trace } from './keeping/traces.js';
import { Unwritten } from './keeping/unwritten.js';
import { JobEvents } from './observing/job-events.js';
import { type Circumstances, circumstancesOf } from './observing/snapshot.js';
import { Tallies } from './observing/tallies.js';
import { Pieces } from './recovering/pieces.js';
import { type RebuildContext, rebuiltJob } from './recovering/rebuild.js';
import { Recovery } from './recovering/recovery.js';
import { RunningTaskAudit } from './recovering/running-task-audit.js';
import { SweepTimer } from './recovering/sweep-timer.js';
import { Sampler } from './sampling/sampler.js';

/** What a scheduler is made of. Each part is given the parts that it calls; what concerns several is a function of all. */
export class SchedulerParts {
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
  readonly cluster: Cluster;
  readonly usage: Usage;
  readonly ledger: Ledger;
  readonly jobs: JobStore;
  readonly unwritten = new Unwritten();
  readonly pieces: Pieces;
  readonly recovery: Recovery;
  readonly audit: RunningTaskAudit;
  readonly sweepTimer: SweepTimer;
  readonly views: JobViews;
  readonly watching: Watching;
  readonly overload: Overload;
  readonly events: JobEvents;
  readonly routing: Routing;
  readonly sampler: Sampler;
  readonly delivery: Delivery;
  readonly binder: Binder;
  readonly abandoned: AbandonedAttempts;
  readonly endings: Endings;
  readonly cancelling: Cancelling;
  readonly predecessors: Predecessors;
  readonly keys: Keys;
  readonly recentSubmissions = new RecentSubmissions();
  readonly answers: Answers;

  constructor(config: SchedulerConfig, env: SchedulerEnvironment) {
    const { inheritance, tag } = config;
    const shares = sharesOf(config.memoryBytes ?? LIMITS.schedulerBytesMax);
    const formers = inheritance?.previousIncarnations ?? [];
    const lastJob = inheritance === undefined ? 0 : inheritance.lastJob + LIMITS.unrecordedJobsMax;
    const random = () => env.random();
    this.config = config;
    this.env = env;
    // Joining.
    const cluster = new Cluster(config, env);
    this.cluster = cluster;
    this.usage = new Usage(env, config.estimatorStates?.[JOB_LENGTHS]);
    // Keeping.
    const ledger = new Ledger(env, config, shares);
    this.ledger = ledger;
    const recall = ({ number, endedAt }: Trace) =>
      rebuiltJob(env.recallJob!(number), this.rebuildContext(endedAt));
    const jobs = new JobStore(config, lastJob, shares, ledger, random, env.recallJob && recall);
    this.jobs = jobs;
    // Recovering.
    this.pieces = new Pieces(env, inheritance?.piece);
    this.recovery = new Recovery(env, jobs, cluster.members, formers, lastJob);
    this.audit = new RunningTaskAudit(jobs, ledger, formers);
    this.sweepTimer = new SweepTimer(env, cluster);
    // Watching.
    this.views = new JobViews(env, config, cluster, (job) => this.predecessors.of(job));
    this.watching = new Watching(env, cluster, ledger, this.views);
    const limits = { ...DEFAULT_LOAD_LIMITS, activeBytesMax: shares.activeMax, ...config.load };
    this.overload = new Overload(jobs, limits, random);
    const events = new JobEvents(env, this.counters, this.tallies, this.overload, this.watching);
    this.events = events;
    // Finding.
    this.routing = new Routing(
      env,
      cluster,
      this.counters,
      jobs,
      this.recovery,
      this.unwritten,
      this.usage,
      this.sweepTimer,
      (job, batch, now) => this.binder.giveHeld(job, batch, now),
    );
    this.sampler = new Sampler(env, cluster.members, ledger, this.routing, events, config.estimatorStates);
    // Binding.
    this.delivery = new Delivery(env, cluster, jobs, ledger, this.sweepTimer);
    this.binder = new Binder(
      env,
      cluster,
      jobs,
      this.unwritten,
      this.routing,
      this.delivery,
      this.sampler,
      events,
    );
    // Ending.
    this.abandoned = new AbandonedAttempts(ledger);
    this.endings = new Endings(
      env,
      cluster,
      jobs,
      ledger,
      this.usage,
      this.routing,
      this.sampler,
      this.abandoned,
      events,
      (job, now) => this.predecessors.ended(job, now),
    );
    this.cancelling = new Cancelling(ledger, this.routing, this.endings, this.sweepTimer, events);
    // Accepting.
    this.predecessors = new Predecessors(
      env,
      tag,
      cluster,
      jobs,
      ledger,
      this.routing,
      this.sampler,
      this.endings,
      this.cancelling,
    );
    this.keys = new Keys(config.name, ledger);
    this.answers = new Answers(ledger);
  }

  /** What has to be known to say why a task waits. */
  circumstances(now: Millis): Circumstances {
    return circumstancesOf(this.cluster, this.recovery, now);
  }

  /** What jobs are rebuilt with. @param now nothing that was written down of them is later */
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
