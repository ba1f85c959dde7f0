import { readFile } from 'node:fs/promises';
import { type Context, type Progress as Shown, startProgress } from '@goshawk/command';
import { sizeOfWorker, timesAll } from '@goshawk/command/cluster';
import { policyRecord } from '@goshawk/command/policy';
import { type Millis, nearestRank, type PolicySettings, statusBytes, sumOf } from '@goshawk/core';
import type { CounterReading, OptionValues, PlanningResults } from '@goshawk/report';
import type { PolicyRun, ReplayTarget, Shape } from './contract.js';
import { CounterWatch, readingPauseMs } from './counter-watch.js';
import type { ReplayOptions } from './options.js';
import type { ReplayPlan } from './plan.js';
import { jobResult, latenessMs, offeredLoad, predictionOf } from './results.js';
import { type EndedReplayJob, submitOnTime } from './submitter.js';
import { planningBetween, readTraffic, type Traffic, trafficBetween } from './traffic.js';
import { progressNote } from './wording.js';

/** Time between two snapshots of the cluster, in the time of the trace (Hawk §4.1). */
const SNAPSHOT_TRACE_SECONDS = 100;
/** Minimum interval of snapshots in a run with a large divisor; sleeps are no more accurate than this. */
const SNAPSHOT_MIN_SECONDS = 0.001;
/** A replay without progress is aborted after this time plus a multiple of its longest task. */
const STALL_MS = 120_000;
const STALL_TASKS = 10;
/** Minimum width of a policy name, which aligns the progress bars of several policies. */
const LABEL_WIDTH = 7;

/**
 * Replays the jobs of a plan on a cluster and measures them.
 *
 * @param onShown receives the progress display, so that callers can print while it is shown
 * @throws GoshawkError if a job neither completed nor failed; the reason of the interruption
 */
export async function runPolicy(
  context: Context,
  options: ReplayOptions,
  plan: ReplayPlan,
  target: ReplayTarget,
  onShown: (shown: Shown | undefined) => void,
): Promise<PolicyRun> {
  const { cluster, settings, totalSlots } = target;
  const signal = context.interrupted;
  const before = await readTraffic(cluster, signal);
  const watch = new CounterWatch(cluster, before, {
    pauseMs: readingPauseMs(plan.fit.estimatedRunMs, target.shape.workers, options.report !== undefined),
    signal,
  });
  const shown = startProgress(
    context,
    (target.label ?? settings.policy).padEnd(LABEL_WIDTH),
    plan.jobs.length,
  );
  onShown(shown);
  let jobs: EndedReplayJob[];
  try {
    jobs = await submitOnTime(cluster, plan.jobs, {
      signal,
      cancelOnAbort: target.isShared,
      stallMs: STALL_MS + STALL_TASKS * plan.fit.longestTaskMs,
      onProgress: (progress) => {
        watch.observe(progress.elapsedMs);
        shown.update(progress.ended, progressNote(progress, plan, totalSlots));
      },
    });
  } finally {
    shown.stop();
    onShown(undefined);
  }
  const after = await readTraffic(cluster, signal);
  const traffic = trafficBetween(before, after);
  const readings = await watch.finish(endOf(jobs), traffic);
  return assess(options, plan, target, { jobs, traffic, readings, planning: planningBetween(before, after) });
}

interface Finished {
  readonly jobs: readonly EndedReplayJob[];
  readonly traffic: Traffic;
  readonly readings: readonly CounterReading[];
  readonly planning: PlanningResults | undefined;
}

async function assess(
  options: ReplayOptions,
  plan: ReplayPlan,
  { settings, label = settings.policy, shape, totalSlots, pids, isShared }: ReplayTarget,
  { jobs, traffic: { messages, steals, incomplete }, readings, planning }: Finished,
): Promise<PolicyRun> {
  const { RunMeter } = await import('@goshawk/report');
  const meter = new RunMeter({
    policy: label,
    seed: options.seed,
    cutoffSeconds: settings.cutoffMs / 1_000,
    jobs: plan.jobs.length,
    needsRecords: options.saveResults !== undefined,
    totalSlots,
    // The capacity of existing workers is unknown.
    capacity: isShared ? undefined : timesAll(sizeOfWorker(options).capacity, shape.workers),
    snapshotIntervalSeconds: Math.max(SNAPSHOT_MIN_SECONDS, SNAPSHOT_TRACE_SECONDS / plan.fit.divisor),
  });
  const places = new Map(plan.jobs.map((job, place) => [job, place]));
  for (const job of jobs)
    meter.add(places.get(job.planned)!, jobResult(job, settings.cutoffMs), predictionOf(job));
  const loadOffered = offeredLoad(jobs, { spanMs: plan.fit.spanMs, totalSlots });
  const { run, series } = meter.finish({
    options: { ...optionsRecord(options, shape, plan, settings), loadOffered },
    messages,
    steals,
    predictor: options.estimator === 'oracle' ? null : meter.accuracy(),
    wallSeconds: endOf(jobs) / 1_000,
    peakRssBytes: await peakRssOf(pids()),
    readings,
    planning,
  });
  return {
    run,
    series,
    times: meter.times,
    records: meter.records,
    loadOffered,
    latenessP99Ms: nearestRank(latenessMs(jobs), 99),
    incomplete,
  };
}

/** Returns the time of the last end of a job. */
function endOf(jobs: readonly EndedReplayJob[]): Millis {
  return jobs.reduce((latest, { endedMs }) => Math.max(latest, endedMs), 0);
}

/** All settings of a run. Times are in seconds of the run, like all its reported times. */
export function optionsRecord(
  {
    load,
    seed,
    estimator,
    resources,
    attribute,
  }: Pick<ReplayOptions, 'load' | 'seed' | 'estimator' | 'resources' | 'attribute'>,
  shape: Shape,
  { fit, jobs }: ReplayPlan,
  settings: PolicySettings,
): OptionValues {
  return {
    workers: shape.workers,
    slots: shape.slots,
    resources: resources ?? null,
    ...(attribute.length === 0 ? {} : { attribute }),
    schedulers: shape.schedulers,
    load,
    jobs: jobs.length,
    seed,
    estimator,
    scale: fit.divisor,
    taskFactor: fit.taskFactor,
    ...policyRecord(settings),
  };
}

/**
 * Returns the total peak resident memory of these processes in bytes, or null if it is unavailable or a
 * process is gone.
 */
async function peakRssOf(pids: readonly number[]): Promise<number | null> {
  try {
    const peaks = await Promise.all(pids.map(peakRssOfOne));
    return sumOf(peaks);
  } catch {
    return null;
  }
}

async function peakRssOfOne(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const peak = statusBytes(status, 'VmHWM');
  if (peak === undefined) throw new Error(`no VmHWM of process ${pid}`);
  return peak;
}
