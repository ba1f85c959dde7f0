import type { Address, Millis, TaskIndex } from '@goshawk/core';
import type { JobStore } from '../durability/job-store.js';
import { type Job, TaskState } from '../job/job.js';
import { LOST, LOST_BESIDE } from '../job/outcomes.js';
import { attemptKey } from '../job/task-table.js';
import type { SchedulerState } from '../state.js';
import type { AbandonedAttempts } from './abandoned-attempts.js';
import type { Endings } from './endings.js';

/** Ends the attempts that ran on lost workers. */
export class LostWorkers {
  readonly #s: SchedulerState;
  readonly #endings: Endings;
  readonly #abandoned: AbandonedAttempts;

  constructor(s: SchedulerState, endings: Endings, abandoned: AbandonedAttempts) {
    this.#s = s;
    this.#endings = endings;
    this.#abandoned = abandoned;
  }

  /**
   * Handles tasks of lost workers. A task that ran alone is blamed; otherwise all running tasks are.
   *
   * @param silentMs how long ago the workers were last heard, if central has reported that
   */
  loseTasks(workers: ReadonlySet<Address>, silentMs: ReadonlyMap<Address, Millis>, now: Millis): void {
    const lost = tasksAt(workers, this.#s.jobs);
    const suspects = suspectsOf(lost, this.#s.cluster.timings.leaseMs, now);
    for (const { job, task, worker } of lost) {
      // The task ended when its job was given up.
      if (job.tasks.isFinal(task) || job.tasks.workerOf(task) !== worker) continue;
      if (job.tasks.stateOf(task) === TaskState.placed) {
        this.#endings.declined(job, task, now);
        continue;
      }
      const { program } = job.history;
      if (program !== undefined) job.history.shareCrashes(this.#s.crashes.of(program));
      const others = suspects.get(worker);
      const isBeside = others !== undefined && !others.has(attemptKey(job.tasks.ref(task)));
      const gang = job.gangStageOf(task)?.gang;
      const outcome = gang?.broken ?? (isBeside ? LOST_BESIDE : LOST);
      // A killed worker reports no end; its last sign of life bounds the run.
      const runMs = Math.max(0, now - job.tasks.startedAtOf(task) - (silentMs.get(worker) ?? 0));
      this.#abandoned.add(job, task, runMs, now);
      const end = { task, outcome, runMs, place: undefined };
      this.#endings.writeDown(job, end, now);
      this.#endings.ended(job, end, now);
    }
  }
}

interface LostTask {
  readonly job: Job;
  readonly task: TaskIndex;
  readonly worker: Address;
}

function tasksAt(gone: ReadonlySet<Address>, jobs: JobStore): LostTask[] {
  const lost: LostTask[] = [];
  const workersOf = new Map<Job, number>();
  for (const worker of gone)
    for (const job of jobs.at(worker)) {
      const tasks = jobs.tasksAt(worker, job);
      for (const task of tasks) lost.push({ job, task, worker });
      const hasRun = tasks.some((task) => job.tasks.stateOf(task) === TaskState.running);
      if (hasRun && !job.cancelling) workersOf.set(job, (workersOf.get(job) ?? 0) + 1);
    }
  // A gang loses all its workers at once, and cannot run one task at a time.
  for (const [job, workers] of workersOf) if (!job.hasGangs) job.history.workersLost(workers);
  return lost.sort((one, other) => one.job.number - other.job.number || one.task - other.task);
}

/** The attempts that ran alone, by worker. */
function suspectsOf(lost: readonly LostTask[], leaseMs: Millis, now: Millis): Map<Address, Set<string>> {
  const suspects = new Map<Address, Set<string>>();
  for (const { job, task, worker } of lost) {
    const runMs = now - job.tasks.startedAtOf(task);
    if (job.tasks.stateOf(task) !== TaskState.running) continue;
    if (job.history.blame?.isApart(task, job.tasks.attemptOf(task), runMs, leaseMs) !== true) continue;
    const there = suspects.get(worker) ?? new Set();
    suspects.set(worker, there.add(attemptKey(job.tasks.ref(task))));
  }
  return suspects;
}
