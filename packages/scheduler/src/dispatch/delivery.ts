import type { Address, Millis, TaskIndex } from '@goshawk/core';
import { type Job, TaskState } from '../job/job.js';
import { AssignedBy, type Assignment } from '../job/task-table.js';
import type { SchedulerState } from '../state.js';
import { slowdownAt, slowed } from './slowdown.js';
import { inputsOf } from './stage-inputs.js';

/** Ends of tasks that take so long are worth foreseeing: shorter ones are too unsure, and of longer ones little is gained. */
const FORESEEN_MS = { min: 10, max: 1_000 };
/** And of jobs whose longest task took no more times the mean. */
const FORESEEN_SPREAD = 1.5;

/** Sends a task that was given to a worker, and sends it again where the first message may be lost. */
export class Delivery {
  readonly #s: SchedulerState;
  /** Tasks that were given by matches between `since` and `before` may be known to nobody else. */
  #resendWindow = { since: 0, before: 0, until: 0 };

  constructor(s: SchedulerState) {
    this.#s = s;
  }

  deliver(job: Job, task: TaskIndex, now: Millis): void {
    this.send(job, task);
    this.#s.sweepTimer.arm(now);
  }

  /** The answer to this question, or match, was lost: sends the same. @returns false when there was none */
  again(job: Job, worker: Address, assignment: Assignment): boolean {
    const task = job.tasks.assigned(worker, assignment);
    if (task < 0) return false;
    this.send(job, task);
    return true;
  }

  /**
   * A new central knows no match of the one before, so nobody would notice a worker that has not heard of its match.
   * Tasks matched shortly before are sent again for a lease's time.
   *
   * @param heardAt when the central before was heard last
   * @returns as `resendDoubtful` does
   */
  centralChanged(heardAt: Millis, leaseMs: Millis, now: Millis): boolean {
    this.#resendWindow = { since: heardAt - 2 * leaseMs, before: now, until: now + leaseMs };
    return this.resendDoubtful(now);
  }

  /** @returns whether it is to be called again in a while */
  resendDoubtful(now: Millis): boolean {
    const { since, before, until } = this.#resendWindow;
    let hasSent = false;
    if (now >= until) return hasSent;
    for (const job of this.#s.jobs.active()) {
      for (const task of job.tasks.in(TaskState.running)) {
        const startedAt = job.tasks.startedAt[task]!;
        if (job.tasks.assignedBy[task] !== AssignedBy.match) continue;
        if (startedAt < since || startedAt >= before) continue;
        this.send(job, task);
        hasSent = true;
      }
    }
    return hasSent;
  }

  /**
   * However often it comes, the worker runs the task once, or gives it back. What was cancelled is not sent again: its worker is
   * told that it was, until it says that it has ended.
   */
  send(job: Job, task: TaskIndex): void {
    const gang = job.gangStageOf(task);
    if (job.cancelling || gang?.gang?.broken !== undefined) return;
    const worker = job.tasks.workerOf(task);
    const attempt = job.tasks.attempts[task]!;
    const execution = job.tasks.executions[task]!;
    const by = job.tasks.assignedBy[task];
    const number = job.tasks.assignments[task]!;
    const { index, spec } = job.waiting.batchOf(task);
    const payload = slowed(job.dag.payloadOf(task), slowdownAt(job, worker, this.#s.cluster.members));
    const long = job.class === 'long';
    const timeoutMs = shorter(job.spec.timeoutMs, this.#s.quotas.runTimeOf(job.spec.user));
    const { number: jobNumber, id: jobId } = job;
    // Members of a gang may share a worker.
    const apartMs = gang === undefined ? job.history.blame?.apartMsOf(task, attempt) : undefined;
    // After a crash one attempt may have been given that is not written down, and no more: so that no number is given
    // twice, the end of the one before it must be on the disk.
    const out = attempt > 1 ? this.#s.ledger : this.#s.env;
    out.send(worker, {
      type: 'run',
      ask: by === AssignedBy.ask ? number : 0,
      match: by === AssignedBy.match ? number : 0,
      job: jobNumber,
      stage: index,
      task,
      attempt,
      payload,
      jobId,
      long,
      demand: spec.demand,
      timeoutMs,
      apartMs,
      expectedMs:
        by === AssignedBy.match && !this.#s.cluster.isCalm && gang === undefined
          ? expectedOf(job)
          : undefined,
      execution: execution === attempt ? undefined : execution,
      inputs: inputsOf(job, job.dag.stageOf(task), this.#s.env.recall),
      gang: gang === undefined ? undefined : { rank: task - gang.first, ranks: gang.count },
      user: job.spec.user,
    });
  }
}

function shorter(one: Millis | undefined, other: Millis | undefined): Millis | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/** How long a task of the job takes, where its end is to be foreseen. */
function expectedOf({ class: of, meanRunMs, history }: Job): Millis | undefined {
  if (of === 'long' || meanRunMs === undefined || history.longestMs > FORESEEN_SPREAD * meanRunMs)
    return undefined;
  return meanRunMs >= FORESEEN_MS.min && meanRunMs <= FORESEEN_MS.max ? meanRunMs : undefined;
}
