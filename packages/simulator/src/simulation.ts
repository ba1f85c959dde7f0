import {
  type ClusterSettings,
  isFinal,
  type JobSpec,
  LIVE_TIMINGS,
  type MessageType,
  type Millis,
  type Resources,
  type UserGrants,
} from '@goshawk/core';
import type { EstimatorStates, Job } from '@goshawk/scheduler';
import { CounterLog, type CounterReading, queuedEntries } from './counter-log.js';
import type { NetworkModel } from './network/index.js';
import { VirtualCluster, type VirtualClusterOptions } from './virtual-cluster.js';

/** A job of a workload. */
export interface SimulatedJob {
  /** Relative to the start of the workload; no earlier than the previous job. */
  readonly submitMs: Millis;
  /** A job of sleep tasks. */
  readonly spec: JobSpec;
}

export interface SimulationOptions {
  readonly workers: number;
  readonly slots: number;
  /** Maximum number of tasks at a worker that share its CPUs. Default: as many as slots. */
  readonly places?: number | undefined;
  /** Resources that the tasks of one worker share, besides its slots. */
  readonly capacity: Resources;
  /** Attributes of a worker by its number. Default: none. */
  readonly attributesOf?: VirtualClusterOptions['attributesOf'];
  readonly schedulers: number;
  readonly settings: ClusterSettings;
  /** Weights and limits of users. Default: equal weights. */
  readonly users?: UserGrants | undefined;
  readonly seed: number | string;
  /** Initial state of the schedulers' estimators, by name. */
  readonly estimatorStates?: EstimatorStates | undefined;
  /** Network model; default: 0.5 ms per message. */
  readonly network?: NetworkModel;
  /** Time that central takes for each message. Default: 0 ms. */
  readonly centralServiceMs?: Millis;
  /** Slow and failing workers. Default: none. */
  readonly trouble?: VirtualClusterOptions['trouble'];
  /** Clock (ms) by which planning time is measured. */
  readonly wallClock?: VirtualClusterOptions['wallClock'];
  /** Checks invariants after every step. Slow; for tests. */
  readonly checked?: boolean;
  /** Observes everything that the machines do. */
  readonly observe?: NonNullable<VirtualClusterOptions['observe']>;
}

/** Outcome of a job. Times are ms since the start of the workload; tasks in order. */
export interface SimulatedEnd<J extends SimulatedJob = SimulatedJob> {
  /** Index in the workload. */
  readonly index: number;
  readonly job: J;
  /** When its client received the end, if the network model includes that delay; otherwise when its owner ended it. */
  readonly endedMs: Millis;
  readonly completed: boolean;
  readonly tasksCompleted: number;
  /** Attempts of all its tasks, including failed attempts. */
  readonly attempts: number;
  /** Class and estimate; undefined without any. */
  readonly judged: { readonly long: boolean; readonly estimateMs: Millis | undefined };
  /** Pilots and the time of their decision, relative to its submission. */
  readonly sampled:
    | { readonly pilots: number; readonly decidedMs: Millis | undefined; readonly note: unknown }
    | undefined;
  /** Start times of successful runs; negative for tasks that never started. */
  readonly startsMs: Float64Array;
  readonly runsMs: Float64Array;
}

/** Time (ms) for the parties to register before the workload starts. */
const SETTLING_MS = 1_000;
/** Maximum number of ended jobs per batch. */
const BATCH = 256;
/** Maximum number of events per batch: some tens of ms of real time. */
const SLICE_EVENTS = 65_536;
/** Events between checks for a full batch and of the clock; a policy may take 10 ms for one event. */
const CHECK_EVENTS = 64;
/** Wall time after which the caller gets control, whether jobs have ended or not. */
const PAUSE_MS: Millis = 100;
const NOTHING_ENDED: readonly never[] = [];

/**
 * Runs a workload on a virtual cluster. Jobs are taken from the workload when they are due, and returned as they end,
 * so that only active jobs are in memory.
 */
export class Simulation<J extends SimulatedJob = SimulatedJob> {
  readonly #cluster: VirtualCluster;
  readonly #schedulers: number;
  readonly #log = new CounterLog();
  readonly #knowsQueues: boolean;
  /** Active jobs, by the owner's job object. */
  readonly #active = new Map<Job, Submitted<J>>();
  #ended: SimulatedEnd<J>[] = [];
  #submitted = 0;
  /** Time of the last submission. */
  #latestMs: Millis = 0;
  /** Jobs in flight from the client to their owner. */
  #jobsInFlight = 0;
  readonly #wallClock: () => Millis;
  #pausedAt: Millis;
  /** Events since ended jobs were last returned. */
  #sliceEvents = 0;

  constructor(options: SimulationOptions) {
    this.#wallClock = options.wallClock ?? (() => 0);
    this.#pausedAt = this.#wallClock();
    this.#schedulers = options.schedulers;
    const { cancel } = options.settings.policy;
    this.#knowsQueues = cancel === 'lazy';
    this.#cluster = new VirtualCluster({
      ...options,
      settings: withPublishing(options),
      countsUsage: false,
      networkBeginsAt: SETTLING_MS,
      onJobEnd: (job, now) => this.#jobEnded(job, now),
    });
  }

  /**
   * Runs the workload, once; yields batches of ended jobs until all have ended. Batches may be empty, so that the
   * caller can show progress and interrupt.
   *
   * @throws RangeError if jobs are not in order of submission
   */
  async *run(jobs: AsyncIterable<J> | Iterable<J>): AsyncIterable<readonly SimulatedEnd<J>[]> {
    // The loop avoids awaiting each job, which would cost more than most other work.
    if (Symbol.asyncIterator in jobs) {
      for await (const job of jobs) for (const ended of this.#untilSubmitted(job)) yield ended;
    } else {
      for (const job of jobs) for (const ended of this.#untilSubmitted(job)) yield ended;
    }
    for (let state = this.#finish(); state !== 'done'; state = this.#finish()) {
      if (state === 'batch') this.#readIfDue();
      yield state === 'pause' ? NOTHING_ENDED : this.#takeEnded();
    }
    this.#read();
    yield this.#takeEnded();
  }

  /** Runs all events before the job, and submits it. @returns jobs that ended before it, as `run` */
  *#untilSubmitted(job: J): Iterable<readonly SimulatedEnd<J>[]> {
    if (job.submitMs < this.#latestMs)
      throw new RangeError(`job ${this.#submitted} is submitted before the one ahead of it`);
    this.#latestMs = job.submitMs;
    const arrivesAt = SETTLING_MS + job.submitMs;
    for (let state = this.#advance(arrivesAt); state !== 'done'; state = this.#advance(arrivesAt))
      yield state === 'pause' ? NOTHING_ENDED : this.#takeEnded();
    if (this.#isPauseDue()) yield NOTHING_ENDED;
    this.#readIfDue();
    this.#cluster.run(arrivesAt);
    this.#submit(job);
    if (this.#ended.length >= BATCH) yield this.#takeEnded();
  }

  /** Returns the time of the workload in ms. */
  get now(): Millis {
    return this.#cluster.now - SETTLING_MS;
  }

  get events(): number {
    return this.#cluster.events;
  }

  get jobsSubmitted(): number {
    return this.#submitted;
  }

  /** Returns the number of jobs that have not ended; 0 after `run`. */
  get activeJobs(): number {
    return this.#active.size + this.#jobsInFlight;
  }

  get messages(): Readonly<Partial<Record<MessageType, number>>> {
    return this.#cluster.messages;
  }

  get steals(): { attempts: number; successes: number; probesMoved: number } {
    return { ...this.#cluster.steals };
  }

  /** Returns statistics of central's planning, by name. */
  get planning(): Readonly<Record<string, number>> {
    return this.#cluster.central.planning;
  }

  /** Returns the wall time of planning; undefined without a solver. */
  get planningTimes(): ReturnType<VirtualCluster['planningTimes']['read']> {
    return this.#cluster.planningTimes.read();
  }

  /** Returns the readings during the run and at its end. */
  get readings(): readonly CounterReading[] {
    return this.#log.readings;
  }

  #readIfDue(): void {
    if (this.#log.isDue(this.now)) this.#read();
  }

  #read(): void {
    const { attempts, successes, probesMoved } = this.steals;
    this.#log.add({
      atMs: this.now,
      stealAttempts: attempts,
      stealSuccesses: successes,
      probesMoved,
      queuedEntries: this.#knowsQueues ? queuedEntries(this.messages) : undefined,
    });
  }

  /** Runs events up to a time, until a batch is full, the maximum number of events is reached, or a pause is due. */
  #advance(until: Millis): Progress {
    for (;;) {
      if (this.#cluster.advance(until, CHECK_EVENTS)) return 'done';
      const progress = this.#progress();
      if (progress !== 'done') return progress;
    }
  }

  /**
   * Continues after the last submission until all jobs have ended. Timers of idle thieves or of the partition
   * would go on forever, and so might a stuck job.
   */
  #finish(): Progress {
    const cluster = this.#cluster;
    while (this.activeJobs > 0 && cluster.pendingEvents > 0) {
      if (this.#log.isDue(this.now)) return 'batch';
      for (let left = CHECK_EVENTS; left > 0; left--) {
        if (this.activeJobs === 0 || cluster.pendingEvents === 0) break;
        cluster.step();
      }
      const progress = this.#progress();
      if (progress !== 'done') return progress;
    }
    return 'done';
  }

  /**
   * Checks progress after a number of events. Batches must not depend on the clock, for reproducible runs.
   */
  #progress(): Progress {
    this.#sliceEvents += CHECK_EVENTS;
    if (this.#ended.length >= BATCH || this.#sliceEvents >= SLICE_EVENTS) return 'batch';
    return this.#isPauseDue() ? 'pause' : 'done';
  }

  #isPauseDue(): boolean {
    const now = this.#wallClock();
    if (now - this.#pausedAt < PAUSE_MS) return false;
    this.#pausedAt = now;
    return true;
  }

  #submit(job: J): void {
    const index = this.#submitted++;
    const { now, delays } = this.#cluster;
    if (delays === undefined) return this.#accept(index, job, now);
    this.#jobsInFlight++;
    this.#cluster.at(now + delays.submissionMs(now), (arrived) => {
      this.#jobsInFlight--;
      this.#accept(index, job, arrived);
    });
  }

  #accept(index: number, job: J, now: Millis): void {
    const owner = this.#cluster.schedulers[index % this.#schedulers]!;
    const accepted = owner.submit(job.spec, undefined, now);
    if (isFinal(accepted.state)) this.#end(accepted, { index, job }, now);
    else this.#active.set(accepted, { index, job });
  }

  #takeEnded(): readonly SimulatedEnd<J>[] {
    const ended = this.#ended;
    this.#ended = [];
    this.#sliceEvents = 0;
    return ended;
  }

  #jobEnded(ended: Job, now: Millis): void {
    const submitted = this.#active.get(ended);
    // The job ended during `submit`, and `#accept` reports it.
    if (submitted === undefined) return;
    this.#active.delete(ended);
    this.#end(ended, submitted, now);
  }

  #end(ended: Job, { index, job }: Submitted<J>, now: Millis): void {
    this.#ended.push({
      index,
      job,
      endedMs: now + (this.#cluster.delays?.newsMs(now) ?? 0) - SETTLING_MS,
      completed: ended.state === 'completed',
      tasksCompleted: ended.counts.completed,
      attempts: ended.history.total,
      judged: { long: ended.class === 'long', estimateMs: ended.estimate.meanMs },
      sampled: sampledOf(ended),
      startsMs: startsOf(ended),
      runsMs: ended.tasks.runMs,
    });
  }
}

/** Whether the requested events have run, or why they were interrupted. */
type Progress = 'done' | 'batch' | 'pause';

/** A job with its index in the workload. */
interface Submitted<J extends SimulatedJob> {
  readonly index: number;
  readonly job: J;
}

function sampledOf({ estimate, times, acceptedAt }: Job): SimulatedEnd['sampled'] {
  if (estimate.sample === undefined) return undefined;
  const { tasks, plan } = estimate.sample;
  return {
    pilots: tasks.length,
    decidedMs: times.classifiedAt === undefined ? undefined : times.classifiedAt - acceptedAt,
    note: plan.note,
  };
}

/**
 * Returns start times relative to the start of the workload. It uses a loop, because `map` takes three times
 * as long and there is one entry per task.
 */
function startsOf({ tasks: { startedAt } }: Job): Float64Array {
  const starts = new Float64Array(startedAt.length);
  for (let i = 0; i < starts.length; i++) starts[i] = startedAt[i]! - SETTLING_MS;
  return starts;
}

/**
 * Returns central's settings for publishing members. With constant delays, all parties reach central at one
 * time and are published together. With random delays they arrive separately, so central must collect them;
 * otherwise it would send each of 15,000 workers a message about every later one.
 */
function withPublishing({ settings, network }: SimulationOptions): ClusterSettings {
  const { timings } = settings;
  if (network === undefined || network.kind === 'constant' || timings.publishMs > 0) return settings;
  return { ...settings, timings: { ...timings, publishMs: LIVE_TIMINGS.publishMs } };
}
