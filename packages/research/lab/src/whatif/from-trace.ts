import { amountOf, type Resources } from '@goshawk/core';
import type { PackedJobs, RecordedJob, TraceJob } from '@goshawk/traces';
import { unpackedJobs } from '@goshawk/traces';

/** The cluster that a trace shows, as far as it records it. */
interface TracedCluster {
  /** CPUs per worker: the most that one task used, or one if tasks have no demands. */
  readonly slots: number;
  /** The fewest workers of that size with room for all concurrent tasks. */
  readonly workers: number;
}

/** Returns recorded run times, from submission to the end of the last task, if the trace records waits. */
export function recordedJobsOf(jobs: PackedJobs): RecordedJob[] {
  return [...unpackedJobs(jobs)].map((job) => ({
    job,
    runtimeSeconds: job.waitSeconds === undefined ? undefined : job.waitSeconds + longestOf(job),
  }));
}

/** @param slots of a worker, if specified */
export function clusterOf(jobs: PackedJobs, slots: number | undefined): TracedCluster {
  let cpus = 1;
  for (const job of unpackedJobs(jobs)) {
    for (const demand of demandsOf(job)) cpus = Math.max(cpus, Math.ceil(amountOf(demand, 'cpu')));
  }
  const ofWorker = slots ?? cpus;
  return { slots: ofWorker, workers: Math.max(1, Math.ceil(mostAtATime(jobs) / ofWorker)) };
}

/** Returns the maximum number of CPUs in use at a time. A task without a demand takes one. */
function mostAtATime(jobs: PackedJobs): number {
  const changes: { readonly at: number; readonly by: number }[] = [];
  for (const job of unpackedJobs(jobs)) {
    const [demand] = demandsOf(job);
    const start = job.submitSeconds + (job.waitSeconds ?? 0);
    // A workflow records only its first start: its tasks count as consecutive.
    const tasks = job.stages === undefined ? job.durationsSeconds.length : 1;
    const by = tasks * Math.max(1, amountOf(demand ?? {}, 'cpu'));
    changes.push({ at: start, by }, { at: start + longestOf(job), by: -by });
  }
  changes.sort((one, other) => one.at - other.at || one.by - other.by);
  let [used, most] = [0, 0];
  for (const { by } of changes) {
    used += by;
    most = Math.max(most, used);
  }
  return most;
}

function demandsOf({ demand, stages }: TraceJob): readonly Resources[] {
  return stages === undefined ? [demand ?? {}] : stages.map((stage) => stage.demand ?? demand ?? {});
}

function longestOf({ durationsSeconds }: TraceJob): number {
  return durationsSeconds.reduce((most, each) => Math.max(most, each), 0);
}
