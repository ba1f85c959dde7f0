import {
  type ByClass,
  byClass,
  type End,
  Histogram,
  type JobClass,
  logBounds,
  type Millis,
  OVERLOADS,
  type OverloadReason,
  type TaskIndex,
} from '@goshawk/core';
import type { Job } from './job.js';

/** Bucket bounds from 1 ms to 116 days. */
const DURATIONS_MS = logBounds(1, 1e10);

/** Counts ended tasks and jobs since the start, by their class when they ended. For metrics and `counters` only. */
export class Tallies {
  readonly tasksEnded: ByClass<Record<End, number>> = byClass(zeroEnds);
  readonly jobsEnded: ByClass<Record<End, number>> = byClass(zeroEnds);
  /** Time from the release of a task's stage to the first assignment of the task, without holds. ms */
  readonly queueingMs: ByClass<Histogram> = byClass(emptyHistogram);
  /** Time from the earliest possible start of a job to its end. ms */
  readonly jobMs: ByClass<Histogram> = byClass(emptyHistogram);
  /** Cancelled jobs, each counted once. */
  cancellations = 0;
  /** Submissions refused because of overload, by reason. */
  readonly jobsRefused = Object.fromEntries(OVERLOADS.map((cause) => [cause, 0])) as Record<
    OverloadReason,
    number
  >;

  taskBound(job: Job, task: TaskIndex, now: Millis): void {
    if (job.tasks.executionsOf(task) !== 1) return;
    const { releasedAt } = job.dag.stageOf(task);
    valueForClass(this.queueingMs, job.class).add(
      now - releasedAt - (job.hold?.heldMsBetween(releasedAt, now) ?? 0),
    );
  }

  /** Cancelled tasks are counted with their job, because most of them never ran. */
  taskEnded(job: Job, end: 'completed' | 'failed'): void {
    const ended = valueForClass(this.tasksEnded, job.class);
    if (end === 'completed') ended.completed++;
    else ended.failed++;
  }

  /** All counters, in groups that can be summed over schedulers. */
  get counted() {
    const { tasksEnded, jobsEnded, queueingMs, jobMs } = this;
    return {
      tasksEnded: copyCounts(tasksEnded),
      jobsEnded: copyCounts(jobsEnded),
      queueingMs: nonEmptyBuckets(queueingMs),
      jobMs: nonEmptyBuckets(jobMs),
    };
  }

  jobEnded(job: Job, now: Millis): void {
    this.tasksEnded[job.class].cancelled += job.counts.cancelled;
    this.jobsEnded[job.class][job.state as End]++;
    this.jobMs[job.class].add(now - job.times.eligibleAt);
  }
}

/** Called for each task: a comparison is ten times faster than a lookup by name. */
function valueForClass<T>({ short, long }: ByClass<T>, kind: JobClass): T {
  return kind === 'long' ? long : short;
}

function zeroEnds(): Record<End, number> {
  return { completed: 0, failed: 0, cancelled: 0 };
}

/** Copies the counts, so that later changes do not affect an answer. */
function copyCounts({ short, long }: ByClass<Record<End, number>>): ByClass<Record<End, number>> {
  return { short: { ...short }, long: { ...long } };
}

/** Counts by bucket bounds in ms, such as `95.5-114`, without empty buckets. */
function nonEmptyBuckets({ short, long }: ByClass<Histogram>): ByClass<Record<string, number>> {
  const named = ({ bounds, counts }: Histogram) =>
    Object.fromEntries(
      counts.flatMap((count, bucket) =>
        count === 0 ? [] : [[`${bounds[bucket - 1] ?? 0}-${bounds[bucket] ?? 'more'}`, count]],
      ),
    );
  return { short: named(short), long: named(long) };
}

function emptyHistogram(): Histogram {
  return new Histogram(DURATIONS_MS);
}
