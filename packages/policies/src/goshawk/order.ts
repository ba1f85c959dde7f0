import { type Millis, SLACK, type Vector } from '@goshawk/core';
import { dominantShare } from '../amounts.js';
import { type Beliefs, quantileMs } from '../beliefs.js';
import type { JobView, StageView } from '../contract.js';

/** A job is due so many times the time that the whole cluster would need for it after its arrival. */
const STRETCH = 100;
/** Weight of the path: of two stages of a job, the one with the longer path to the end goes first. */
const PATH_WEIGHT = 1e-6;
/** A job must start early enough to end by its deadline if it takes as long as this part of jobs like it do at most. */
const LATEST_QUANTILE = 0.9;
/** It is hopeless where only so small a part of jobs like it are as fast as it would have to be. */
const HOPELESS_QUANTILE = 0.02;
/** A start takes its messages, and a victim its time to end: that much of the run time, within bounds. */
const LEAD = 0.02;
const LEAD_MIN_MS = 10;
const LEAD_MAX_MS = 10_000;
/** How many times as long a task may take on a worker that its job does not prefer. */
export const UNPREFERRED_SLOWDOWN = 1.5;

/** Remaining work of a job. */
export interface JobWork {
  /** Work of the whole cluster: Σ tasks left × run time × dominant share. */
  readonly workMs: Millis;
  /** The longest path from the beginning of each stage to the end of the job, by index of `job.stages`. */
  readonly pathsMs: Float64Array;
}

/** The share of the cluster that one task has: of the resource of which it takes most. */
export function shareOf(demand: Vector, capacity: Vector): number {
  return dominantShare(demand, capacity);
}

export function tasksLeft({ tasks, ended, running, waiting }: StageView): number {
  return Math.max(waiting, tasks - ended - running);
}

export function workLeft(job: JobView, beliefs: Beliefs, capacity: Vector, now: Millis): JobWork {
  const { stages } = job;
  const pathsMs = new Float64Array(stages.length);
  const placeOf = new Map<number, number>();
  for (const [place, { index }] of stages.entries()) placeOf.set(index, place);
  let workMs = 0;
  for (let place = stages.length - 1; place >= 0; place--) {
    const stage = stages[place]!;
    const left = tasksLeft(stage);
    const taskMs = beliefs.taskMs(stage, now);
    if (left > 0) workMs += left * taskMs * shareOf(stage.demand, capacity);
    if (left + stage.running > 0) pathsMs[place]! += taskMs;
    for (const before of stage.after) {
      const at = placeOf.get(before);
      if (at !== undefined) pathsMs[at] = Math.max(pathsMs[at]!, pathsMs[place]!);
    }
  }
  return { workMs, pathsMs };
}

/** When the job is due by its work alone. */
export function dueAt({ arrivedAt, priority }: JobView, workMs: Millis): Millis {
  return arrivedAt + STRETCH * SLACK[priority] * workMs;
}

/** The key of a stage in the order: when its job is due; stages on longer paths first. */
export function keyOf(due: Millis, pathMs: Millis): number {
  return due - PATH_WEIGHT * pathMs;
}

/** When a job with a deadline must start, and from when on it cannot meet its deadline. */
export interface Latest {
  readonly startAt: Millis;
  readonly hopelessAt: Millis;
}

/** Undefined: it has no deadline. */
export function latestOf(job: JobView, { pathsMs }: JobWork): Latest | undefined {
  if (job.deadlineAt === Number.POSITIVE_INFINITY) return undefined;
  const pathMs = Math.max(0, ...pathsMs);
  const [first] = job.stages;
  const spread = (part: number): number =>
    first === undefined || first.estimateMs <= 0 ? 1 : quantileMs(first, part) / first.estimateMs;
  const longestMs = pathMs * spread(LATEST_QUANTILE);
  const leadMs = Math.min(LEAD_MAX_MS, Math.max(LEAD_MIN_MS, LEAD * longestMs));
  return {
    startAt: job.deadlineAt - longestMs - leadMs,
    hopelessAt: job.deadlineAt - pathMs * spread(HOPELESS_QUANTILE) + 1,
  };
}
