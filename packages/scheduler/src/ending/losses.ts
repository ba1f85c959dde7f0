import { type Address, type Member, type MessageOf, type Millis, NOBODY } from '@goshawk/core';
import { type Job, LOST, LOST_BESIDE, TaskState } from '../job/job.js';
import type { Enlistment } from '../joining/enlistment.js';
import type { JobStore } from '../keeping/job-store.js';
import type { Ledger } from '../keeping/ledger.js';
import type { Endings } from './endings.js';

/** What was given up is remembered of so many workers, the latest that were lost. */
const WORKERS_MAX = 1_000;

/** What losses have to know of the scheduler around them. */
interface Surroundings {
  readonly jobs: JobStore;
  readonly ledger: Ledger;
  readonly endings: Endings;
  readonly enlistment: Enlistment;
}

interface Abandoned {
  readonly job: number;
  readonly task: number;
  readonly attempt: number;
}

interface Lost {
  readonly job: Job;
  readonly task: number;
  readonly worker: Address;
}

/**
 * What becomes of tasks whose workers are lost. Who is charged: the task that ran apart, where one did, and otherwise
 * all that ran there. A worker that was only silent may run what was given up, for nobody: it is told to end that, at
 * once and when it is a member again.
 */
export class Losses {
  readonly #around: Surroundings;
  readonly #abandoned = new Map<Address, Abandoned[]>();

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** These workers are gone. */
  lost(gone: ReadonlySet<Address>, now: Millis): void {
    const { jobs, endings } = this.#around;
    const lost: Lost[] = [];
    for (const job of jobs.active()) {
      const workers = new Set<Address>();
      for (let task = 0; task < job.taskCount; task++) {
        const worker = job.workerOf(task);
        if (!gone.has(worker) || job.stateOf(task) < TaskState.placed || job.isFinal(task)) continue;
        lost.push({ job, task, worker });
        if (job.stateOf(task) === TaskState.running) workers.add(worker);
      }
      if (workers.size > 0 && !job.cancelling) job.workersLost(workers.size);
    }
    const suspects = this.#suspectsOf(lost, now);
    for (const { job, task, worker } of lost) {
      // What was given up with its job has ended.
      if (job.isFinal(task) || job.workerOf(task) !== worker) continue;
      if (job.stateOf(task) === TaskState.placed) {
        endings.declined(job, task, now);
        continue;
      }
      const others = suspects.get(worker);
      const isBeside = others !== undefined && !others.has(nameOf(job, task));
      const outcome = isBeside ? LOST_BESIDE : LOST;
      const runMs = now - job.startedAt[task]!;
      this.abandon(job, task);
      endings.writeDown(job, task, outcome, runMs, now);
      endings.ended(job, task, outcome, runMs, now);
    }
  }

  /** Where tasks ran apart, by worker: these tasks. */
  #suspectsOf(lost: readonly Lost[], now: Millis): Map<Address, Set<string>> {
    const suspects = new Map<Address, Set<string>>();
    const { leaseMs } = this.#around.enlistment.timings;
    for (const { job, task, worker } of lost) {
      const runMs = now - job.startedAt[task]!;
      if (job.stateOf(task) !== TaskState.running) continue;
      if (job.blame?.isApart(task, job.attempts[task]!, runMs, leaseMs) !== true) continue;
      const there = suspects.get(worker) ?? new Set();
      suspects.set(worker, there.add(nameOf(job, task)));
    }
    return suspects;
  }

  /** The task's attempt counts no more: where it may run it is to end. */
  abandon(job: Job, task: number): void {
    const worker = job.workerOf(task);
    if (worker <= NOBODY) return;
    const attempt = { job: job.number, task, attempt: job.attempts[task]! };
    const abandoned = this.#abandoned.get(worker) ?? [];
    abandoned.push(attempt);
    // The latest last.
    this.#abandoned.delete(worker);
    this.#abandoned.set(worker, abandoned);
    if (this.#abandoned.size > WORKERS_MAX) this.#abandoned.delete(this.#abandoned.keys().next().value!);
    this.#cancel(worker, attempt);
  }

  /** Workers that were lost, and were not: what they were told may not have come. */
  cameBack(workers: readonly Member[]): void {
    if (this.#abandoned.size === 0) return;
    for (const { address } of workers)
      for (const attempt of this.#abandoned.get(address) ?? []) this.#cancel(address, attempt);
  }

  /** The worker does not run it, or no more. */
  settled(worker: Address, { job, task, attempt }: Abandoned): void {
    const abandoned = this.#abandoned.get(worker);
    if (abandoned === undefined) return;
    const left = abandoned.filter((one) => one.job !== job || one.task !== task || one.attempt !== attempt);
    if (left.length === 0) this.#abandoned.delete(worker);
    else this.#abandoned.set(worker, left);
  }

  #cancel(worker: Address, attempt: Abandoned): void {
    const message: MessageOf<'cancelTask'> = { type: 'cancelTask', ...attempt };
    // Behind the task itself, which may wait for the disk.
    this.#around.ledger.send(worker, message);
  }
}

function nameOf(job: Job, task: number): string {
  return `${job.number}/${task}`;
}
