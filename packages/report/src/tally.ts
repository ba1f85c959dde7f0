import type { ByClass, JobClass, TimeParts, Utilisation } from './comparison.js';
import { summarise } from './distribution.js';
import { MeasurementError, UnfinishedRunError } from './errors.js';
import { type JobResult, type RunSetup, UTILISATION_SNAPSHOT_SECONDS } from './job-result.js';
import { Samples } from './samples.js';
import { Snapshots } from './snapshots.js';

const EXAMPLES_MAX = 3;

/** Counts the jobs of a run, in any order. */
export class RunTally {
  readonly jobs = { submitted: 0, completed: 0, failed: 0 };
  readonly tasks = { submitted: 0, completed: 0, attempts: 0 };
  readonly runtimes = { short: new Samples(), long: new Samples() };
  readonly queueing = { short: new Samples(), long: new Samples() };
  readonly #setup: RunSetup;
  readonly #startSeconds: number;
  readonly #busy: Snapshots;
  readonly #waiting: Snapshots;
  readonly #parts = {
    short: { queueing: 0, running: 0, reporting: 0 },
    long: { queueing: 0, running: 0, reporting: 0 },
  };
  readonly #unfinished: string[] = [];
  #lastEndSeconds = Number.NEGATIVE_INFINITY;

  constructor(setup: RunSetup) {
    if (!(setup.totalSlots > 0)) {
      throw new MeasurementError(`a cluster of ${setup.totalSlots} slots cannot have run anything`);
    }
    const interval = setup.snapshotIntervalSeconds ?? UTILISATION_SNAPSHOT_SECONDS;
    this.#setup = setup;
    this.#startSeconds = setup.startSeconds ?? 0;
    this.#busy = new Snapshots(this.#startSeconds, interval);
    this.#waiting = new Snapshots(this.#startSeconds, interval);
  }

  get policy(): string {
    return this.#setup.policy;
  }

  /** @throws MeasurementError when times are not finite, go backwards, or a completed job lacks a task */
  add(job: JobResult): void {
    this.jobs.submitted += 1;
    if (job.outcome === 'unfinished') {
      this.#unfinished.push(job.id);
      return;
    }
    assertConsistent(job, this.#startSeconds);
    this.jobs[job.outcome] += 1;
    this.tasks.submitted += job.taskCount;
    this.tasks.completed += job.tasksCompleted ?? (job.outcome === 'completed' ? job.taskCount : 0);
    const last = this.#addAttempts(job);
    this.#addNeverStarted(job);
    if (job.outcome === 'completed') {
      this.runtimes[job.class].push(job.runtimeSeconds);
      this.#addTimeParts(job, last);
    }
  }

  assertFinished(): void {
    const { length } = this.#unfinished;
    if (length > 0) {
      throw new UnfinishedRunError(
        this.#setup.policy,
        length,
        this.jobs.submitted,
        this.#unfinished.slice(0, EXAMPLES_MAX),
      );
    }
  }

  utilisation(): { summary: Utilisation; points: [number, number][] } {
    const { totalSlots } = this.#setup;
    const points = this.#busy
      .until(this.#lastEndSeconds)
      .map(([seconds, busy]): [number, number] => [seconds, busy / totalSlots]);
    const { count, mean, p50, max } = summarise(points.map(([, share]) => share));
    const intervalSeconds = this.#busy.intervalSeconds;
    return { summary: { mean, p50, max, snapshots: count, intervalSeconds }, points };
  }

  queued(): [number, number][] {
    return this.#waiting.until(this.#lastEndSeconds);
  }

  timeParts(): ByClass<TimeParts | null> {
    const means = (of: JobClass): TimeParts | null => {
      const count = this.runtimes[of].length;
      if (count === 0) return null;
      const { queueing, running, reporting } = this.#parts[of];
      return { queueing: queueing / count, running: running / count, reporting: reporting / count };
    };
    return { short: means('short'), long: means('long') };
  }

  /** Counts the attempts of a job and gives the one that ended last. */
  #addAttempts(job: JobResult): { startSeconds: number; endSeconds: number } {
    const last = { startSeconds: job.submitSeconds, endSeconds: Number.NEGATIVE_INFINITY };
    const occupy = (startSeconds: number, runSeconds: number) => {
      const endSeconds = startSeconds + runSeconds;
      this.tasks.attempts += 1;
      this.#busy.add(startSeconds, endSeconds);
      if (endSeconds > last.endSeconds) {
        last.startSeconds = startSeconds;
        last.endSeconds = endSeconds;
      }
    };
    const tolerance = this.#setup.clockToleranceSeconds ?? 0;
    const queueing = this.queueing[job.class];
    for (let task = 0; task < job.taskStartsSeconds.length; task += 1) {
      const startSeconds = job.taskStartsSeconds[task]!;
      const runSeconds = job.taskRunSeconds[task]!;
      assertTimes(job, startSeconds, runSeconds, tolerance);
      queueing.push(Math.max(0, startSeconds - job.submitSeconds));
      this.#waiting.add(job.submitSeconds, startSeconds);
      occupy(startSeconds, runSeconds);
    }
    for (const { startSeconds, runSeconds } of job.furtherAttempts ?? []) {
      assertTimes(job, startSeconds, runSeconds, tolerance);
      occupy(startSeconds, runSeconds);
    }
    this.#lastEndSeconds = Math.max(this.#lastEndSeconds, last.endSeconds);
    return last;
  }

  /** Tasks of a failed job that never started waited until the job was given up. */
  #addNeverStarted(job: JobResult): void {
    const endSeconds = job.submitSeconds + job.runtimeSeconds;
    for (let task = job.taskStartsSeconds.length; task < job.taskCount; task += 1) {
      this.#waiting.add(job.submitSeconds, endSeconds);
    }
  }

  #addTimeParts(job: JobResult, last: { startSeconds: number; endSeconds: number }): void {
    const parts = this.#parts[job.class];
    const { runtimeSeconds } = job;
    // A worker's clock may put the end a little after the client's, so each part is held to what is left
    // of the run time: the three always add up to it.
    const queueing = Math.min(runtimeSeconds, Math.max(0, last.startSeconds - job.submitSeconds));
    const running = Math.min(runtimeSeconds - queueing, last.endSeconds - last.startSeconds);
    parts.queueing += queueing;
    parts.running += running;
    parts.reporting += runtimeSeconds - queueing - running;
  }
}

function assertConsistent(job: JobResult, startSeconds: number): void {
  const started = job.taskStartsSeconds.length;
  if (!Number.isFinite(job.submitSeconds) || !Number.isFinite(job.runtimeSeconds) || job.runtimeSeconds < 0) {
    throw new MeasurementError(
      `job ${job.id}: submitted at ${job.submitSeconds} s with a run time of ${job.runtimeSeconds} s, ` +
        'which no clock can have measured',
    );
  }
  if (job.submitSeconds < startSeconds) {
    throw new MeasurementError(
      `job ${job.id}: submitted at ${job.submitSeconds} s, before the run began at ${startSeconds} s; ` +
        'both must be on one clock',
    );
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

function assertTimes(
  job: JobResult,
  startSeconds: number,
  runSeconds: number,
  toleranceSeconds: number,
): void {
  if (!Number.isFinite(startSeconds) || !Number.isFinite(runSeconds) || runSeconds < 0) {
    throw new MeasurementError(
      `job ${job.id}: a task started at ${startSeconds} s and ran for ${runSeconds} s, which no clock can have measured`,
    );
  }
  if (startSeconds < job.submitSeconds - toleranceSeconds) {
    throw new MeasurementError(
      `job ${job.id}: a task started at ${startSeconds} s, before the job's submission at ${job.submitSeconds} s; ` +
        'clocks differ by more than clockToleranceSeconds allows',
    );
  }
}
