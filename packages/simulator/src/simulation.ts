import {
  type ClusterSettings,
  isFinal,
  type JobSpec,
  LIVE_TIMINGS,
  type MessageType,
  type Millis,
  type Resources,
} from '@goshawk/core';
import type { EstimatorStates, Job } from '@goshawk/scheduler';
import { CounterLog, type CounterReading, queuedEntries } from './counter-log.js';
import type { NetworkModel } from './network/index.js';
import { VirtualCluster, type VirtualClusterOptions } from './virtual-cluster.js';

/** A job of a workload. */
export interface SimulatedJob {
  /** Since the beginning of the workload; no earlier than that of the job before. */
  readonly submitMs: Millis;
  /** Job of sleep tasks. */
  readonly spec: JobSpec;
}

export interface SimulationOptions {
  readonly workers: number;
  readonly slots: number;
  /** Resources that the tasks of one worker share, besides its slots. */
  readonly capacity: Resources;
  /** Rack, zone, model of a worker, by its number. Default: none. */
  readonly attributesOf?: VirtualClusterOptions['attributesOf'];
  readonly schedulers: number;
  readonly settings: ClusterSettings;
  readonly seed: number | string;
  /** Initial state of the schedulers' estimators, by name. */
  readonly estimatorStates?: EstimatorStates | undefined;
  /** Default: 0.5 ms a message. */
  readonly network?: NetworkModel;
  /** How long central takes for each message. Default: 0 ms. */
  readonly centralServiceMs?: Millis;
  /** Tells how long it takes to plan. ms */
  readonly wallClock?: VirtualClusterOptions['wallClock'];
  /** Checks invariants all the time. Slow; for tests. */
  readonly checked?: boolean;
  /** A witness to all that the machines do. */
  readonly observe?: NonNullable<VirtualClusterOptions['observe']>;
}

/** Outcome of a job. Times are ms since the beginning of the workload; tasks in order. */
export interface SimulatedEnd<J extends SimulatedJob = SimulatedJob> {
  /** Its place in the workload. */
  readonly index: number;
  readonly job: J;
  /** When its client knew of it, where that takes time in the network that is simulated. */
  readonly endedMs: Millis;
  readonly completed: boolean;
  readonly tasksCompleted: number;
  /** Runs of its tasks, those that failed included. */
  readonly attempts: number;
  /** Class and estimate; undefined without any. */
  readonly judged: { readonly long: boolean; readonly estimateMs: Millis | undefined };
  /** Tasks that ran first so that the others could be judged, and when that was decided, since its submission. */
  readonly sampled:
    | { readonly pilots: number; readonly decidedMs: Millis | undefined; readonly note: unknown }
    | undefined;
  /** Start times of successful runs; negative for tasks that never started. */
  readonly startsMs: Float64Array;
  readonly runsMs: Float64Array;
}

/**
 * Before the first job arrives the parties find each other, as they do live. The workload's time begins
 * after this much of the cluster's. ms
 */
const SETTLING_MS = 1_000;
/** Ended jobs that are handed out at a time, at most. */
const BATCH = 256;
/** Events after which ended jobs are handed out, also fewer than a batch: some tens of ms of real time. */
const SLICE_EVENTS = 65_536;
/** Events between two looks at whether a batch is full, and at the clock: policies may take 10 ms for one. */
const STRETCH_EVENTS = 64;
/** Wall time after which the caller has a moment of its own, whether jobs have ended or not. */
const PAUSE_MS: Millis = 100;
const NOTHING_ENDED: readonly never[] = [];

/**
 * A workload on a virtual cluster. Jobs are taken from the workload as their time comes, and handed out as
 * they end, so that only those under way are in memory.
 */
export class Simulation<J extends SimulatedJob = SimulatedJob> {
  readonly #cluster: VirtualCluster;
  readonly #schedulers: number;
  readonly #log = new CounterLog();
  readonly #knowsQueues: boolean;
  /** Under way, by the owner's job object. */
  readonly #underway = new Map<Job, Submitted<J>>();
  #ended: SimulatedEnd<J>[] = [];
  #submitted = 0;
  /** When the last job was submitted. */
  #latestMs: Millis = 0;
  /** On their way from the client to their owner. */
  #travelling = 0;
  readonly #wallClock: () => Millis;
  #pausedAt: Millis;
  /** Events since ended jobs were last handed out. */
  #sliceEvents = 0;

  constructor(options: SimulationOptions) {
    this.#wallClock = options.wallClock ?? (() => 0);
    this.#pausedAt = this.#wallClock();
    this.#schedulers = options.schedulers;
    const { cancel } = options.settings.policy;
    this.#knowsQueues = cancel === 'lazy';
    this.#cluster = new VirtualCluster({
      ...options,
      settings: gathering(options),
      networkBeginsAt: SETTLING_MS,
      onJobEnd: (job, now) => this.#jobEnded(job, now),
    });
  }

  /**
   * Runs the workload, once; jobs come out as they end, until all have. Now and then none do, so that its caller
   * always has a moment to show progress and be interrupted.
   *
   * @throws RangeError when jobs are not in order of submission
   */
  async *run(jobs: AsyncIterable<J> | Iterable<J>): AsyncIterable<readonly SimulatedEnd<J>[]> {
    // Awaiting a job costs more than most other work.
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

  /** Makes happen what comes before the job, and submits it. @returns what ended meanwhile, as `run` does */
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

  /** Time of the workload. ms */
  get now(): Millis {
    return this.#cluster.now - SETTLING_MS;
  }

  get events(): number {
    return this.#cluster.events;
  }

  get jobsSubmitted(): number {
    return this.#submitted;
  }

  /** Jobs that are neither completed nor failed: none when `run` has come to its end. */
  get jobsUnderway(): number {
    return this.#underway.size + this.#travelling;
  }

  get messages(): Readonly<Partial<Record<MessageType, number>>> {
    return this.#cluster.messages;
  }

  get steals(): { attempts: number; successes: number; probesMoved: number } {
    return { ...this.#cluster.steals };
  }

  /** How central's policy has planned so far, by name. */
  get planning(): Readonly<Record<string, number>> {
    return this.#cluster.central.planning;
  }

  /** How long that took, in wall time; undefined where nothing was planned with a solver. */
  get planningTimes(): ReturnType<VirtualCluster['planningTimes']['read']> {
    return this.#cluster.planningTimes.read();
  }

  /** Readings during the run and at its end. */
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

  /** Makes what happens up to a time happen, until a batch has ended, a slice is over, or a pause is due. */
  #advance(until: Millis): Progress {
    for (;;) {
      if (this.#cluster.advance(until, STRETCH_EVENTS)) return 'done';
      const progress = this.#progress();
      if (progress !== 'done') return progress;
    }
  }

  /**
   * The same once all jobs are submitted, up to the end of the last one: timers of idle thieves, or of the
   * partition, would go on for ever; so may a job that nothing moves.
   */
  #finish(): Progress {
    const cluster = this.#cluster;
    while (this.jobsUnderway > 0 && cluster.pendingEvents > 0) {
      if (this.#log.isDue(this.now)) return 'batch';
      for (let left = STRETCH_EVENTS; left > 0; left--) {
        if (this.jobsUnderway === 0 || cluster.pendingEvents === 0) break;
        cluster.step();
      }
      const progress = this.#progress();
      if (progress !== 'done') return progress;
    }
    return 'done';
  }

  /** After a stretch of events. The clock must not decide when ended jobs are handed out: runs are the same each time. */
  #progress(): Progress {
    this.#sliceEvents += STRETCH_EVENTS;
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
    this.#travelling++;
    this.#cluster.at(now + delays.submissionMs(now), (arrived) => {
      this.#travelling--;
      this.#accept(index, job, arrived);
    });
  }

  #accept(index: number, job: J, now: Millis): void {
    const owner = this.#cluster.schedulers[index % this.#schedulers]!;
    const accepted = owner.submit(job.spec, undefined, now);
    if (isFinal(accepted.state)) this.#end(accepted, { index, job }, now);
    else this.#underway.set(accepted, { index, job });
  }

  #takeEnded(): readonly SimulatedEnd<J>[] {
    const ended = this.#ended;
    this.#ended = [];
    this.#sliceEvents = 0;
    return ended;
  }

  #jobEnded(ended: Job, now: Millis): void {
    const submitted = this.#underway.get(ended);
    // Over before it was accepted: seen there.
    if (submitted === undefined) return;
    this.#underway.delete(ended);
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
      judged: { long: ended.class === 'long', estimateMs: ended.estimateMs },
      sampled: sampledOf(ended),
      startsMs: startsOf(ended),
      runsMs: ended.tasks.runMs,
    });
  }
}

/** Whether what was asked for has happened, and otherwise why it stands still: to hand out ended jobs, or for its caller. */
type Progress = 'done' | 'batch' | 'pause';

/** A job, and its place in the workload. */
interface Submitted<J extends SimulatedJob> {
  readonly index: number;
  readonly job: J;
}

function sampledOf({ sample, decidedAt, acceptedAt }: Job): SimulatedEnd['sampled'] {
  if (sample === undefined) return undefined;
  const { tasks, plan } = sample;
  return {
    pilots: tasks.length,
    decidedMs: decidedAt === undefined ? undefined : decidedAt - acceptedAt,
    note: plan.note,
  };
}

/** Since the beginning of the workload. A loop, since there is one for each task: `map` takes three times as long. */
function startsOf({ tasks: { startedAt } }: Job): Float64Array {
  const starts = new Float64Array(startedAt.length);
  for (let i = 0; i < starts.length; i++) starts[i] = startedAt[i]! - SETTLING_MS;
  return starts;
}

/**
 * With constant delays all who join come to central at one time, and are told of at once. With others each comes
 * by itself, and without a pause in which they gather each of 15,000 would be told of all that come after.
 */
function gathering({ settings, network }: SimulationOptions): ClusterSettings {
  const { timings } = settings;
  if (network === undefined || network.kind === 'constant' || timings.publishMs > 0) return settings;
  return { ...settings, timings: { ...timings, publishMs: LIVE_TIMINGS.publishMs } };
}
