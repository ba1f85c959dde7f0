import type { Outcome } from '../fields/records.js';
import type { AttemptNumber, JobNumber, Millis, TaskIndex } from '../ids.js';
import type { JobClass, Route } from '../policy/presets.js';
import type { TaskRange } from '../task-ranges.js';
import type { Payload } from './payload.js';
import type { Priority } from './priority.js';
import type { RetryChoice } from './retry-choice.js';
import type { JobSpec } from './spec.js';
import type { UsageRow } from './usage.js';
import type { JobState } from './view.js';

/**
 * Journal records of jobs, in order of events: everything that an owner needs to resume its jobs after a
 * restart. Probes, placements and running tasks are not recorded because they can be rediscovered. `at` is
 * wall clock, ms since 1970, because a machine's clock restarts with each process.
 */
export type JobRecord =
  | {
      readonly kind: 'accepted';
      readonly job: JobNumber;
      readonly at: Millis;
      /** Idempotency key of the submission. */
      readonly key: string | undefined;
      readonly spec: JobSpec;
      readonly class: JobClass;
      readonly classifiedBy: string;
      readonly route: Route;
      /** Mean run time of each stage's tasks, if the estimator distinguishes stages. */
      readonly stagesMs?: readonly Millis[] | undefined;
      /** The user's project at that time. */
      readonly project?: string | undefined;
    }
  | {
      /** The class of the job was decided or changed. */
      readonly kind: 'classified';
      readonly job: JobNumber;
      readonly at: Millis;
      readonly class: JobClass;
      readonly classifiedBy: string;
      readonly route: Route;
      /** Current estimate of the mean task run time. */
      readonly estimateMs?: Millis | undefined;
      /** Estimate for each stage, if the estimator distinguishes stages. */
      readonly stagesMs?: readonly Millis[] | undefined;
    }
  | {
      /** An attempt ended. Attempts without this record are treated as if they never happened. */
      readonly kind: 'attempt';
      readonly job: JobNumber;
      readonly at: Millis;
      readonly task: TaskIndex;
      readonly attempt: AttemptNumber;
      readonly outcome: Outcome;
      /** Name of the worker. */
      readonly worker: string;
      readonly runMs: Millis;
    }
  | {
      readonly kind: 'cancelled';
      readonly job: JobNumber;
      readonly at: Millis;
      /** Why the owner cancelled the job; undefined: a user did. */
      readonly reason?: string | undefined;
    }
  | {
      readonly kind: 'ended';
      readonly job: JobNumber;
      readonly at: Millis;
      readonly state: JobState;
      /** The `usage` record with this period or a later one includes the usage of the job; absent: 0. */
      readonly period?: number | undefined;
    }
  | {
      /** The job was deleted from the journal. */
      readonly kind: 'forgotten';
      readonly job: JobNumber;
      readonly at: Millis;
    }
  | {
      /** An assigned attempt did not start. */
      readonly kind: 'declined';
      readonly job: JobNumber;
      readonly at: Millis;
      readonly task: TaskIndex;
      readonly attempt: AttemptNumber;
    }
  | {
      /**
       * A new incarnation of the owner resumed the job: the previous one may have started one more attempt of
       * each task.
       */
      readonly kind: 'resumed';
      readonly job: JobNumber;
      readonly at: Millis;
    }
  | {
      /** A job that this one depends on ended as required. */
      readonly kind: 'passed';
      readonly job: JobNumber;
      readonly at: Millis;
      /** The other job's id. */
      readonly after: string;
    }
  | {
      /** A user cancelled some tasks of the job. */
      readonly kind: 'tasksCancelled';
      readonly job: JobNumber;
      readonly at: Millis;
      readonly tasks: readonly TaskRange[];
    }
  | {
      /** All changes by the user since acceptance, as absolute state. */
      readonly kind: 'updated';
      readonly job: JobNumber;
      readonly at: Millis;
      readonly held: boolean;
      /** No task starts earlier; undefined: no limit, or the time has passed. Wall clock. */
      readonly beginAt: Millis | undefined;
      readonly priority: Priority;
    }
  | {
      /**
       * Tasks of the ended job run again, as further attempts. The record stores the selection, so no payload
       * is copied.
       */
      readonly kind: 'retried';
      readonly job: JobNumber;
      readonly at: Millis;
      /** Key of the retry request; repeated requests with the same key are one retry. */
      readonly key: string;
      readonly choice: RetryChoice;
    }
  | {
      /** Tasks were appended to an open job, or it was closed. */
      readonly kind: 'appended';
      readonly job: JobNumber;
      readonly at: Millis;
      readonly first: TaskIndex;
      readonly tasks: readonly Payload[];
      /** The client's digest of all tasks up to here. */
      readonly digest: string;
      readonly close: boolean;
    }
  | {
      /** The last known owners of keys: not part of a job, stored under number 0. */
      readonly kind: 'schedulers';
      readonly job: 0;
      readonly at: Millis;
      readonly names: readonly string[];
    }
  | {
      /**
       * Usage of jobs: not part of a job, stored under number 0. It outlives the records of the jobs. Jobs that have
       * not ended are not included; their attempts are.
       */
      readonly kind: 'usage';
      readonly job: 0;
      readonly at: Millis;
      /** Includes all jobs that ended in this period or before; absent: a correction. */
      readonly period?: number | undefined;
      readonly rows: readonly UsageRow[];
      /** The complete usage of another journal, which was discarded; replaces an earlier such record. */
      readonly of?: { readonly tag: string; readonly epoch: number } | undefined;
    };

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
