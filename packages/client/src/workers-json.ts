import {
  type DrainAnswer,
  doc,
  drainState,
  json,
  type LostWorker,
  lostWorkerView,
  workerView,
} from '@goshawk/core';
import type { ClusterView, WorkerView } from './cluster-view.js';
import { missingTitle } from './roster.js';

const { byName, count, flag, list, literal, number, orNull, same, seconds, table, text, unknown } = json;

/** A page of workers; `next` is the `from` of the next page. */
interface WorkersPart {
  readonly view: ClusterView;
  readonly workers: readonly WorkerView[];
  readonly total: number;
  readonly truncated: boolean;
  readonly next: number | null;
  readonly lost: readonly LostWorker[];
}

/** The fields of a worker in `goshawk.workers/1`. */
export const workerTable = table<WorkerView>()((of) => ({
  ...same(workerView, 'name', 'state', 'quarantine', 'partition'),
  slots: doc('Number of CPUs; 0: unlimited.', count),
  busy: count,
  long: doc('Number of running long tasks; null: unknown to central.', orNull(count)),
  queued: count,
  resources: of(byName(number), ({ capacity }) => capacity),
  used: doc(
    'CPUs and bytes of memory that running tasks use; null: unknown.',
    of(orNull(byName(number)), ({ used }) =>
      used === undefined ? undefined : { cpu: used.cpuPercent / 100, memory: used.memory },
    ),
  ),
  attributes: byName(unknown),
  heardSecondsAgo: of(seconds, ({ heardMsAgo }) => Math.max(0, heardMsAgo)),
}));

const lostTable = table<LostWorker>()((of) => ({
  ...same(lostWorkerView, 'name'),
  state: of(literal('lost'), () => 'lost' as const),
  ...same(lostWorkerView, 'address', 'cause', 'running'),
  lostSecondsAgo: of(seconds, ({ lostMsAgo }) => Math.round(lostMsAgo)),
}));

/** The fields of `goshawk.workers/1`, from which its JSON and its schema are derived. */
export const workersTable = table<WorkersPart>()((of) => ({
  schema: of(literal('goshawk.workers/1'), () => 'goshawk.workers/1' as const),
  workers: list(workerTable),
  total: count,
  truncated: flag,
  next: doc('`from` of the next page.', orNull(count)),
  lost: doc('Workers lost within the last hour.', list(lostTable)),
  silent: doc(
    'Unreachable schedulers.',
    of(list(text), ({ view }) => silentSchedulers(view)),
  ),
  warnings: of(list(text), ({ view }) => view.warnings),
}));

/** Builds `goshawk.workers/1`, for HTTP and `--json`. */
export function workersJson(part: WorkersPart): json.JsonOf<typeof workersTable> {
  return workersTable.json(part, undefined);
}

/** Returns a worker of `goshawk.workers/1`. */
export function workerJson(worker: WorkerView): json.JsonOf<typeof workerTable> {
  return workerTable.json(worker, undefined);
}

/** The fields of `goshawk.drain/1`, from which its JSON and its schema are derived. */
export const drainTable = table<DrainAnswer>()((of) => ({
  schema: of(literal('goshawk.drain/1'), () => 'goshawk.drain/1' as const),
  ...same(drainState, 'worker', 'state', 'running'),
  deadlineSeconds: doc(
    'Seconds until running tasks are stopped; null: running tasks may finish.',
    of(orNull(seconds), ({ deadlineMs }) => deadlineMs),
  ),
}));

/** Builds `goshawk.drain/1`, for HTTP and `--json`. */
export function drainJson(answer: DrainAnswer): json.JsonOf<typeof drainTable> {
  return drainTable.json(answer, undefined);
}

/** Describes unavailable schedulers, one per line. */
export function silentSchedulers({ schedulersAway, schedulersMissing }: ClusterView): string[] {
  return [
    ...schedulersAway.map(({ name, endpoint }) => `scheduler ${name} at ${endpoint}`),
    ...schedulersMissing.map(missingTitle),
  ];
}
