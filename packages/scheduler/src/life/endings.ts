import {
  type Address,
  COMPLETED,
  GANG_ENDED,
  type Millis,
  NOBODY,
  type Outcome,
  startFault,
  startFaultOf,
  type TaskIndex,
} from '@goshawk/core';
import type { Dispatch } from '../dispatch/dispatch.js';
import type { Routing } from '../dispatch/routing.js';
import type { Sampler } from '../dispatch/sampler.js';
import type { AttemptEnd } from '../job/attempt-history.js';
import type { Stage } from '../job/batch.js';
import { breakReason } from '../job/gang.js';
import type { Job } from '../job/job.js';
import { clearTimers, closesAt, setOpenTimer, setRetryTimer } from '../job/job-timers.js';
import {
  classifyEnd,
  exceededTimeLimit,
  isExcusedLoss,
  LOST_TOO_MANY_WORKERS,
  MISSED_DEADLINE,
} from '../job/outcomes.js';
import { TaskState } from '../job/task-state.js';
import type { SchedulerState } from '../state.js';
import type { Killing } from './killing.js';

const VALUE_DROPPED =
  'its return value was dropped: its scheduler is out of memory for results and has no journal (--data-folder)';

function withoutTexts(outcome: Outcome): Outcome {
  if (outcome.kind !== 'completed') return { ...outcome, value: undefined, errorMessage: '' };
  if (outcome.value === undefined) return { ...outcome, errorMessage: '' };
  return { ...COMPLETED, kind: 'failed', errorCode: 'no-room', errorMessage: VALUE_DROPPED };
}

/** Maximum number of identical tasks that fail together, to bound the duration of a step. */
const IDENTICAL_FAILURES_MAX = 10_000;

/** Why a gang stops. */
interface GangBreak {
  /** The member that stopped first; −1: none in particular. */
  readonly task: TaskIndex;
  readonly reason: string;
  /** Whether all members fail. Otherwise they start again. */
  readonly isFinal: boolean;
}

/**
 * Consequences of an attempt's end: its task completes or is retried, dependent stages start, and the job
 * ends.
 */
export class Endings {
  readonly #s: SchedulerState;
  readonly #routing: Routing;
  readonly #sampler: Sampler;
  readonly #killing: Killing;
  #isFailingIdentical = false;
  /** The job whose remaining tasks are being failed. None of its tasks may be assigned meanwhile. */
  #failingJob: Job | undefined;

  constructor(s: SchedulerState, { routing, sampler }: Dispatch, killing: Killing) {
    this.#s = s;
    this.#routing = routing;
    this.#sampler = sampler;
    this.#killing = killing;
  }

  /** Adjusts a reported outcome: decides who is to blame for a failed start, and drops texts if memory is scarce. */
  adjustOutcome(job: Job, task: TaskIndex, outcome: Outcome): Outcome {
    const gang = job.gangStageOf(task)?.gang;
    if (gang?.breakOutcome !== undefined) return gang.breakOutcome;
    // A gang completes as a whole: if it is cancelled, no member counts as completed, so that a retry runs all.
    if (gang !== undefined && job.cancelling && outcome.kind === 'completed')
      return {
        ...COMPLETED,
        kind: 'cancelled',
        errorCode: GANG_ENDED,
        errorMessage: 'its gang was cancelled',
      };
    // Fast path: most attempts complete, and looking up worker names misses the CPU cache.
    const fault = startFault(outcome);
    // A gang cannot try other workers for a single member.
    if (fault === 'unclear' && gang !== undefined) return { ...outcome, kind: 'failed' };
    const judged =
      fault === undefined
        ? outcome
        : job.history.attributeStartFault(
            task,
            outcome,
            this.#workerOf(job, task),
            this.#s.cluster.members.size,
          );
    // With a journal the texts are still needed, to be recorded.
    return this.#s.jobs.isMemoryScarce && !this.#s.ledger.hasJournal ? withoutTexts(judged) : judged;
  }

  /** Records the end of a current attempt before it is processed. Sets the journal position of `end`. */
  recordEnd(job: Job, end: AttemptEnd, now: Millis): void {
    const { task, outcome, runMs } = end;
    const endedAt = end.endedAt ?? job.endTimeOf(task, runMs, now);
    this.#s.events.attemptEnded(job, task, outcome, runMs, endedAt);
    this.#s.accounting.attemptEnded(job, task, outcome, runMs, endedAt);
    if (this.#s.ledger.hasJournal)
      end.position = this.#s.ledger.attemptEnded(job, end, this.#workerOf(job, task), endedAt);
  }

  /** Ends the current attempt of a task: the task completes, fails or is retried. */
  attemptEnded(job: Job, end: AttemptEnd, now: Millis): void {
    const { task, outcome, runMs } = end;
    const { tasks, history } = job;
    const cancelling = job.isCancelling(task);
    const how = classifyEnd(outcome, cancelling);
    const failedAt = history.blame?.failedWorkersOf(task);
    // Only failures need the worker's name, and looking it up misses the CPU cache.
    const worker = how === 'completed' ? '' : this.#workerOf(job, task);
    const endedAt = end.endedAt ?? job.endTimeOf(task, runMs, now);
    const program = how === 'lost' ? history.program : undefined;
    if (program !== undefined) history.shareCrashes(this.#s.crashes.getOrCreate(program));
    const state = job.attemptEnded(end, how, worker, endedAt);
    const startedAt = endedAt - runMs - (end.pausedMs ?? 0);
    if (runMs > 0 && how !== 'excused') job.times.ran(startedAt);
    const gang = how === 'completed' ? undefined : job.gangStageOf(task);
    if (gang !== undefined)
      this.#breakGang(
        job,
        gang,
        {
          task,
          reason: breakReason(task - gang.first, worker, outcome),
          isFinal: state !== TaskState.waiting,
        },
        now,
      );
    if (how === 'completed') {
      this.#s.unfit.completed(job, tasks.workerOf(task), failedAt);
      if (history.blame === undefined) this.#s.crashes.completed(() => history.program);
      this.#s.usage.taskCompleted(job.class === 'long', runMs);
    } else if (how === 'lost' || (how === 'excused' && isExcusedLoss(outcome))) this.#s.counters.lost++;
    if (how === 'excused' || how === 'failed') this.#s.unfit.failed(job, task);
    if (state === TaskState.waiting) {
      if (how === 'failed') this.#s.counters.retries++;
      if (runMs > 0) job.waitsAgain(task, now);
      this.#requeue(job, task, job.backoffMsOf(task, how), now);
    } else {
      tasks.setTimes(task, startedAt, runMs);
      this.#finishTask(job, task, state, now);
      const isNowhere = how === 'failed' && startFaultOf(outcome.errorCode) === 'unclear';
      if (isNowhere) this.#failIdentical(job, task, outcome, now);
    }
    if (gang !== undefined) this.#clearGangBreak(job, gang);
    if (how === 'lost' && history.hasLostTooManyWorkers && !cancelling)
      this.#failRest(job, LOST_TOO_MANY_WORKERS, now);
  }

  /** Handles an attempt that will not start. It does not count, and its task waits again. */
  attemptDeclined(job: Job, task: TaskIndex, now: Millis): void {
    const gang = job.gangStageOf(task);
    const reason =
      gang === undefined ? '' : breakReason(task - gang.first, this.#workerOf(job, task), undefined);
    if (job.tasks.stateOf(task) === TaskState.running) job.notStarted(task);
    if (job.isCancelling(task)) {
      if (gang !== undefined) this.#breakGang(job, gang, { task, reason, isFinal: true }, now);
      return this.#finishTask(job, task, TaskState.cancelled, now);
    }
    if (gang === undefined) return this.#requeueDeclined(job, task, now);
    const broken = gang.gang!.breakOutcome;
    if (broken?.kind === 'failed') this.#fail(job, task, broken, 0, now);
    else {
      this.#breakGang(job, gang, { task, reason, isFinal: false }, now);
      this.#requeueDeclined(job, task, now);
    }
    this.#clearGangBreak(job, gang);
  }

  #requeueDeclined(job: Job, task: TaskIndex, now: Millis): void {
    this.#s.ledger.declined(job, task, now);
    this.#requeue(job, task, 0, now);
  }

  /** The task was cancelled before it started. */
  taskCancelled(job: Job, task: TaskIndex, now: Millis): void {
    const gang = job.gangStageOf(task);
    if (gang !== undefined) {
      const reason = `rank ${task - gang.first} of its gang was cancelled`;
      this.#breakGang(job, gang, { task, reason, isFinal: true }, now);
    }
    if (!job.tasks.isFinal(task)) this.#finishTask(job, task, TaskState.cancelled, now);
    if (gang !== undefined) this.#clearGangBreak(job, gang);
  }

  /** Ends the other members of a gang after one failed or was lost. Then all members start again, or all have failed. */
  #breakGang(job: Job, stage: Stage, { task, reason, isFinal }: GangBreak, now: Millis): void {
    const gang = stage.gang!;
    if (job.cancelling || job === this.#failingJob || gang.breakOutcome !== undefined || gang.areAllCompleted)
      return;
    const completed = gang.takeCompleted(task);
    const outcome = gang.break(reason, isFinal);
    const others = job.runningMembers(stage).filter((other) => other !== task);
    for (const other of others) this.#killing.kill(job.tasks.workerOf(other), job.tasks.ref(other));
    for (const goOn of completed) goOn(now);
    if (!isFinal) return;
    for (let other = stage.first; other < stage.first + stage.count; other++) {
      const state = job.tasks.stateOf(other);
      if (other === task || state >= TaskState.running) continue;
      job.tasks.setWorker(other, NOBODY);
      this.#fail(job, other, outcome, 0, now);
    }
  }

  /**
   * After a restart of the owner, fails gangs of which a member has failed, and restarts gangs of which only some members
   * run.
   */
  breakPartialGangs(job: Job, now: Millis): void {
    if (!job.hasGangs || job.cancelling) return;
    for (const stage of job.stages) {
      if (stage.gang === undefined || stage.unfinished === 0) continue;
      const failed = job.failedMember(stage);
      if (failed >= 0) {
        const reason = `rank ${failed - stage.first} of its gang had ended when its scheduler restarted`;
        this.#breakGang(job, stage, { task: -1, reason, isFinal: true }, now);
        continue;
      }
      const out = job.runningMembers(stage);
      if (out.length === 0 || out.length === stage.unfinished) continue;
      const reason = 'its scheduler restarted while the gang was starting';
      this.#breakGang(job, stage, { task: -1, reason, isFinal: false }, now);
    }
  }

  /** Allows a gang to start again once no member of its failed attempt runs. */
  #clearGangBreak(job: Job, stage: Stage): void {
    if (stage.gang!.breakOutcome !== undefined && job.runningMembers(stage).length === 0)
      stage.gang!.clearBreak();
  }

  endIfDone(job: Job, now: Millis): void {
    const mayGrow = job.isOpen && !job.cancelling;
    if (!job.hasEnded && !mayGrow && job.unfinishedCount === 0) this.#endJob(job, now);
  }

  #endJob(job: Job, now: Millis): void {
    job.end(now);
    clearTimers(job, this.#s.env);
    this.#routing.jobEnded(job);
    this.#s.ledger.ended(job, this.#s.accounting.jobEnded(job), now);
    // Clients do not wait for the estimator.
    this.#s.ledger.whenDurable(() => this.#sampler.learn(job), now);
    const { completed, total } = job.counts;
    if (completed > 0 && completed === total) {
      // Memory holds only a sample of the run times of settled tasks.
      const workMs = job.tasks.archivedCount > 0 ? job.history.completedRunMs : undefined;
      this.#s.usage.jobCompleted(job.tasks.completedRunMs(), now, workMs);
    }
    this.#s.jobs.ended(job, now);
    this.#s.events.ended(job, now);
    this.#s.notifications.ended(job, now);
  }

  /** Fails identical tasks at once after one could not start because something is missing on all workers. */
  #failIdentical(job: Job, failed: TaskIndex, outcome: Outcome, now: Millis): void {
    if (this.#isFailingIdentical || job.tasks.countOf(TaskState.completed) > 0) return;
    const payload = job.dag.payloadOf(failed);
    const { first, count } = job.dag.stageOf(failed);
    this.#isFailingIdentical = true;
    let left = IDENTICAL_FAILURES_MAX;
    for (let task = first; task < first + count && left > 0 && !job.hasEnded; task++) {
      if (job.tasks.stateOf(task) !== TaskState.waiting || job.dag.payloadOf(task) !== payload) continue;
      left--;
      job.tasks.nextAttempt(task);
      job.history.countAttempt(task);
      job.tasks.setWorker(task, job.tasks.workerOf(failed));
      this.#fail(job, task, outcome, 0, now);
    }
    this.#isFailingIdentical = false;
  }

  /** Fails the task without a report of its worker. */
  #fail(job: Job, task: TaskIndex, outcome: Outcome, runMs: Millis, now: Millis): void {
    const end: AttemptEnd = { task, outcome, runMs, position: undefined };
    this.recordEnd(job, end, now);
    this.attemptEnded(job, end, now);
  }

  /** Reports that the job has missed its deadline. */
  deadlinePassed(job: Job, now: Millis): void {
    if (!job.hasEnded && !job.cancelling) {
      const { name, user } = job.spec;
      const whose = user === undefined ? '' : ` of ${user}`;
      this.#s.notices.add(
        'deadline-missed',
        `job ${job.id} (${name})${whose} missed its deadline`,
        job.deadlineAt,
      );
    }
    this.abandonIfLate(job, now);
  }

  /** Fails a job that missed its deadline before its start, if the policy abandons such jobs. */
  abandonIfLate(job: Job, now: Millis): void {
    // Before a restarted scheduler is welcomed, its policy is unknown; the welcome sets the timer of the deadline.
    if (now < job.deadlineAt || this.#s.cluster.policy?.preset.abandons !== true) return;
    if (job.hasEnded || job.cancelling || !job.isUntouched || this.#routing.mustWait(job)) return;
    this.#failRest(job, MISSED_DEADLINE, now);
  }

  /** Fails a job that has exceeded its time limit. */
  endIfOutOfTime(job: Job, now: Millis): void {
    if (now < job.timeLimitAt || job.hasEnded || job.cancelling) return;
    this.#failRest(job, exceededTimeLimit(job.spec.timeLimitMs!), now);
  }

  /** Fails the unfinished tasks of the job. Dependent stages are cancelled. */
  #failRest(job: Job, outcome: Outcome, now: Millis): void {
    this.#failingJob = job;
    this.close(job, now);
    this.#routing.withdraw(job);
    for (let task = 0; task < job.taskCount && !job.hasEnded; task++) {
      const state = job.tasks.stateOf(task);
      const isUnwritten = task >= job.stages[0]!.durableCount && job.stages.length === 1;
      const isRun = state !== TaskState.blocked || job.inBackoff.has(task) || isUnwritten;
      if (job.tasks.isFinal(task) || !isRun) continue;
      const isOut = state === TaskState.running || state === TaskState.placed;
      const runMs = state === TaskState.running ? job.elapsedMs(task, now) : 0;
      if (isOut) this.#killing.abandon(job, task, runMs, now);
      else job.tasks.setWorker(task, NOBODY);
      this.#fail(job, task, outcome, runMs, now);
    }
    this.#failingJob = undefined;
    this.endIfDone(job, now);
  }

  /** Closes the job: no more tasks are appended. */
  close(job: Job, now: Millis): void {
    if (!job.isOpen) return;
    const { taskCount: first, client } = job;
    this.#s.ledger.appended(job, { first, tasks: [], digest: client.digest, close: true }, 0, now);
    job.client.isOpen = false;
    this.#s.env.clearTimer('open', job.number);
  }

  /** Closes an open job that no client uses. It then ends after its present tasks. */
  closeIfInactive(job: Job, now: Millis): void {
    if (job.hasEnded || !job.isOpen || job.cancelling) return;
    if (now < closesAt(job)) return setOpenTimer(job, this.#s.env);
    this.close(job, now);
    this.endIfDone(job, now);
  }

  /** Retries tasks whose back-off has ended. */
  retryAfterBackoff(job: Job, now: Millis): void {
    if (job.hasEnded || job.cancelling) return;
    for (const task of job.inBackoff.takeExpired(now)) this.#requeue(job, task, 0, now);
    setRetryTimer(job, this.#s.env);
  }

  /** Makes the task wait again, after a back-off if it is not 0. */
  #requeue(job: Job, task: TaskIndex, restMs: Millis, now: Millis): void {
    if (restMs > 0) {
      job.backOff(task, now + restMs);
      setRetryTimer(job, this.#s.env);
    } else job.requeue(task);
    if (job.estimate.isUndecided) this.#sampler.evaluatePilots(job, now);
    this.abandonIfLate(job, now);
    if (job.hasEnded) return;
    if (restMs === 0) this.#routing.findWorkers(job, job.waiting.batchOf(task), now);
    else if (job.isConcurrencyLimited) this.#routing.findWorkersForAll(job, now);
    this.#s.events.changed(job, now);
  }

  /** Sets the final state of a task, and continues with dependent stages and the end of the job. */
  #finishTask(job: Job, task: TaskIndex, state: TaskState, now: Millis): void {
    const stage = job.dag.stageOf(task);
    job.setState(task, state);
    if (state !== TaskState.cancelled)
      this.#s.events.taskEnded(job, state === TaskState.completed ? 'completed' : 'failed');
    if (job.estimate.sample?.isPending(task)) this.#sampler.evaluatePilots(job, now);
    if (stage.unfinished === 0) {
      this.#routing.prober.batchAssigned(job, stage);
      for (const next of job.stageEnded(stage)) this.#startStage(job, next, now);
    }
    if (job.isConcurrencyLimited && job !== this.#failingJob) this.#routing.findWorkersForAll(job, now);
    this.endIfDone(job, now);
    this.abandonIfLate(job, now);
    this.#s.events.changed(job, now, true);
  }

  /**
   * Starts a stage. In a shared journal, the ends of the earlier stages must be durable first. Otherwise a scheduler that
   * takes the job over would not adopt the running tasks.
   */
  #startStage(job: Job, stage: Stage, now: Millis): void {
    if (!this.#s.ledger.isShared) return this.#routing.startStage(job, stage, now);
    this.#s.ledger.whenDurable((then) => {
      if (!job.hasEnded && !job.cancelling) this.#routing.startStage(job, stage, then);
    }, now);
  }

  #workerOf(job: Job, task: TaskIndex): string {
    const worker: Address = job.tasks.workerOf(task);
    if (worker === NOBODY) return '';
    return this.#s.cluster.nameOf(worker);
  }
}
