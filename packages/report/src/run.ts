import type {
  ByClass,
  ByClassAndAll,
  JobClass,
  Messages,
  OptionValues,
  PredictorAccuracy,
  Run,
  Steals,
  TimeParts,
  Utilisation,
} from './comparison.js';
import { type Distribution, summarise, summariseSorted } from './distribution.js';
import { MeasurementError, UnfinishedRunError } from './errors.js';
import { mergeSorted, Samples } from './samples.js';
import { Snapshots } from './snapshots.js';

/** Trace time between two looks at the cluster (Hawk §4.1). */
export const UTILISATION_SNAPSHOT_SECONDS = 100;

const EXAMPLES_MAX = 3;

/** What was measured of one job. All times are in seconds of the run, on one clock. */
export interface JobResult {
  readonly id: string;
  readonly class: JobClass;
  readonly outcome: 'completed' | 'failed' | 'unfinished';
  readonly submitSeconds: number;
  /** Submission until the client knew that the last task had ended, by the client's clock. */
  readonly runtimeSeconds: number;
  readonly taskCount: number;
  /** Tasks with a result; all of them where it is left out and the job completed, else none. */
  readonly tasksCompleted?: number;
  /** Start and run time of each task's first attempt; tasks of a failed job that never started are absent. */
  readonly taskStartsSeconds: ArrayLike<number>;
  readonly taskRunSeconds: ArrayLike<number>;
  /** Retries: they hold a slot like any attempt, but the time before them is not queueing. */
  readonly furtherAttempts?: readonly { readonly startSeconds: number; readonly runSeconds: number }[];
}

export interface RunMeasurements {
  readonly policy: string;
  readonly seed: number;
  readonly options: OptionValues;
  /** Read once, in any order, so a generator will do. */
  readonly jobs: Iterable<JobResult>;
  /** Of the whole cluster. */
  readonly totalSlots: number;
  /** The first submission, or the moment of the run that counts as its beginning; 0 by default. */
  readonly startSeconds?: number;
  /** In the run's time; 100 s of trace time divided by the scale of a live run. */
  readonly snapshotIntervalSeconds?: number;
  /**
   * How far the clock that stamps task starts may be behind the one that stamps submissions. Within it a
   * start before the submission counts as no wait; beyond it the measurement is refused. 0 by default.
   */
  readonly clockToleranceSeconds?: number;
  readonly messages: Messages;
  readonly steals: Steals;
  readonly predictor?: PredictorAccuracy | null;
  readonly events?: number | null;
  readonly wallSeconds: number;
  readonly peakRssBytes?: number | null;
}

/** What the charts need beyond the numbers of a run: every run time, and the cluster over time. */
export interface RunSeries {
  readonly policy: string;
  /** Seconds, in any order. */
  readonly shortRuntimes: readonly number[] | Float64Array;
  readonly longRuntimes: readonly number[] | Float64Array;
  /** [seconds since the start, share of slots that are busy] */
  readonly utilisation?: readonly (readonly [number, number])[];
  /** [seconds since the start, tasks submitted and not started] */
  readonly queued?: readonly (readonly [number, number])[];
  /** Mean seconds a job; the run's own `timeParts` are shown where it is left out. */
  readonly breakdown?: ByClass<TimeParts | null>;
}

/**
 * Turns the results of a run's jobs into its entry of a comparison, and into the series for its charts.
 *
 * Run times are those of completed jobs; queueing counts every task that started. Utilisation and queue
 * length are looked at `k · snapshotIntervalSeconds` after the start, k ≥ 1, until the last task ends.
 *
 * @throws UnfinishedRunError when a job neither completed nor failed.
 * @throws MeasurementError when times are not finite, go backwards, or a completed job lacks a task.
 */
export function buildRun(measurements: RunMeasurements): { run: Run; series: RunSeries } {
  const tally = new Tally(measurements);
  for (const job of measurements.jobs) tally.add(job);
  tally.assertFinished();

  const { policy, seed, options, messages, steals, wallSeconds } = measurements;
  const events = measurements.events ?? null;
  const runtimes = { short: tally.runtimes.short.sorted(), long: tally.runtimes.long.sorted() };
  const utilisation = tally.utilisation();
  const run: Run = {
    policy,
    seed,
    options,
    jobs: tally.jobs,
    tasks: tally.tasks,
    runtimeSeconds: distributions(runtimes),
    queueingSeconds: distributions({
      short: tally.queueing.short.sorted(),
      long: tally.queueing.long.sorted(),
    }),
    utilisation: utilisation.summary,
    timeParts: tally.timeParts(),
    messages,
    steals,
    predictor: measurements.predictor ?? null,
    events,
    wallSeconds,
    eventsPerSecond: events === null || wallSeconds <= 0 ? null : events / wallSeconds,
    peakRssBytes: measurements.peakRssBytes ?? null,
  };
  const series: RunSeries = {
    policy,
    shortRuntimes: runtimes.short,
    longRuntimes: runtimes.long,
    utilisation: utilisation.points,
    queued: tally.queued(),
  };
  return { run, series };
}

function distributions(ascending: ByClass<Float64Array>): ByClassAndAll<Distribution> {
  return {
    short: summariseSorted(ascending.short),
    long: summariseSorted(ascending.long),
    all: summariseSorted(mergeSorted(ascending.short, ascending.long)),
  };
}

class Tally {
  readonly jobs = { submitted: 0, completed: 0, failed: 0 };
  readonly tasks = { submitted: 0, completed: 0, attempts: 0 };
  readonly runtimes = { short: new Samples(), long: new Samples() };
  readonly queueing = { short: new Samples(), long: new Samples() };
  readonly #measurements: RunMeasurements;
  readonly #startSeconds: number;
  readonly #busy: Snapshots;
  readonly #waiting: Snapshots;
  readonly #parts = {
    short: { queueing: 0, running: 0, reporting: 0 },
    long: { queueing: 0, running: 0, reporting: 0 },
  };
  readonly #unfinished: string[] = [];
  #lastEndSeconds = Number.NEGATIVE_INFINITY;

  constructor(measurements: RunMeasurements) {
    if (!(measurements.totalSlots > 0)) {
      throw new MeasurementError(`a cluster of ${measurements.totalSlots} slots cannot have run anything`);
    }
    const interval = measurements.snapshotIntervalSeconds ?? UTILISATION_SNAPSHOT_SECONDS;
    this.#measurements = measurements;
    this.#startSeconds = measurements.startSeconds ?? 0;
    this.#busy = new Snapshots(this.#startSeconds, interval);
    this.#waiting = new Snapshots(this.#startSeconds, interval);
  }

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
        this.#measurements.policy,
        length,
        this.jobs.submitted,
        this.#unfinished.slice(0, EXAMPLES_MAX),
      );
    }
  }

  utilisation(): { summary: Utilisation; points: [number, number][] } {
    const { totalSlots } = this.#measurements;
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
    const tolerance = this.#measurements.clockToleranceSeconds ?? 0;
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
