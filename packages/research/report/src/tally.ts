import { cpusOf, present, Samples } from '@goshawk/core';
import { BusyTime } from './busy-time.js';
import type {
  ByClass,
  DeadlineResults,
  JobClass,
  Series,
  StagedResults,
  TimeParts,
  Utilisation,
  UtilisationLevels,
} from './comparison.js';
import { DeadlineTally } from './deadlines.js';
import { MeasurementError } from './errors.js';
import {
  type CounterReading,
  type JobResult,
  type RunSetup,
  UTILISATION_SNAPSHOT_SECONDS,
} from './job-result.js';
import { buildSeries, countedSeries } from './series.js';
import { Snapshots } from './snapshots.js';
import { StageTally } from './stages.js';

/** Rounding error of summed times. */
const ROUNDING_SECONDS = 1e-6;

/** Counts the jobs of a run, in any order. */
export class RunTally {
  readonly jobs = { submitted: 0, completed: 0, failed: 0 };
  readonly tasks = { submitted: 0, completed: 0, attempts: 0 };
  readonly runtimes = { short: new Samples(), long: new Samples() };
  readonly queueing = { short: new Samples(), long: new Samples() };
  readonly #setup: RunSetup;
  readonly #busy: Snapshots;
  readonly #busyTime = new BusyTime();
  readonly #waiting: ByClass<Snapshots>;
  readonly #underway: ByClass<Snapshots>;
  readonly #parts = {
    short: { queueing: 0, binding: 0, running: 0, reporting: 0 },
    long: { queueing: 0, binding: 0, running: 0, reporting: 0 },
  };
  readonly #deadlines = new DeadlineTally();
  readonly #staged: StageTally | undefined;
  #lastEndSeconds = Number.NEGATIVE_INFINITY;
  /** The last submission, since the start. */
  #submittedSeconds = 0;

  constructor(setup: RunSetup) {
    if (setup.totalSlots !== undefined && !(setup.totalSlots > 0)) {
      throw new MeasurementError(`a cluster of ${setup.totalSlots} slots cannot run tasks`);
    }
    const interval = setup.snapshotIntervalSeconds ?? UTILISATION_SNAPSHOT_SECONDS;
    this.#setup = setup;
    const snapshots = () => new Snapshots(interval);
    this.#busy = snapshots();
    this.#waiting = { short: snapshots(), long: snapshots() };
    this.#underway = { short: snapshots(), long: snapshots() };
    const { totalSlots, capacity, needsStaged = true } = setup;
    const total = { ...present({ slot: totalSlots }), ...capacity };
    this.#staged = needsStaged ? new StageTally(total, interval) : undefined;
  }

  /** Undefined if no job has stages or demands. */
  get staged(): StagedResults | undefined {
    return this.#staged?.read();
  }

  /** Undefined if no job has a deadline. */
  get deadlines(): DeadlineResults | undefined {
    return this.#deadlines.read(this.#submittedSeconds);
  }

  get policy(): string {
    return this.#setup.policy;
  }

  /** @throws MeasurementError if times are not finite, go backwards, or a completed job lacks a task */
  add(job: JobResult): void {
    this.jobs.submitted += 1;
    const last = this.#observe(job);
    this.jobs[job.outcome] += 1;
    this.#deadlines.add(job);
    this.tasks.submitted += job.taskCount;
    this.tasks.completed += job.tasksCompleted ?? (job.outcome === 'completed' ? job.taskCount : 0);
    this.tasks.attempts += job.attempts ?? job.taskStartsSeconds.length;
    const queueing = this.queueing[job.class];
    for (let task = 0; task < job.taskStartsSeconds.length; task += 1) {
      queueing.push(Math.max(0, job.taskStartsSeconds[task]! - job.submitSeconds));
    }
    if (job.outcome === 'completed') {
      this.runtimes[job.class].push(job.runtimeSeconds);
      this.#addTimeParts(job, last);
      this.#staged?.add(job);
    }
  }

  /**
   * Adds a job, such as one of the warm-up, that occupies CPUs and waits but is left out of the results.
   *
   * @throws MeasurementError as `add`
   */
  addUncounted(job: JobResult): void {
    this.#observe(job);
  }

  utilisation(): Utilisation {
    const { totalSlots } = this.#setup;
    const snapshots = this.#busySlots().length;
    const until = (seconds: number): UtilisationLevels =>
      totalSlots === undefined ? NO_LEVELS : this.#busyTime.until(seconds, totalSlots);
    return {
      ...until(this.#lastEndSeconds),
      whileSubmitting: until(Math.min(this.#submittedSeconds, this.#lastEndSeconds)),
      snapshots,
      intervalSeconds: this.#busy.intervalSeconds,
    };
  }

  /** @param readings of the cluster's counters, in order of time */
  series(readings?: readonly CounterReading[]): Series {
    const all = [
      this.#busy,
      ...Object.values(this.#waiting),
      ...Object.values(this.#underway),
    ] as Snapshots[];
    const widest = Math.max(...all.map(({ intervalSeconds }) => intervalSeconds));
    for (const snapshots of all) snapshots.widenTo(widest);
    const levels = (snapshots: ByClass<Snapshots>) => ({
      short: snapshots.short.until(this.#lastEndSeconds),
      long: snapshots.long.until(this.#lastEndSeconds),
    });
    const busySlots = this.#busySlots();
    return buildSeries(
      this.#busy.intervalSeconds,
      this.#submittedSeconds,
      {
        busySlots,
        waitingTasks: levels(this.#waiting),
        jobsUnderway: levels(this.#underway),
      },
      countedSeries(readings),
    );
  }

  timeParts(): ByClass<TimeParts | null> {
    const means = (of: JobClass): TimeParts | null => {
      const count = this.runtimes[of].length;
      if (count === 0) return null;
      const { queueing, binding, running, reporting } = this.#parts[of];
      return {
        queueing: queueing / count,
        ...(this.#setup.messageTimes === undefined ? {} : { binding: binding / count }),
        running: running / count,
        reporting: reporting / count,
      };
    };
    return { short: means('short'), long: means('long') };
  }

  /** Returns busy CPUs, limited to the total, since slightly inexact times may make two tasks overlap. */
  #busySlots(): Float64Array {
    const { totalSlots = Number.POSITIVE_INFINITY } = this.#setup;
    return this.#busy.until(this.#lastEndSeconds).map((busy) => Math.min(busy, totalSlots));
  }

  /** Adds a job to the snapshots and returns its task that ended last. */
  #observe(job: JobResult): { startSeconds: number; endSeconds: number } {
    assertConsistent(job);
    const last = { startSeconds: job.submitSeconds, endSeconds: Number.NEGATIVE_INFINITY };
    const waiting = this.#waiting[job.class];
    const cpus = cpusOfTasks(job);
    for (let task = 0; task < job.taskStartsSeconds.length; task += 1) {
      const cpusOfTask = cpus?.[task] ?? 1;
      const startSeconds = job.taskStartsSeconds[task]!;
      const runSeconds = job.taskRunSeconds[task]!;
      assertTimes(job, startSeconds, runSeconds);
      const endSeconds = startSeconds + runSeconds;
      this.#busy.add(startSeconds, endSeconds, cpusOfTask);
      this.#busyTime.add(startSeconds, endSeconds, cpusOfTask);
      waiting.add(job.submitSeconds, startSeconds);
      if (endSeconds > last.endSeconds) {
        last.startSeconds = startSeconds;
        last.endSeconds = endSeconds;
      }
    }
    const endSeconds = job.submitSeconds + job.runtimeSeconds;
    // Tasks of a failed job that never started waited until the job was given up.
    for (let task = job.taskStartsSeconds.length; task < job.taskCount; task += 1) {
      waiting.add(job.submitSeconds, endSeconds);
    }
    this.#underway[job.class].add(job.submitSeconds, endSeconds);
    this.#submittedSeconds = Math.max(this.#submittedSeconds, job.submitSeconds);
    this.#lastEndSeconds = Math.max(this.#lastEndSeconds, last.endSeconds);
    return last;
  }

  #addTimeParts(job: JobResult, last: { startSeconds: number; endSeconds: number }): void {
    const parts = this.#parts[job.class];
    const { runtimeSeconds } = job;
    const { messageTimes } = this.#setup;
    const knownSeconds = last.startSeconds - job.submitSeconds;
    // The worker's clock may put the end slightly after the client's, so each part is limited to the rest of
    // the run time and the parts add up to it.
    const started = Math.min(runtimeSeconds, Math.max(0, knownSeconds - (messageTimes?.reporting ?? 0)));
    const binding = Math.min(started, messageTimes?.binding ?? 0);
    const running = Math.min(runtimeSeconds - started, last.endSeconds - last.startSeconds);
    parts.queueing += started - binding;
    parts.binding += binding;
    parts.running += running;
    parts.reporting += runtimeSeconds - started - running;
  }
}

/** Returns the CPUs of each task; undefined: one each. */
function cpusOfTasks({ stages }: JobResult): readonly number[] | undefined {
  return stages?.flatMap(({ tasks, demand }) => new Array<number>(tasks).fill(cpusOf(demand)));
}

const NO_LEVELS: UtilisationLevels = { mean: null, p50: null, max: null };

function assertConsistent(job: JobResult): void {
  const started = job.taskStartsSeconds.length;
  if (!Number.isFinite(job.submitSeconds) || !Number.isFinite(job.runtimeSeconds) || job.runtimeSeconds < 0) {
    throw new MeasurementError(
      `job ${job.id}: submitted at ${job.submitSeconds} s with a run time of ${job.runtimeSeconds} s, ` +
        'which is impossible',
    );
  }
  if (job.submitSeconds < 0) {
    throw new MeasurementError(`job ${job.id}: submitted at ${job.submitSeconds} s, before the run began`);
  }
  if (job.taskRunSeconds.length !== started || started > job.taskCount) {
    throw new MeasurementError(
      `job ${job.id}: ${started} starts and ${job.taskRunSeconds.length} run times for ${job.taskCount} tasks`,
    );
  }
  if (job.outcome === 'completed' && (started < job.taskCount || job.taskCount === 0)) {
    throw new MeasurementError(
      `job ${job.id}: completed, but ${started} of its ${job.taskCount} tasks have started`,
    );
  }
}

function assertTimes(job: JobResult, startSeconds: number, runSeconds: number): void {
  if (!Number.isFinite(startSeconds) || !Number.isFinite(runSeconds) || runSeconds < 0) {
    throw new MeasurementError(
      `job ${job.id}: a task started at ${startSeconds} s and ran for ${runSeconds} s, which is impossible`,
    );
  }
  if (startSeconds < job.submitSeconds - ROUNDING_SECONDS) {
    throw new MeasurementError(
      `job ${job.id}: a task started at ${startSeconds} s, before the job's submission at ${job.submitSeconds} s`,
    );
  }
}
