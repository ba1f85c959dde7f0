import { type Millis, SLACK, type Vector } from '@goshawk/core';
import { dominantShare } from '../amounts.js';
import type { JobView, LatestStart, StageView } from '../contract.js';
import { quantileMs, type RunTimeEstimates } from '../run-time-estimates.js';

/** Time from arrival to due time, as a multiple of the time that the whole cluster would need for the job. */
export const STRETCH = 100;
/** Weight of the path: of two stages of a job, the one with the longer path to the end goes first. */
const PATH_WEIGHT = 1e-6;
/** The latest start of a job assumes this quantile of its run time. */
const LATEST_QUANTILE = 0.9;
/** A deadline is hopeless if the job would have to be faster than this quantile of its run time. */
const HOPELESS_QUANTILE = 0.02;
/** Time before the latest start for messages and for victims to end, as a fraction of the run time, within bounds. */
const LEAD_SHARE = 0.02;
const LEAD_MIN_MS = 10;
const LEAD_MAX_MS = 10_000;
/** Assumed slowdown of a task on a worker that its job does not prefer. */
export const UNPREFERRED_SLOWDOWN = 1.5;

/** Remaining work of a job. */
export interface JobWork {
  /** Time that the whole cluster needs: Σ remaining tasks × run time × dominant share. */
  readonly workMs: Millis;
  /** The longest path from the start of each stage to the end of the job, by index of `job.stages`. */
  readonly pathsMs: readonly number[];
}

/** Number of its stages, without the pilots, whose tasks these count as well. */
export function stageCount({ stages, pilots }: JobView): number {
  return pilots === undefined ? stages.length : stages.length - 1;
}

function tasksLeft({ tasks, ended, running, waiting }: StageView): number {
  return Math.max(waiting, tasks - ended - running);
}

/** Estimates the remaining work of a job, and its longest path through the stages. */
export function workLeft(job: JobView, estimates: RunTimeEstimates, capacity: Vector, now: Millis): JobWork {
  const { stages } = job;
  const count = stageCount(job);
  const pathsMs = new Array<number>(count).fill(0);
  let workMs = 0;
  for (let place = count - 1; place >= 0; place--) {
    const stage = stages[place]!;
    const left = tasksLeft(stage);
    const taskMs = estimates.taskMs(stage, now);
    if (left > 0) workMs += left * taskMs * dominantShare(stage.demand, capacity);
    if (left + stage.running > 0) pathsMs[place]! += taskMs;
    for (const before of stage.after) {
      const at = placeOf(stages, before);
      if (at >= 0) pathsMs[at] = Math.max(pathsMs[at]!, pathsMs[place]!);
    }
  }
  return { workMs, pathsMs };
}

/** Position of the stage with this index, which is the index itself if all stages are known; −1: unknown. */
export function placeOf(stages: readonly StageView[], index: number): number {
  return stages[index]?.index === index ? index : stages.findIndex((stage) => stage.index === index);
}

/** When the job is due, without deadlines. */
export function dueAt({ arrivedAt, priority }: JobView, workMs: Millis): Millis {
  return arrivedAt + STRETCH * SLACK[priority] * workMs;
}

/** Sort key of a stage: the due time of its job; stages on longer paths first. */
export function keyOf(due: Millis, pathMs: Millis): number {
  return due - PATH_WEIGHT * pathMs;
}

/** Returns undefined if the job has no deadline. */
export function latestOf(job: JobView, { pathsMs }: JobWork): LatestStart | undefined {
  if (job.deadlineAt === Number.POSITIVE_INFINITY) return undefined;
  const pathMs = Math.max(0, ...pathsMs);
  const [first] = job.stages;
  const spread = (part: number): number =>
    first === undefined || first.estimateMs <= 0 ? 1 : quantileMs(first, part) / first.estimateMs;
  const longestMs = pathMs * spread(LATEST_QUANTILE);
  const leadMs = Math.min(LEAD_MAX_MS, Math.max(LEAD_MIN_MS, LEAD_SHARE * longestMs));
  return {
    startAt: job.deadlineAt - longestMs - leadMs,
    hopelessAt: job.deadlineAt - pathMs * spread(HOPELESS_QUANTILE) + 1,
  };
}
