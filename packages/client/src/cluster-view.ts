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
import { type Ask, askCentral, ifCentralAnswers, type Session } from './session.js';

export interface WorkerView extends Omit<ListedWorker, 'attributes'> {
  /** Rack, zone, model. */
  readonly attributes: Attributes;
}

/** The cluster as central sees it. */
export interface ClusterView {
  readonly name: string;
  readonly settings: ClusterSettings;
  /** Tasks that no worker can take at present. */
  readonly pendingTasks: number;
  /** False for a moment after central was started: not all that were there before have been heard of. */
  readonly complete: boolean;
  readonly workers: readonly WorkerView[];
  readonly schedulers: readonly SchedulerView[];
  /** Those that have gone, keep their jobs, and may come back. */
  readonly schedulersAway: readonly SchedulerView[];
  /** Those that are expected and have not come since central was started. */
  readonly schedulersMissing: readonly MissingScheduler[];
  /** Workers that were lost within the last hour and have not come back, the last first. */
  readonly lostWorkers: readonly LostWorker[];
  /** Problems that an operator must fix, one line each, such as two processes that claim one address. */
  readonly warnings: readonly string[];
}

/** Central's own view, which also brings the list of schedulers up to date. @throws UnreachableError */
export async function describeCluster(session: Session, options: CallOptions): Promise<ClusterView> {
  const [cluster, schedulers, workers] = await Promise.all([
    askCentral(session, DESCRIBE, options),
    session.roster.look(options),
    allWorkers(session, options),
  ]);
  const { name, settings, pendingTasks } = cluster.value;
  const { present, away, complete, warnings, missing = [] } = schedulers;
  const views = { schedulers: present, schedulersAway: away, schedulersMissing: missing, warnings };
  return { name, settings, pendingTasks, complete, ...workers, ...views };
}

/** The settings, as central has them; undefined when that does not answer. */
export async function clusterSettings(
  session: Session,
  options: CallOptions,
): Promise<ClusterSettings | undefined> {
  return (await ifCentralAnswers(session, DESCRIBE, options))?.value.settings;
}

const DESCRIBE: Ask<'describeCluster'> = {
  what: 'to describe the cluster',
  build: (request) => ({ type: 'describeCluster', request }),
};

/** Page by page; one that comes meanwhile may be missing. */
async function allWorkers(
  session: Session,
  options: CallOptions,
): Promise<Pick<ClusterView, 'workers' | 'lostWorkers'>> {
  const all: WorkerView[] = [];
  let lostWorkers: readonly LostWorker[] = [];
  for (let from: number | undefined = 0; from !== undefined; ) {
    const first: number = from;
    const { value, whom } = await askCentral(
      session,
      { what: 'for its workers', build: (request) => ({ type: 'listWorkers', request, from: first }) },
      options,
    );
    if (value.next !== undefined && value.next <= first) throw badAnswer(whom, 'further workers');
    for (const worker of value.workers)
      all.push({ ...worker, attributes: attributesByName(worker.attributes) });
    lostWorkers = value.lost ?? lostWorkers;
    from = value.next;
  }
  return { workers: all, lostWorkers };
}
