import { problemIn, problemInFields } from '../fields/check.js';
import {
  choice,
  count,
  type Field,
  type Fields,
  flag,
  list,
  optional,
  record,
  type View,
} from '../fields/fields.js';
import { attempt, line, ms, name, outcome, task, taskRange } from '../fields/records.js';
import type { JobNumber, Millis } from '../ids.js';
import { LIMITS } from '../limits.js';
import { CLASSES, ROUTES, type Route, SCOPES } from '../policy/presets.js';
import { ENDS } from '../states.js';
import { PRIORITIES } from './priority.js';
import { retryChoiceFields } from './retry-choice.js';
import { storedPayload, storedSpec, time } from './stored-spec.js';
import { storedUsageRow } from './usage.js';
import type { JobState } from './view.js';

const route: Field<Route> = record({ by: choice(...ROUTES), over: choice(...SCOPES) });
/** Estimated mean run time of each stage's tasks, if the estimator distinguishes stages. */
const stagesMs = optional(list(ms, LIMITS.stagesPerJobMax));
const period = optional(count);

/**
 * Journal records of jobs: everything that an owner needs to resume its jobs after a restart. Probes, placements and
 * running tasks are not recorded because they can be rediscovered. The order of kinds and fields is the journal's format.
 */
export const JOB_RECORDS = {
  accepted: {
    /** Idempotency key of the submission. */
    key: optional(line),
    spec: storedSpec,
    class: choice(...CLASSES),
    classifiedBy: line,
    route,
    stagesMs,
    /** The user's project at that time. */
    project: optional(name),
  },
  /** The class of the job was decided or changed. */
  classified: {
    class: choice(...CLASSES),
    classifiedBy: line,
    route,
    /** Current estimate of the mean task run time. */
    estimateMs: optional(ms),
    stagesMs,
  },
  /** An attempt ended. Attempts without this record are treated as if they never happened. */
  attempt: {
    task,
    attempt,
    outcome,
    /** Name of the worker. */
    worker: line,
    runMs: ms,
  },
  cancelled: {
    /** Why the owner cancelled the job; absent: a user did. */
    reason: optional(line),
  },
  ended: {
    state: choice(...ENDS) as Field<JobState>,
    /** The `usage` record with this period or a later one includes the usage of the job; absent: 0. */
    period,
  },
  /** The job was deleted from the journal. */
  forgotten: {},
  /** A new incarnation of the owner resumed the job: the previous one may have started one more attempt of each task. */
  resumed: {},
  /** An assigned attempt did not start. */
  declined: { task, attempt },
  /** The last known owners of keys: not part of a job, stored under number 0. */
  schedulers: { names: list(name, LIMITS.tasksPerJobMax) },
  /** A job that this one depends on ended as required. */
  passed: {
    /** The other job's id. */
    after: name,
  },
  /** All changes by the user since acceptance, as absolute state. */
  updated: {
    held: flag,
    /** No task starts earlier; absent: no limit, or the time has passed. Wall clock. */
    beginAt: optional(time),
    priority: choice(...PRIORITIES),
  },
  /** Tasks of the ended job run again, as further attempts. It has the selection, so that no payload is copied. */
  retried: {
    /** Key of the retry request; repeated requests with the same key are one retry. */
    key: line,
    choice: record(retryChoiceFields),
  },
  /** Tasks were appended to an open job, or it was closed. */
  appended: {
    first: task,
    tasks: list(storedPayload, LIMITS.tasksPerJobMax),
    /** The client's digest of all tasks up to here. */
    digest: line,
    close: flag,
  },
  /** A user cancelled some tasks of the job. */
  tasksCancelled: { tasks: list(taskRange, LIMITS.taskRangesMax) },
  /**
   * Usage of jobs: not part of a job, stored under number 0. It outlives the records of the jobs. Jobs that have not ended
   * are not included; their attempts are.
   */
  usage: {
    /** Includes all jobs that ended in this period or before; absent: a correction. */
    period,
    rows: list(storedUsageRow, LIMITS.tasksPerJobMax),
    /** The complete usage of another journal, which was discarded; replaces an earlier such record. */
    of: optional(record({ tag: name, epoch: count })),
  },
  /** The target that the submitter named was notified of this end of the job, or the scheduler gave up. */
  notified: {
    /** Number of times that the job had ended. */
    ends: count,
  },
} as const satisfies Readonly<Record<string, Fields>>;

type Kinds = typeof JOB_RECORDS;

/** A journal record. `at` is wall clock, ms since 1970, because a machine's clock restarts with each process. */
export type JobRecord = {
  [K in keyof Kinds]: { readonly kind: K; readonly job: JobNumber; readonly at: Millis } & View<Kinds[K]>;
}[keyof Kinds];

/** Returns the path of the first field that has a value which no version writes; undefined: there is none. */
export function impossibleField(of: Readonly<Record<string, unknown>>): string | undefined {
  const { kind, job, at } = of as unknown as JobRecord;
  const isOfNoJob = kind === 'schedulers' || kind === 'usage';
  if (problemIn(count, job) !== undefined || (job === 0) !== isOfNoJob) return 'job';
  if (problemIn(time, at) !== undefined) return 'at';
  const path = problemInFields(JOB_RECORDS[kind], of);
  if (path !== undefined || kind !== 'accepted') return path;
  const { spec, stagesMs } = of as unknown as JobRecordOf<'accepted'>;
  return stagesMs == null || stagesMs.length === spec.stages.length ? undefined : 'stagesMs';
}

export type JobRecordOf<K extends JobRecord['kind']> = Extract<JobRecord, { kind: K }>;

/** Whether a scheduler's journal accepts records. */
export type JournalState =
  | { readonly kind: 'open' }
  /**
   * Too full for new jobs; records of existing jobs are still written, using the reserve. `isLost`: the folder or its disk is
   * gone, so that all records may be lost with the process.
   */
  | { readonly kind: 'full'; readonly message: string; readonly isLost?: boolean }
  /** No space left: records are queued and written when there is space. */
  | { readonly kind: 'stopped'; readonly message: string }
  /** Temporarily unreachable: records are queued and written when it is back. */
  | { readonly kind: 'away'; readonly message: string }
  /** A write or sync failed permanently, or (`takenOver`) another scheduler has claimed the journal; nothing more is recorded. */
  | { readonly kind: 'failed'; readonly message: string; readonly takenOver?: boolean };

/** The job that has a submission key, at any scheduler that shares the journal. */
export interface KeyHolder {
  /** Id of the job. */
  readonly id: string;
  /** The acceptance record; undefined: the job has since been forgotten. */
  readonly accepted: JobRecordOf<'accepted'> | undefined;
  /** undefined: the job has not ended. */
  readonly ended: JobState | undefined;
}
