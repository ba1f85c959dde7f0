import { choice, count, flag, list, optional, parsed, resources, text, view } from './fields/fields.js';
import { attribute, ms, name, settings, slots } from './fields/records.js';
import { LIMITS } from './limits.js';
import { WORKER_STATES } from './states.js';

/** The view of the cluster that clients receive. */

const party = text(512);

const workerView = view({
  name,
  /** Full name of the party: `<endpoint>!<incarnation>/<index>`. */
  address: party,
  /** 0: no fixed number, as many tasks as fit its capacity. */
  slots,
  /** Amounts by resource. */
  capacity: resources,
  /** Rack, zone, model. */
  attributes: list(attribute, LIMITS.attributesMax),
  partition: choice('general', 'short'),
  state: choice(...WORKER_STATES),
  /** Why it is quarantined. */
  quarantine: optional(text(8_192)),
  /** Slots in use, and entries in its queue, at its last heartbeat. */
  busy: count,
  queued: count,
  /** Long tasks that run there, where central matches jobs and workers; it does not know otherwise. */
  long: optional(count),
  heardMsAgo: ms,
});
export type ListedWorker = NonNullable<(typeof workerView)['infer']>;

const lostWorkerView = view({
  name,
  address: party,
  /** One line. */
  cause: text(512),
  lostMsAgo: ms,
  /** Tasks that ran there, as far as central knows. */
  running: count,
});
export type LostWorker = NonNullable<(typeof lostWorkerView)['infer']>;

/** Workers that were lost are remembered for this long. ms */
export const LOST_WORKERS_MS = 3_600_000;
export const LOST_WORKERS_MAX = 1_000;

/** Workers in one answer, at most. */
export const WORKERS_PER_PAGE = 1_000;

export const workerPage = view({
  workers: list(workerView, WORKERS_PER_PAGE),
  /** Start of the next page; undefined at the end. */
  next: optional(count),
  /** Recently lost workers that have not returned, latest first. Only on the first page. */
  lost: optional(list(lostWorkerView, LOST_WORKERS_MAX)),
});

const schedulerView = view({
  name,
  address: party,
  /** The ids of its jobs are `<tag>-<number>`. */
  tag: text(32),
  /** The endpoint for clients. */
  endpoint: party,
  /** Jobs that have not ended, and tasks that wait, at its last heartbeat. */
  jobs: count,
  waiting: count,
  heardMsAgo: ms,
  /** Epoch of the scheduler's journal: the highest epoch of a tag owns the jobs. 0: no other scheduler can take them over. */
  epoch: count,
  /** It looks after the jobs of one that is gone, and takes no others. */
  adopted: flag,
});
export type SchedulerView = NonNullable<(typeof schedulerView)['infer']>;

const missingScheduler = view({
  name,
  /** Tag of the scheduler's jobs; undefined if only the name is known. */
  tag: optional(text(32)),
  /** Jobs that have not ended, where they are known: from its journal, or its last heartbeat. */
  jobs: optional(count),
  /** Another scheduler can read its journal, and take its jobs over. */
  shared: flag,
  /** Since this central was started, or since it is expected. */
  missingMs: ms,
});
export type MissingScheduler = NonNullable<(typeof missingScheduler)['infer']>;

export const schedulers = view({
  present: list(schedulerView, LIMITS.membersMax),
  /** Those that have gone, keep their jobs, and may come back. */
  away: list(schedulerView, LIMITS.membersMax),
  /** False for a moment after central was started: not all that were there before have been heard of. */
  complete: flag,
  /** Problems that only central can see and an operator must fix, one line each. */
  warnings: list(text(1_000), 16),
  /** Those that are expected and have not come since this central was started: their jobs are in no list. */
  missing: optional(list(missingScheduler, LIMITS.membersMax)),
});
/** The schedulers of a cluster, as central knows them. */
export type Schedulers = NonNullable<(typeof schedulers)['infer']>;

export const introduction = view({
  name,
  tag: text(32),
  /** Full name of central, as far as it is known. */
  central: party,
  workers: count,
});
/** How a scheduler introduces itself. */
export type SchedulerIntroduction = NonNullable<(typeof introduction)['infer']>;

export const clusterView = view({
  name,
  settings,
  /** Tasks that no worker can take at present. */
  pendingTasks: count,
  /** All of them, in any state. */
  workers: count,
});

export const drainState = view({
  worker: name,
  state: choice(...WORKER_STATES),
  /** Tasks that run there. */
  running: count,
});
export type DrainAnswer = NonNullable<(typeof drainState)['infer']>;

export const takeover = view({
  scheduler: name,
  /** That have not ended, at its last heartbeat. */
  jobs: count,
  /** How many of the requested schedulers have their jobs taken over. */
  schedulers: optional(count),
});
/** The jobs that another scheduler was asked to take over. */
export type TakeoverAnswer = NonNullable<(typeof takeover)['infer']>;

/** Counters since the start of the party; groups contain nested counters. */
export interface Counters {
  readonly [name: string]: number | Counters;
}

/** Fields that are neither numbers nor groups are names or labels, which cannot be summed. */
export const counters = parsed(onlyCounts);

export function onlyCounts(value: unknown): Counters {
  const counts: Record<string, number | Counters> = {};
  if (typeof value !== 'object' || value === null) return counts;
  for (const [name, count] of Object.entries(value)) {
    if (typeof count === 'number') counts[name] = count;
    else if (typeof count === 'object' && count !== null && !Array.isArray(count))
      counts[name] = onlyCounts(count);
  }
  return counts;
}
