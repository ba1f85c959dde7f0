import { type CentralLine, expectedWaitMs, type Millis, type NeedView, SLOT } from '@goshawk/core';
import type { BookedJob, BookedStage, CentralPolicy, ClusterBooks, QueueLine } from '@goshawk/policies';
import { isActive, type WorkerRecord } from '../cluster/registry.js';
import type { StartTimes, WaitBasis } from './start-times.js';

/**
 * Who stands before the stages of a job, and what the cluster has. Looks at every stage once for each that is asked for.
 *
 * @param job undefined: nobody in particular
 */
export function lineOf(
  books: ClusterBooks,
  policy: CentralPolicy,
  job: BookedJob | undefined,
  now: Millis,
  starts: StartTimes<BookedStage>,
): CentralLine {
  const standing = standingOf(books, policy, now);
  const needs = (job === undefined ? [] : waiting(job)).map((stage): NeedView => {
    const need = needOf(books, policy, stage, now);
    const start = starts.expect(basisOf(need, standing));
    return start === undefined ? need : { ...need, starts: start };
  });
  return { needs, ...standing };
}

/** By what a stage's wait is compared with others'. */
export function waitBasis(
  books: ClusterBooks,
  policy: CentralPolicy,
  stage: BookedStage,
  now: Millis,
): WaitBasis {
  return basisOf(needOf(books, policy, stage, now), limitsOf(books, policy.line?.(now)));
}

function basisOf(need: NeedView, limits: Limits): WaitBasis {
  return { kind: need.kind, basisMs: expectedWaitMs(need, limits) ?? 0 };
}

type Limits = Pick<CentralLine, 'slots' | 'longLimit'>;

function limitsOf(books: ClusterBooks, line: QueueLine | undefined): Limits {
  const slots = books.capacity[SLOT] ?? 0;
  return { slots, longLimit: line?.longLimit ?? slots };
}

type Standing = Omit<CentralLine, 'needs'>;

function standingOf(books: ClusterBooks, policy: CentralPolicy, now: Millis): Standing {
  const line = policy.line?.(now);
  let freeSlots = 0;
  for (const worker of books.workers) if (worker.open) freeSlots += worker.free[SLOT]!;
  return {
    ...limitsOf(books, line),
    freeSlots,
    longRunning: line?.longRunning ?? 0,
    unmatched: books.waitingTasks,
  };
}

function needOf(books: ClusterBooks, policy: CentralPolicy, stage: BookedStage, now: Millis): NeedView {
  const line = policy.line?.(now);
  const jobs = new Set<BookedJob>();
  let tasks = 0;
  let workMs = 0;
  for (const other of [...books.jobs].flatMap(waiting)) {
    const isBefore = line === undefined ? isOlder(other, stage) : line.comesBefore(other, stage);
    if (other === stage || !isBefore) continue;
    jobs.add(other.job);
    tasks += other.waiting;
    workMs += other.waiting * other.estimateMs;
  }
  const kind = line?.kindOf(stage) ?? 'planned';
  const why = policy.explain?.(stage, books, now)?.sentence;
  return {
    stage: stage.index,
    kind: kind === 'planned' ? (stage.job.long ? 'long' : 'short') : kind,
    tasks: stage.waiting,
    demand: books.names.resourcesOf(stage.demand),
    waitedMs: now - stage.waitsSince,
    ahead: { jobs: jobs.size, tasks, workMs },
    kept: line?.keptFor(stage) ?? 0,
    ...expectedOf(stage.job, now),
    ...(why === undefined ? {} : { why }),
  };
}

function waiting(job: BookedJob): BookedStage[] {
  return [...job.allStages].filter((stage) => stage.waiting > 0);
}

/** What the policy expected is of no use once it should have happened. */
function expectedOf({ expected }: BookedJob, now: Millis): Pick<NeedView, 'expected'> {
  if (expected === undefined || expected.at <= now) return {};
  const { at, where } = expected;
  return { expected: { inMs: at - now, ...(where === undefined ? {} : { where }) } };
}

/** Where a policy tells no order, the job that came first is taken to be served first. */
function isOlder(one: BookedStage, other: BookedStage): boolean {
  return one.job.arrivedAt < other.job.arrivedAt;
}

/** Where nobody says to central what is free, nobody waits in one line there. */
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
