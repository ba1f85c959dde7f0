import type { Address, Millis } from '@goshawk/core';
import type { AwayOwners } from './away-owners.js';
import { isActive, type Registry, type SchedulerRecord, type WorkerRecord } from './registry.js';

/** Who is in the cluster, as clients are told. */
export function describeParties(
  registry: Registry,
  away: AwayOwners,
  nameOf: (address: Address) => string,
  now: Millis,
) {
  const scheduler = ({ address, name, tag, endpoint, jobs, waiting, heardAt }: SchedulerRecord) => ({
    name,
    address: nameOf(address),
    tag,
    endpoint,
    jobs,
    waiting,
    heardMsAgo: now - heardAt,
  });
  return {
    workers: [...registry.workers.values()].map((worker) => ({
      name: worker.name,
      address: nameOf(worker.address),
      slots: worker.slots,
      capacity: worker.capacity,
      partition: worker.partition,
      state: stateOf(worker),
      busy: worker.busy,
      queued: worker.queued,
      heardMsAgo: now - worker.heardAt,
    })),
    schedulers: [...registry.schedulers.values()].map(scheduler),
    schedulersAway: [...away.all()].map(scheduler),
  };
}

export function stateOf(worker: WorkerRecord): 'active' | 'draining' | 'drained' {
  if (isActive(worker)) return 'active';
  return worker.drained ? 'drained' : 'draining';
}
