import { type CentralLine, expectedWaitMs, LIMITS, type Millis, type NeedView, SLOT } from '@goshawk/core';
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
  const line = policy.line?.(now);
  const standing = standingOf(books, line);
  const needs = (job === undefined ? [] : waitingStages(job).slice(0, LIMITS.stagesPerJobMax)).map(
    (stage): NeedView => {
      const place = placeOf(books, line, stage, now);
      const why = policy.explain?.(stage, books, now)?.sentence;
      const start = starts.expect(basisOf(place, standing));
      return {
        stage: stage.index,
        tasks: stage.waiting,
        demand: books.names.resourcesOf(stage.demand),
        waitedMs: now - stage.waitsSince,
        kept: line?.keptFor(stage) ?? 0,
        ...place,
        ...(why === undefined ? {} : { why }),
        ...(start === undefined ? {} : { starts: start }),
      };
    },
  );
  return { needs, ...standing };
}

/** By what a stage's wait is compared with others'. */
export function waitBasis(
  books: ClusterBooks,
  policy: CentralPolicy,
  stage: BookedStage,
  now: Millis,
): WaitBasis {
  const line = policy.line?.(now);
  return basisOf(placeOf(books, line, stage, now), limitsOf(books, line));
}

export function waitingStages(job: BookedJob): BookedStage[] {
  return [...job.allStages].filter((stage) => stage.waiting > 0);
}

function basisOf(place: Place, limits: Limits): WaitBasis {
  return { kind: place.kind, basisMs: expectedWaitMs(place, limits) ?? 0 };
}

type Limits = Pick<CentralLine, 'slots' | 'longLimit'>;

function limitsOf(books: ClusterBooks, line: QueueLine | undefined): Limits {
  const slots = books.capacity[SLOT] ?? 0;
  return { slots, longLimit: line?.longLimit ?? slots };
}

function standingOf(books: ClusterBooks, line: QueueLine | undefined): Omit<CentralLine, 'needs'> {
  let freeSlots = 0;
  for (const worker of books.workers) if (worker.open) freeSlots += worker.free[SLOT]!;
  return {
    ...limitsOf(books, line),
    freeSlots,
    longRunning: line?.longRunning ?? 0,
    unmatched: books.waitingTasks,
  };
}

/** Where a stage stands in the order. */
type Place = Pick<NeedView, 'kind' | 'ahead' | 'expected'>;

function placeOf(books: ClusterBooks, line: QueueLine | undefined, stage: BookedStage, now: Millis): Place {
  const jobs = new Set<BookedJob>();
  let tasks = 0;
  let workMs = 0;
  for (const other of [...books.jobs].flatMap(waitingStages)) {
    const isBefore = line === undefined ? isOlder(other, stage) : line.comesBefore(other, stage);
    if (other === stage || !isBefore) continue;
    jobs.add(other.job);
    tasks += other.waiting;
    workMs += other.waiting * other.estimateMs;
  }
  const kind = line?.kindOf(stage) ?? 'planned';
  return {
    kind: kind === 'planned' ? (stage.job.long ? 'long' : 'short') : kind,
    ahead: { jobs: jobs.size, tasks, workMs },
    ...expectedOf(stage.job, now),
  };
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
