import { choice, count, doc, flag, list, optional, record, signed, text, view } from '../fields/fields.js';
import { line, ms, name, requires, stage, task } from '../fields/records.js';
import type { Millis } from '../ids.js';
import { LIMITS } from '../limits.js';
import { CLASSES } from '../policy/presets.js';
import { amounts } from './amounts.js';
import { jobSummary, lendingFields, predecessor, samplingView } from './view.js';
import { WAIT_PHASES, WAITING_REASONS } from './waiting.js';

/**
 * Answers of `goshawk why`: why tasks wait, and where time was spent. Owners know their jobs; central knows
 * the order of jobs. Times are ms; times of a job are relative to its acceptance.
 */

const party = text(512);
const reason = choice(...WAITING_REASONS);
/** Lists are truncated to this length. */
const LISTED_MAX = 200;

export const waitingGroup = view({
  class: choice(...CLASSES),
  reason,
  tasks: count,
  /** The job that has waited longest among them. */
  example: name,
  /** Time since its acceptance. */
  exampleAgeMs: ms,
  /** The limit that binds, for reasons that central gives. */
  why: optional(line),
});
/** Tasks of one owner that wait for the same reason. */
export type WaitingGroup = NonNullable<(typeof waitingGroup)['infer']>;

export const stageWait = view({
  stage: name,
  reason,
  tasks: count,
  /** Time since they were eligible to start. */
  waitedMs: ms,
  /** Attributes that a worker must have to run them. */
  requires,
  /** Requirements that no eligible worker meets, if any, and how to meet them. */
  missing: optional(line),
  /** Index of the stage. */
  index: optional(stage),
});
/** Tasks of one job that wait for the same reason. */
export type StageWait = NonNullable<(typeof stageWait)['infer']>;

export const taskExplanation = view({
  task,
  stage: name,
  state: text(32),
  /** Present only while the task waits. */
  reason: optional(reason),
  isPilot: flag,
  attempts: count,
  /** Worker of the current or last attempt. */
  worker: optional(party),
  /**
   * Time from when the task became eligible (after earlier stages) to the start of its last run, or until now.
   */
  waitedMs: ms,
  /** Run time of the last attempt. */
  ranMs: optional(ms),
  /** When the last attempt ended. */
  endedMs: optional(ms),
  error: doc('Message of the last failure, or why the task is cancelled.', optional(line)),
  ...lendingFields,
});
/** State and times of one task, as known to its owner. */
export type TaskExplanation = NonNullable<(typeof taskExplanation)['infer']>;

const waitSpread = view({ tasks: count, p50: ms, p90: ms, max: ms });
/** Waiting times of started tasks, by nearest rank. */
export type WaitSpread = NonNullable<(typeof waitSpread)['infer']>;

export const waitSum = view({
  phase: choice(...WAIT_PHASES),
  /** Number of tasks that waited for this phase. */
  tasks: count,
  /** Mean over these tasks. */
  meanMs: ms,
  maxMs: ms,
});
/** How long tasks waited for one thing. */
export type WaitSum = NonNullable<(typeof waitSum)['infer']>;

export const jobExplanation = view({
  job: jobSummary,
  /** Identifies the job at central, together with its number. */
  owner: party,
  number: count,
  sampling: optional(samplingView),
  waiting: list(stageWait, 2 * LIMITS.stagesPerJobMax * WAITING_REASONS.length),
  /** Workers with probes of the job in their queues, most probes first; truncated. */
  probes: list(record({ worker: party, probes: count }), LISTED_MAX),
  probesOut: count,
  /** Probes that moved to another worker by stealing or by handing over. */
  probesMoved: count,
  /** Workers that central has matched with the job. */
  matches: count,
  /** Tasks queued at workers that central chose; truncated. */
  placed: list(record({ task, worker: party }), LISTED_MAX),
  waits: optional(waitSpread),
  /** Run time of attempts that failed or were lost. */
  wastedMs: ms,
  /** The last task to end, which determined the end of the job. */
  last: optional(taskExplanation),
  /** The requested task. */
  task: optional(taskExplanation),
  /** Unfinished jobs that it depends on; truncated. */
  after: optional(list(predecessor, LISTED_MAX)),
  /** Waiting times of tasks that run or have completed, by phase. */
  waitSums: optional(list(waitSum, WAIT_PHASES.length)),
  /** Attempt numbers that were skipped because earlier incarnations of the owner may have used them without a record. */
  skippedNumbers: optional(count),
});
export type JobExplanation = NonNullable<(typeof jobExplanation)['infer']>;

const startWait = view({ p10: ms, p50: ms, p90: ms, waits: count });
/** Predicted time until the next task starts: percentiles of similar earlier waits. */
export type StartWait = NonNullable<(typeof startWait)['infer']>;

export const needView = view({
  stage,
  /** Kind of the job: `small` and `large` jobs are still waiting for their pilots. */
  kind: choice('short', 'small', 'long', 'large'),
  tasks: count,
  demand: amounts,
  /** Time since its arrival, or since central last found a worker for it. */
  waitedMs: ms,
  /** Work that is served before this job. */
  ahead: record({ jobs: count, tasks: count, workMs: ms }),
  /** Workers kept free for it until their free resources suffice. */
  kept: count,
  /** Planned start of the job, if the policy plans ahead. */
  expected: optional(view({ inMs: ms, where: optional(line) })),
  /** Absent if too few similar waits were recorded. */
  starts: optional(startWait),
  /** The policy's explanation, if it has one. */
  why: optional(line),
  /** The limit that binds, if any. */
  reason: optional(reason),
  /** When the job must start to meet its deadline, if the policy plans for it. */
  latestStart: optional(
    view({
      /** Time from now; negative: it has passed. */
      inMs: signed,
      /** Whether the job can no longer meet its deadline, given the run times of its tasks. */
      isTooLate: flag,
    }),
  ),
});
/** One batch in central's order. */
export type NeedView = NonNullable<(typeof needView)['infer']>;

/** Returns the waits of a job; the reason `matching` is replaced by the limits that bind at central. */
export function withLimits(waiting: readonly StageWait[], needs: readonly NeedView[]): StageWait[] {
  return waiting.flatMap((wait) => {
    if (wait.reason !== 'matching') return wait;
    const [first, ...others] = needs.filter(({ stage: at }) => at === wait.index);
    let left = wait.tasks;
    const later = others.map(({ tasks: many, reason: limit = wait.reason }) => {
      // Central and the owner may briefly disagree on the number of tasks.
      const tasks = Math.min(many, left);
      left -= tasks;
      return { ...wait, tasks, reason: limit };
    });
    return [{ ...wait, tasks: left, reason: first?.reason ?? wait.reason }, ...later].filter(
      ({ tasks: many }) => many > 0,
    );
  });
}

/** Returns the part of the job's needs at central that explains this wait. */
export function needOf(
  { index: at, reason: of }: Pick<StageWait, 'index' | 'reason'>,
  needs: readonly NeedView[],
): NeedView | undefined {
  return (
    needs.find(({ stage: place, reason: limit = 'matching' }) => place === at && limit === of) ?? needs[0]
  );
}

/** Merges groups with the same class and cause, largest first. The example is the job that has waited longest. */
export function mergedGroups(groups: Iterable<WaitingGroup>): WaitingGroup[] {
  const sums = new Map<string, WaitingGroup>();
  for (const group of groups) {
    const key = `${group.class} ${group.reason} ${group.why ?? ''}`;
    const sum = sums.get(key);
    if (sum === undefined) sums.set(key, group);
    else {
      const { example, exampleAgeMs } = sum.exampleAgeMs >= group.exampleAgeMs ? sum : group;
      sums.set(key, { ...sum, tasks: sum.tasks + group.tasks, example, exampleAgeMs });
    }
  }
  return [...sums.values()].sort((one, other) => other.tasks - one.tasks);
}

/**
 * Splits the `matching` groups of owners by the limits that central reports. Central and
 * an owner may briefly disagree on the class of a job, so the rest of a group is taken from the other class.
 *
 * @param explained groups of central; its `matching` groups only name examples of tasks without a limit
 */
export function withCentralLimits(
  groups: readonly WaitingGroup[],
  explained: readonly WaitingGroup[],
): WaitingGroup[] {
  const limited = explained.filter(({ reason: why }) => why !== 'matching');
  // The example of an owner may be a job that a limit holds.
  const exampleOf = ({ class: jobClass, example, exampleAgeMs }: WaitingGroup) =>
    explained.find((group) => group.reason === 'matching' && group.class === jobClass) ?? {
      example,
      exampleAgeMs,
    };
  const left = new Map<WaitingGroup['class'], number>();
  for (const group of groups) if (group.reason === 'matching') left.set(group.class, group.tasks);
  const taken: WaitingGroup[] = [];
  const take = (group: WaitingGroup, jobClass: WaitingGroup['class'], most: number): number => {
    const tasks = Math.min(most, left.get(jobClass) ?? 0);
    left.set(jobClass, (left.get(jobClass) ?? 0) - tasks);
    if (tasks > 0) taken.push({ ...group, class: jobClass, tasks });
    return most - tasks;
  };
  const rests = limited.map((group) => take(group, group.class, group.tasks));
  for (const [at, group] of limited.entries())
    if (rests[at]! > 0) take(group, group.class === 'long' ? 'short' : 'long', rests[at]!);
  const others = groups.map((group) => {
    if (group.reason !== 'matching') return group;
    const { example, exampleAgeMs } = exampleOf(group);
    return { ...group, tasks: left.get(group.class)!, example, exampleAgeMs };
  });
  return mergedGroups([...others, ...taken].filter(({ tasks }) => tasks > 0));
}

export const centralLine = view({
  needs: list(needView, LIMITS.stagesPerJobMax),
  /** Slots of workers that accept tasks. */
  slots: count,
  freeSlots: count,
  /** CPUs that run long tasks, and their maximum. */
  longRunning: count,
  longLimit: count,
  lendable: doc('CPUs that a typical short task could borrow now; absent: none.', optional(count)),
  /** Waiting tasks of all jobs for which central has found no worker. */
  unmatched: count,
  /**
   * Waiting tasks by the limit that binds: those that a limit of their user or project holds, which `unmatched` does
   * not include, those without room or above the reserve, and those without a limit (`matching`); truncated.
   */
  limited: optional(list(waitingGroup, LISTED_MAX)),
  /** The key of the client may see only jobs of its user, and `limited` is omitted. */
  onlyOwn: optional(flag),
});
/** The jobs waiting for workers at central, and its capacity. */
export type CentralLine = NonNullable<(typeof centralLine)['infer']>;

/**
 * Expected time until the job is served: the policy's plan, or the work ahead divided by the slots.
 * undefined: the run times ahead are unknown because their estimates are missing.
 */
export function expectedWaitMs(
  { kind, ahead, expected }: Pick<NeedView, 'kind' | 'ahead' | 'expected'>,
  { slots, longLimit }: Pick<CentralLine, 'slots' | 'longLimit'>,
): Millis | undefined {
  if (expected !== undefined) return expected.inMs;
  if (!(ahead.workMs > 0)) return undefined;
  return ahead.workMs / Math.max(1, kind === 'short' || kind === 'small' ? slots : longLimit);
}
