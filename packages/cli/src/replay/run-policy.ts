import type { Cluster } from '@goshawk/client';
import { nearestRank, type PolicySettings } from '@goshawk/core';
import type { Run, RunSeries } from '@goshawk/report';
import type { Context } from '../context.js';
import { startProgress, type Progress as Shown } from '../terminal/progress.js';
import type { Estimator } from './estimates.js';
import { peakRssOf } from './memory.js';
import type { ReplayPlan } from './plan.js';
import { optionsRecord, type ReplaySetup } from './record.js';
import { accuracyOf, attemptsOf, jobResults, latenessMs, offeredLoad } from './results.js';
import { type EndedReplayJob, submitOnTime } from './submitter.js';
import { trafficBetween } from './traffic.js';
import { progressNote } from './wording.js';

/** A cluster that is up, and what it runs. */
export interface Stage {
  readonly cluster: Cluster;
  readonly settings: PolicySettings;
  readonly setup: ReplaySetup;
  readonly totalSlots: number;
  /** Of the cluster's processes, where they are known. */
  readonly pids: () => readonly number[];
  /** Whether it goes on when the replay is over. */
  readonly isShared: boolean;
}

export interface PolicyRun {
  readonly run: Run;
  readonly series: RunSeries;
  readonly offeredLoad: number;
  /** 99% of the jobs left no later than this after their time. ms */
  readonly latenessP99Ms: number;
  /** Parties whose messages and steals are not all counted. */
  readonly incomplete: readonly string[];
}

/** Trace time between two looks at the cluster is 100 s, as in the papers; that is not often in a short run. */
const SNAPSHOT_MIN_SECONDS = 0.001;
/** A replay in which nothing moves for so long, beside what its longest job takes, has come to a halt. */
const STALL_MS = 120_000;

/**
 * Replays the jobs of a plan on a cluster and measures them.
 *
 * @param onShown told what shows the progress, so that others can say something meanwhile
 * @throws GoshawkError when a job neither completed nor failed; the reason of the interruption
 */
export async function runPolicy(
  context: Context,
  plan: ReplayPlan,
  stage: Stage,
  estimator: Estimator,
  onShown: (shown: Shown | undefined) => void,
): Promise<PolicyRun> {
  const { cluster, totalSlots } = stage;
  const signal = context.interrupted;
  const before = await cluster.counters({ signal });
  const shown = startProgress(context, stage.settings.policy.padEnd(LABEL_WIDTH), plan.jobs.length);
  onShown(shown);
  let jobs: EndedReplayJob[];
  try {
    jobs = await submitOnTime(cluster, plan.jobs, {
      signal,
      cancelOnAbort: stage.isShared,
      stallMs: STALL_MS + 10 * plan.fit.taskDurationMs.max,
      onProgress: (progress) => shown.update(progress.ended, progressNote(progress, plan, totalSlots)),
    });
  } finally {
    shown.stop();
    onShown(undefined);
  }
  const after = await cluster.counters({ signal });
  const peakRssBytes = await peakRssOf(stage.pids());
  return assess(plan, stage, estimator, jobs, { ...trafficBetween(before, after), peakRssBytes });
}

const LABEL_WIDTH = 7;

async function assess(
  plan: ReplayPlan,
  { settings, setup, totalSlots }: Stage,
  estimator: Estimator,
  jobs: readonly EndedReplayJob[],
  { incomplete, ...costs }: ReturnType<typeof trafficBetween> & { peakRssBytes: number | null },
): Promise<PolicyRun> {
  // The charts' library takes a while to load: not before there is something to show.
  const { buildRun } = await import('@goshawk/report');
  const { run, series } = buildRun({
    policy: settings.policy,
    seed: setup.seed,
    options: optionsRecord(setup, plan, settings),
    jobs: jobResults(jobs, settings.cutoffMs),
    totalSlots,
    snapshotIntervalSeconds: Math.max(SNAPSHOT_MIN_SECONDS, 100 / plan.fit.divisor),
    clockToleranceSeconds: 0.1,
    predictor: estimator.kind === 'oracle' ? null : accuracyOf(jobs, settings.cutoffMs),
    wallSeconds: Math.max(...jobs.map((job) => job.endedMs)) / 1_000,
    ...costs,
  });
  const late = latenessMs(jobs);
  return {
    run: { ...run, tasks: { ...run.tasks, attempts: attemptsOf(jobs) } },
    series,
    offeredLoad: offeredLoad(jobs, { spanMs: plan.fit.spanMs, totalSlots }),
    latenessP99Ms: nearestRank(late, 99),
    incomplete,
  };
}
