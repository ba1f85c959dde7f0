import type { Millis } from '@goshawk/core';
import type { JobResult, PredictedJob } from '@goshawk/report';
import { cpusOfStages } from '@goshawk/traces';
import { statedIn } from '../simulate/results.js';
import type { EndedReplayJob } from './submitter.js';

/** Converts an ended job for reports, with times in seconds since the start of the run. */
export function jobResult(job: EndedReplayJob, cutoffMs: Millis): JobResult {
  const { planned, submittedMs, endedMs, ended } = job;
  const acceptedMs = acceptanceOf(job);
  const isCompleted = ended.state === 'completed';
  const starts: number[] = [];
  const runs: number[] = [];
  ended.starts.forEach((startMs, task) => {
    // A task that never started has a start time before the job's.
    if (startMs < 0) return;
    starts.push((acceptedMs + startMs) / 1_000);
    runs.push((ended.runs[task] ?? 0) / 1_000);
  });
  return {
    id: ended.id,
    class: planned.trueMeanMs < cutoffMs ? 'short' : 'long',
    outcome: isCompleted ? 'completed' : 'failed',
    submitSeconds: submittedMs / 1_000,
    runtimeSeconds: (endedMs - submittedMs) / 1_000,
    taskCount: planned.tasks,
    ...statedIn(planned.spec),
    tasksCompleted: ended.tasks.completed,
    attempts: ended.attempts.total,
    taskStartsSeconds: starts,
    taskRunSeconds: runs,
  };
}

/**
 * Estimates on the client's clock when the owner accepted a job. The owner reports durations since acceptance
 * on its clock, so acceptance is after submission and early enough for the job to end before its end is
 * reported. The middle of the two bounds is off by at most half a round trip, regardless of the clocks.
 */
export function acceptanceOf({ submittedMs, endedMs, ended }: EndedReplayJob): Millis {
  const latestMs = endedMs - (ended.recordedMs ?? ended.endedMs ?? 0);
  return Math.max(submittedMs, (submittedMs + latestMs) / 2);
}

/**
 * Returns the CPU time that the cluster had to serve, relative to its CPUs, while jobs were submitted. It
 * uses measured run times, which are slightly longer than the requested sleeps.
 *
 * @param of `spanMs`: the time over which the plan submits jobs
 */
export function offeredLoad(
  jobs: readonly EndedReplayJob[],
  { spanMs, totalSlots }: { readonly spanMs: Millis; readonly totalSlots: number },
): number {
  let cpuMs = 0;
  let lateMs = 0;
  for (const { planned, submittedMs, ended } of jobs) {
    let task = 0;
    for (const { tasks, cpus } of cpusOfStages(planned.job))
      for (const end = task + tasks; task < end; task++) cpuMs += cpus * (ended.runs[task] ?? 0);
    lateMs = Math.max(lateMs, submittedMs - planned.submitMs);
  }
  return cpuMs / (totalSlots * (spanMs + lateMs));
}

/** Returns how much later than planned each job was submitted, in ms. */
export function latenessMs(jobs: readonly EndedReplayJob[]): Float64Array {
  return Float64Array.from(jobs, ({ planned, submittedMs }) => submittedMs - planned.submitMs).sort();
}

/** Estimate and truth of a job. */
export function predictionOf({ planned, ended }: EndedReplayJob): PredictedJob {
  const { estimateMs, sampling } = ended;
  return {
    trueMeanSeconds: planned.trueMeanMs / 1_000,
    taskSeconds: planned.taskMs / 1_000,
    judgedLong: ended.class === 'long',
    estimateSeconds: estimateMs === undefined ? undefined : estimateMs / 1_000,
    pilots: sampling?.pilotTasks ?? 0,
    decidedSeconds: sampling?.decidedMs === undefined ? undefined : sampling.decidedMs / 1_000,
  };
}
