import {
  type Address,
  type ExpectedEnd,
  FORECAST_TASKS_MAX,
  type ForecastEnd,
  type ForecastOutcome,
  givenFactsOf,
  type JobNumber,
  type JobOutline,
  listAttributes,
  type MessageOf,
  type Millis,
  OUTLINES_PER_MESSAGE_MAX,
  type Payload,
  present,
  type StageOutline,
} from '@goshawk/core';
import type { Stage } from './batch.js';
import type { Job } from './job.js';
import { TaskState } from './task-state.js';

/** Run time of a sleeping task of the job at the worker, relative to a preferred one. */
type SlowdownAt = (job: Job, worker: Address) => number;

interface Expected extends ForecastEnd {
  readonly of: Job;
  /** Time of the outline from which it was computed. */
  readonly at: Millis;
}

/** Outlines the active jobs for central's forecasts, and keeps the ends that it has forecast. */
export class Forecasts {
  readonly #wallOffsetMs: Millis;
  #expected = new Map<JobNumber, Expected>();

  constructor({ wallOffsetMs }: { readonly wallOffsetMs: Millis }) {
    this.#wallOffsetMs = wallOffsetMs;
  }

  /** Answers a question of central, in several messages if there are many jobs. */
  *answer(
    { id }: MessageOf<'outline'>,
    active: Iterable<Job>,
    slowdownAt: SlowdownAt,
    now: Millis,
  ): Iterable<MessageOf<'outlined'>> {
    const jobs: JobOutline[] = [];
    let tasks = 0;
    for (const job of active) {
      tasks += job.unfinishedCount;
      if (tasks > FORECAST_TASKS_MAX) break;
      if (!job.cancelling)
        jobs.push(outlineOf(job, (worker) => slowdownAt(job, worker), now, now + this.#wallOffsetMs));
    }
    const tooLarge = tasks > FORECAST_TASKS_MAX;
    if (tooLarge) jobs.length = 0;
    let outcomes = this.#takeOutcomes(now);
    for (let from = 0; ; from += OUTLINES_PER_MESSAGE_MAX) {
      const more = from + OUTLINES_PER_MESSAGE_MAX < jobs.length;
      const some = jobs.slice(from, from + OUTLINES_PER_MESSAGE_MAX);
      yield { type: 'outlined', id, jobs: some, outcomes, more, tooLarge };
      if (!more) return;
      outcomes = [];
    }
  }

  /** Replaces all expected ends. @param jobOf finds an active job */
  update(
    { ageMs, ends }: MessageOf<'expectedEnds'>,
    jobOf: (number: JobNumber) => Job | undefined,
    now: Millis,
  ): void {
    const before = this.#expected;
    this.#expected = new Map();
    for (const end of ends) {
      const of = jobOf(end.job);
      if (of !== undefined && !of.hasEnded) this.#expected.set(end.job, { ...end, of, at: now - ageMs });
    }
    // Outcomes that central has not heard of yet.
    for (const [number, end] of before) if (end.of.hasEnded) this.#expected.set(number, end);
  }

  /** When the job is expected to end; undefined: unknown. */
  expectedEndOf(job: Job): ExpectedEnd | undefined {
    const end = this.#expected.get(job.number);
    if (end?.of !== job || job.hasEnded || job.hold?.isHeld || job.cancelling) return undefined;
    const computedAt = Math.round(end.at + this.#wallOffsetMs);
    const after = (ms: Millis) => Math.round(computedAt + ms);
    return { at: after(end.inMs), earliest: after(end.earliestMs), latest: after(end.latestMs), computedAt };
  }

  #takeOutcomes(now: Millis): ForecastOutcome[] {
    const outcomes: ForecastOutcome[] = [];
    for (const [number, { of }] of this.#expected) {
      if (!of.hasEnded) continue;
      this.#expected.delete(number);
      outcomes.push({
        job: number,
        endedAgoMs: now - of.doneAt!,
        completed: of.state === 'completed',
      });
    }
    return outcomes;
  }
}

function outlineOf(
  job: Job,
  slowdownAt: (worker: Address) => number,
  now: Millis,
  wallNow: Millis,
): JobOutline {
  const { spec, hold } = job;
  const isLater = hold !== undefined && !hold.isHeld && hold.beginAt !== undefined;
  return {
    job: job.number,
    name: spec.name,
    user: spec.user,
    priority: job.priority,
    weight: spec.weight,
    maxRunning: spec.maxRunning,
    deadlineInMs: spec.deadlineMs === undefined ? undefined : job.deadlineAt - now,
    ...givenFactsOf(spec),
    prefers: listAttributes(spec.prefer),
    slowdown: spec.slowdown,
    ageMs: Math.max(0, now - job.times.eligibleAt),
    beginsInMs: isLater ? Math.max(0, hold.beginAt! - wallNow) : undefined,
    endless: job.hasPendingPredecessors
      ? 'after'
      : job.isHeld && !isLater
        ? 'held'
        : job.isOpen
          ? 'open'
          : undefined,
    stages: job.stages.map((stage) => outlineOfStage(job, stage, slowdownAt, now)),
  };
}

/** Completed tasks from which the spread of run times is computed. */
const RUNS_MAX = 200;

function outlineOfStage(
  job: Job,
  stage: Stage,
  slowdownAt: (worker: Address) => number,
  now: Millis,
): StageOutline {
  const { tasks } = job;
  const running: { elapsedMs: Millis; declaredMs: Millis }[] = [];
  const waiting = new Spread();
  const completed = new Spread();
  let [waits, ended] = [0, 0];
  for (let task = stage.first; task < stage.first + stage.count; task++) {
    const state = tasks.stateOf(task);
    if (state === TaskState.running) {
      const elapsedMs = Math.max(0, job.elapsedMs(task, now));
      const times = slowdownAt(tasks.workerOf(task));
      running.push({ elapsedMs, declaredMs: times * declaredMs(stage.payloadOf(task)) });
    } else if (state < TaskState.running) {
      waits++;
      const declared = declaredMs(stage.payloadOf(task));
      if (declared > 0) waiting.add(declared);
    } else if (state === TaskState.completed) {
      ended++;
      if (completed.count < RUNS_MAX && !tasks.isArchived(task)) completed.add(tasks.runMsOf(task));
    }
  }
  const { demand, requires, gang, lend, after } = stage.spec;
  const isDeclared = waits > 0 && waiting.count === waits;
  const estimateMs = job.estimate.isUndecided ? undefined : job.estimate.statedMs(stage);
  return {
    waiting: waits,
    running,
    after,
    demand,
    requires: listAttributes(requires),
    completed: ended,
    meanMs: completed.mean,
    deviationMs: completed.deviation,
    ...present({ gang, lend }),
    estimateMs: estimateMs === 0 ? undefined : estimateMs,
    declaredMs: isDeclared ? waiting.mean : undefined,
    declaredDeviationMs: isDeclared ? waiting.deviation : undefined,
  };
}

/** The run time of a task that only sleeps; 0: unknown. */
function declaredMs(payload: Payload): Millis {
  return 'sleep' in payload ? payload.sleep : 0;
}

/** Mean and standard deviation, by Welford's method. */
class Spread {
  count = 0;
  mean = 0;
  #squares = 0;

  add(value: number): void {
    this.count++;
    const off = value - this.mean;
    this.mean += off / this.count;
    this.#squares += off * (value - this.mean);
  }

  get deviation(): number {
    return this.count < 2 ? 0 : Math.sqrt(this.#squares / (this.count - 1));
  }
}
