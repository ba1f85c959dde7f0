import { type Millis, type Outcome, present, type TaskIndex } from '@goshawk/core';
import type { Job, SchedulerEnvironment } from '@goshawk/scheduler';
import type { Tracing } from './spans.js';

type Effects = Required<Pick<SchedulerEnvironment, 'jobClassified' | 'taskBound' | 'attemptEnded'>>;

/**
 * Records spans of an owner's jobs: the job, its classification, and the wait and the run of each attempt.
 */
export class JobTracing {
  readonly #tracing: Tracing;
  /** Start of the wait of retried tasks, by job. */
  readonly #retryWaits = new Map<Job, Map<number, Millis>>();

  constructor(tracing: Tracing) {
    this.#tracing = tracing;
  }

  jobAccepted(job: Job): void {
    if (!job.estimate.isUndecided) this.#classified(job, job.acceptedAt);
  }

  /** Effects of the scheduler that only tracing observes. */
  get effects(): Effects {
    return {
      jobClassified: (job, now) => this.#classified(job, now),
      taskBound: (job, task, now) => this.#bound(job, task, now),
      attemptEnded: (job, task, outcome, runMs, now) => this.#ended(job, task, outcome, runMs, now),
    };
  }

  #bound(job: Job, task: TaskIndex, now: Millis): void {
    const attempt = job.tasks.attemptOf(task);
    const from = this.#retryWaits.get(job)?.get(task) ?? job.dag.stageOf(task).releasedAt;
    this.#tracing.add({
      job: job.id,
      key: `queue ${task}/${attempt}`,
      parent: 'job',
      from,
      to: now,
      attributes: { 'goshawk.task': task, 'goshawk.attempt': attempt, 'goshawk.route': job.route.by },
    });
  }

  #ended(job: Job, task: TaskIndex, outcome: Outcome, runMs: Millis, now: Millis): void {
    const attempt = job.tasks.attemptOf(task);
    const isGood = outcome.kind === 'completed';
    this.#tracing.add({
      job: job.id,
      key: `attempt ${task}/${attempt}`,
      parent: 'job',
      from: job.tasks.startedAtOf(task),
      to: now,
      attributes: {
        'goshawk.task': task,
        'goshawk.attempt': attempt,
        'goshawk.outcome': outcome.kind,
        'goshawk.run_ms': runMs,
      },
      error: isGood ? undefined : outcome.errorCode || outcome.kind,
    });
    if (isGood) return;
    const waiting = this.#retryWaits.get(job) ?? new Map<number, Millis>();
    this.#retryWaits.set(job, waiting.set(task, now));
  }

  jobEnded(job: Job): void {
    this.#retryWaits.delete(job);
    const { id, state, spec, counts } = job;
    this.#tracing.add({
      job: id,
      key: 'job',
      parent: undefined,
      from: job.acceptedAt,
      to: job.doneAt!,
      attributes: {
        'goshawk.job.name': spec.name,
        'goshawk.job.class': job.class,
        'goshawk.job.state': state,
        'goshawk.job.tasks': counts.total,
        'goshawk.job.tasks.attempts': job.history.total,
      },
      error: state === 'failed' ? `${counts.failed} of ${counts.total} tasks failed` : undefined,
      linkedTraceparent: spec.traceparent,
    });
  }

  #classified(job: Job, now: Millis): void {
    const { id } = job;
    this.#tracing.add({
      job: id,
      key: 'classify',
      parent: 'job',
      from: job.acceptedAt,
      to: now,
      attributes: {
        'goshawk.job.class': job.class,
        'goshawk.job.classified_by': job.estimate.classifiedBy,
        'goshawk.job.pilots': job.estimate.sample?.tasks.length ?? 0,
        ...present({ 'goshawk.job.estimate_ms': job.estimate.meanMs }),
      },
    });
  }
}
