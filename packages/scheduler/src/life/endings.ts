import {
  type Address,
  COMPLETED,
  couldRun,
  GANG_ENDED,
  type Millis,
  NOBODY,
  type Outcome,
  startFault,
  startFaultOf,
  type TaskIndex,
} from '@goshawk/core';
import { endProbing } from '../dispatch/probing.js';
import {
  endSearch,
  findWorkers,
  findWorkersForAll,
  mustWait,
  startStage,
  withdrawSearch,
} from '../dispatch/routing.js';
import { evaluatePilots, learnFrom } from '../dispatch/sampling.js';
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
import type { SchedulerState } from '../state/state.js';
import { abandonAttempt, killAttempt } from './killing.js';

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

// Consequences of an attempt's end: its task completes or is retried, dependent stages start, and the job
// ends.

/** Adjusts a reported outcome: decides who is to blame for a failed start, and drops texts if memory is scarce. */
export function adjustOutcome(s: SchedulerState, job: Job, task: TaskIndex, outcome: Outcome): Outcome {
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
      : job.history.attributeStartFault(task, outcome, workerNameOf(s, job, task), s.cluster.members.size);
  // With a journal the texts are still needed, to be recorded.
  return s.jobs.isMemoryScarce && !s.ledger.hasJournal ? withoutTexts(judged) : judged;
}

/** Records the end of a current attempt before it is processed. Sets the journal position of `end`. */
export function recordEnd(s: SchedulerState, job: Job, end: AttemptEnd, now: Millis): void {
  const { task, outcome, runMs } = end;
  const endedAt = end.endedAt ?? now;
  s.events.attemptEnded(job, task, outcome, runMs, endedAt);
  s.accounting.attemptEnded(job, task, outcome, runMs, endedAt);
  if (s.ledger.hasJournal)
    end.position = s.ledger.attemptEnded(job, end, workerNameOf(s, job, task), endedAt);
}

/** Ends the current attempt of a task: the task completes, fails or is retried. */
export function attemptEnded(s: SchedulerState, job: Job, end: AttemptEnd, now: Millis): void {
  const { task, outcome, runMs } = end;
  const { tasks, history } = job;
  const cancelling = job.isCancelling(task);
  const how = classifyEnd(outcome, cancelling);
  const failedAt = history.blame?.failedWorkersOf(task);
  // Only failures need the worker's name, and looking it up misses the CPU cache.
  const worker = how === 'completed' ? '' : workerNameOf(s, job, task);
  const endedAt = end.endedAt ?? now;
  const program = how === 'lost' ? history.program : undefined;
  if (program !== undefined) history.shareCrashes(s.crashes.getOrCreate(program));
  const wasOnly = how === 'lost' && isOnly(s, job, task, worker);
  const state = job.attemptEnded(wasOnly ? { ...end, isOnlyWorker: true } : end, how, worker, endedAt);
  const startedAt = endedAt - runMs - (end.pausedMs ?? 0);
  if (runMs > 0 && how !== 'excused') job.times.ran(startedAt);
  const gang = how === 'completed' ? undefined : job.gangStageOf(task);
  if (gang !== undefined)
    breakGang(
      s,
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
    s.unfit.completed(job, tasks.workerOf(task), failedAt);
    if (history.blame === undefined) s.crashes.completed(() => history.program);
    s.usage.taskCompleted(job.class === 'long', runMs);
  } else if (how === 'lost' || (how === 'excused' && isExcusedLoss(outcome))) s.counters.lost++;
  if (how === 'excused' || how === 'failed') s.unfit.failed(job, task);
  if (state === TaskState.waiting) {
    if (how === 'failed') s.counters.retries++;
    if (runMs > 0) job.waitsAgain(task, now);
    requeueTask(s, job, task, job.backoffMsOf(task, how), now);
  } else {
    tasks.setTimes(task, startedAt, runMs);
    finishTask(s, job, task, state, now);
    const isNowhere = how === 'failed' && startFaultOf(outcome.errorCode) === 'unclear';
    if (isNowhere) failIdentical(s, job, task, outcome, now);
  }
  if (gang !== undefined) clearGangBreak(job, gang);
  if (how === 'lost' && history.hasLostTooManyWorkers && !cancelling)
    failRest(s, job, LOST_TOO_MANY_WORKERS, now);
}

/** Handles an attempt that will not start. It does not count, and its task waits again. */
export function attemptDeclined(s: SchedulerState, job: Job, task: TaskIndex, now: Millis): void {
  const gang = job.gangStageOf(task);
  const reason =
    gang === undefined ? '' : breakReason(task - gang.first, workerNameOf(s, job, task), undefined);
  if (job.tasks.stateOf(task) === TaskState.running) job.notStarted(task);
  if (job.isCancelling(task)) {
    if (gang !== undefined) breakGang(s, job, gang, { task, reason, isFinal: true }, now);
    return finishTask(s, job, task, TaskState.cancelled, now);
  }
  if (gang === undefined) return requeueDeclined(s, job, task, now);
  const broken = gang.gang!.breakOutcome;
  if (broken?.kind === 'failed') failTask(s, job, task, broken, 0, now);
  else {
    breakGang(s, job, gang, { task, reason, isFinal: false }, now);
    requeueDeclined(s, job, task, now);
  }
  clearGangBreak(job, gang);
}

function requeueDeclined(s: SchedulerState, job: Job, task: TaskIndex, now: Millis): void {
  s.ledger.declined(job, task, now);
  requeueTask(s, job, task, 0, now);
}

/** The task was cancelled before it started. */
export function taskCancelled(s: SchedulerState, job: Job, task: TaskIndex, now: Millis): void {
  const gang = job.gangStageOf(task);
  if (gang !== undefined) {
    const reason = `rank ${task - gang.first} of its gang was cancelled`;
    breakGang(s, job, gang, { task, reason, isFinal: true }, now);
  }
  if (!job.tasks.isFinal(task)) finishTask(s, job, task, TaskState.cancelled, now);
  if (gang !== undefined) clearGangBreak(job, gang);
}

/** Ends the other members of a gang after one failed or was lost. Then all members start again, or all have failed. */
function breakGang(
  s: SchedulerState,
  job: Job,
  stage: Stage,
  { task, reason, isFinal }: GangBreak,
  now: Millis,
): void {
  const gang = stage.gang!;
  // Members that start again fail if one of them had failed: a restarted owner may learn of their ends first.
  const isBroken = gang.breakOutcome !== undefined && !(isFinal && gang.breakOutcome.kind === 'lost');
  if (job.cancelling || job === s.failing.job || isBroken || gang.areAllCompleted) return;
  const completed = gang.takeCompleted(task);
  const outcome = gang.break(reason, isFinal);
  const others = job.runningMembers(stage).filter((other) => other !== task);
  for (const other of others) killAttempt(s, job.tasks.workerOf(other), job.tasks.ref(other));
  for (const goOn of completed) goOn(now);
  if (!isFinal) return;
  for (let other = stage.first; other < stage.first + stage.count; other++) {
    const state = job.tasks.stateOf(other);
    if (other === task || state >= TaskState.running) continue;
    job.tasks.setWorker(other, NOBODY);
    failTask(s, job, other, outcome, 0, now);
  }
}

/**
 * After a restart of the owner, fails gangs of which a member has failed, and restarts gangs of which only some members
 * run.
 */
export function breakPartialGangs(s: SchedulerState, job: Job, now: Millis): void {
  if (!job.hasGangs || job.cancelling) return;
  for (const stage of job.stages) {
    if (stage.gang === undefined || stage.unfinished === 0) continue;
    const failed = job.failedMember(stage);
    if (failed >= 0) {
      const reason = `rank ${failed - stage.first} of its gang had ended when its scheduler restarted`;
      breakGang(s, job, stage, { task: -1, reason, isFinal: true }, now);
      continue;
    }
    const out = job.runningMembers(stage);
    if (out.length === 0 || out.length === stage.unfinished) continue;
    const reason = 'its scheduler restarted while the gang was starting';
    breakGang(s, job, stage, { task: -1, reason, isFinal: false }, now);
  }
}

/** Allows a gang to start again once no member of its failed attempt runs. */
function clearGangBreak(job: Job, stage: Stage): void {
  if (stage.gang!.breakOutcome !== undefined && job.runningMembers(stage).length === 0)
    stage.gang!.clearBreak();
}

export function endIfDone(s: SchedulerState, job: Job, now: Millis): void {
  const mayGrow = job.isOpen && !job.cancelling;
  if (!job.hasEnded && !mayGrow && job.unfinishedCount === 0) endJob(s, job, now);
}

function endJob(s: SchedulerState, job: Job, now: Millis): void {
  job.end(now);
  clearTimers(job, s.env);
  endSearch(s, job);
  s.ledger.ended(job, s.accounting.jobEnded(job), now);
  // Clients do not wait for the estimator.
  s.ledger.whenDurable(() => learnFrom(s, job), now);
  const { completed, total } = job.counts;
  if (completed > 0 && completed === total) {
    // Memory holds only a sample of the run times of settled tasks.
    const workMs = job.tasks.archivedCount > 0 ? job.history.completedRunMs : undefined;
    s.usage.jobCompleted(job.tasks.completedRunMs(), now, workMs);
  }
  s.jobs.ended(job, now);
  s.events.ended(job, now);
  s.notifications.ended(job, now);
}

/** Fails identical tasks at once after one could not start because something is missing on all workers. */
function failIdentical(s: SchedulerState, job: Job, failed: TaskIndex, outcome: Outcome, now: Millis): void {
  if (s.failing.isIdentical || job.tasks.countOf(TaskState.completed) > 0) return;
  const payload = job.dag.payloadOf(failed);
  const { first, count } = job.dag.stageOf(failed);
  s.failing.isIdentical = true;
  let left = IDENTICAL_FAILURES_MAX;
  for (let task = first; task < first + count && left > 0 && !job.hasEnded; task++) {
    if (job.tasks.stateOf(task) !== TaskState.waiting || job.dag.payloadOf(task) !== payload) continue;
    left--;
    job.tasks.nextAttempt(task);
    job.history.countAttempt(task);
    job.tasks.setWorker(task, job.tasks.workerOf(failed));
    failTask(s, job, task, outcome, 0, now);
  }
  s.failing.isIdentical = false;
}

/** Fails the task without a report of its worker. */
function failTask(
  s: SchedulerState,
  job: Job,
  task: TaskIndex,
  outcome: Outcome,
  runMs: Millis,
  now: Millis,
): void {
  const end: AttemptEnd = { task, outcome, runMs, position: undefined };
  recordEnd(s, job, end, now);
  attemptEnded(s, job, end, now);
}

/** Reports that the job has missed its deadline. */
export function deadlinePassed(s: SchedulerState, job: Job, now: Millis): void {
  // The timer is set again once workers have answered.
  if (job.isRecovering) return;
  // The report of an end before the deadline may be unread.
  if (!job.isUntouched && s.cluster.unreadSince(now) < now)
    return s.env.setTimer('deadline', job.number, now + s.cluster.timings.heartbeatMs);
  if (!job.hasEnded && !job.cancelling) {
    const { name, user } = job.spec;
    const whose = user === undefined ? '' : ` of ${user}`;
    const text = `job ${job.id} (${name})${whose} missed its deadline`;
    s.notices.addOfUser(user, 'deadline-missed', text, job.deadlineAt, now);
  }
  abandonIfLate(s, job, now);
}

/** Fails a job that missed its deadline before its start, if the policy abandons such jobs. */
export function abandonIfLate(s: SchedulerState, job: Job, now: Millis): void {
  // Before a restarted scheduler is welcomed, its policy is unknown; the welcome sets the timer of the deadline.
  if (now < job.deadlineAt || s.cluster.policy?.preset.abandons !== true) return;
  if (job.hasEnded || job.cancelling || !job.isUntouched || mustWait(s, job)) return;
  failRest(s, job, MISSED_DEADLINE, now);
}

/** Fails a job that has exceeded its time limit. */
export function endIfOutOfTime(s: SchedulerState, job: Job, now: Millis): void {
  if (now < job.timeLimitAt || job.hasEnded || job.cancelling) return;
  failRest(s, job, exceededTimeLimit(job.spec.timeLimitMs!), now);
}

/** Fails the unfinished tasks of the job. Dependent stages are cancelled. */
function failRest(s: SchedulerState, job: Job, outcome: Outcome, now: Millis): void {
  s.failing.job = job;
  closeJob(s, job, now);
  withdrawSearch(s, job);
  for (let task = 0; task < job.taskCount && !job.hasEnded; task++) {
    const state = job.tasks.stateOf(task);
    const isUnwritten = task >= job.stages[0]!.durableCount && job.stages.length === 1;
    const isRun = state !== TaskState.blocked || job.inBackoff.has(task) || isUnwritten;
    if (job.tasks.isFinal(task) || !isRun) continue;
    const isOut = state === TaskState.running || state === TaskState.placed;
    const runMs = state === TaskState.running ? job.elapsedMs(task, now) : 0;
    if (isOut) abandonAttempt(s, job, task, runMs, now);
    else job.tasks.setWorker(task, NOBODY);
    failTask(s, job, task, outcome, runMs, now);
  }
  s.failing.job = undefined;
  endIfDone(s, job, now);
}

/** Closes the job: no more tasks are appended. */
function closeJob(s: SchedulerState, job: Job, now: Millis): void {
  if (!job.isOpen) return;
  const { taskCount: first, client } = job;
  s.ledger.appended(job, { first, tasks: [], digest: client.digest, close: true }, 0, now);
  job.client.isOpen = false;
  job.times.progressed(now);
  s.env.clearTimer('open', job.number);
}

/** Closes an open job that no client uses. It then ends after its present tasks. */
export function closeIfInactive(s: SchedulerState, job: Job, now: Millis): void {
  if (job.hasEnded || !job.isOpen || job.cancelling) return;
  if (now < closesAt(job)) return setOpenTimer(job, s.env);
  closeJob(s, job, now);
  endIfDone(s, job, now);
}

/** Retries tasks whose back-off has ended. */
export function retryAfterBackoff(s: SchedulerState, job: Job, now: Millis): void {
  if (job.hasEnded || job.cancelling) return;
  for (const task of job.inBackoff.takeExpired(now)) requeueTask(s, job, task, 0, now);
  setRetryTimer(job, s.env);
}

/** Makes the task wait again, after a back-off if it is not 0. */
function requeueTask(s: SchedulerState, job: Job, task: TaskIndex, restMs: Millis, now: Millis): void {
  if (restMs > 0) {
    job.backOff(task, now + restMs);
    setRetryTimer(job, s.env);
  } else job.requeue(task);
  if (job.estimate.isUndecided) evaluatePilots(s, job, now);
  abandonIfLate(s, job, now);
  if (job.hasEnded) return;
  if (restMs === 0) findWorkers(s, job, job.waiting.batchOf(task), now);
  else if (job.isConcurrencyLimited) findWorkersForAll(s, job, now);
  s.events.changed(job, now);
}

/** Sets the final state of a task, and continues with dependent stages and the end of the job. */
function finishTask(s: SchedulerState, job: Job, task: TaskIndex, state: TaskState, now: Millis): void {
  const stage = job.dag.stageOf(task);
  job.setState(task, state);
  if (state !== TaskState.cancelled)
    s.events.taskEnded(job, state === TaskState.completed ? 'completed' : 'failed');
  if (job.estimate.sample?.isPending(task)) evaluatePilots(s, job, now);
  if (stage.unfinished === 0) {
    endProbing(s, job, stage);
    for (const next of job.stageEnded(stage)) startNextStage(s, job, next, now);
  }
  if (job.isConcurrencyLimited && job !== s.failing.job) findWorkersForAll(s, job, now);
  endIfDone(s, job, now);
  abandonIfLate(s, job, now);
  s.events.changed(job, now, true);
}

/**
 * Starts a stage. In a shared journal, the ends of the earlier stages must be durable first. Otherwise a scheduler that
 * takes the job over would not adopt the running tasks.
 */
function startNextStage(s: SchedulerState, job: Job, stage: Stage, now: Millis): void {
  if (!s.ledger.isShared) return startStage(s, job, stage, now);
  s.ledger.whenDurable((then) => {
    if (!job.hasEnded && !job.cancelling) startStage(s, job, stage, then);
  }, now);
}

/** Whether no other worker than that of this name could run the task. */
export function isOnly({ cluster }: SchedulerState, { dag }: Job, task: TaskIndex, worker: string): boolean {
  const { spec } = dag.stageOf(task);
  const { members } = cluster;
  return members.memoized(JSON.stringify(['only', worker, spec.demand, spec.requires]), () =>
    members.all().every((member) => member.name === worker || !couldRun(member, spec)),
  );
}

function workerNameOf(s: SchedulerState, job: Job, task: TaskIndex): string {
  const worker: Address = job.tasks.workerOf(task);
  if (worker === NOBODY) return '';
  return s.cluster.nameOf(worker);
}
