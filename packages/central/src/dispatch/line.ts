import {
  type CentralLine,
  expectedWaitMs,
  LIMITS,
  type Millis,
  mergedGroups,
  type NeedView,
  present,
  slotsIn,
  type WaitingGroup,
} from '@goshawk/core';
import {
  type BookedJob,
  type BookedStage,
  type CentralPolicy,
  type ClusterBooks,
  type JobView,
  type PolicyExplanation,
  type QueueLine,
  type StageView,
  spreadLimit,
} from '@goshawk/policies';
import { isActive, type WorkerRecord } from '../cluster/registry.js';
import { StartTimes, type WaitBasis } from './start-times.js';
import { WorkAhead } from './work-ahead.js';

/**
 * Cost of one sample in steps, plus a cost for each job. Each turn adds one step to the budget, which keeps
 * sampling at about 1% of the planning time.
 */
const SAMPLE_STEPS = 64;
const STEPS_PER_JOB = 4;
/** Maximum number of jobs to compare with one to find those ahead of it. With more jobs, the result is an estimate. */
export const JOBS_COMPARED_MAX = 10_000;
/** Reasons of the policy that the overview names; owners report the others themselves. */
const NAMED_REASONS: ReadonlySet<WaitingGroup['reason']> = new Set(['resources', 'reserve', 'reserved']);
/** Maximum number of limits in one answer. */
const LIMITS_LISTED_MAX = 200;

/**
 * Determines the order of waiting stages, and samples their waits, so that `goshawk why` can predict starts.
 * A query visits all waiting jobs.
 */
export class WaitingLine {
  readonly #books: ClusterBooks;
  readonly #policy: CentralPolicy;
  readonly #starts = new StartTimes<BookedStage>();
  /** Budget for sampling: each turn adds one step. */
  #steps = 0;
  /** Time of the last sample, or of the last turn in which no stage waited. */
  #sampledAt: Millis = 0;
  /** Number of stages sampled. */
  #samples = 0;

  constructor(books: ClusterBooks, policy: CentralPolicy) {
    this.#books = books;
    this.#policy = policy;
  }

  started(stage: BookedStage, now: Millis): void {
    this.#starts.started(stage, now);
  }

  /** Adds to the budget at the end of a turn, and takes a sample if it suffices. */
  sampleIfDue(now: Millis): void {
    if (this.#books.waitingTasks === 0) this.#sampledAt = now;
    if (this.#books.waitingTasks === 0 || ++this.#steps < 0) return;
    this.#steps -= SAMPLE_STEPS + STEPS_PER_JOB * this.#books.jobCount;
    const stages = [...waitingStages(this.#books)];
    const stage = stages[this.#samples++ % stages.length]!;
    const line = this.#policy.line?.(now);
    const basis = basisOf(stage, this.#positionOf(stage, line, now), this.#limits(line));
    this.#starts.sample(stage, basis, now - this.#sampledAt, now);
    this.#sampledAt = now;
  }

  /** Returns the capacity and, if a job is given, the work ahead of each of its stages. */
  describe(job: BookedJob | undefined, now: Millis): CentralLine {
    const line = this.#policy.line?.(now);
    const limits = this.#limits(line);
    let freeSlots = 0;
    // A worker may report less than its runs take: then it has no free slot, and takes none from others.
    for (const worker of this.#books.workers)
      if (worker.open) freeSlots += Math.max(0, Math.floor(slotsIn(worker.free)));
    return {
      needs: job === undefined ? [] : this.#needsOf(job, { line, limits, freeSlots }, now),
      ...limits,
      freeSlots,
      longRunning: line?.longRunning ?? 0,
      ...(line?.lendable === undefined ? {} : { lendable: Math.floor(line.lendable) }),
      unmatched: this.#books.waitingTasks,
      ...present({ limited: job === undefined ? this.#limitedGroups(now) : undefined }),
    };
  }

  /** Returns a need for each waiting stage of the job, or two if a limit of its user admits only some tasks. */
  #needsOf(job: BookedJob, { line, limits, freeSlots }: Situation, now: Millis): NeedView[] {
    const stages = [...job.stages].filter(({ waiting, overLimit }) => waiting + overLimit > 0);
    const latest = line?.latestStartOf?.(job);
    const latestStart = latest && { inMs: latest.startAt - now, isTooLate: now > latest.hopelessAt };
    const ends = stages.length > 0 && freeSlots === 0 ? runningEnds(this.#books, now) : [];
    const needs = stages.slice(0, LIMITS.stagesPerJobMax).flatMap((stage): NeedView[] => {
      const { waiting, overLimit, limitReason } = stage;
      const position = this.#positionOf(stage, line, now);
      // Earlier waits predict nothing if there are no active slots.
      const start = limits.slots > 0 ? this.#starts.predict(basisOf(stage, position, limits)) : undefined;
      const need = (tasks: number, why: PolicyExplanation | undefined): NeedView => ({
        stage: stage.index,
        tasks,
        demand: this.#books.names.resourcesOf(stage.demand),
        waitedMs: now - stage.waitsSince,
        kept: line?.keptFor(stage) ?? 0,
        ...position,
        ...(start === undefined ? inTurn(position, limits, ends) : {}),
        ...(why === undefined ? {} : { why: why.sentence, reason: why.reason }),
        ...(start === undefined ? {} : { starts: start }),
        ...present({ latestStart }),
      });
      const explained = (tasks: number) => need(tasks, this.#explain(stage, now));
      if (limitReason === undefined) return [explained(waiting + overLimit)];
      const limited = need(overLimit, { reason: 'user-limit', sentence: limitReason });
      // The limit admits some tasks, which wait for another reason.
      return waiting === 0 ? [limited] : [explained(waiting), limited];
    });
    return needs.slice(0, LIMITS.stagesPerJobMax);
  }

  /** Returns the waiting tasks of all jobs by limit; undefined if nothing limits them. */
  #limitedGroups(now: Millis): WaitingGroup[] | undefined {
    const groups = mergedGroups([...limitedTasks(this.#books, now), ...this.#explainedTasks(now)]);
    return groups.length > 0 || this.#books.hasLimits ? groups.slice(0, LIMITS_LISTED_MAX) : undefined;
  }

  /** Yields the waiting tasks by kind, with the limit that the policy names, or as `matching` without one. */
  *#explainedTasks(now: Millis): Iterable<WaitingGroup> {
    const { feasible, waitingKinds } = this.#books;
    if (this.#policy.explain === undefined && !this.#books.hasLimits) return;
    // Explaining a stage visits all workers.
    let left = Math.max(1, Math.floor(JOBS_COMPARED_MAX / Math.max(1, feasible.size)));
    for (const { tasks, oldest } of waitingKinds) {
      if (left <= 0) return;
      left -= 2;
      const [first, next] = oldest;
      const why = this.#explain(first, now);
      yield* this.#groupOf(first, why, next === undefined ? tasks : first.waiting, now);
      if (next === undefined) continue;
      // The first stage may have a reservation, or may have failed at all workers.
      const whyNext = this.#explain(next, now);
      yield* this.#groupOf(next, whyNext, tasks - first.waiting, now);
    }
  }

  #explain(stage: StageView, now: Millis): PolicyExplanation | undefined {
    const sentence = spreadLimit(stage, this.#books.workers);
    if (sentence !== undefined) return { reason: 'resources', sentence };
    return this.#policy.explain?.(stage, this.#books, now);
  }

  /** Yields the group of tasks that wait like this stage, except those that wait for a reason that owners report. */
  *#groupOf(
    { job, needs }: StageView,
    why: PolicyExplanation | undefined,
    tasks: number,
    now: Millis,
  ): Iterable<WaitingGroup> {
    const { feasible } = this.#books;
    if (why !== undefined) {
      if (NAMED_REASONS.has(why.reason)) yield groupOf(job, why.reason, tasks, why.sentence, now);
    } else if (feasible.size === 0 || feasible.has(needs))
      yield groupOf(job, 'matching', tasks, undefined, now);
  }

  #limits(line: QueueLine | undefined): Limits {
    const slots = Math.floor(slotsIn(this.#books.capacity));
    return { slots, longLimit: line?.longLimit ?? slots };
  }

  #positionOf(stage: BookedStage, line: QueueLine | undefined, now: Millis): Position {
    const ahead = new WorkAhead(line?.turnOf?.(stage));
    const { feasible } = this.#books;
    // A page of the gateway queries a dozen jobs every 2 s, so with very many jobs only every nth is
    // compared.
    const every = Math.ceil(this.#books.jobCount / JOBS_COMPARED_MAX);
    let at = 0;
    for (const job of this.#books.everyJob()) {
      if (at++ % every !== 0) continue;
      for (const other of job.stages) {
        if (other.waiting === 0 || other === stage) continue;
        // A stage that no worker can run does not delay others.
        if (feasible.size > 0 && !feasible.has(other.needs)) continue;
        if (ahead.takesTurns(other, line?.turnOf?.(other), every)) continue;
        if (line === undefined ? isOlder(other, stage) : line.comesBefore(other, stage))
          ahead.add(other, every);
      }
    }
    const kind = line?.kindOf(stage) ?? 'planned';
    return {
      kind: kind === 'planned' ? (stage.job.long ? 'long' : 'short') : kind,
      ahead: ahead.sum(),
      ...expectedOf(stage.job, now),
    };
  }
}

/** Yields the tasks that limits of users hold. */
function* limitedTasks(books: ClusterBooks, now: Millis): Iterable<WaitingGroup> {
  for (const { oldest, tasks, reason } of books.limitedTasks)
    yield groupOf(oldest, 'user-limit', tasks, reason, now);
}

function groupOf(
  job: JobView,
  reason: WaitingGroup['reason'],
  tasks: number,
  why: string | undefined,
  now: Millis,
): WaitingGroup {
  const exampleAgeMs = Math.max(0, now - job.arrivedAt);
  return {
    class: job.long ? 'long' : 'short',
    reason,
    tasks,
    example: job.name,
    exampleAgeMs,
    ...present({ why }),
  };
}

/** Yields the stages with waiting tasks. The books must not change during the iteration. */
export function* waitingStages(books: ClusterBooks): Iterable<BookedStage> {
  for (const job of books.everyJob()) for (const stage of job.stages) if (stage.waiting > 0) yield stage;
}

/** Position of a stage in the order. */
type Position = Pick<NeedView, 'kind' | 'ahead' | 'expected'>;

/** All slots, and the limit for long tasks. */
type Limits = Pick<CentralLine, 'slots' | 'longLimit'>;

/** Facts that the needs of all stages of a job share. */
interface Situation {
  readonly line: QueueLine | undefined;
  readonly limits: Limits;
  readonly freeSlots: number;
}

/** Returns the work ahead per slot, by which waits are compared. */
function basisOf(stage: BookedStage, position: Position, limits: Limits): WaitBasis {
  // Pilots will change the estimate and thus the position, so these waits are a separate kind.
  const kind = stage.estimateFollows ? `${position.kind}, estimate to come` : position.kind;
  return { kind, basisMs: expectedWaitMs(position, limits) ?? 0 };
}

/** Returns the start that the policy expects, unless that time has passed. */
function expectedOf({ expected }: BookedJob, now: Millis): Pick<NeedView, 'expected'> {
  if (expected === undefined || expected.at <= now) return {};
  const { at, where } = expected;
  return { expected: { inMs: at - now, ...(where === undefined ? {} : { where }) } };
}

/** Maximum number of workers whose running tasks are visited for one answer. */
const WORKERS_VISITED_MAX = 1_000;

/** Returns the times (ms) until running tasks probably end, soonest first; empty if some are unknown. */
function runningEnds({ workers }: ClusterBooks, now: Millis): Millis[] {
  const left: Millis[] = [];
  let visited = 0;
  for (const { open, runs } of workers) {
    if (++visited > WORKERS_VISITED_MAX) return [];
    if (!open) continue;
    for (const { stage, startedAt } of runs) {
      const { estimateMs } = stage;
      if (!(estimateMs > 0)) return [];
      // A task that is overdue by some time is expected to take as much longer.
      left.push(Math.abs(startedAt + estimateMs - now));
    }
  }
  return left.sort((one, other) => one - other);
}

/** Returns the expected start if no slot is free: not before enough running tasks have ended. */
function inTurn(
  { kind, ahead, expected }: Position,
  limits: Limits,
  ends: readonly Millis[],
): Pick<NeedView, 'expected'> {
  if (expected !== undefined || ends.length === 0) return {};
  const soonestMs = ends[Math.min(ahead.tasks, ends.length - 1)]!;
  return { expected: { inMs: Math.max(soonestMs, expectedWaitMs({ kind, ahead }, limits) ?? 0) } };
}

/** Orders stages by the age of their jobs, if the policy defines no order. */
function isOlder(one: BookedStage, other: BookedStage): boolean {
  return one.job.arrivedAt < other.job.arrivedAt;
}

/** Returns only the numbers of slots. If workers do not report free slots, central keeps no order of jobs. */
export function lineOfQueues(workers: Iterable<WorkerRecord>, unmatched: number): CentralLine {
  let slots = 0;
  let freeSlots = 0;
  for (const worker of workers) {
    if (!isActive(worker)) continue;
    slots += worker.slots;
    freeSlots += Math.max(0, worker.slots - worker.busy);
  }
  return { needs: [], slots, freeSlots, longRunning: 0, longLimit: slots, unmatched };
}
