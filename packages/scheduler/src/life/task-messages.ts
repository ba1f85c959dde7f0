import { type Address, type MessageOf, type Millis, NOBODY, sumOf } from '@goshawk/core';
import { probesReturned } from '../dispatch/routing.js';
import { AssignedBy } from '../job/assignment.js';
import type { AttemptEnd } from '../job/attempt-history.js';
import type { Job } from '../job/job.js';
import { possibleMs, possibleTimes } from '../job/outcomes.js';
import { TaskState } from '../job/task-state.js';
import type { SchedulerState } from '../state/state.js';
import { adjustOutcome, attemptDeclined, attemptEnded, recordEnd } from './endings.js';
import { abandonedEnded, killAttempt } from './killing.js';
import { awaitsAnswer } from './reconciling.js';

// Handles messages about tasks from workers and central.

/** An attempt has ended at its worker. */
export function taskEnded(s: SchedulerState, from: Address, message: MessageOf<'ended'>, now: Millis): void {
  const { task, attempt } = message;
  const job = s.jobs.byNumber(message.job);
  const counts = job !== undefined && !job.hasEnded && job.tasks.isRunningAt(task, attempt, from);
  // Drops the report. The worker will repeat it.
  if (counts ? s.ledger.isBacklogFull : awaitsAnswer(s, from)) return;
  const gang = counts ? job.gangStageOf(task)?.gang : undefined;
  const endedAt = counts ? endTimeOf(s, job, message, now) : now;
  if (gang !== undefined && message.outcome.kind === 'completed' && !job!.cancelling) {
    const { unfinished } = job!.dag.stageOf(task);
    if (gang.defersCompletion(task, unfinished, (then) => processEnd(s, from, message, endedAt, then)))
      return;
  }
  processEnd(s, from, message, endedAt, now);
  if (gang?.areAllCompleted) for (const goOn of gang.takeCompleted()) goOn(now);
}

/** When an attempt ended whose report arrives now, which may have waited for this scheduler. */
function endTimeOf(
  s: SchedulerState,
  { tasks }: Job,
  { task, runMs, pausedMs = 0, endedAgoMs }: MessageOf<'ended'>,
  now: Millis,
): Millis {
  const startedAt = tasks.startedAtOf(task);
  const reportedAt =
    endedAgoMs === undefined
      ? Math.max(s.cluster.unreadSince(now), startedAt + runMs + pausedMs)
      : Math.max(startedAt, now - endedAgoMs);
  return Math.min(now, reportedAt);
}

function processEnd(
  s: SchedulerState,
  from: Address,
  message: MessageOf<'ended'>,
  endedAt: Millis,
  now: Millis,
): void {
  const { task, attempt } = message;
  const job = s.jobs.byNumber(message.job);
  const counts = job !== undefined && !job.hasEnded && job.tasks.isRunningAt(task, attempt, from);
  const reported = job === undefined ? message : possibleTimes(message, now - job.acceptedAt);
  const { runMs, pausedMs } = reported;
  const outcome = counts ? adjustOutcome(s, job, task, reported.outcome) : reported.outcome;
  const end: AttemptEnd = { task, outcome, runMs, pausedMs, endedAt, position: undefined };
  if (counts) recordEnd(s, job, end, now);
  else abandonedEnded(s, from, { job: message.job, task, attempt }, { outcome, runMs }, now);
  const { logs } = s.jobs;
  const isKept = counts || isLate(s, job, message);
  if (isKept && (message.outputBytes > 0 || !logs.isEmpty)) keepOutput(s, job!, message, now);
  // The worker deletes its report, and the task's output, after the confirmation.
  if (s.cluster.timings.retryMs > 0) {
    const confirm = { type: 'confirm', report: message.report } as const;
    if (message.outputBytes === 0) s.ledger.sendWhenDurable(from, confirm);
    else logs.whenStored(() => s.ledger.sendWhenDurable(from, confirm));
  }
  if (!counts) {
    s.counters.staleReports++;
    return;
  }
  if (job.existingLoans !== undefined || pausedMs !== undefined) job.loans.ended({ ...message, pausedMs });
  job.history.reports.dropsOptional = s.jobs.isMemoryScarce;
  attemptEnded(s, job, end, now);
  if (!job.hasEnded) s.jobs.updateBytes(job);
}

/**
 * Whether the attempt ended under an earlier incarnation, which may have recorded its end, but not stored its output.
 */
function isLate(
  s: SchedulerState,
  job: Job | undefined,
  { task, attempt }: MessageOf<'ended' | 'output'>,
): boolean {
  return (
    job !== undefined &&
    s.jobs.logs.mayBeLate(job.number) &&
    task < job.taskCount &&
    job.tasks.isFinal(task) &&
    job.tasks.attemptOf(task) === attempt
  );
}

function keepOutput(
  s: SchedulerState,
  { number, spec: { user }, tasks }: Job,
  { task, output, outputBytes }: MessageOf<'ended'>,
  now: Millis,
): void {
  const { logs } = s.jobs;
  const at = now + s.config.wallOffsetMs;
  const execution = tasks.executionsOf(task);
  let offset = outputBytes - sumOf(output, ({ bytes }) => bytes.length);
  for (const chunk of output) {
    logs.append(number, user, task, execution, chunk, at, offset);
    offset += chunk.bytes.length;
  }
  logs.ended(number, user, task, execution, outputBytes, at);
}

/** A worker has paused an attempt, whose CPUs another task uses, or continued it. */
export function taskLent(s: SchedulerState, from: Address, message: MessageOf<'lent'>, now: Millis): void {
  const job = s.jobs.byNumber(message.job);
  if (job === undefined || job.hasEnded || !job.tasks.isRunningAt(message.task, message.attempt, from))
    return;
  const pausedMs = possibleMs(message.pausedMs, now - job.acceptedAt);
  job.loans.reported({ ...message, pausedMs }, now);
  s.events.changed(job, now);
}

/** A gang member has a slot. The gang starts once all members have slots. */
export function gangReady(s: SchedulerState, from: Address, message: MessageOf<'gangReady'>): void {
  const { task, attempt } = message;
  if (awaitsAnswer(s, from)) return;
  const job = s.jobs.byNumber(message.job);
  const counts = job !== undefined && !job.hasEnded && job.tasks.isRunningAt(task, attempt, from);
  const stage = counts ? job.gangStageOf(task) : undefined;
  if (stage === undefined || job!.mustEnd(task))
    return killAttempt(s, from, { job: message.job, task, attempt });
  const gang = stage.gang!;
  const { isStarted } = gang;
  gang.addReady(task, message);
  const where = gang.start(stage.unfinished);
  if (where === undefined) return;
  for (const member of isStarted ? [task] : job!.runningMembers(stage))
    s.ledger.sendWhenDurable(job!.tasks.workerOf(member), {
      type: 'startGang',
      ...job!.tasks.ref(member),
      ...where,
    });
}

/** A running task has produced output. */
export function outputArrived(
  s: SchedulerState,
  from: Address,
  message: MessageOf<'output'>,
  now: Millis,
): void {
  const { task, attempt, offset, chunk, keptFrom } = message;
  const job = s.jobs.byNumber(message.job);
  const acknowledge = (received: number, gap: boolean): void => {
    // The sum of a hostile offset and the length of its chunk may be too large.
    const bytes = Math.min(received, Number.MAX_SAFE_INTEGER);
    s.env.send(from, { type: 'outputReceived', job: message.job, task, attempt, bytes, gap });
  };
  const isRunning = job !== undefined && !job.hasEnded && job.tasks.isRunningAt(task, attempt, from);
  if (job === undefined || (!isRunning && !isLate(s, job, message))) {
    // The output is not used, but the worker reports the end of the attempt only after it.
    if (!awaitsAnswer(s, from)) acknowledge(offset + chunk.bytes.length, false);
    return;
  }
  const { logs } = s.jobs;
  const execution = job.tasks.executionsOf(task);
  const isGap = offset > Math.max(keptFrom, logs.receivedBytes(job.number, task, execution));
  if (!isGap)
    logs.append(job.number, job.spec.user, task, execution, chunk, now + s.config.wallOffsetMs, offset);
  acknowledge(logs.receivedBytes(job.number, task, execution), isGap);
}

/** A worker returns probes, or a task that it has not started. */
export function taskDeclined(
  s: SchedulerState,
  from: Address,
  message: MessageOf<'declined'>,
  now: Millis,
): void {
  const job = s.jobs.byNumber(message.job);
  if (message.placed !== undefined)
    abandonedEnded(s, from, { job: message.job, ...message.placed }, undefined, now);
  if (job === undefined || job.hasEnded) return;
  if (message.placed === undefined) {
    const batch = job.batches[message.stage];
    if (batch !== undefined) probesReturned(s, job, batch, from, message.probes, now);
    return;
  }
  const { task, attempt } = message.placed;
  if (task >= job.taskCount || !s.cluster.members.isAdmitted(from)) return;
  // The worker may return the task before central's answer has arrived here.
  job.queuedAt({ task, attempt }, from, now);
  const isThere = job.tasks.attemptOf(task) === attempt && job.tasks.workerOf(task) === from;
  if (!isThere || job.tasks.isFinal(task) || job.tasks.stateOf(task) === TaskState.waiting) return;
  const borrowed = job.existingLoans?.isBorrowing(task, attempt) === true ? job.tasks.matchOf(task) : 0;
  attemptDeclined(s, job, task, now);
  // The lenders continue in central's books, too. Sent after the need, without which central may forget the refusal.
  const { central } = s.cluster;
  if (borrowed > 0 && central !== NOBODY)
    s.env.send(central, { type: 'unused', worker: from, match: borrowed });
}

/** Central has queued tasks at workers. */
export function tasksPlaced(
  s: SchedulerState,
  from: Address,
  message: MessageOf<'placed'>,
  now: Millis,
): void {
  const job = s.jobs.byNumber(message.job);
  if (job === undefined || s.cluster.isFormerCentral(from)) return;
  for (const { task, attempt, worker } of message.at) {
    if (task >= job.taskCount) continue;
    job.queuedAt({ task, attempt }, worker, now);
    s.cluster.members.matched(worker, now);
    if (job.isCancelling(task) && job.tasks.states[task] === TaskState.cancelled)
      killAttempt(s, worker, { job: job.number, task, attempt });
  }
}

/** Central preempts a task, which then waits again. */
export function taskPreempted(s: SchedulerState, from: Address, message: MessageOf<'preempt'>): void {
  const { worker, match } = message;
  const job = s.jobs.byNumber(message.job);
  if (job === undefined || from !== s.cluster.central) return;
  const task = job.tasks.findAssigned(worker, { by: AssignedBy.match, number: match });
  if (task >= 0) s.ledger.sendWhenDurable(worker, { type: 'evict', ...job.tasks.ref(task) });
}
