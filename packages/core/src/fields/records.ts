/** Parts that several messages share. */
import type { AttemptNumber, JobNumber, Millis, StageIndex, TaskIndex } from '../ids.js';
import { LIMITS } from '../limits.js';
import { parseClusterSettings } from '../policy/settings.js';
import type { Used } from '../resources/resources.js';
import type { TaskRange } from '../task-ranges.js';
import {
  address,
  bytes,
  choice,
  count,
  countTo,
  type Field,
  flag,
  integer,
  list,
  number,
  open,
  optional,
  parsed,
  record,
  resources,
  text,
  view,
} from './fields.js';

export const name = text(LIMITS.nameLengthMax);
export const line = text(LIMITS.lineLengthMax);
export const job: Field<JobNumber> = count;
/** A stage, or a batch of its tasks: the stages come first, then the pilots of one, then the other tasks of each stage. */
export const stage: Field<StageIndex> = countTo(2 * LIMITS.stagesPerJobMax);
export const task: Field<TaskIndex> = countTo(LIMITS.tasksPerJobMax);

export const taskRange: Field<TaskRange> = record({ first: task, last: task });
/** Slots of a worker: its whole CPUs. */
export const slots = countTo(LIMITS.slotsMax, 1);
export const attempt: Field<AttemptNumber> = count;
export const request = count;
export const ms: Field<Millis> = number;
/** CPU and memory in use at present. */
export const used: Field<Used> = record({ cpuPercent: count, memory: count });

/** A queue of a worker; the worker serves its lanes in this order. */
export const LANES = ['express', 'normal'] as const;
export type Lane = (typeof LANES)[number];
export const lane = choice(...LANES);

/**
 * The role of a batch in its job. `judged`: the class is final. `thin`: the job has too few tasks to sample.
 * `pilots`: run first. `early`: other tasks, before the pilots have ended (SLearn §5.1.2).
 */
export const BATCH_PARTS = ['judged', 'thin', 'pilots', 'early'] as const;
export type BatchPart = (typeof BATCH_PARTS)[number];

/** How a run ended. `lost`: the worker failed or stopped; the task may run again without using up a retry. */
export const OUTCOMES = ['completed', 'failed', 'timeout', 'cancelled', 'lost'] as const;
export type OutcomeKind = (typeof OUTCOMES)[number];

export const outcome = view({
  kind: choice(...OUTCOMES),
  /** Return value (`module` tasks). */
  value: open,
  /** Stable, for programs; empty if the task completed. */
  errorCode: text(64),
  /** One line for users; empty if the task completed. */
  errorMessage: line,
  exitCode: optional(integer),
  signal: optional(text(32)),
  /** Names of the GPUs assigned to the run; absent if there were none. */
  gpus: optional(list(name, LIMITS.gpusMax)),
  /** Peak memory of a command and its children; absent if not measured. */
  maxRssBytes: optional(count),
  /** CPU time of a command and its children; absent if not measured. */
  cpuMs: optional(number),
});
/** How a run ended. */
export type Outcome = NonNullable<(typeof outcome)['infer']>;

/** Outcome of a run that completed without a return value. */
export const COMPLETED: Outcome = {
  kind: 'completed',
  value: undefined,
  errorCode: '',
  errorMessage: '',
  exitCode: undefined,
  signal: undefined,
};

export const outputChunk = record({
  stream: choice('stdout', 'stderr'),
  bytes: bytes(LIMITS.outputBytesMax),
});
export type OutputChunk = NonNullable<(typeof outputChunk)['infer']>;

/** A property of a worker, such as its rack. */
export const attribute = record({ name, value: name });
export type Attribute = NonNullable<(typeof attribute)['infer']>;

/** A required or preferred attribute; alternatives are comma-separated. */
export const wish = record({ name, value: line });

/** Attributes that a worker must have. */
export const requires = optional(list(wish, LIMITS.attributesMax));

export const probe = view({
  owner: address,
  job,
  stage,
  long: flag,
  lane,
  demand: resources,
  sizeMs: ms,
  requires,
});
/**
 * A reservation at a worker for some task of a batch (Sparrow). Late binding: when the worker asks, the owner
 * chooses the task.
 */
export type Probe = NonNullable<(typeof probe)['infer']>;

export const member = record({
  address,
  name,
  slots,
  capacity: resources,
  partition: choice('general', 'short'),
  /** Accepts no new tasks. */
  draining: flag,
  /** Index of its bit in `occupied`. */
  row: count,
  /** Attributes such as rack, zone and model. */
  attributes: list(attribute, LIMITS.attributesMax),
});
/** A worker, as described by central to schedulers. */
export type Member = NonNullable<(typeof member)['infer']>;

export const reportedRun = view({
  /** 0: central placed this particular task here, without a match. */
  match: count,
  owner: address,
  job,
  stage,
  task,
  attempt,
  long: flag,
  demand: resources,
  /** The owner’s estimate of its run time; 0: unknown to the worker. */
  estimateMs: ms,
  /** The task waits in the worker’s queue. */
  queued: flag,
  elapsedMs: ms,
  /** For how much of that time it was paused; absent: never. */
  pausedMs: optional(ms),
  /** Matches of tasks that are paused for it: none any more if it outlasted its loan. Absent: it has no loan. */
  lenders: optional(list(count, LIMITS.lendersMax)),
  /** The lender is its parent, which continues beside it; absent: the lenders are paused. */
  shares: optional(flag),
});
/** A run or queued task at a worker that central assigned to it. */
export type ReportedRun = NonNullable<(typeof reportedRun)['infer']>;

/** A task, as people refer to it. */
export const taskOfJob = record({ job: name, task });
export type TaskOfJob = NonNullable<(typeof taskOfJob)['infer']>;

/** The running task that submitted a job: its run is the one with this match at the worker. */
export const parentRun = record({ job: name, task, worker: name, match: count });
export type ParentRun = NonNullable<(typeof parentRun)['infer']>;

/** CPUs of running tasks that another task borrows. */
export const borrowing = view({
  /** Matches of the lenders at the worker. */
  lenders: list(count, LIMITS.lendersMax),
  /**
   * After this time the lenders continue beside the borrower, and the worker starts nothing until it has made up for it.
   * Absent: never, because the lender continues from the start.
   */
  atMostMs: optional(ms),
  /** The lender is the parent of the task, and must be this task; it shares its CPUs and continues. Absent: they pause. */
  parent: optional(taskOfJob),
});
export type Borrowing = NonNullable<(typeof borrowing)['infer']>;

export const taskAttempt = record({ task, attempt });
export type TaskAttempt = NonNullable<(typeof taskAttempt)['infer']>;

export const settings = parsed(parseClusterSettings);
