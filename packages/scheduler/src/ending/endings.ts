import {
  type Address,
  COMPLETED,
  isExcused,
  type Millis,
  NO_RESOURCES,
  NOBODY,
  type Outcome,
  type PolicySettings,
  startFault,
  startFaultOf,
} from '@goshawk/core';
import type { SchedulerCounters, SchedulerEnvironment } from '../contract.js';
import type { Needer } from '../finding/needing.js';
import type { Prober } from '../finding/probing.js';
import type { Routing } from '../finding/routing.js';
import type { Stage } from '../job/batch.js';
import { ABANDONED, GIVEN_UP, type Job, TaskState } from '../job/job.js';
import type { Enlistment } from '../joining/enlistment.js';
import type { Members } from '../joining/members.js';
import type { Usage } from '../joining/usage.js';
import type { JobStore } from '../keeping/job-store.js';
import type { Ledger } from '../keeping/ledger.js';
import type { Tallies } from '../observing/tallies.js';
import type { Sampler } from '../sampling/sampler.js';
import { Misfits } from './misfits.js';

const NO_ROOM =
  'what it returned is not kept: the memory of its scheduler is full, which has no journal (--data-folder)';

function withoutWords(outcome: Outcome): Outcome {
  if (outcome.value === undefined) return { ...outcome, errorMessage: '' };
  return { ...COMPLETED, kind: 'failed', errorCode: 'no-room', errorMessage: NO_ROOM };
}

/** Tasks that fail at a time since one like them could not be started: so that no turn is long. */
const ALIKE_MAX = 10_000;

/** What endings have to know of the scheduler around them. */
interface Surroundings {
  readonly env: SchedulerEnvironment;
  readonly jobs: JobStore;
  readonly members: Members;
  readonly enlistment: Enlistment;
  readonly needer: Needer;
  readonly prober: Prober;
  readonly routing: Routing;
  readonly sampler: Sampler;
  readonly ledger: Ledger;
  readonly usage: Usage;
  readonly counters: SchedulerCounters;
  readonly tallies: Tallies;
  policy(): PolicySettings;
  isDraining(): boolean;
  /** Nothing of the job is to be given out yet: what of it runs has yet to be said. */
  isHeld(job: Job): boolean;
  /** The task's attempt counts no more, and may run: its worker is to end it. */
  abandoned(job: Job, task: number): void;
  /** Clients that watch the job may be told. */
  changed(job: Job, now: Millis): void;
  ended(job: Job, now: Millis): void;
}

/**
 * What follows from the end of an attempt: its task is done, or is tried again; the stages that waited for it start;
 * the job ends.
 */
export class Endings {
  readonly #around: Surroundings;
  readonly #misfits = new Misfits();
  #isFailingAlike = false;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  startStage(job: Job, stage: Stage, now: Millis): void {
    stage.releasedAt = now;
    job.release(stage);
    this.#around.routing.come(job, stage, stage.count, now);
  }

  /** What a worker says of the end of an attempt, seen by what other workers have said of the job, and by the room there is. */
  judged(job: Job, task: number, outcome: Outcome): Outcome {
    // Of nearly all attempts there is nothing to judge, and names of workers lie far apart.
    const isClear = startFault(outcome) === undefined;
    const judged = isClear
      ? outcome
      : job.judgeStart(task, outcome, this.#workerOf(job, task), this.#around.members.size);
    // Where there is a journal nothing more is kept in memory.
    return this.#around.jobs.isShort && !this.#around.ledger.isKept ? withoutWords(judged) : judged;
  }

  /** An attempt that counts has ended: before anybody is told. @returns where it is written down */
  writeDown(job: Job, task: number, outcome: Outcome, runMs: Millis, now: Millis): number | undefined {
    const { env, ledger } = this.#around;
    env.attemptEnded?.(job, task, outcome, runMs, now);
    if (!ledger.isKept) return undefined;
    return ledger.attemptEnded(job, task, outcome, this.#workerOf(job, task), runMs, now);
  }

  /** An attempt that counts has ended. */
  ended(job: Job, task: number, outcome: Outcome, runMs: Millis, now: Millis, place?: number): void {
    if (outcome.kind === 'completed') this.#completed(job, task, outcome, runMs, now, place);
    else if (isExcused(outcome)) this.#excused(job, task, outcome, runMs, now);
    else if (outcome.kind === 'lost') this.#lost(job, task, runMs, now);
    else if (outcome.kind === 'cancelled' && job.cancelling) {
      job.runMs[task] = runMs;
      this.#end(job, task, TaskState.cancelled, now);
    } else this.#failed(job, task, outcome, runMs, now, place);
  }

  /** The attempt has not started, and will not: it was none. */
  declined(job: Job, task: number, now: Millis): void {
    if (job.stateOf(task) === TaskState.running) job.attemptsTotal--;
    if (job.cancelling) return this.#end(job, task, TaskState.cancelled, now);
    this.#around.ledger.declined(job, task, now);
    this.#tryAgain(job, task, now);
  }

  endIfDone(job: Job, now: Millis): void {
    if (job.hasEnded || job.unfinished > 0) return;
    const { env, jobs, prober, sampler, ledger, counters, tallies, needer, enlistment } = this.#around;
    job.endedAt = now;
    if (job.spec.deadlineMs !== undefined) env.clearTimer('deadline', job.number);
    counters.jobsEnded++;
    tallies.jobEnded(job, now);
    for (const batch of job.batches)
      if (batch.probes.out > 0) prober.batchIsBound(job, batch, this.#around.policy());
    needer.over(job, enlistment.central);
    if (job.isUndecided) env.clearTimer('weigh', job.number);
    ledger.ended(job, now);
    // Whoever waits for the job does not wait for what is learnt of it.
    ledger.whenDurable(() => sampler.learn(job), now);
    jobs.ended(job, now);
    env.jobEnded(job);
    this.#around.ended(job, now);
    if (this.#around.isDraining() && jobs.activeCount === 0) env.drained();
  }

  #completed(
    job: Job,
    task: number,
    { value }: Outcome,
    runMs: Millis,
    now: Millis,
    place: number | undefined,
  ): void {
    this.#around.counters.tasksCompleted++;
    job.startedAt[task] = now - runMs;
    job.runMs[task] = runMs;
    job.workedMs += runMs;
    job.reports.setValue(task, value, place);
    this.#tellMisfits(job, job.workerOf(task), job.attemptCompleted(task));
    this.#around.usage.worked(job.class === 'long', runMs);
    this.#end(job, task, TaskState.completed, now);
  }

  #failed(
    job: Job,
    task: number,
    outcome: Outcome,
    runMs: Millis,
    now: Millis,
    place: number | undefined,
  ): void {
    const { counters } = this.#around;
    const mayTryAgain = job.attemptFailed(task, outcome, this.#workerOf(job, task), runMs, now, place);
    this.#tellUnfit(job, task);
    if (mayTryAgain) {
      counters.retries++;
      return this.#tryAgain(job, task, now);
    }
    counters.tasksFailed++;
    job.startedAt[task] = now - runMs;
    job.runMs[task] = runMs;
    this.#end(job, task, TaskState.failed, now);
    if (startFaultOf(outcome.errorCode) === 'unclear') this.#failAlike(job, task, outcome, now);
  }

  /** What the job wants is not there: the same of tasks that say the very same need not be tried, one slot after another. */
  #failAlike(job: Job, failed: number, outcome: Outcome, now: Millis): void {
    if (this.#isFailingAlike || job.countOf(TaskState.completed) > 0) return;
    const payload = job.payloadOf(failed);
    const { first, count } = job.stageOf(failed);
    this.#isFailingAlike = true;
    let left = ALIKE_MAX;
    for (let task = first; task < first + count && left > 0 && !job.hasEnded; task++) {
      if (job.stateOf(task) !== TaskState.waiting || job.payloadOf(task) !== payload) continue;
      left--;
      job.nextAttempt(task);
      job.attemptsTotal++;
      job.workers[task] = job.workers[failed]!;
      this.#failed(job, task, outcome, 0, now, this.writeDown(job, task, outcome, 0, now));
    }
    this.#isFailingAlike = false;
  }

  #excused(job: Job, task: number, outcome: Outcome, runMs: Millis, now: Millis): void {
    this.#around.counters.lost++;
    job.attemptExcused(task, outcome, this.#workerOf(job, task), runMs, now);
    this.#tellUnfit(job, task);
    if (job.cancelling) this.#end(job, task, TaskState.cancelled, now);
    else this.#tryAgain(job, task, now);
  }

  #lost(job: Job, task: number, runMs: Millis, now: Millis): void {
    const { counters } = this.#around;
    counters.lost++;
    if (job.attemptLost(task, this.#workerOf(job, task), runMs, now)) this.#tryAgain(job, task, now);
    else {
      if (!job.cancelling) counters.tasksFailed++;
      this.#end(job, task, job.cancelling ? TaskState.cancelled : TaskState.failed, now);
    }
    if (job.isGivenUp && !job.cancelling) this.#giveUp(job, GIVEN_UP, now);
  }

  /** A job that has not started by its deadline fails, where the policy would not start it later. */
  abandonIfLate(job: Job, now: Millis): void {
    if (now < job.deadlineAt || !this.#around.policy().preset.abandons) return;
    if (job.hasEnded || job.cancelling || !job.isWhole || this.#around.isHeld(job)) return;
    this.#giveUp(job, ABANDONED, now);
  }

  /** What is left of the job fails; the stages after that end with it. */
  #giveUp(job: Job, outcome: Outcome, now: Millis): void {
    for (let task = 0; task < job.taskCount && !job.hasEnded; task++) {
      const state = job.stateOf(task);
      if (job.isFinal(task) || state === TaskState.blocked) continue;
      const isOut = state === TaskState.running || state === TaskState.placed;
      if (isOut) this.#around.abandoned(job, task);
      else job.workers[task] = NOBODY;
      const place = this.writeDown(job, task, outcome, 0, now);
      this.#failed(job, task, outcome, 0, now, place);
    }
  }

  /** The worker of the attempt fails what others complete: it is to set itself aside. */
  #tellUnfit(job: Job, task: number): void {
    const worker = job.workerOf(task);
    const reason = worker <= NOBODY ? undefined : job.unfitness(worker);
    if (reason !== undefined) this.#sayUnfit(worker, reason);
  }

  /** The task completed there, and came to nothing elsewhere: so may those of other jobs. */
  #tellMisfits(job: Job, worker: Address, failedAt: readonly Address[] = []): void {
    const reason = `tasks fail here and complete elsewhere, one of ${job.id} among them`;
    for (const misfit of this.#misfits.completed(worker, failedAt))
      if (misfit > NOBODY) this.#sayUnfit(misfit, reason);
  }

  /** Not to the last worker that takes work: everybody's jobs would wait for it. */
  #sayUnfit(worker: Address, reason: string): void {
    const { env, members } = this.#around;
    if (members.hasBesides([worker], 'all', NO_RESOURCES)) env.send(worker, { type: 'unfit', reason });
  }

  #tryAgain(job: Job, task: number, now: Millis): void {
    const { routing, sampler } = this.#around;
    job.putBack(task);
    if (job.isUndecided) sampler.look(job, now);
    this.abandonIfLate(job, now);
    if (job.hasEnded) return;
    routing.find(job, job.batchOf(task), now);
    this.#around.changed(job, now);
  }

  /** A task has come to its end: what waited for that may go on. */
  #end(job: Job, task: number, state: TaskState, now: Millis): void {
    const { prober, routing, sampler, tallies } = this.#around;
    const stage = job.stageOf(task);
    job.set(task, state);
    if (state !== TaskState.cancelled)
      tallies.taskEnded(job, state === TaskState.completed ? 'completed' : 'failed');
    if (job.sample?.heeds(task)) sampler.look(job, now);
    if (stage.unfinished === 0) {
      if (stage.probes.out > 0) prober.batchIsBound(job, stage, this.#around.policy());
      for (const next of job.stageEnded(stage)) this.#startNext(job, next, now);
    }
    if (job.isLimited) routing.findAll(job, now);
    this.endIfDone(job, now);
    this.abandonIfLate(job, now);
    this.#around.changed(job, now);
  }

  /** Whoever takes the jobs over has to know from the journal that a stage may run, or would not take what runs of it. */
  #startNext(job: Job, stage: Stage, now: Millis): void {
    const { ledger } = this.#around;
    if (!ledger.isShared) return this.startStage(job, stage, now);
    ledger.whenDurable((then) => {
      if (!job.hasEnded && !job.cancelling) this.startStage(job, stage, then);
    }, now);
  }

  #workerOf(job: Job, task: number): string {
    const worker: Address = job.workerOf(task);
    if (worker === NOBODY) return '';
    return this.#around.members.nameOf(worker) ?? this.#around.env.nameOf(worker);
  }
}
