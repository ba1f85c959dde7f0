import { choice, count, flag, list, optional, record, text, view } from '../fields/fields.js';
import { line, ms, name, requires, stage, task } from '../fields/records.js';
import type { Millis } from '../ids.js';
import { LIMITS } from '../limits.js';
import { CLASSES } from '../policy/presets.js';
import { amounts } from './amounts.js';
import { jobSummary, predecessor, samplingView } from './view.js';
import { WAIT_PHASES, WAITING_REASONS } from './waiting.js';

/**
 * Answers to `goshawk why`: why something waits, and where the time went. Owners know their jobs, central knows who
 * stands before whom. Times are ms; those of a job count from when it was accepted.
 */

const party = text(512);
const reason = choice(...WAITING_REASONS);
/** Only the first hundred are reported. */
const LISTED_MAX = 200;

export const waitingGroup = view({
  class: choice(...CLASSES),
  reason,
  tasks: count,
  /** A job of which some of them are: the one that has waited longest. */
  example: name,
  /** Since that was accepted. */
  exampleAgeMs: ms,
});
/** Tasks that wait at one owner for one reason. */
export type WaitingGroup = NonNullable<(typeof waitingGroup)['infer']>;

const stageWait = view({
  stage: name,
  reason,
  tasks: count,
  /** Since they might have started. */
  waitedMs: ms,
  /** Attributes that a worker must have to run them. */
  requires,
  /** Requirements that no eligible worker meets, where they exist, and what would help. */
  missing: optional(line),
});
/** Tasks of one job that wait for one reason. */
export type StageWait = NonNullable<(typeof stageWait)['infer']>;

const taskStory = view({
  task,
  stage: name,
  state: text(32),
  /** Only while it waits. */
  reason: optional(reason),
  isPilot: flag,
  attempts: count,
  /** Current or last worker. */
  worker: optional(party),
  /** From when it might start, its stages before it and the pilots of its job apart, to the start of its last run, or until now. */
  waitedMs: ms,
  /** Run time of the last attempt. */
  ranMs: optional(ms),
  /** When that ended. */
  endedMs: optional(ms),
});
/** One task of a job, as its owner knows it. */
export type TaskStory = NonNullable<(typeof taskStory)['infer']>;

const waitSpread = view({ tasks: count, p50: ms, p90: ms, max: ms });
/** How long tasks that have started had waited, by nearest rank. */
export type WaitSpread = NonNullable<(typeof waitSpread)['infer']>;

const waitSum = view({
  phase: choice(...WAIT_PHASES),
  /** Number of tasks that waited for this phase. */
  tasks: count,
  /** Over these. */
  meanMs: ms,
  maxMs: ms,
});
/** How long tasks waited for one thing. */
export type WaitSum = NonNullable<(typeof waitSum)['infer']>;

export const jobExplanation = view({
  job: jobSummary,
  /** Central's key of the job, together with the owner. */
  owner: party,
  number: count,
  sampling: optional(samplingView),
  waiting: list(stageWait, 2 * LIMITS.stagesPerJobMax * WAITING_REASONS.length),
  /** Workers with probes of it in their queues, most first; the first hundred. */
  probes: list(record({ worker: party, probes: count }), LISTED_MAX),
  probesOut: count,
  /** Probes that were stolen by, or handed to, another worker than they were sent to. */
  probesMoved: count,
  /** Workers that central has matched with it. */
  matches: count,
  /** Tasks in queues of workers that central has chosen; the first hundred. */
  placed: list(record({ task, worker: party }), LISTED_MAX),
  waits: optional(waitSpread),
  /** Run time of attempts that failed or were lost. */
  wastedMs: ms,
  /** The last task that ended: what the job's end waited for. */
  last: optional(taskStory),
  /** The task that was asked about. */
  task: optional(taskStory),
  /** Jobs that it still waits for; the first hundred. */
  after: optional(list(predecessor, LISTED_MAX)),
  /** Waits of tasks that run or have completed, by phase in order of time. */
  waitSums: optional(list(waitSum, WAIT_PHASES.length)),
});
export type JobExplanation = NonNullable<(typeof jobExplanation)['infer']>;

const startWait = view({ p10: ms, p50: ms, p90: ms, waits: count });
/** How long it may take until the next task starts: percentiles of so many earlier waits like it. */
export type StartWait = NonNullable<(typeof startWait)['infer']>;

const needView = view({
  stage,
  /** Kind of the job: `small` and `large` jobs are still waiting for their pilots. */
  kind: choice('short', 'small', 'long', 'large'),
  tasks: count,
  demand: amounts,
  /** Time since its arrival, or since the last worker was found for it. */
  waitedMs: ms,
  /** Work that a free worker serves first. */
  ahead: record({ jobs: count, tasks: count, workMs: ms }),
  /** Workers that are kept for it until what is free there is enough. */
  kept: count,
  /** When and where the policy plans to start its job, where it plans ahead. */
  expected: optional(view({ inMs: ms, where: optional(line) })),
  /** Missing where too few have waited like it. */
  starts: optional(startWait),
  /** The policy's explanation, if it has one. */
  why: optional(line),
});
/** A batch of a job in central's order. */
export type NeedView = NonNullable<(typeof needView)['infer']>;

export const centralLine = view({
  needs: list(needView, LIMITS.stagesPerJobMax),
  /** Slots of workers that accept tasks. */
  slots: count,
  freeSlots: count,
  /** Slots that run long tasks, and how many may. */
  longRunning: count,
  longLimit: count,
  /** Tasks that no worker was found for, all jobs together. */
  unmatched: count,
});
/** The jobs waiting for workers at central, and its capacity. */
export type CentralLine = NonNullable<(typeof centralLine)['infer']>;

/**
 * How long it may take until the need is served: as its policy plans it, or if what is believed of those before it is right;
 * undefined where nothing is believed of them, since nobody said how long they take.
 */
export function expectedWaitMs(
  { kind, ahead, expected }: Pick<NeedView, 'kind' | 'ahead' | 'expected'>,
  { slots, longLimit }: Pick<CentralLine, 'slots' | 'longLimit'>,
): Millis | undefined {
  if (expected !== undefined) return expected.inMs;
  if (!(ahead.workMs > 0)) return undefined;
  return ahead.workMs / Math.max(1, kind === 'short' || kind === 'small' ? slots : longLimit);
}
