import {
  type Attributes,
  attributesByName,
  type ClusterSettings,
  type ListedWorker,
  type LostWorker,
  type MissingScheduler,
  type SchedulerView,
} from '@goshawk/core';
import { badAnswer } from './errors.js';
import type { CallOptions } from './options.js';
import { type Ask, askCentral, askCentralIfReachable, type Session } from './session.js';

export interface WorkerView extends Omit<ListedWorker, 'attributes'> {
  /** Attributes such as rack, zone and model. */
  readonly attributes: Attributes;
}

/** The cluster as central sees it. */
export interface ClusterView {
  readonly name: string;
  readonly settings: ClusterSettings;
  /** Tasks that wait at central: for a worker, or for a limit to admit them. */
  readonly pendingTasks: number;
  /** False shortly after a restart of central, until all earlier members have registered. */
  readonly complete: boolean;
  readonly workers: readonly WorkerView[];
  readonly schedulers: readonly SchedulerView[];
  /** Schedulers that have disconnected, keep their jobs, and may return. */
  readonly schedulersAway: readonly SchedulerView[];
  /** Expected schedulers that are neither members nor known to be away. */
  readonly schedulersMissing: readonly MissingScheduler[];
  /** Workers that were lost within the last hour and have not returned, latest first. */
  readonly lostWorkers: readonly LostWorker[];
  /** Problems that an operator must fix, one line each, such as two processes that claim one address. */
  readonly warnings: readonly string[];
}

/** Returns central's view, which also refreshes the list of schedulers. @throws UnreachableError */
export async function describeCluster(session: Session, options: CallOptions): Promise<ClusterView> {
  const [cluster, schedulers, workers] = await Promise.all([
    askCentral(session, DESCRIBE, options),
    session.roster.fetchNow(options),
    allWorkers(session, options),
  ]);
  const { name, settings, pendingTasks } = cluster.value;
  const { present, away, complete, warnings, missing = [] } = schedulers;
  const views = { schedulers: present, schedulersAway: away, schedulersMissing: missing, warnings };
  return { name, settings, pendingTasks, complete, ...workers, ...views };
}

/** Returns central's settings; undefined if it does not answer. */
export async function clusterSettings(
  session: Session,
  options: CallOptions,
): Promise<ClusterSettings | undefined> {
  return (await askCentralIfReachable(session, DESCRIBE, options))?.value.settings;
}

const DESCRIBE: Ask<'describeCluster'> = {
  what: 'to describe the cluster',
  build: (request) => ({ type: 'describeCluster', request }),
};

/** Fetches page by page; a worker that joins meanwhile may be missing. */
async function allWorkers(
  session: Session,
  options: CallOptions,
): Promise<Pick<ClusterView, 'workers' | 'lostWorkers'>> {
  const all: WorkerView[] = [];
  let lostWorkers: readonly LostWorker[] = [];
  for (let from: number | undefined = 0; from !== undefined; ) {
    const first: number = from;
    const { value, peer } = await askCentral(
      session,
      { what: 'for its workers', build: (request) => ({ type: 'listWorkers', request, from: first }) },
      options,
    );
    if (value.next !== undefined && value.next <= first) throw badAnswer(peer, 'further workers');
    for (const worker of value.workers)
      all.push({ ...worker, attributes: attributesByName(worker.attributes) });
    lostWorkers = value.lost ?? lostWorkers;
    from = value.next;
  }
  return { workers: all, lostWorkers };
}
