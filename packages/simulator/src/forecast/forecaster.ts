import {
  type ClusterOutline,
  FORECAST_TASKS_MAX,
  type Forecast,
  type ForecastEnd,
  type JobOutline,
  type Millis,
  meanOf,
  noPlannedEnd,
  type PlannedEnd,
  Random,
  sumOf,
} from '@goshawk/core';
import { Calibration, type RawForecast } from './calibration.js';
import { type ActiveJob, simulateFuture } from './future.js';
import { assumed, type Known, normalDeviate, RunTimes } from './run-times.js';

/** Number of simulated futures. */
const FUTURES = 5;
/** Maximum number of events of one future: some seconds. */
const EVENTS_MAX = 3_000_000;
/** The same for a planned job, of which a client may ask for many. */
const PLANNED_EVENTS_MAX = 1_000_000;
/** Planned jobs that start within this time start at once: workers and schedulers exchange messages. */
const AT_ONCE_MS: Millis = 100;
/** Mean run time of tasks if nothing is known, for which it only matters whether a job starts at once. */
const UNKNOWN_MS: Millis = 1_000;
/** Time after which no further future of a planned job is simulated. */
const PLANNED_BUDGET_MS: Millis = 4_000;

/** Forecasts when jobs end, by simulating a few futures, and learns from the ends of jobs how far to trust them. */
export class Forecaster {
  readonly #clock: () => Millis;
  readonly #runTimes = new RunTimes();
  readonly #calibration = new Calibration();
  #forecasts = 0;

  /** @param clock by which the duration of a forecast is measured */
  constructor(clock: () => Millis) {
    this.#clock = clock;
  }

  forecast(outline: ClusterOutline): Forecast {
    const begin = this.#clock();
    const random = Random.seeded(`forecast ${this.#forecasts++}`);
    this.#learn(outline);
    const jobs = this.#jobsOf(outline, random);
    const ends = new Map<string, ForecastEnd[]>(outline.schedulers.map(({ tag }) => [tag, []]));
    const planned = outline.planned.map((job) => this.#plan(outline, jobs, job, random));
    if (outline.workers.length === 0 || !jobs.some(({ isKnown }) => isKnown))
      return { ends, planned, tookMs: this.#clock() - begin };
    const futures: Float64Array[] = [];
    for (let future = 0; future < FUTURES; future++)
      futures.push(simulateFuture(outline, jobs, future, EVENTS_MAX).endsMs);
    for (const [index, job] of jobs.entries()) {
      if (job.outline.endless !== undefined || !job.isKnown) continue;
      const sorted = Float64Array.from(futures, (endsMs) => endsMs[index]!).sort();
      if (!Number.isFinite(sorted[FUTURES - 1]!)) continue;
      const raw = rawOf(sorted, job);
      const { tag } = outline.schedulers[job.owner]!;
      this.#calibration.forecast(keyOf(tag, job.outline), raw, outline.at, random.next());
      ends.get(tag)!.push({ job: job.outline.job, ...this.#calibration.adjust(raw) });
    }
    return { ends, planned, tookMs: this.#clock() - begin };
  }

  /** The start and end of a job that was not submitted, as if it were now. */
  #plan(
    outline: ClusterOutline,
    active: readonly (ActiveJob & { readonly isKnown: boolean })[],
    planned: JobOutline,
    random: Random,
  ): PlannedEnd {
    const tasks = sumOf([...active.map((job) => job.outline), planned], tasksOf);
    if (tasks > FORECAST_TASKS_MAX) return noPlannedEnd('too-large');
    const known = planned.stages.map((stage) => this.#runTimes.of(stage));
    // The cluster starts tasks of unknown run time like short ones.
    const short = assumed(Math.min(UNKNOWN_MS, outline.policy.cutoffMs / 2));
    const job: ActiveJob = {
      outline: planned,
      owner: 0,
      known: known.map((stage) => stage ?? short),
      deviates: stratified(random),
    };
    const begin = this.#clock();
    const endsMs = new Float64Array(FUTURES);
    const startsMs = new Float64Array(FUTURES);
    try {
      for (let future = 0; future < FUTURES; future++) {
        if (this.#clock() - begin > PLANNED_BUDGET_MS) return noPlannedEnd('too-large');
        const all = [...active, job];
        const last = active.length;
        const simulated = simulateFuture(outline, all, future, PLANNED_EVENTS_MAX, last);
        endsMs[future] = simulated.endsMs[last]!;
        startsMs[future] = simulated.startMs;
        if (!Number.isFinite(endsMs[future]!))
          return noPlannedEnd(simulated.events >= PLANNED_EVENTS_MAX ? 'too-large' : 'no-end');
      }
    } catch {
      // A job of a client must not end the forecasts of the others.
      return noPlannedEnd('no-end');
    }
    const areOthersKnown = active.length === 0 || active.some(({ isKnown }) => isKnown);
    const start = this.#startOf(startsMs.sort(), job, areOthersKnown);
    const isKnown = !known.includes(undefined);
    if (!areOthersKnown && (isKnown || start === undefined)) return noPlannedEnd('other-run-times', start);
    if (!isKnown) return noPlannedEnd('run-times', start);
    return { unknown: undefined, start, ...this.#calibration.adjust(rawOf(endsMs.sort(), job)) };
  }

  /** @returns undefined: unknown */
  #startOf(sorted: Float64Array, job: ActiveJob, areOthersKnown: boolean): PlannedEnd['start'] {
    const raw = rawOf(sorted, job);
    if (raw.medianMs <= AT_ONCE_MS) return { inMs: 0, earliestMs: 0, latestMs: 0 };
    if (!areOthersKnown || raw.medianMs === Number.POSITIVE_INFINITY) return undefined;
    return this.#calibration.adjust(raw);
  }

  #learn({ schedulers, at }: ClusterOutline): void {
    const active = new Set<string>();
    for (const { tag, jobs, outcomes } of schedulers) {
      for (const { job, endedAgoMs, completed } of outcomes)
        this.#calibration.ended(keyOf(tag, { job }), completed ? at - endedAgoMs : undefined);
      for (const job of jobs) {
        active.add(keyOf(tag, job));
        this.#runTimes.learn(keyOf(tag, job), job);
      }
    }
    this.#calibration.keepOnly(active);
    this.#runTimes.keepOnly(active);
  }

  #jobsOf({ schedulers }: ClusterOutline, random: Random): (ActiveJob & { readonly isKnown: boolean })[] {
    const known = schedulers.map(({ jobs }) =>
      jobs.map(({ stages }) => stages.map((stage) => this.#runTimes.of(stage))),
    );
    const means = known.flat(2).flatMap((stage) => (stage === undefined ? [] : [stage.meanMs]));
    const others = assumed(means.length === 0 ? UNKNOWN_MS : meanOf(means));
    return schedulers.flatMap(({ jobs }, owner) =>
      jobs.map((outline, index) => {
        const stages = known[owner]![index]!;
        const isKnown = outline.stages.every(
          ({ waiting, running }, at) => waiting + running.length === 0 || stages[at] !== undefined,
        );
        return {
          ...{ outline, owner, isKnown },
          known: stages.map((stage): Known => stage ?? others),
          deviates: stratified(random),
        };
      }),
    );
  }
}

/** A standard normal deviate per future, spread evenly over the distribution. */
function stratified(random: Random): number[] {
  const order = Array.from({ length: FUTURES }, (_, index) => ({ index, by: random.next() }));
  order.sort((one, other) => one.by - other.by);
  return order.map(({ index }) => normalDeviate((index + random.next()) / FUTURES));
}

function rawOf(sorted: Float64Array, { outline, known }: ActiveJob): RawForecast {
  const waits = outline.stages.some(({ waiting }) => waiting > 0);
  const isMeasured = outline.stages.every(
    ({ waiting, running }, at) => waiting + running.length === 0 || known[at]!.isMeasured,
  );
  return {
    lowMs: sorted[0]!,
    medianMs: sorted[(FUTURES - 1) / 2]!,
    highMs: sorted[FUTURES - 1]!,
    waits,
    isMeasured,
  };
}

function tasksOf({ stages }: JobOutline): number {
  return sumOf(stages, ({ waiting, running }) => waiting + running.length);
}

function keyOf(tag: string, { job }: Pick<JobOutline, 'job'>): string {
  return `${tag}/${job}`;
}
