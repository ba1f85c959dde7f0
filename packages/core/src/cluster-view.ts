import {
  choice,
  count,
  doc,
  flag,
  list,
  number,
  optional,
  parsed,
  record,
  resources,
  text,
  view,
} from './fields/fields.js';
import { attribute, ms, name, settings, slots, used } from './fields/records.js';
import { LIMITS } from './limits.js';
import * as json from './output.js';
import { WORKER_STATES } from './states.js';

/** The view of the cluster that clients receive. */

const party = text(512);

export const workerView = view({
  name,
  /** Full name of the party: `<endpoint>!<incarnation>/<index>`. */
  address: party,
  /** Its whole CPUs. */
  slots,
  /** Amounts by resource. */
  capacity: resources,
  /** Attributes such as rack, zone and model. */
  attributes: list(attribute, LIMITS.attributesMax),
  partition: choice('general', 'short'),
  state: choice(...WORKER_STATES),
  /** Reason for the quarantine; absent: not quarantined. */
  quarantine: optional(text(8_192)),
  /** Tasks that run or are being fetched, and queue length, both as of the last heartbeat. */
  busy: count,
  queued: count,
  /** Long tasks running on the worker; known only to policies in which central matches jobs and workers. */
  long: optional(count),
  heardMsAgo: ms,
  /** CPU and memory that its running tasks use, as of the last heartbeat. Absent: unknown. */
  used: optional(used),
  /** CPUs that its running tasks request; known like `long`. */
  cpus: optional(number),
});
export type ListedWorker = NonNullable<(typeof workerView)['infer']>;

const happened = record({
  /** Increases with each event, also after a restart of central. */
  number: count,
  /** Wall clock. ms */
  at: number,
  /** Kind of the event, such as `worker-lost`. */
  kind: text(64),
  /** One line for people. */
  text: text(8_192),
  worker: optional(name),
  scheduler: optional(name),
  by: doc(
    'Name of the key of the client that requested it; null: nobody did, or the cluster has no keys.',
    optional(name),
  ),
});
/** Events that a scheduler reports, because central cannot know them. */
export const NOTICE_KINDS = [
  'journal-refuses-jobs',
  'journal-accepts-jobs',
  'limit-reached',
  'deadline-missed',
] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** Something that happened to the cluster. */
export type HappenedEvent = NonNullable<(typeof happened)['infer']>;

/** The event, as `goshawk events --json` and HTTP show it. */
export const eventTable = json.table<HappenedEvent>()(() => ({
  ...json.same(happened, 'number'),
  at: json.time,
  ...json.same(happened, 'kind', 'text', 'worker', 'scheduler', 'by'),
}));

export const eventPage = view({
  /** Oldest first. */
  events: list(happened, LIMITS.eventsPerPageMax),
  /** Pass it as `after` to continue. */
  next: count,
  atEnd: flag,
  /** Wall clock since which events are known. ms */
  since: number,
});
export type EventPage = NonNullable<(typeof eventPage)['infer']>;

/** Time for which events are kept. ms */
export const EVENTS_KEPT_MS = 7 * 24 * 3_600_000;

export const lostWorkerView = view({
  name,
  address: party,
  /** A one-line description of the cause. */
  cause: text(512),
  lostMsAgo: ms,
  /** Tasks that ran on the worker, as far as central knows. */
  running: count,
});
export type LostWorker = NonNullable<(typeof lostWorkerView)['infer']>;

/** Time (ms) for which central lists lost workers. */
export const LOST_WORKERS_MS = 3_600_000;
export const LOST_WORKERS_MAX = 1_000;

/** Maximum number of workers in one answer. */
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
  /** Prefix of the ids of its jobs, which are `<tag>-<number>`. */
  tag: text(32),
  /** The endpoint for clients. */
  endpoint: party,
  /** Unfinished jobs and waiting tasks, both as of the last heartbeat. */
  jobs: count,
  waiting: count,
  heardMsAgo: ms,
  /**
   * Epoch of the scheduler's journal: the scheduler with the highest epoch for a tag owns its jobs. 0: no
   * other scheduler can take them over.
   */
  epoch: count,
  /** The scheduler has taken over the jobs of a lost scheduler and accepts no others. */
  adopted: flag,
});
export type SchedulerView = NonNullable<(typeof schedulerView)['infer']>;

const missingScheduler = view({
  name,
  /** Tag of the scheduler's jobs; undefined if only the name is known. */
  tag: optional(text(32)),
  /** Unfinished jobs, if known from the journal or the last heartbeat; 0 if another scheduler has them. */
  jobs: optional(count),
  /** Another scheduler can read its journal and take over its jobs. */
  shared: flag,
  /** Time since central lost the scheduler; otherwise since it started or began to expect the scheduler. */
  missingMs: ms,
  /** Others have taken over all of its jobs, and list them. */
  takenOver: optional(flag),
});
export type MissingScheduler = NonNullable<(typeof missingScheduler)['infer']>;

export const schedulers = view({
  present: list(schedulerView, LIMITS.membersMax),
  /** Schedulers that are disconnected, keep their jobs and may return. */
  away: list(schedulerView, LIMITS.membersMax),
  /** False for a moment after central starts, while schedulers may not have registered again. */
  complete: flag,
  /** Problems that only central can see and an operator must fix, one line each. */
  warnings: list(text(1_000), LIMITS.warningsMax),
  /** Schedulers that have not registered since this central started; their jobs are in no list. */
  missing: optional(list(missingScheduler, LIMITS.membersMax)),
});
/** The schedulers of a cluster, as central knows them. */
export type Schedulers = NonNullable<(typeof schedulers)['infer']>;

export const introduction = view({
  name,
  tag: text(32),
  /** Full name of central, if known. */
  central: party,
  workers: count,
  /** Names of the other schedulers of the cluster, as central last listed them. */
  others: optional(list(name, LIMITS.membersMax)),
});
/** How a scheduler introduces itself. */
export type SchedulerIntroduction = NonNullable<(typeof introduction)['infer']>;

export const clusterView = view({
  name,
  settings,
  /** Tasks that no worker can run at present. */
  pendingTasks: count,
  /** Workers in any state. */
  workers: count,
});

export const drainState = view({
  worker: name,
  /** `removed`: the worker was lost, and is no longer listed. */
  state: choice(...WORKER_STATES, 'removed'),
  /** Tasks running on the worker. */
  running: count,
  /** Time until running tasks are stopped, to restart elsewhere. Absent: no limit. */
  deadlineMs: optional(ms),
});
export type DrainAnswer = NonNullable<(typeof drainState)['infer']>;

export const takeover = view({
  scheduler: name,
  /** Unfinished jobs, as of the last heartbeat. */
  jobs: count,
  /** Number of the requested schedulers whose jobs are being taken over. */
  schedulers: optional(count),
  /** There are more jobs, because central has not seen one of the schedulers. */
  jobsUnknown: optional(flag),
});
/** Jobs that another scheduler was asked to take over. */
export type TakeoverAnswer = NonNullable<(typeof takeover)['infer']>;

/** Counters since the start of the party; groups contain nested counters. */
export interface Counters {
  readonly [name: string]: number | Counters;
}

/** Omits fields other than numbers and groups: names and labels cannot be summed. */
export const counters = parsed(onlyCounts);

/** Keeps the numbers of an untrusted value, at any depth, and drops everything else. */
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
