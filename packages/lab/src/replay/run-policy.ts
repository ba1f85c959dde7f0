import { type Context, capacityOf, type Progress as Shown, startProgress, timesAll } from '@goshawk/cli';
import { type Millis, nearestRank } from '@goshawk/core';
import type { CounterReading, JobRecord, JobResult, JobTimes, PlanningResults } from '@goshawk/report';
import type { PolicyRun, ReplayTarget } from './contract.js';
import { CounterWatch, readingPauseMs } from './counter-watch.js';
import { peakRssOf } from './memory.js';
import type { ReplayOptions } from './options.js';
import type { ReplayPlan } from './plan.js';
import { optionsRecord } from './record.js';
import { jobResults, judgementOf, latenessMs, offeredLoad } from './results.js';
import { type EndedReplayJob, submitOnTime } from './submitter.js';
import { planningBetween, readTraffic, type Traffic, trafficBetween } from './traffic.js';
import { progressNote } from './wording.js';

/** Trace time between two looks at the cluster (Hawk §4.1)… */
const SNAPSHOT_TRACE_SECONDS = 100;
/** …but however much durations are divided, not more often than sleeps are accurate. */
const SNAPSHOT_MIN_SECONDS = 0.001;
/** A replay in which nothing moves for so long, beside what its longest task takes, has come to a halt. */
const STALL_MS = 120_000;
const STALL_TASKS = 10;
/** So that the bars of several policies stand below one another. */
const LABEL_WIDTH = 7;

/**
 * Replays the jobs of a plan on a cluster, and measures them.
 *
 * @param onShown told what shows the progress, so that others can say something meanwhile
 * @throws GoshawkError when a job neither completed nor failed; the reason of the interruption
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
        watch.look(progress.elapsedMs);
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
  // The charts' library takes a while to load: not before there is something to show.
  const { buildRun, jobRecord, PredictorTally } = await import('@goshawk/report');
  const predictor = new PredictorTally(settings.cutoffMs / 1_000);
  const judged = jobs.map(judgementOf);
  for (const each of judged) predictor.add(each);
  const results = jobResults(jobs, settings.cutoffMs);
  const loadOffered = offeredLoad(jobs, { spanMs: plan.fit.spanMs, totalSlots });
  const placeOf = new Map(plan.jobs.map((job, index) => [job, index + 1]));
  const recordOf = (result: JobResult, index: number): JobRecord => {
    const of = { policy: label, seed: options.seed, job: placeOf.get(jobs[index]!.planned)! };
    return jobRecord(of, result, judged[index]!);
  };
  const { run, series } = buildRun({
    policy: label,
    seed: options.seed,
    options: { ...optionsRecord(options, shape, plan, settings), loadOffered },
    jobs: results,
    totalSlots,
    // What workers that were there already have, nobody said.
    capacity: isShared ? undefined : timesAll(capacityOf(shape.slots, options.resources), shape.workers),
    snapshotIntervalSeconds: Math.max(SNAPSHOT_MIN_SECONDS, SNAPSHOT_TRACE_SECONDS / plan.fit.divisor),
    messages,
    steals,
    predictor: options.estimator === 'oracle' ? null : predictor.accuracy(),
    wallSeconds: endOf(jobs) / 1_000,
    peakRssBytes: await peakRssOf(pids()),
    readings,
    planning,
  });
  return {
    run,
    series,
    times: timesOf(plan, jobs, results, { policy: label, seed: options.seed }),
    records: options.saveResults === undefined ? [] : results.map(recordOf),
    loadOffered,
    latenessP99Ms: nearestRank(latenessMs(jobs), 99),
    incomplete,
  };
}

function timesOf(
  plan: ReplayPlan,
  jobs: readonly EndedReplayJob[],
  results: readonly JobResult[],
  of: Pick<JobTimes, 'policy' | 'seed'>,
): JobTimes {
  const placeOf = new Map(plan.jobs.map((job, index) => [job, index]));
  const runtimeSeconds = new Float64Array(plan.jobs.length).fill(Number.NaN);
  const isLong = new Uint8Array(plan.jobs.length);
  for (const [index, result] of results.entries()) {
    const place = placeOf.get(jobs[index]!.planned)!;
    isLong[place] = result.class === 'long' ? 1 : 0;
    if (result.outcome === 'completed') runtimeSeconds[place] = result.runtimeSeconds;
  }
  return { ...of, runtimeSeconds, isLong };
}

/** When the last news was here. */
function endOf(jobs: readonly EndedReplayJob[]): Millis {
  return jobs.reduce((latest, { endedMs }) => Math.max(latest, endedMs), 0);
}
