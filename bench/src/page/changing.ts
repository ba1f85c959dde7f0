import type {
  Cluster,
  ClusterCounters,
  ClusterView,
  ClusterWaiting,
  Jobs,
  WorkerView,
} from '@goshawk/client';
import { DEFAULT_POLICY, Random, RELIABLE_TIMINGS } from '@goshawk/core';

/**
 * Returns the part of a cluster that the Workers and Overview tabs show. Every worker changes with every update.
 *
 * @param looked called at each update
 */
export function changingCluster(workers: number, looked: () => void): Cluster {
  const random = Random.seeded('page');
  const upTo = (most: number): number => Math.floor(random.next() * (most + 1));
  const worker = (index: number): WorkerView => {
    const busy = upTo(8);
    return {
      name: `node-${index}`,
      address: `tcp://10.0.0.1:7000!0/${index}`,
      slots: 8,
      capacity: { cpu: 8 },
      attributes: {},
      partition: 'general',
      state: 'active',
      busy,
      long: upTo(busy),
      queued: upTo(4),
      heardMsAgo: 0,
    };
  };
  const view = (): ClusterView => ({
    name: 'changing',
    settings: { policy: DEFAULT_POLICY, timings: RELIABLE_TIMINGS },
    pendingTasks: 0,
    complete: true,
    workers: Array.from({ length: workers }, (_, index) => worker(index)),
    schedulers: [],
    schedulersAway: [],
    schedulersMissing: [],
    lostWorkers: [],
    warnings: [],
  });
  const waiting: ClusterWaiting = { waiting: [], central: undefined, silent: [] };
  const totals = { schedulers: {}, workers: {}, all: {} };
  const counters: ClusterCounters = { central: undefined, schedulers: {}, workers: {}, totals, silent: [] };
  const jobs: Jobs = {
    jobs: [],
    total: 0,
    truncated: false,
    next: undefined,
    cursor: undefined,
    counts: { total: 0, waiting: 0, running: 0, completed: 0, failed: 0, cancelled: 0 },
    silent: [],
    warnings: [],
    quotas: [],
  };
  const shown: Pick<Cluster, 'describe' | 'waiting' | 'counters' | 'jobs' | 'close'> = {
    describe: async () => {
      looked();
      return view();
    },
    waiting: async () => waiting,
    counters: async () => counters,
    jobs: async () => jobs,
    close: async () => {},
  };
  return shown as Cluster;
}
