import {
  type Address,
  type DrainAnswer,
  type ListedWorker,
  type MessageOf,
  type Millis,
  type Role,
  type Schedulers,
  type SchedulerView,
  WORKERS_PER_PAGE,
  type WorkerState,
} from '@goshawk/core';
import type { CountedWorkers, ScrapeTarget } from '../contract.js';
import { isActive, type Registry, type WorkerRecord } from './registry.js';
import type { SchedulerRecord, Schedulers as SchedulerTable } from './schedulers.js';

/** Lists job owners for clients. */
export function listSchedulers(
  schedulers: SchedulerTable,
  isListed: (present: Address) => boolean,
  nameOf: (address: Address) => string,
  now: Millis,
): Pick<Schedulers, 'present' | 'away'> {
  const view = (record: SchedulerRecord): SchedulerView => {
    const { name, tag, endpoint, jobs, waiting, epoch, adopted } = record;
    const address = nameOf(record.address);
    return {
      name,
      address,
      tag,
      endpoint,
      jobs,
      waiting,
      heardMsAgo: now - record.lastSeenAt,
      epoch,
      adopted,
    };
  };
  const present = [...schedulers.members.values()].filter(({ address }) => isListed(address));
  return { present: present.map(view), away: schedulers.away.map(view) };
}

/** Tasks at a worker in central's books, and their CPUs. */
export interface BookedLoad {
  readonly tasks: number;
  readonly long: number;
  readonly cpus: number;
}

/**
 * Returns a page of workers in the order of their rows. Rows never change, so a worker that stays while a client reads
 * all pages appears exactly once.
 *
 * @param from the first row
 * @param loadAt returns the booked tasks of a worker, if known; a running task outside the books counts as one CPU
 */
export function listWorkers(
  registry: Registry,
  from: number,
  nameOf: (address: Address) => string,
  loadAt: (worker: Address) => BookedLoad | undefined,
  now: Millis,
): MessageOf<'workerPage'>['value'] {
  const end = from + WORKERS_PER_PAGE;
  const workers: ListedWorker[] = [];
  for (const worker of registry.inRows(from, end)) {
    const load = loadAt(worker.address);
    workers.push({
      name: worker.name,
      address: nameOf(worker.address),
      slots: worker.slots,
      capacity: worker.capacity,
      attributes: worker.attributes,
      partition: worker.partition,
      state: stateOf(worker),
      quarantine: worker.quarantine?.reason,
      busy: worker.busy,
      long: load?.long,
      queued: worker.queued,
      heardMsAgo: now - worker.lastSeenAt,
      used: worker.used,
      cpus: load && load.cpus + Math.max(0, worker.busy - load.tasks),
    });
  }
  return { workers, next: end < registry.rowCount ? end : undefined };
}

/**
 * Lists the HTTP addresses of all parties. The list includes disconnected schedulers, so that monitoring
 * detects their absence. Workers of one process share a server.
 */
export function scrapeTargetsOf(registry: Registry): ScrapeTarget[] {
  const at = (parties: Iterable<{ readonly http: string | undefined }>, role: Role): ScrapeTarget[] => {
    const urls = new Set(Array.from(parties, ({ http }) => http));
    return [...urls].flatMap((url) => (url === undefined ? [] : { role, at: url }));
  };
  return [...at(registry.schedulers.all, 'scheduler'), ...at(registry.workers.values(), 'worker')];
}

/** Counts workers by partition and state. */
export function countWorkers(workers: Iterable<WorkerRecord>): CountedWorkers[] {
  const counts = new Map<string, { -readonly [K in keyof CountedWorkers]: CountedWorkers[K] }>();
  for (const worker of workers) {
    const { partition } = worker;
    const state = stateOf(worker);
    const counted = counts.get(`${partition} ${state}`) ?? { partition, state, count: 0, slots: 0 };
    counted.count++;
    counted.slots += worker.slots;
    counts.set(`${partition} ${state}`, counted);
  }
  return [...counts.values()];
}

function stateOf(worker: WorkerRecord): WorkerState {
  if (isActive(worker)) return 'active';
  if (!worker.draining && !worker.drainRequested) return 'quarantined';
  return worker.drained ? 'drained' : 'draining';
}

/** Returns the answer to a drain or undrain request. */
export function describeDrain(worker: WorkerRecord, now: Millis): DrainAnswer {
  const { name, busy } = worker;
  return { worker: name, state: stateOf(worker), running: busy, deadlineMs: untilDeadline(worker, now) };
}

/** Returns the request to a worker to start or stop draining. */
export function drainRequest(worker: WorkerRecord, now: Millis): MessageOf<'drain'> {
  return { type: 'drain', on: worker.drainRequested, deadlineMs: untilDeadline(worker, now) };
}

function untilDeadline({ drainDeadline }: WorkerRecord, now: Millis): Millis | undefined {
  return drainDeadline === undefined ? undefined : Math.max(0, drainDeadline - now);
}

/** Returns the error for a scheduler whose jobs cannot be taken over. */
export function takeoverRefusal(request: number, name: string, isKnown: boolean): MessageOf<'refused'> {
  const lines = !isKnown
    ? {
        code: 'unknown-scheduler',
        message: `there is no scheduler ${name}, and none with that name is away`,
        hint: 'give the name it was started with (`goshawk scheduler --name`)',
      }
    : {
        code: 'not-shared',
        message: `the journal of ${name} is local, so no other scheduler can read it`,
        hint: `to resume its jobs, start ${name} with its data folder; takeover needs journals in PostgreSQL (--journal postgres://…)`,
      };
  return { type: 'refused', request, ...lines, retryMs: undefined };
}

/** Returns the error for a copy of the data folder of a running scheduler. */
export function runningRefusal(request: number, name: string, address: string): MessageOf<'refused'> {
  return {
    type: 'refused',
    request,
    code: 'not-shared',
    message: `${name} is running at ${address}, so no copy of its data folder can take over its jobs`,
    hint: `stop ${name} first; if it hangs, end its process, and try again after its lease`,
    retryMs: undefined,
  };
}

/**
 * Returns the error for a party that central does not know in the first lease after its start. A former central may have
 * applied an earlier copy of the request, so it must not be refused for good.
 */
export function notReportedRefusal(request: number, party: string): MessageOf<'refused'> {
  return {
    type: 'refused',
    request,
    code: 'not-ready',
    message: `${party} has not reported to this central, which has just started`,
    hint: 'try again in a moment',
    retryMs: undefined,
  };
}

/** Returns the error for a worker that does not exist. */
export function unknownWorkerRefusal({ request, worker }: MessageOf<'drainWorker'>): MessageOf<'refused'> {
  return {
    type: 'refused',
    request,
    code: 'unknown-worker',
    message: `there is no worker ${worker}`,
    hint: '`goshawk workers` lists all workers',
    retryMs: undefined,
  };
}
