import type { Address, Millis, TaskIndex } from '@goshawk/core';
import { attemptKey } from '../job/attempt-ref.js';
import { type Job, LOST, LOST_BESIDE, TaskState } from '../job/job.js';
import type { Enlistment } from '../joining/enlistment.js';
import type { JobStore } from '../keeping/job-store.js';
import type { AbandonedAttempts } from './abandoned-attempts.js';
import type { Endings } from './endings.js';

interface LostTask {
  readonly job: Job;
  readonly task: TaskIndex;
  readonly worker: Address;
}

/**
 * What becomes of tasks whose workers are lost. Where a task ran apart on a lost worker, that task is charged;
 * otherwise all that ran there are.
 */
export class LostWorkers {
  readonly #jobs: JobStore;
  readonly #enlistment: Enlistment;
  readonly #abandoned: AbandonedAttempts;
  readonly #endings: Endings;

  constructor(jobs: JobStore, enlistment: Enlistment, abandoned: AbandonedAttempts, endings: Endings) {
    this.#jobs = jobs;
    this.#enlistment = enlistment;
    this.#abandoned = abandoned;
    this.#endings = endings;
  }

  lost(workers: ReadonlySet<Address>, now: Millis): void {
    const lost = this.#tasksAt(workers);
    const suspects = this.#suspectsOf(lost, now);
    for (const { job, task, worker } of lost) {
      // What was given up with its job has ended.
      if (job.tasks.isFinal(task) || job.tasks.workerOf(task) !== worker) continue;
      if (job.tasks.stateOf(task) === TaskState.placed) {
        this.#endings.declined(job, task, now);
        continue;
      }
      const others = suspects.get(worker);
      const isBeside = others !== undefined && !others.has(attemptKey(job.tasks.ref(task)));
      const outcome = isBeside ? LOST_BESIDE : LOST;
      const runMs = now - job.tasks.startedAt[task]!;
      this.#abandoned.add(job, task);
      const end = { task, outcome, runMs, place: undefined };
      this.#endings.writeDown(job, end, now);
      this.#endings.ended(job, end, now);
    }
  }

  #tasksAt(gone: ReadonlySet<Address>): LostTask[] {
    const lost: LostTask[] = [];
    for (const job of this.#jobs.active()) {
      const workers = new Set<Address>();
      for (let task = 0; task < job.taskCount; task++) {
        const worker = job.tasks.workerOf(task);
        if (!gone.has(worker) || job.tasks.stateOf(task) < TaskState.placed || job.tasks.isFinal(task))
          continue;
        lost.push({ job, task, worker });
        if (job.tasks.stateOf(task) === TaskState.running) workers.add(worker);
      }
      if (workers.size > 0 && !job.cancelling) job.history.workersLost(workers.size);
    }
    return lost;
  }

  /** The attempts that ran apart, by worker. */
  #suspectsOf(lost: readonly LostTask[], now: Millis): Map<Address, Set<string>> {
    const suspects = new Map<Address, Set<string>>();
    const { leaseMs } = this.#enlistment.timings;
    for (const { job, task, worker } of lost) {
      const runMs = now - job.tasks.startedAt[task]!;
      if (job.tasks.stateOf(task) !== TaskState.running) continue;
      if (job.history.blame?.isApart(task, job.tasks.attempts[task]!, runMs, leaseMs) !== true) continue;
      const there = suspects.get(worker) ?? new Set();
      suspects.set(worker, there.add(attemptKey(job.tasks.ref(task))));
    }
    return suspects;
  }
}
