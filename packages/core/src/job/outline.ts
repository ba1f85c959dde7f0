import {
  choice,
  count,
  countTo,
  flag,
  list,
  number,
  optional,
  record,
  resources,
  signed,
  view,
} from '../fields/fields.js';
import { job, ms, name, requires, stage, wish } from '../fields/records.js';
import type { Millis } from '../ids.js';
import { LIMITS } from '../limits.js';
import { isFinal, type JobState } from '../states.js';
import { givenFields } from './facts.js';
import { PRIORITIES } from './priority.js';

/** Maximum number of unfinished tasks that a forecast simulates. */
export const FORECAST_TASKS_MAX = 50_000;

/** Jobs in one message. */
export const OUTLINES_PER_MESSAGE_MAX = 200;

/** Why a job has no expected end, whatever the state of the cluster. */
export const ENDLESS = ['held', 'open', 'after'] as const;

/** A running task: its run time so far, and its declared run time if it only sleeps, otherwise 0. */
const run = record({ elapsedMs: ms, declaredMs: ms });

const stageOutline = view({
  /** Tasks that wait or whose earlier stages have not completed. */
  waiting: countTo(LIMITS.tasksPerJobMax),
  running: list(run, FORECAST_TASKS_MAX),
  /** Stages that must complete first. */
  after: list(stage, LIMITS.stagesPerJobMax),
  demand: resources,
  requires,
  gang: optional(flag),
  lend: optional(flag),
  /** Estimated mean run time of its tasks; absent: unknown, or only a lower bound is known. */
  estimateMs: optional(ms),
  /** Number of completed tasks, and mean and standard deviation of their run times. */
  completed: countTo(LIMITS.tasksPerJobMax),
  meanMs: ms,
  deviationMs: ms,
  /** Mean and standard deviation of the declared run times of waiting tasks that only sleep; absent: unknown. */
  declaredMs: optional(ms),
  declaredDeviationMs: optional(ms),
});
export type StageOutline = NonNullable<(typeof stageOutline)['infer']>;

/** What a forecast needs to know about an active job. Times count from now. */
export const jobOutline = view({
  job,
  name,
  user: optional(name),
  priority: choice(...PRIORITIES),
  weight: number,
  maxRunning: optional(count),
  /** Negative: missed. */
  deadlineInMs: optional(signed),
  ...givenFields,
  prefers: optional(list(wish, LIMITS.attributesMax)),
  /** Factor for the run times of tasks that only sleep on workers without the preferred attributes. */
  slowdown: optional(number),
  /** Time since it could start. */
  ageMs: ms,
  beginsInMs: optional(ms),
  /** Why it has no expected end; absent: it has one. */
  endless: optional(choice(...ENDLESS)),
  stages: list(stageOutline, LIMITS.stagesPerJobMax),
});
export type JobOutline = NonNullable<(typeof jobOutline)['infer']>;

/** A job that ended after an end was forecast for it. */
export const forecastOutcome = record({ job, endedAgoMs: ms, completed: flag });
export type ForecastOutcome = NonNullable<(typeof forecastOutcome)['infer']>;

/** The forecast end of a job, relative to the time of the outlines: typical, and an interval for nine of ten. */
export const forecastEnd = record({ job, inMs: ms, earliestMs: ms, latestMs: ms });
export type ForecastEnd = NonNullable<(typeof forecastEnd)['infer']>;

/** Why the end of a planned job is unknown. */
export const PLAN_UNKNOWN = [
  /** The run times of its tasks are unknown. */
  'run-times',
  /** Nothing is known about the run times of the jobs before it. */
  'other-run-times',
  /** The cluster, or the planned job, has too many tasks for a forecast. */
  'too-large',
  /** No worker accepts tasks. */
  'no-workers',
  /** A scheduler did not answer, so that its jobs are unknown. */
  'silent',
  /** Too many jobs are planned at once. */
  'busy',
  /** The job does not end in the simulation, or the simulation failed. */
  'no-end',
  /** Central makes no forecasts. */
  'off',
] as const;
export type PlanUnknown = (typeof PLAN_UNKNOWN)[number];

/** Time until something happens: typically, and an interval that contains it in nine of ten cases. */
const expectedIn = { inMs: ms, earliestMs: ms, latestMs: ms };

/** The forecast of a job that was not submitted, as if it were now. */
export const plannedEnd = view({
  /** Why there is no end; absent: there is one. */
  unknown: optional(choice(...PLAN_UNKNOWN)),
  /** The start of its first task; absent: unknown. */
  start: optional(record(expectedIn)),
  ...expectedIn,
});
export type PlannedEnd = NonNullable<(typeof plannedEnd)['infer']>;

/** @returns the answer without an end */
export function noPlannedEnd(unknown: PlanUnknown, start?: PlannedEnd['start']): PlannedEnd {
  return { unknown, start, inMs: 0, earliestMs: 0, latestMs: 0 };
}

/** When a job is expected to end. Wall clock, ms since 1970. */
export const expectedEnd = record({
  at: ms,
  /** The job ends from `earliest` to `latest` in about nine of ten cases. */
  earliest: ms,
  latest: ms,
  /** When this was computed. */
  computedAt: ms,
});
export type ExpectedEnd = NonNullable<(typeof expectedEnd)['infer']>;

/** Age after which an expected end is not shown any more. */
const EXPIRES_MS = 900_000;

/** The expected end of a job; undefined: unknown, outdated, or the job has ended. @param now wall clock */
export function expectedEndOf(
  { state, expectedEnd: end }: { readonly state: JobState; readonly expectedEnd?: ExpectedEnd | undefined },
  now: Millis,
): ExpectedEnd | undefined {
  if (end === undefined || isFinal(state)) return undefined;
  return now <= end.latest && now - end.computedAt < EXPIRES_MS ? end : undefined;
}
