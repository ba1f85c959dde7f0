import type {
  Attributes,
  CentralLine,
  ClusterSettings,
  ClusterShares,
  JobDetail,
  JobEvent,
  JobExplanation,
  JobState,
  JobSummary,
  LogPage,
  ResultPage,
  WaitingGroup,
  WorkerState,
} from '@goshawk/core';
import { badAnswer } from './errors.js';

/**
 * What comes back, as far as the client relies on it. Messages were checked when they arrived, but what
 * stands in an answer is open; a cluster of another version may say something else there, and that is to be
 * told in one line rather than by a TypeError somewhere later.
 */

export type EndedEvent = Extract<JobEvent, { kind: 'ended' }>;

export interface WorkerView {
  readonly name: string;
  /** Full name of the party: `<endpoint>!<incarnation>/<index>`. */
  readonly address: string;
  /** 0: no fixed number, as many tasks as fit its capacity. */
  readonly slots: number;
  /** Amounts by resource. */
  readonly capacity: Readonly<Record<string, number>>;
  /** Rack, zone, model. A central that is older does not tell. */
  readonly attributes?: Attributes;
  readonly partition: 'general' | 'short';
  readonly state: WorkerState;
  /** Why it is set aside. */
  readonly aside?: string | undefined;
  /** Slots in use, and entries in its queue, at its last heartbeat. */
  readonly busy: number;
  readonly queued: number;
  /** Long tasks that run there, where central matches jobs and workers; it does not know otherwise. */
  readonly long?: number | undefined;
  readonly heardMsAgo: number;
}

export interface SchedulerView {
  readonly name: string;
  readonly address: string;
  /** The ids of its jobs are `<tag>-<number>`. */
  readonly tag: string;
  /** Where clients reach it. */
  readonly endpoint: string;
  /** Jobs that have not ended, and tasks that wait, at its last heartbeat. */
  readonly jobs: number;
  readonly waiting: number;
  readonly heardMsAgo: number;
  /** Of its journal: whoever has the highest of a tag has its jobs. 0, or undefined: nobody else can have them. */
  readonly epoch?: number | undefined;
  /** It looks after the jobs of one that is gone, and takes no others. */
  readonly adopted?: boolean | undefined;
}

/** The cluster as central sees it. */
export interface ClusterView {
  readonly role: 'central';
  readonly name: string;
  readonly settings: ClusterSettings;
  /** Tasks that no worker can take at present. */
  readonly pendingTasks: number;
  /** False for a moment after central was started: not all that were there before have been heard of. */
  readonly complete?: boolean | undefined;
  readonly workers: readonly WorkerView[];
  readonly schedulers: readonly SchedulerView[];
  /** Those that have gone, keep their jobs, and may come back. */
  readonly schedulersAway?: readonly SchedulerView[] | undefined;
}

/** How a scheduler introduces itself. */
export interface SchedulerIntroduction {
  readonly role: 'scheduler';
  readonly name: string;
  readonly tag: string;
  /** Full name of central, as far as it is known. */
  readonly central: string;
  readonly workers: number;
}

export interface Submitted {
  readonly job: string;
  readonly state: JobState;
}

export interface JobList {
  readonly jobs: readonly JobSummary[];
  readonly total: number;
}

/** What another scheduler was asked to go on with. */
export interface TakeoverAnswer {
  readonly scheduler: string;
  /** That have not ended, at its last heartbeat. */
  readonly jobs: number;
}

export interface DrainAnswer {
  readonly worker: string;
  readonly state: WorkerState;
  /** Tasks that run there. */
  readonly running: number;
}

export function readSubmitted(value: unknown, whom: string): Submitted {
  return checked(value, { job: 'string', state: 'string' }, whom, 'the id of a job');
}

export function readJobEvent(value: unknown, whom: string): JobEvent {
  const event = checked<JobEvent>(value, { kind: 'string', job: 'object' }, whom, 'the news of a job');
  readSummary(event.job, whom);
  return event;
}

export function readSummary(value: unknown, whom: string): JobSummary {
  return checked(value, { id: 'string', state: 'string', tasks: 'object' }, whom, 'a job');
}

export function readDetail(value: unknown, whom: string): JobDetail {
  const shape: Shape = {
    id: 'string',
    state: 'string',
    tasks: 'object',
    attempts: 'object',
    failures: 'list',
  };
  return checked(value, shape, whom, 'a job in detail');
}

export function readJobList(value: unknown, whom: string): JobList {
  return checked(value, { jobs: 'list', total: 'number' }, whom, 'a list of jobs');
}

export function readExplanation(value: unknown, whom: string): JobExplanation {
  const shape: Shape = { job: 'object', owner: 'string', number: 'number', waiting: 'list', probes: 'list' };
  return checked(value, shape, whom, 'why a job waits');
}

export function readWaiting(value: unknown, whom: string): { readonly waiting: readonly WaitingGroup[] } {
  return checked(value, { waiting: 'list' }, whom, 'what waits there');
}

export function readCentralLine(value: unknown, whom: string): CentralLine {
  return checked(value, { needs: 'list', slots: 'number' }, whom, 'who waits for workers');
}

export function readShares(value: unknown, whom: string): ClusterShares {
  return checked(value, { jobs: 'list', capacity: 'object', total: 'number' }, whom, 'who has what');
}

export function readResultPage(value: unknown, whom: string): ResultPage {
  return checked(value, { values: 'list' }, whom, 'the values of tasks');
}

export function readLogPage(value: unknown, whom: string): LogPage {
  return checked(value, { chunks: 'list', next: 'number', done: 'boolean' }, whom, 'the output of tasks');
}

export function readClusterView(value: unknown, whom: string): ClusterView {
  return checked(
    value,
    { schedulers: 'list', workers: 'list', settings: 'object' },
    whom,
    'the cluster’s members',
  );
}

export function readIntroduction(value: unknown, whom: string): ClusterView | SchedulerIntroduction {
  const { role } = checked<{ role: string }>(value, { role: 'string' }, whom, 'who it is');
  if (role === 'central') return readClusterView(value, whom);
  return checked(value, { name: 'string', tag: 'string', central: 'string' }, whom, 'who it is');
}

export function readDrainAnswer(value: unknown, whom: string): DrainAnswer {
  return checked(
    value,
    { worker: 'string', state: 'string', running: 'number' },
    whom,
    'the state of a worker',
  );
}

export function readTakeoverAnswer(value: unknown, whom: string): TakeoverAnswer {
  return checked(value, { scheduler: 'string', jobs: 'number' }, whom, 'whom another one takes over from');
}

type Shape = Readonly<Record<string, 'string' | 'number' | 'boolean' | 'object' | 'list'>>;

function checked<T>(value: unknown, shape: Shape, whom: string, expected: string): T {
  if (kindOf(value) !== 'object') throw badAnswer(whom, expected);
  for (const [field, kind] of Object.entries(shape)) {
    if (kindOf((value as Record<string, unknown>)[field]) !== kind) throw badAnswer(whom, expected);
  }
  return value as T;
}

function kindOf(value: unknown): string {
  if (value === null) return 'nothing';
  if (value instanceof Uint8Array) return 'bytes';
  return Array.isArray(value) ? 'list' : typeof value;
}
