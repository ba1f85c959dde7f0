import type { MessageType } from './messages/table.js';

/** Rights of a client key; the cluster's own `client.key` has all of them. */
export const RIGHTS = ['submit', 'read-own', 'read-all', 'operate', 'drain'] as const;

export type Right = (typeof RIGHTS)[number];

/** The key of one client. Jobs that it submits belong to the user of the same name. */
export interface ClientKey {
  readonly name: string;
  readonly rights: readonly Right[];
}

/** The rights that a request requires for the caller's own jobs, and for all jobs. */
interface RequiredRights {
  readonly own?: Right;
  readonly all: Right;
  /** A lesser right that also permits the request. */
  readonly also?: Right;
}

const READING: RequiredRights = { own: 'read-own', all: 'read-all' };
const CHANGING: RequiredRights = { own: 'submit', all: 'operate' };

/** Required rights by request; absent: none. */
const REQUIRED: { readonly [T in MessageType]?: RequiredRights } = {
  submit: CHANGING,
  appendTasks: CHANGING,
  retryJob: CHANGING,
  cancelJob: CHANGING,
  updateJob: CHANGING,
  cancelTasks: CHANGING,
  cancelJobs: CHANGING,
  watchJob: READING,
  describeJob: READING,
  listJobs: READING,
  listTasks: READING,
  readLogs: READING,
  readResults: READING,
  explainJob: READING,
  explainNeed: READING,
  readUsage: READING,
  explainWaiting: { ...READING, also: 'drain' },
  explainLine: { ...READING, also: 'drain' },
  planEnd: READING,
  describeShares: { all: 'read-all' },
  readEvents: { all: 'read-all', also: 'drain' },
  readHistory: { all: 'read-all' },
  readCounters: { all: 'read-all' },
  drainWorker: { all: 'operate', also: 'drain' },
  takeOverFrom: { all: 'operate' },
};

/** Which jobs a request of this type may access; undefined: the request is not permitted. */
export function scopeOf({ rights }: ClientKey, type: MessageType): 'all' | 'own' | undefined {
  const required = REQUIRED[type];
  if (required === undefined || rights.includes(required.all)) return 'all';
  if (required.also !== undefined && rights.includes(required.also)) return 'all';
  return required.own !== undefined && rights.includes(required.own) ? 'own' : undefined;
}

/** Whether the request changes jobs or the cluster, and so may take effect although its answer is lost. */
export function isChange(type: MessageType): boolean {
  const required = REQUIRED[type];
  return required === CHANGING || required?.all === 'operate';
}

/** The only user that the client may act for in this request; undefined: any user. */
export function ownerFor(key: ClientKey | undefined, type: MessageType): string | undefined {
  return key !== undefined && scopeOf(key, type) === 'own' ? key.name : undefined;
}

/** What a request does, for error messages: "the key ann does not permit …". */
const DOES: { readonly [T in MessageType]?: string } = {
  submit: 'submitting jobs',
  appendTasks: 'adding tasks to jobs',
  retryJob: 'retrying jobs',
  cancelJob: 'cancelling jobs',
  updateJob: 'holding, releasing or reprioritizing jobs',
  cancelTasks: 'cancelling tasks',
  cancelJobs: 'cancelling jobs',
  watchJob: 'following jobs',
  describeJob: 'reading jobs',
  listJobs: 'listing jobs',
  listTasks: 'listing tasks',
  readLogs: 'reading output',
  readResults: 'reading results',
  explainJob: 'reading why jobs wait',
  explainNeed: 'reading why jobs wait',
  readUsage: 'reading usage',
  explainWaiting: 'reading why tasks wait',
  explainLine: 'reading what waits',
  planEnd: 'predicting the end of a job',
  describeShares: 'reading the shares of users',
  readEvents: 'reading the events of the cluster',
  readHistory: 'reading the history of the cluster',
  readCounters: 'reading the counters of the cluster',
  drainWorker: 'draining workers',
  takeOverFrom: 'having jobs taken over',
};

/** Describes what the request does, for error messages: `listing jobs`. */
export function purposeOf(type: MessageType): string {
  return DOES[type] ?? 'this request';
}

/** Returns the rights that permit this request, for error messages; any one of them is sufficient. */
export function rightsFor(type: MessageType): readonly Right[] {
  const required = REQUIRED[type];
  return required === undefined
    ? []
    : [required.own, required.all, required.also].filter((right) => right !== undefined);
}
