import {
  type Address,
  type ClusterOutline,
  FORECAST_TASKS_MAX,
  type Forecast,
  type ForecastOutcome,
  type JobOutline,
  type MessageOf,
  type Millis,
  noPlannedEnd,
  type PlannedEnd,
  sumOf,
} from '@goshawk/core';
import { isActive, type Registry } from './cluster/registry.js';
import type { CentralConfig, CentralEnvironment } from './contract.js';
import { PlannedJobs } from './planned-jobs.js';

/** Pause (ms) before jobs are looked for again, and at least between two forecasts. */
const PAUSE_MIN_MS: Millis = 2_000;
/** Forecasts take at most one part in this many of the time, which is 1.3% of a core. */
const PAUSE_FACTOR = 75;
/** Time (ms) of a core that forecasts may take beyond that, once: the first ones run uncompiled code. */
const BURST_MS: Millis = 1_000;
/** While a client waits for the end of a planned job, forecasts take up to a tenth of a core. */
const PLANNED_PAUSE_FACTOR = 9;
/** Time (ms) for schedulers to answer. */
const ANSWER_MS: Millis = 5_000;
/** Pause (ms) after a forecast that was too large, failed or got no answer. */
const FAILED_PAUSE_MS: Millis = 30_000;

interface Answer {
  readonly tag: string;
  readonly jobs: JobOutline[];
  readonly outcomes: ForecastOutcome[];
  isComplete: boolean;
  /** When the scheduler answered. */
  at: Millis;
}

/**
 * Has the ends of active jobs forecast: asks all schedulers for outlines of their jobs, passes these to the driver, which
 * simulates the cluster elsewhere, and sends the ends to the owners. Then it pauses in proportion to the cost.
 */
export class Outlook {
  readonly #config: CentralConfig;
  readonly #env: CentralEnvironment;
  readonly #registry: Registry;
  /** The question that schedulers are answering. 0: none */
  #question = 0;
  #questions = 0;
  #answers = new Map<Address, Answer>();
  #isTooLarge = false;
  /** Whether the driver computes a forecast of the answers. */
  #isComputing = false;
  /** Cost and time of the last forecast. */
  #last = { tookMs: 0, at: 0 };
  /** Time of a core that forecasts have taken beyond their share, at `#last.at`. */
  #overdrawnMs: Millis = 0;
  readonly #planned: PlannedJobs;

  /** @param answer sends the end of a planned job to a client */
  constructor(
    config: CentralConfig,
    env: CentralEnvironment,
    registry: Registry,
    answer: (to: Address, request: number, end: PlannedEnd) => void,
  ) {
    this.#planned = new PlannedJobs(answer);
    this.#config = config;
    this.#env = env;
    this.#registry = registry;
  }

  start(now: Millis): void {
    if (this.#env.foresee !== undefined) this.#again(PAUSE_MIN_MS, now);
  }

  /** Forecasts the end of a job that was not submitted, with the next forecast. @param by key or address of the client */
  planEnd(from: Address, by: string, { request, outline }: MessageOf<'planEnd'>, now: Millis): void {
    if (this.#env.foresee === undefined) return this.#planned.answer(from, request, noPlannedEnd('off'));
    if (!this.#planned.add(from, by, request, outline)) return;
    // A forecast under way may have begun before the job was planned, and serves it if it has not.
    if (this.#question === 0 && !this.#isComputing) this.#again(this.#pauseMs(now), now);
  }

  /** Asks for outlines; or gives up on answers that have not arrived. */
  wake(now: Millis): void {
    if (this.#isComputing) return;
    const isLate = this.#question !== 0;
    this.#question = 0;
    this.#answers.clear();
    if (isLate) {
      this.#planned.answerAll(noPlannedEnd('silent'));
      return this.#again(FAILED_PAUSE_MS, now);
    }
    const { members } = this.#registry.schedulers;
    // Without heartbeats central does not know whether there are jobs.
    const mayHaveJobs = this.#config.settings.timings.heartbeatMs === 0;
    const hasJobs = [...members.values()].some(({ jobs }) => mayHaveJobs || jobs > 0);
    if (members.size === 0 || (!hasJobs && this.#planned.isEmpty)) return this.#again(PAUSE_MIN_MS, now);
    this.#question = ++this.#questions;
    this.#isTooLarge = false;
    for (const [address, { tag }] of members) {
      this.#answers.set(address, { tag, jobs: [], outcomes: [], isComplete: false, at: now });
      this.#env.send(address, { type: 'outline', id: this.#question });
    }
    this.#again(ANSWER_MS, now);
  }

  outlined(from: Address, { id, jobs, outcomes, more, tooLarge }: MessageOf<'outlined'>, now: Millis): void {
    const answer = this.#answers.get(from);
    if (id !== this.#question || answer === undefined || answer.isComplete) return;
    if (answer.jobs.length === 0) answer.at = now;
    for (const job of jobs) answer.jobs.push(job);
    for (const outcome of outcomes) answer.outcomes.push(outcome);
    answer.isComplete = !more;
    this.#isTooLarge ||= tooLarge;
    this.#computeIfComplete(now);
  }

  /** A scheduler has left or was lost: the forecast does not wait for its answer. */
  left(scheduler: Address, now: Millis): void {
    if (!this.#answers.delete(scheduler) || this.#question === 0) return;
    if (this.#answers.size > 0) return this.#computeIfComplete(now);
    this.#question = 0;
    this.#again(PAUSE_MIN_MS, now);
  }

  #computeIfComplete(now: Millis): void {
    if ([...this.#answers.values()].every(({ isComplete }) => isComplete)) this.#compute(now);
  }

  #compute(now: Millis): void {
    this.#question = 0;
    const schedulers = [...this.#answers.values()];
    const tasks = sumOf(schedulers, ({ jobs }) => sumOf(jobs, tasksOf));
    const workers = [...this.#registry.workers.values()].filter(isActive);
    const isTooLarge = this.#isTooLarge || tasks > FORECAST_TASKS_MAX;
    if (isTooLarge) this.#planned.answerAll(noPlannedEnd('too-large'));
    if (workers.length === 0) this.#planned.answerAll(noPlannedEnd('no-workers'));
    if (isTooLarge) return this.#publish(NOTHING, now);
    this.#isComputing = true;
    this.#env.clearTimer('outlook', 0);
    const outline: ClusterOutline = {
      at: now,
      policy: this.#config.settings.policy,
      users: this.#config.users,
      workers: workers.map(({ slots, places, capacity, attributes }) => ({
        slots,
        places,
        capacity,
        attributes,
      })),
      schedulers,
      planned: this.#planned.take(),
    };
    this.#env.foresee!(outline);
  }

  /** @param forecast without ends if it failed */
  foreseen(forecast: Forecast, now: Millis): void {
    if (!this.#isComputing) return;
    this.#isComputing = false;
    const { tookMs } = forecast;
    this.#overdrawnMs = Math.max(0, this.#overdrawnMs - (now - this.#last.at) / PAUSE_FACTOR) + tookMs;
    this.#last = { tookMs, at: now };
    this.#planned.serve(forecast.planned);
    this.#publish(forecast, now);
  }

  #publish({ ends }: Forecast, now: Millis): void {
    for (const [address, { tag, at }] of this.#answers)
      if (this.#registry.schedulers.members.has(address))
        this.#env.send(address, {
          type: 'expectedEnds',
          ageMs: Math.max(0, now - at),
          ends: ends.get(tag) ?? [],
        });
    this.#answers.clear();
    const pauseMs = ends.size === 0 ? FAILED_PAUSE_MS : PAUSE_MIN_MS;
    const usualMs = Math.max(pauseMs, PAUSE_FACTOR * (this.#overdrawnMs - BURST_MS));
    this.#again(this.#planned.isEmpty ? usualMs : Math.min(usualMs, this.#pauseMs(now)), now);
  }

  /** Time until a forecast for planned jobs may begin. */
  #pauseMs(now: Millis): Millis {
    const { tookMs, at } = this.#last;
    return Math.max(0, at + PLANNED_PAUSE_FACTOR * tookMs - now);
  }

  #again(inMs: Millis, now: Millis): void {
    this.#env.setTimer('outlook', 0, now + inMs);
  }
}

const NOTHING: Forecast = { ends: new Map(), planned: [], tookMs: 0 };

function tasksOf({ stages }: JobOutline): number {
  return sumOf(stages, ({ waiting, running }) => waiting + running.length);
}
