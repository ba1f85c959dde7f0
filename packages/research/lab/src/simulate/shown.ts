import { availableParallelism } from 'node:os';
import { type Context, startProgress, untilInterrupted } from '@goshawk/command';
import { findCluster, openCluster } from '@goshawk/command/cluster';
import { counted } from '@goshawk/core';
import { batchesWithProgress, openWithProgress } from '../workload.js';
import type { JobSource, OnDone, RunOutcome, RunProgress, RunRequest } from './request.js';
import { type Survey, survey } from './survey.js';
import { performAll } from './threads.js';
import { RunsTracker } from './tracker.js';

/**
 * Reads a workload once and shows the progress.
 *
 * @param features additional facts about the jobs of a `.tr` file
 * @param resources of the workers; demands of foreign traces for other resources are omitted
 * @throws WorkloadError; InterruptedError that reports the progress
 */
export function surveyWithProgress(
  context: Context,
  workload: string,
  features?: string,
  resources?: readonly string[],
): Promise<Survey> {
  let jobs = 0;
  const onJobs = (count: number) => {
    jobs += count;
  };
  return untilInterrupted(
    context,
    async () => {
      const opened = await openWithProgress(context, workload, onJobs, features, resources);
      jobs = 0;
      return survey(
        opened,
        batchesWithProgress(context, opened, 'surveying jobs', onJobs),
        context.interrupted,
      );
    },
    () => `the workload was still being read (${counted(jobs, 'job')} so far); nothing was simulated`,
  );
}

/** Source of a workload's jobs: memory, if they are loaded. */
export function sourceOf(
  workload: string,
  { packed }: Survey,
  features?: string,
  resources?: readonly string[],
): JobSource {
  return packed === undefined
    ? { kind: 'spec', spec: workload, features, resources }
    : { kind: 'packed', packed };
}

interface Showing {
  /** Number of runs at a time; one per core by default. */
  readonly parallel: number | undefined;
  /** URL of a cluster that executes the runs as tasks; by default threads of this process do. */
  readonly on?: string | undefined;
  /** Label of the progress display. */
  readonly label?: string;
  /** Returns the ending of the message about an interruption; default: `nothing was written`. */
  readonly lost?: () => string;
  /** Called with each outcome as soon as its run is finished. */
  readonly onDone?: OnDone;
}

/**
 * Performs all runs and shows their progress.
 *
 * @throws InterruptedError that reports the progress
 */
export async function performWithProgress(
  context: Context,
  requests: readonly RunRequest[],
  source: JobSource,
  { parallel, on, label = 'simulating', lost, onDone }: Showing,
): Promise<RunOutcome[]> {
  const lanes = Math.min(parallel ?? availableParallelism(), requests.length);
  const tracker = new RunsTracker(requests);
  const progress = startProgress(context, label, tracker.jobs);
  const note = (index: number, now: RunProgress): void => {
    tracker.note(index, now);
    progress.update(tracker.jobsDone, tracker.describe());
  };
  const { interrupted, cwd } = context;
  const work = async (): Promise<RunOutcome[]> => {
    if (on === undefined) return performAll(requests, source, lanes, note, interrupted, onDone);
    const { performOnCluster } = await import('./on-cluster.js');
    await using cluster = await openCluster(context, { found: await findCluster(context, on, '--on') });
    return await performOnCluster(cluster, cwd, requests, source, note, interrupted, onDone);
  };
  try {
    return await untilInterrupted(context, work, () => {
      // The progress display ends before the message about the interruption.
      progress.stop();
      return tracker.interruptedNote(lost?.());
    });
  } finally {
    progress.stop();
  }
}
