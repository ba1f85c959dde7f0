import type { Address, Borrowing, MessageOf, Millis, TaskIndex } from '@goshawk/core';
import type { Assignment } from '../job/assignment.js';
import type { Job } from '../job/job.js';
import type { SchedulerState } from '../state/state.js';
import { slowdownAt, slowed } from './slowdown.js';
import { inputsOf } from './stage-inputs.js';

/** Run times whose ends are predicted. Shorter ones vary too much, and for longer ones the gain is small. */
const PREDICTABLE_MS = { min: 10, max: 1_000 };
/** Ends are predicted only if the job's longest task took at most this many times the mean. */
const PREDICTABLE_SPREAD = 1.5;

// Sends bound tasks to workers, and repeats messages that may be lost.

/** @param borrows CPUs that the task borrows at its worker; a repetition omits them, so the worker may decline it */
export function deliverTask(
  s: SchedulerState,
  job: Job,
  task: TaskIndex,
  now: Millis,
  borrows?: Borrowing,
): void {
  sendTask(s, job, task, borrows);
  s.sweepTimer.arm(now);
}

/** Repeats a lost answer to a question or match. @returns false if there was none */
export function resendTask(s: SchedulerState, job: Job, worker: Address, assignment: Assignment): boolean {
  const task = job.tasks.findAssigned(worker, assignment);
  if (task < 0) return false;
  sendTask(s, job, task);
  return true;
}

/**
 * Sends the task to its worker, which runs or returns it once even if it arrives twice. Does nothing if the attempt
 * must end; `killAttempt` then notifies the worker.
 */
export function sendTask(s: SchedulerState, job: Job, task: TaskIndex, borrows?: Borrowing): void {
  const gang = job.gangStageOf(task);
  if (job.mustEnd(task)) return;
  const worker = job.tasks.workerOf(task);
  const attempt = job.tasks.attemptOf(task);
  const execution = job.tasks.executionsOf(task);
  const match = job.tasks.matchOf(task);
  const { index, spec } = job.waiting.batchOf(task);
  const payload = slowed(job.dag.payloadOf(task), slowdownAt(job, worker, s.cluster.members));
  const long = job.class === 'long';
  const timeoutMs = shorterOf(job.spec.timeoutMs, s.quotas.runTimeLimitOf(job.spec.user));
  const { number: jobNumber, id: jobId } = job;
  // Members of a gang may share a worker.
  const apartMs = gang === undefined ? job.history.blame?.aloneMsOf(task, attempt) : undefined;
  const run: MessageOf<'run'> = {
    type: 'run',
    ask: job.tasks.askOf(task),
    match,
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
    expectedMs: match > 0 && gang === undefined ? expectedMsOf(s, job) : undefined,
    execution: execution === attempt ? undefined : execution,
    inputs: inputsOf(job, job.dag.stageOf(task), s.env.readRecord),
    gang: gang === undefined ? undefined : { rank: task - gang.first, ranks: gang.count },
    user: job.spec.user,
    borrows,
  };
  // The end of the previous attempt must be durable before the next one is sent. Otherwise a restart could reuse an
  // attempt number.
  if (attempt > 1) s.ledger.sendWhenDurable(worker, run);
  else s.env.send(worker, run);
}

/**
 * Run time after which the worker announces its slot as free before the task ends; undefined: not before. If a quota
 * limits the running tasks of the user, the next task must not start before this one has ended.
 */
function expectedMsOf(s: SchedulerState, job: Job): Millis | undefined {
  const isLimited = s.quotas.limitsRunningTasks(job.spec.user);
  return s.cluster.isCentralIdle || isLimited ? undefined : predictableRunMs(job);
}

function shorterOf(one: Millis | undefined, other: Millis | undefined): Millis | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/** Estimated run time of the job's tasks, if their ends can be predicted. */
function predictableRunMs({ class: jobClass, meanRunMs, history }: Job): Millis | undefined {
  if (jobClass === 'long' || meanRunMs === undefined || history.longestRunMs > PREDICTABLE_SPREAD * meanRunMs)
    return undefined;
  return meanRunMs >= PREDICTABLE_MS.min && meanRunMs <= PREDICTABLE_MS.max ? meanRunMs : undefined;
}
