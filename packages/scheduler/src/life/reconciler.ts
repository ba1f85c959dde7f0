import type { Address, Member, MessageOf, Millis, TaskIndex } from '@goshawk/core';
import { sendTask } from '../dispatch/delivery.js';
import { jobRecovered, taskCounted } from '../dispatch/routing.js';
import { AssignedBy, attemptKey } from '../job/assignment.js';
import type { Job } from '../job/job.js';
import { setDeadlineTimer, setRetryTimer, setTimeLimitTimer } from '../job/job-timers.js';
import { LOST, LOST_WITH_SUSPECT } from '../job/outcomes.js';
import { TaskState } from '../job/task-state.js';
import { attemptDeclined, attemptEnded, breakPartialGangs, recordEnd } from './endings.js';
import { abandonAttempt, abandonUnrecorded, repeatAbandoned } from './killing.js';
import type { LifeState } from './life.js';

type HeldTask = MessageOf<'holding'>['tasks'][number];

/** Number of retry intervals between two audits. */
const AUDIT_RETRIES = 10;
/** Cost of starting a recovered job, in journal records. */
const START_COST = 5;

/**
 * Compares the tasks that should be at each worker with the tasks that it reports (`resume`, `holding`), and repairs
 * each difference:
 *
 * - An attempt that only the worker knows is adopted if an earlier incarnation of this scheduler may have started it.
 *   Otherwise the worker must kill it.
 * - An attempt that the worker does not hold is sent again: the first message may be lost, or its return.
 * - A lost worker holds nothing and never will, so its attempts end here.
 *
 * A restarted scheduler asks all workers, and starts no task of an old job before all have answered or a lease has
 * passed. Workers with tasks that have run for long are asked occasionally, and all with tasks when central restarts.
 */
export class Reconciler {
  readonly #s: LifeState;
  /** Addresses of earlier incarnations of this scheduler. */
  readonly #previousIncarnations: readonly Address[];
  /** Workers that were asked since the start. */
  readonly #asked = new Set<Address>();
  /** Asked workers that have not answered yet. */
  readonly #unconfirmed = new Set<Address>();
  /** When the first workers were asked; undefined: not yet. */
  #recoveringSince: Millis | undefined;
  #hasRecovered = false;
  /** Workers that have not answered the last audit. */
  readonly #audited = new Set<Address>();
  #round = 0;
  #auditedAt: Millis = Number.NEGATIVE_INFINITY;
  /** Tasks that started before this time should have reached their workers before the last audit. */
  #startedBefore: Millis = Number.NEGATIVE_INFINITY;

  constructor(s: LifeState) {
    this.#s = s;
    this.#previousIncarnations = s.config.inheritance?.previousIncarnations ?? [];
  }

  // ---- questions

  /** Whether the worker has not answered since the start. Its reports may arrive before its answer. */
  awaitsAnswer(worker: Address): boolean {
    return this.#unconfirmed.has(worker);
  }

  /** Workers have joined, or returned after they were considered lost. */
  joined(workers: readonly Member[], now: Millis): void {
    if (this.#previousIncarnations.length > 0) {
      for (const { address } of workers) {
        if (this.#asked.has(address)) continue;
        this.#asked.add(address);
        this.#unconfirmed.add(address);
        this.#ask(address);
      }
      if (workers.length > 0) this.#recoveringSince ??= now;
      this.#endRecoveryIfAllAnswered(now);
      if (this.#unconfirmed.size > 0) this.#s.sweepTimer.arm(now);
    }
    if (
      repeatAbandoned(
        this.#s,
        workers.map(({ address }) => address),
      )
    )
      this.#s.sweepTimer.arm(now);
  }

  /** Audits all workers with tasks, because a restarted central cannot repeat the matches of its predecessor. */
  centralChanged(now: Millis): void {
    if (this.#s.cluster.timings.retryMs > 0 && this.#audit(now, now)) this.#s.sweepTimer.arm(now);
  }

  /**
   * Repeats unanswered questions, and audits workers if an audit is due.
   *
   * @param lateMs how late the timer fired
   * @returns whether to call it again
   */
  sweep(lateMs: Millis, now: Millis): boolean {
    const { leaseMs, retryMs } = this.#s.cluster.timings;
    for (const worker of this.#unconfirmed) this.#ask(worker);
    if (this.#recoveringSince !== undefined) {
      // After a suspension or overload, answers may be unread, so this time does not count.
      this.#recoveringSince += Math.max(0, lateMs);
      if (now - this.#recoveringSince > leaseMs) this.#endRecovery(now);
    }
    const pauseMs = AUDIT_RETRIES * retryMs;
    const isDue = now - this.#auditedAt >= pauseMs;
    const areRunning = isDue ? this.#audit(now - pauseMs, now) : this.#hasRunningTasks;
    return areRunning || this.#unconfirmed.size > 0;
  }

  #ask(worker: Address): void {
    const previousIncarnations = this.#previousIncarnations;
    this.#s.env.send(worker, { type: 'resume', previousIncarnations, audit: 0 });
  }

  /** Asks the workers of tasks that started before this time. @returns whether any task counts as running */
  #audit(startedBefore: Millis, now: Millis): boolean {
    if (!this.#hasRunningTasks) return false;
    this.#auditedAt = now;
    this.#startedBefore = startedBefore;
    this.#round++;
    this.#audited.clear();
    const assigned = [...new Set(this.#s.jobs.withAssignedTasks())].sort(
      (one, other) => one.number - other.number,
    );
    for (const job of assigned) {
      for (const task of job.tasks.inStates(TaskState.running))
        if (this.#shouldBeAtWorker(job, task)) this.#audited.add(job.tasks.workerOf(task));
    }
    const previousIncarnations = this.#previousIncarnations;
    // Sent after messages that wait for durability, because these may contain the tasks.
    for (const worker of this.#audited)
      this.#s.ledger.sendWhenDurable(worker, {
        type: 'resume',
        previousIncarnations,
        audit: this.#round,
      });
    return true;
  }

  /** Whether any task counts as running. */
  get #hasRunningTasks(): boolean {
    for (const { runningCount } of this.#s.jobs.withAssignedTasks()) if (runningCount > 0) return true;
    return false;
  }

  // ---- answers

  /** A worker has reported which tasks of this scheduler it holds. */
  holding(from: Address, { tasks, audit }: MessageOf<'holding'>, now: Millis): void {
    const { cluster, env, jobs } = this.#s;
    // Central would not report the loss of an adopted task at any other worker.
    if (cluster.members.isAdmitted(from)) {
      for (const held of tasks) {
        const { job: number, task, attempt } = held;
        const job = jobs.byNumber(number);
        if (job !== undefined && this.#confirmOrAdopt(job, held, from, now)) continue;
        // Memory no longer holds the attempt number of a settled task.
        const isKnown = job !== undefined && task < job.taskCount && !job.tasks.isArchived(task);
        if (isKnown && attempt > job.tasks.attemptOf(task)) abandonUnrecorded(this.#s, from, job, held, now);
        env.send(from, { type: 'cancelTask', job: number, task, attempt });
      }
      this.#unconfirmed.delete(from);
      this.#endRecoveryIfAllAnswered(now);
    }
    this.#s.sweepTimer.arm(now);
    // An answer to an earlier audit says nothing about tasks sent since.
    if (audit !== this.#round || !this.#audited.delete(from)) return;
    const held = new Set(tasks.map(attemptKey));
    // A worker that returned the task repeats its return.
    for (const job of jobs.withTasksAt(from))
      for (const task of jobs.tasksAt(from, job))
        if (this.#shouldBeAtWorker(job, task) && !held.has(attemptKey(job.tasks.ref(task))))
          sendTask(this.#s, job, task);
  }

  #shouldBeAtWorker({ tasks }: Job, task: TaskIndex): boolean {
    return tasks.stateOf(task) === TaskState.running && tasks.startedAtOf(task) <= this.#startedBefore;
  }

  /** @returns false if the attempt must end: it has ended here, runs elsewhere, was cancelled, or was never recorded */
  #confirmOrAdopt(job: Job, held: HeldTask, from: Address, now: Millis): boolean {
    const { task, attempt, elapsedMs, match = 0 } = held;
    const { tasks } = job;
    if (task >= job.taskCount || job.hasEnded || tasks.isFinal(task) || job.mustEnd(task)) return false;
    if (tasks.isRunningAt(task, attempt, from)) {
      if (held.pausedMs !== undefined || held.borrowedFrom !== undefined) job.loans.held(held, now);
      if (match > 0 && tasks.matchOf(task) === 0) {
        tasks.assign(task, from, { by: AssignedBy.match, number: match }, tasks.startedAtOf(task));
        taskCounted(this.#s, job, now);
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
    if (isRunning) this.#s.env.send(tasks.workerOf(task), { type: 'cancelTask', ...tasks.ref(task) });
    job.history.countAttempt(task);
    tasks.setAttempt(task, attempt);
    // Central may preempt tasks that it matched.
    const by = match > 0 ? AssignedBy.match : AssignedBy.resumed;
    tasks.assign(task, from, { by, number: match }, now - elapsedMs);
    if (!isRunning) job.setState(task, TaskState.running);
    job.times.started(now - elapsedMs);
    if (held.pausedMs !== undefined || held.borrowedFrom !== undefined) job.loans.held(held, now);
    setTimeLimitTimer(job, this.#s.env);
    return true;
  }

  #endRecoveryIfAllAnswered(now: Millis): void {
    if (this.#recoveringSince !== undefined && this.#unconfirmed.size === 0) this.#endRecovery(now);
  }

  /** All workers have answered or had time to: tasks of old jobs that no worker holds may start. */
  #endRecovery(now: Millis): void {
    if (this.#hasRecovered) return;
    this.#hasRecovered = true;
    this.#s.chunkedWork.begin(this.#startRecovered(), now);
  }

  *#startRecovered(): Iterable<number> {
    for (const job of this.#s.jobs.active()) {
      if (!job.isRecovering) continue;
      job.activated();
      const { now } = this.#s.chunkedWork;
      this.#s.sampler.resume(job, now);
      breakPartialGangs(this.#s, job, now);
      if (job.hasEnded) continue;
      jobRecovered(this.#s, job, now);
      setDeadlineTimer(job, this.#s.cluster, this.#s.env);
      setTimeLimitTimer(job, this.#s.env);
      setRetryTimer(job, this.#s.env);
      yield START_COST;
    }
  }

  // ---- lost workers

  /**
   * Ends the attempts at lost workers. A task that ran alone takes the blame; otherwise all running tasks do.
   *
   * @param silentMs time since the last heartbeats of the workers, if central has reported it
   */
  lost(workers: ReadonlySet<Address>, silentMs: ReadonlyMap<Address, Millis>, now: Millis): void {
    this.#endTasksOf(workers, silentMs, now);
    for (const worker of workers)
      for (const set of [this.#unconfirmed, this.#asked, this.#audited]) set.delete(worker);
    this.#endRecoveryIfAllAnswered(now);
  }

  #endTasksOf(workers: ReadonlySet<Address>, silentMs: ReadonlyMap<Address, Millis>, now: Millis): void {
    const lost = this.#tasksAt(workers);
    const suspects = attemptsThatRanAlone(lost, this.#s.cluster.timings.leaseMs, now);
    for (const { job, task, worker } of lost) {
      // The task ended when the rest of its job was failed.
      if (job.tasks.isFinal(task) || job.tasks.workerOf(task) !== worker) continue;
      if (job.tasks.stateOf(task) === TaskState.placed) {
        attemptDeclined(this.#s, job, task, now);
        continue;
      }
      const others = suspects.get(worker);
      const isBeside = others !== undefined && !others.has(attemptKey(job.tasks.ref(task)));
      const outcome = job.gangStageOf(task)?.gang?.breakOutcome ?? (isBeside ? LOST_WITH_SUSPECT : LOST);
      // A killed worker reports no end, so the run counts up to its last heartbeat.
      const startedAt = job.tasks.startedAtOf(task);
      const endedAt = Math.max(startedAt, now - (silentMs.get(worker) ?? 0));
      const runMs = Math.max(0, job.elapsedMs(task, endedAt));
      abandonAttempt(this.#s, job, task, runMs, now);
      const end = { task, outcome, runMs, endedAt, position: undefined };
      recordEnd(this.#s, job, end, now);
      attemptEnded(this.#s, job, end, now);
    }
  }

  #tasksAt(workers: ReadonlySet<Address>): LostTask[] {
    const { jobs } = this.#s;
    const lost: LostTask[] = [];
    const workersOf = new Map<Job, number>();
    for (const worker of workers)
      for (const job of jobs.withTasksAt(worker)) {
        const tasks = jobs.tasksAt(worker, job);
        for (const task of tasks) lost.push({ job, task, worker });
        const hasRun = tasks.some((task) => job.tasks.stateOf(task) === TaskState.running);
        if (hasRun && !job.cancelling) workersOf.set(job, (workersOf.get(job) ?? 0) + 1);
      }
    // A gang loses all its workers at once, and cannot run one task at a time.
    for (const [job, count] of workersOf) if (!job.hasGangs) job.history.workersLost(count);
    return lost.sort((one, other) => one.job.number - other.job.number || one.task - other.task);
  }
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
