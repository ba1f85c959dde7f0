import { type DrainAnswer, type LostWorker, seconds } from '@goshawk/core';
import type { ClusterView, WorkerView } from './cluster-view.js';
import { missingTitle } from './roster.js';

/** A page of workers; `next` is the `from` of the next page. */
interface Part {
  readonly workers: readonly WorkerView[];
  readonly total: number;
  readonly truncated: boolean;
  readonly next: number | null;
}

/** Builds `goshawk.workers/1`, for HTTP and `--json`. */
export function workersJson(view: ClusterView, part: Part, lost: readonly LostWorker[]) {
  const { workers, total, truncated, next } = part;
  return {
    schema: 'goshawk.workers/1' as const,
    workers: workers.map(workerJson),
    total,
    truncated,
    next,
    lost: lost.map(lostJson),
    silent: silentSchedulers(view),
    warnings: view.warnings,
  };
}

/** Builds `goshawk.drain/1`, for HTTP and `--json`. */
export function drainJson({ worker, state, running, deadlineMs }: DrainAnswer) {
  const deadlineSeconds = deadlineMs === undefined ? null : seconds(deadlineMs);
  return { schema: 'goshawk.drain/1' as const, worker, state, running, deadlineSeconds };
}

/** A worker of `goshawk.workers/1`. */
export function workerJson(worker: WorkerView) {
  const { name, state, quarantine, partition, slots, busy, long, queued, capacity, used, attributes } =
    worker;
  return {
    name,
    state,
    quarantine: quarantine ?? null,
    partition,
    slots,
    busy,
    long: long ?? null,
    queued,
    resources: capacity,
    used: used === undefined ? null : { cpu: used.cpuPercent / 100, memory: used.memory },
    attributes,
    heardSecondsAgo: seconds(Math.max(0, worker.heardMsAgo)),
  };
}

/** Describes unavailable schedulers, one per line. */
export function silentSchedulers({ schedulersAway, schedulersMissing }: ClusterView): string[] {
  return [
    ...schedulersAway.map(({ name, endpoint }) => `scheduler ${name} at ${endpoint}`),
    ...schedulersMissing.map(missingTitle),
  ];
}

function lostJson({ name, address, cause, running, lostMsAgo }: LostWorker) {
  return { name, state: 'lost', address, cause, running, lostSecondsAgo: Math.round(lostMsAgo) / 1_000 };
}
