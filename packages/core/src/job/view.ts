import type { Millis } from '../ids.js';
import type { OutcomeKind } from '../messages/records.js';
import type { JobClass } from '../policy/presets.js';

/**
 * What an owner tells about its jobs: the values inside `answer` and `event`. Clients and the command print
 * these; times are ms since the job was accepted, by the owner's clock, beside one wall-clock reading.
 */

/** `waiting`: nothing has started; `running`: something has; the rest is final. */
export type JobState = 'waiting' | 'running' | 'completed' | 'failed' | 'cancelled';

export interface TaskCounts {
  readonly total: number;
  readonly waiting: number;
  readonly running: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
}

export interface TaskFailure {
  readonly task: number;
  readonly attempts: number;
  readonly kind: OutcomeKind;
  readonly code: string;
  readonly message: string;
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly worker: string;
}

/** One run of a task. */
export interface AttemptView {
  readonly task: number;
  /** From 1. */
  readonly attempt: number;
  readonly state: 'running' | OutcomeKind;
  readonly worker: string;
  readonly startedMs: Millis;
  /** So far, when it is running. */
  readonly runMs: Millis;
  /** What went wrong; not there when nothing did. */
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
}

export interface JobSummary {
  readonly id: string;
  readonly name: string;
  readonly user: string | undefined;
  readonly class: JobClass;
  readonly classifiedBy: string;
  readonly estimateMs: number | undefined;
  readonly state: JobState;
  readonly tasks: TaskCounts;
  /** Wall clock, ms since 1970. */
  readonly submittedAt: number;
  readonly startedMs: Millis | undefined;
  readonly endedMs: Millis | undefined;
  /** From submission; undefined: none. */
  readonly deadlineMs?: Millis | undefined;
}

/** Whether a job has met its deadline; undefined where it has none, or has neither ended nor missed it. */
export function metDeadline(
  { state, endedMs, deadlineMs, submittedAt }: JobSummary,
  now: number,
): boolean | undefined {
  if (deadlineMs === undefined) return undefined;
  if (isFinal(state)) return state === 'completed' && endedMs !== undefined && endedMs <= deadlineMs;
  return now > submittedAt + deadlineMs ? false : undefined;
}

/** How the class of a job was found out by running some of its tasks first. */
export interface SamplingView {
  readonly pilotTasks: number;
  /** The first hundred of them. */
  readonly pilots: readonly { readonly task: number; readonly state: string; readonly runMs: Millis }[];
  /** Undefined while it is not decided. */
  readonly decidedMs: Millis | undefined;
}

export interface StageView {
  readonly name: string;
  readonly state: string;
  readonly tasks: number;
  /** Of them, those that have not ended. */
  readonly unfinished: number;
  /** Names of the stages that have to complete before. */
  readonly after: readonly string[];
  /** Mean run time of its tasks, as it is believed; undefined: nothing is known. */
  readonly estimateMs?: Millis | undefined;
}

export interface JobDetail extends JobSummary {
  readonly sampling?: SamplingView | undefined;
  /** In an order in which they can run. */
  readonly stages: readonly StageView[];
  /** Runs in all, and those that failed or were lost. */
  readonly attempts: { readonly total: number; readonly failed: number; readonly lost: number };
  /** Those that failed or were lost, then those that run or completed; the first hundred in all. */
  readonly attemptList: readonly AttemptView[];
  /** The first of them, with the first failure's error. */
  readonly failures: readonly TaskFailure[];
  readonly failuresTruncated: boolean;
  /** Mean run time of the tasks that completed. */
  readonly meanRunMs: number | undefined;
  /** How their run times are spread, by nearest rank; there once the job has ended. */
  readonly runPercentilesMs?:
    | { readonly p50: Millis; readonly p90: Millis; readonly max: Millis }
    | undefined;
  /** Run time of attempts that failed or were lost. */
  readonly wastedMs: Millis;
  readonly firstStartMs: Millis | undefined;
  readonly running: readonly {
    readonly task: number;
    readonly attempt: number;
    readonly worker: string;
    readonly elapsedMs: Millis;
  }[];
  readonly spec?: unknown;
}

/** What a watcher hears: progress now and then, and the end once. */
export type JobEvent =
  | { readonly kind: 'progress'; readonly job: JobSummary }
  | {
      readonly kind: 'ended';
      readonly job: JobDetail;
      /** With `detail`: per task, start (ms since acceptance) and run time of the attempt that counted. */
      readonly starts?: readonly number[] | undefined;
      readonly runs?: readonly number[] | undefined;
    };

/** The answer to `readResults`: values by task, where tasks returned something. */
export interface ResultPage {
  readonly values: readonly (readonly [task: number, value: unknown])[];
  /** Where to go on, or undefined at the end. */
  readonly next: number | undefined;
}

/** The answer to `readLogs`: what tasks printed, in the order in which it arrived. */
export interface LogPage {
  readonly chunks: readonly {
    readonly task: number;
    readonly attempt: number;
    readonly stream: 'stdout' | 'stderr';
    readonly bytes: Uint8Array;
  }[];
  /** Give it back as `cursor` to go on. */
  readonly next: number;
  /** There is nothing after `next` at present. */
  readonly atEnd: boolean;
  /** Nothing will follow `next`: the job has ended and all is read. */
  readonly done: boolean;
  /** Older output was dropped to stay within the owner's memory. */
  readonly dropped: boolean;
}

export function isFinal(state: JobState): boolean {
  return state === 'completed' || state === 'failed' || state === 'cancelled';
}
