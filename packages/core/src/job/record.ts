import type { Outcome } from '../fields/records.js';
import type { AttemptNumber, JobNumber, Millis, TaskIndex } from '../ids.js';
import type { JobClass, Route } from '../policy/presets.js';
import type { TaskRange } from '../task-ranges.js';
import type { Payload } from './payload.js';
import type { Priority } from './priority.js';
import type { RetryChoice } from './retry-choice.js';
import type { JobSpec } from './spec.js';
import type { JobState } from './view.js';

/**
 * The records that an owner keeps about its jobs, in order of events: enough to own them again after a
 * restart. Everything else (probes, placements, running tasks) can be rediscovered. `at` is wall clock, ms
 * since 1970, because a machine's clock restarts with each process.
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
      /** Mean run time of each stage's tasks, where the estimator tells stages apart. */
      readonly stagesMs?: readonly Millis[] | undefined;
    }
  | {
      /** The class of the job was decided, or decided again. */
      readonly kind: 'classified';
      readonly job: JobNumber;
      readonly at: Millis;
      readonly class: JobClass;
      readonly classifiedBy: string;
      readonly route: Route;
      /** Mean task run time, as it is believed now. */
      readonly estimateMs?: Millis | undefined;
      /** The same of each stage, where the estimator tells stages apart. */
      readonly stagesMs?: readonly Millis[] | undefined;
    }
  | {
      /** A run of a task is over. One that is not written down has never been heard of. */
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
      /** Why its owner has cancelled it; undefined where somebody else has. */
      readonly reason?: string | undefined;
    }
  | { readonly kind: 'ended'; readonly job: JobNumber; readonly at: Millis; readonly state: JobState }
  | {
      /** The job is no longer kept: nothing of it is. */
      readonly kind: 'forgotten';
      readonly job: JobNumber;
      readonly at: Millis;
    }
  | {
      /** An attempt that was given out did not start. */
      readonly kind: 'declined';
      readonly job: JobNumber;
      readonly at: Millis;
      readonly task: TaskIndex;
      readonly attempt: AttemptNumber;
    }
  | {
      /** Another incarnation of the owner has it: the one before may have given each task one more attempt. */
      readonly kind: 'resumed';
      readonly job: JobNumber;
      readonly at: Millis;
    }
  | {
      /** A job that this one waited for has ended as it should. */
      readonly kind: 'passed';
      readonly job: JobNumber;
      readonly at: Millis;
      /** The other job's id. */
      readonly after: string;
    }
  | {
      /** Somebody has cancelled single tasks of it. */
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
      /** Nothing of it starts before; undefined: that time has come, or does not count any more. Wall clock. */
      readonly beginAt: Millis | undefined;
      readonly priority: Priority;
    }
  | {
      /** Tasks of the ended job may run again, as further attempts. The choice names them, so no payload is copied. */
      readonly kind: 'retried';
      readonly job: JobNumber;
      readonly at: Millis;
      /** Key of the retry request: the same key means the same retry. */
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
      /** As the client has it, of all tasks up to here. */
      readonly digest: string;
      readonly close: boolean;
    }
  | {
      /** The last known owners of keys: not part of a job, stored under 0. */
      readonly kind: 'schedulers';
      readonly job: 0;
      readonly at: Millis;
      readonly names: readonly string[];
    };

export type JobRecordOf<K extends JobRecord['kind']> = Extract<JobRecord, { kind: K }>;

/** Whether a scheduler's journal takes what it is given. */
export type JournalState =
  | { readonly kind: 'open' }
  /** There is too little room for new jobs; those that it has are written on, from the reserve. */
  | { readonly kind: 'full'; readonly message: string }
  /** There is no room for anything: what is appended waits, and is written when there is. */
  | { readonly kind: 'stopped'; readonly message: string }
  /** It does not answer at present: what is appended waits, and is written when it is back. */
  | { readonly kind: 'away'; readonly message: string }
  /** A write or a sync has failed, and nothing that was not recorded before will ever be. */
  /** `takenOver`: another scheduler has claimed it, as planned. */
  | { readonly kind: 'failed'; readonly message: string; readonly takenOver?: boolean };

/** The job of some scheduler that has a key, where a key is one for all who share a journal. */
export interface KeyHolder {
  /** The job's. */
  readonly id: string;
  /** The accepted record; undefined if the job has been forgotten since. */
  readonly accepted: JobRecordOf<'accepted'> | undefined;
  /** Undefined while it has not ended. */
  readonly ended: JobState | undefined;
}
