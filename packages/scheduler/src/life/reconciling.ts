import type { Address, Member, MessageOf, Millis, TaskIndex } from '@goshawk/core';
import { sendTask } from '../dispatch/delivery.js';
import { jobRecovered, taskCounted } from '../dispatch/routing.js';
import { resumeSampling } from '../dispatch/sampling.js';
import { AssignedBy, attemptKey } from '../job/assignment.js';
import type { Job } from '../job/job.js';
import { setDeadlineTimer, setRetryTimer, setTimeLimitTimer } from '../job/job-timers.js';
import { LOST, LOST_WITH_SUSPECT, possibleMs } from '../job/outcomes.js';
import { TaskState } from '../job/task-state.js';
import type { SchedulerState } from '../state/state.js';
import { attemptDeclined, attemptEnded, breakPartialGangs, isOnly, recordEnd } from './endings.js';
import { abandonAttempt, abandonUnrecorded, repeatAbandoned } from './killing.js';

type ReportedTask = MessageOf<'holding'>['tasks'][number];

/** Number of retry intervals between two audits. */
const AUDIT_RETRIES = 10;
/** Cost of starting a recovered job, in journal records. */
const START_COST = 5;

// Compares the tasks that should be at each worker with the tasks that it reports (`resume`, `holding`), and repairs
// each difference:
//
// - An attempt that only the worker knows is adopted if an earlier incarnation of this scheduler may have started it.
//   Otherwise the worker must kill it.
// - An attempt that the worker does not hold is sent again: the first message may be lost, or its return.
// - A lost worker holds nothing and never will, so its attempts end here.
//
// A restarted scheduler asks all workers, and starts no task of an old job before all have answered or a lease has
// passed. Workers with tasks that have run for long are asked occasionally, and all with tasks when central restarts.

// ---- questions

/** Whether the worker has not answered since the start. Its reports may arrive before its answer. */
export function awaitsAnswer(s: SchedulerState, worker: Address): boolean {
  return s.recovery.unconfirmed.has(worker);
}

/** Workers have joined, or returned after they were considered lost. */
export function askJoined(s: SchedulerState, workers: readonly Member[], now: Millis): void {
  if (previousIncarnationsOf(s).length > 0) {
    for (const { address } of workers) {
      if (s.recovery.asked.has(address)) continue;
      s.recovery.asked.add(address);
      s.recovery.unconfirmed.add(address);
      askWorker(s, address);
    }
    if (workers.length > 0) s.recovery.since ??= now;
    endRecoveryIfAllAnswered(s, now);
    if (s.recovery.unconfirmed.size > 0) s.sweepTimer.arm(now);
  }
  if (
    repeatAbandoned(
      s,
      workers.map(({ address }) => address),
    )
  )
    s.sweepTimer.arm(now);
}

/** Audits all workers with tasks, because a restarted central cannot repeat the matches of its predecessor. */
export function auditForNewCentral(s: SchedulerState, now: Millis): void {
  if (s.cluster.timings.retryMs > 0 && auditWorkers(s, now, now)) s.sweepTimer.arm(now);
}

/**
 * Repeats unanswered questions, and audits workers if an audit is due.
 *
 * @param lateMs how late the timer fired
 * @returns whether to call it again
 */
export function repeatQuestions(s: SchedulerState, lateMs: Millis, now: Millis): boolean {
  const { leaseMs, retryMs } = s.cluster.timings;
  for (const worker of s.recovery.unconfirmed) askWorker(s, worker);
  if (s.recovery.since !== undefined) {
    // After a suspension or overload, answers may be unread, so this time does not count.
    s.recovery.since += Math.max(0, lateMs);
    if (now - s.recovery.since > leaseMs) endRecovery(s, now);
  }
  const pauseMs = AUDIT_RETRIES * retryMs;
  const isDue = now - s.audit.at >= pauseMs;
  const areRunning = isDue ? auditWorkers(s, now - pauseMs, now) : hasRunningTasks(s);
  return areRunning || s.recovery.unconfirmed.size > 0;
}

/** Addresses of earlier incarnations of this scheduler. */
function previousIncarnationsOf({ config }: SchedulerState): readonly Address[] {
  return config.inheritance?.previousIncarnations ?? [];
}

function askWorker(s: SchedulerState, worker: Address): void {
  s.env.send(worker, { type: 'resume', previousIncarnations: previousIncarnationsOf(s), audit: 0 });
}

/** Asks the workers of tasks that started before this time. @returns whether any task counts as running */
function auditWorkers(s: SchedulerState, startedBefore: Millis, now: Millis): boolean {
  if (!hasRunningTasks(s)) return false;
  s.audit.at = now;
  s.audit.startedBefore = startedBefore;
  s.audit.round++;
  s.audit.workers.clear();
  const assigned = [...new Set(s.jobs.withAssignedTasks())].sort((one, other) => one.number - other.number);
  for (const job of assigned) {
    for (const task of job.tasks.inStates(TaskState.running))
      if (shouldBeAtWorker(s, job, task)) s.audit.workers.add(job.tasks.workerOf(task));
  }
  const previousIncarnations = previousIncarnationsOf(s);
  // Sent after messages that wait for durability, because these may contain the tasks.
  for (const worker of s.audit.workers)
    s.ledger.sendWhenDurable(worker, { type: 'resume', previousIncarnations, audit: s.audit.round });
  return true;
}

/** Whether any task counts as running. */
function hasRunningTasks(s: SchedulerState): boolean {
  for (const { runningCount } of s.jobs.withAssignedTasks()) if (runningCount > 0) return true;
  return false;
}

// ---- answers

/** A worker has reported which tasks of this scheduler it holds. */
export function tasksReported(
  s: SchedulerState,
  from: Address,
  { tasks, audit }: MessageOf<'holding'>,
  now: Millis,
): void {
  const { cluster, env, jobs } = s;
  // Central would not report the loss of an adopted task at any other worker.
  if (cluster.members.isAdmitted(from)) {
    for (const reported of tasks) {
      const { job: number, task, attempt } = reported;
      const job = jobs.byNumber(number);
      const held = job === undefined ? reported : possibleTask(reported, now - job.acceptedAt);
      if (job !== undefined && confirmOrAdopt(s, job, held, from, now)) continue;
      // Memory no longer holds the attempt number of a settled task.
      const isKnown = job !== undefined && task < job.taskCount && !job.tasks.isArchived(task);
      if (isKnown && attempt > job.tasks.attemptOf(task)) abandonUnrecorded(s, from, job, held, now);
      env.send(from, { type: 'cancelTask', job: number, task, attempt });
    }
    s.recovery.unconfirmed.delete(from);
    endRecoveryIfAllAnswered(s, now);
  }
  s.sweepTimer.arm(now);
  // An answer to an earlier audit says nothing about tasks sent since.
  if (audit !== s.audit.round || !s.audit.workers.delete(from)) return;
  const held = new Set(tasks.map(attemptKey));
  // A worker that returned the task repeats its return.
  for (const job of jobs.withTasksAt(from))
    for (const task of jobs.tasksAt(from, job))
      if (shouldBeAtWorker(s, job, task) && !held.has(attemptKey(job.tasks.ref(task))))
        sendTask(s, job, task);
}

/** Bounds the reported times of a task. @param sinceMs time since it can have started at the earliest */
function possibleTask(held: ReportedTask, sinceMs: Millis): ReportedTask {
  const { elapsedMs, pausedMs } = held;
  return {
    ...held,
    elapsedMs: possibleMs(elapsedMs, sinceMs),
    pausedMs: pausedMs && possibleMs(pausedMs, sinceMs),
  };
}

function shouldBeAtWorker(s: SchedulerState, { tasks }: Job, task: TaskIndex): boolean {
  return tasks.stateOf(task) === TaskState.running && tasks.startedAtOf(task) <= s.audit.startedBefore;
}

/** @returns false if the attempt must end: it has ended here, runs elsewhere, was cancelled, or was never recorded */
function confirmOrAdopt(
  s: SchedulerState,
  job: Job,
  held: ReportedTask,
  from: Address,
  now: Millis,
): boolean {
  const { task, attempt, elapsedMs, match = 0 } = held;
  const { tasks } = job;
  if (task >= job.taskCount || job.hasEnded || tasks.isFinal(task) || job.mustEnd(task)) return false;
  if (tasks.isRunningAt(task, attempt, from)) {
    if (held.pausedMs !== undefined || held.borrowedFrom !== undefined) job.loans.held(held, now);
    if (match > 0 && tasks.matchOf(task) === 0) {
      tasks.assign(task, from, { by: AssignedBy.match, number: match }, tasks.startedAtOf(task));
      taskCounted(s, job, now);
    }
    return true;
  }
  // A gang starts as a whole, without members of an earlier attempt.
  if (job.gangStageOf(task) !== undefined && !job.isRecovering) return false;
  // The attempt is outdated: a later one exists or has ended.
  if (!tasks.hasEarlierOwner || attempt <= tasks.attemptOf(task)) return false;
  // Bindings by this incarnation take precedence.
  const isRunning = tasks.stateOf(task) === TaskState.running;
  const mayStart = tasks.stateOf(task) === TaskState.waiting || job.inBackoff.has(task);
  if (isRunning ? !job.isRecovering : !mayStart) return false;
  if (isRunning) s.env.send(tasks.workerOf(task), { type: 'cancelTask', ...tasks.ref(task) });
  job.history.adopted(task, held.execution ?? attempt);
  tasks.setAttempt(task, attempt);
  // Central may preempt tasks that it matched.
  const by = match > 0 ? AssignedBy.match : AssignedBy.resumed;
  tasks.assign(task, from, { by, number: match }, now - elapsedMs);
  if (!isRunning) job.setState(task, TaskState.running);
  job.times.started(now - elapsedMs);
  if (held.pausedMs !== undefined || held.borrowedFrom !== undefined) job.loans.held(held, now);
  setTimeLimitTimer(job, s.env);
  return true;
}

function endRecoveryIfAllAnswered(s: SchedulerState, now: Millis): void {
  if (s.recovery.since !== undefined && s.recovery.unconfirmed.size === 0) endRecovery(s, now);
}

/** All workers have answered or had time to: tasks of old jobs that no worker holds may start. */
function endRecovery(s: SchedulerState, now: Millis): void {
  if (s.recovery.isOver) return;
  s.recovery.isOver = true;
  s.chunkedWork.begin(startRecovered(s), now);
}

function* startRecovered(s: SchedulerState): Iterable<number> {
  for (const job of s.jobs.active()) {
    if (!job.isRecovering) continue;
    job.activated();
    const { now } = s.chunkedWork;
    resumeSampling(s, job, now);
    breakPartialGangs(s, job, now);
    if (job.hasEnded) continue;
    jobRecovered(s, job, now);
    // Workers report ends after their answers.
    const earliest = job.isUntouched ? undefined : now + s.cluster.timings.heartbeatMs;
    setDeadlineTimer(job, s.cluster, s.env, earliest);
    setTimeLimitTimer(job, s.env);
    setRetryTimer(job, s.env);
    yield START_COST;
  }
}

// ---- lost workers

/**
 * Ends the attempts at lost workers. A task that ran alone takes the blame; otherwise all running tasks do.
 *
 * @param silentMs time since the last heartbeats of the workers, if central has reported it
 */
export function endAttemptsAt(
  s: SchedulerState,
  workers: ReadonlySet<Address>,
  silentMs: ReadonlyMap<Address, Millis>,
  now: Millis,
): void {
  endTasksOf(s, workers, silentMs, now);
  for (const worker of workers)
    for (const set of [s.recovery.unconfirmed, s.recovery.asked, s.audit.workers]) set.delete(worker);
  endRecoveryIfAllAnswered(s, now);
}

function endTasksOf(
  s: SchedulerState,
  workers: ReadonlySet<Address>,
  silentMs: ReadonlyMap<Address, Millis>,
  now: Millis,
): void {
  const lost = tasksAt(s, workers);
  const suspects = attemptsThatRanAlone(lost, s.cluster.timings.leaseMs, now);
  for (const { job, task, worker } of lost) {
    // The task ended when the rest of its job was failed.
    if (job.tasks.isFinal(task) || job.tasks.workerOf(task) !== worker) continue;
    if (job.tasks.stateOf(task) === TaskState.placed) {
      attemptDeclined(s, job, task, now);
      continue;
    }
    const others = suspects.get(worker);
    const isBeside = others !== undefined && !others.has(attemptKey(job.tasks.ref(task)));
    const outcome = job.gangStageOf(task)?.gang?.breakOutcome ?? (isBeside ? LOST_WITH_SUSPECT : LOST);
    // A killed worker reports no end, so the run counts up to its last heartbeat.
    const startedAt = job.tasks.startedAtOf(task);
    const endedAt = Math.max(startedAt, now - (silentMs.get(worker) ?? 0));
    const runMs = Math.max(0, job.elapsedMs(task, endedAt));
    abandonAttempt(s, job, task, runMs, now);
    const end = { task, outcome, runMs, endedAt, position: undefined };
    recordEnd(s, job, end, now);
    attemptEnded(s, job, end, now);
  }
}

function tasksAt(s: SchedulerState, workers: ReadonlySet<Address>): LostTask[] {
  const { jobs } = s;
  const lost: LostTask[] = [];
  const workersOf = new Map<Job, (string | undefined)[]>();
  for (const worker of workers)
    for (const job of jobs.withTasksAt(worker)) {
      const tasks = jobs.tasksAt(worker, job);
      for (const task of tasks) lost.push({ job, task, worker });
      const task = tasks.find((task) => job.tasks.stateOf(task) === TaskState.running);
      if (task === undefined || job.cancelling) continue;
      const name = s.cluster.nameOf(worker);
      const names = workersOf.get(job) ?? [];
      workersOf.set(job, names);
      names.push(isOnly(s, job, task, name) ? undefined : name);
    }
  // A gang loses all its workers at once, and cannot run one task at a time.
  for (const [job, names] of workersOf) if (!job.hasGangs) job.history.countLostWorkers(names);
  return lost.sort((one, other) => one.job.number - other.job.number || one.task - other.task);
}

interface LostTask {
  readonly job: Job;
  readonly task: TaskIndex;
  readonly worker: Address;
}

/** The attempts that ran alone, by worker. */
function attemptsThatRanAlone(
  lost: readonly LostTask[],
  leaseMs: Millis,
  now: Millis,
): Map<Address, Set<string>> {
  const suspects = new Map<Address, Set<string>>();
  for (const { job, task, worker } of lost) {
    const runMs = job.elapsedMs(task, now);
    if (job.tasks.stateOf(task) !== TaskState.running) continue;
    if (job.history.blame?.ranAlone(task, job.tasks.attemptOf(task), runMs, leaseMs) !== true) continue;
    const there = suspects.get(worker) ?? new Set();
    suspects.set(worker, there.add(attemptKey(job.tasks.ref(task))));
  }
  return suspects;
}
