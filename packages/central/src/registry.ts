import type { Address, Member, Millis, Resources } from '@goshawk/core';

export interface WorkerRecord {
  readonly address: Address;
  readonly name: string;
  readonly slots: number;
  readonly capacity: Resources;
  partition: 'general' | 'short';
  /** It says itself that it takes no new work. */
  draining: boolean;
  drained: boolean;
  /** What the operator asked for. */
  drainWanted: boolean;
  heardAt: Millis;
  busy: number;
  queued: number;
}

export interface SchedulerRecord {
  readonly address: Address;
  readonly name: string;
  readonly tag: string;
  readonly endpoint: string;
  heardAt: Millis;
  jobs: number;
  waiting: number;
}

/** Who is in the cluster, in the order in which they joined. */
export class Registry {
  readonly workers = new Map<Address, WorkerRecord>();
  readonly schedulers = new Map<Address, SchedulerRecord>();

  workerNamed(name: string): WorkerRecord | undefined {
    for (const worker of this.workers.values()) if (worker.name === name) return worker;
    return undefined;
  }

  schedulerNamed(name: string): SchedulerRecord | undefined {
    for (const scheduler of this.schedulers.values()) if (scheduler.name === name) return scheduler;
    return undefined;
  }
}

export function memberOf(worker: WorkerRecord): Member {
  const { address, name, slots, capacity, partition } = worker;
  return { address, name, slots, capacity, partition, draining: worker.draining || worker.drainWanted };
}
