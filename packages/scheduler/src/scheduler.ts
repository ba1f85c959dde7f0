import {
  type Address,
  type Counters,
  type Impossible,
  type JobNumber,
  type JobSpec,
  type JournalState,
  type KeyHolder,
  type Machine,
  type Message,
  type MessageOf,
  type Millis,
  type NoticeKind,
  type PolicySettings,
  type UsageBook,
  whyImpossible,
} from '@goshawk/core';
import { ClientApi } from './api/client-api.js';
import {
  type SchedulerSnapshot,
  snapshotOf,
  type UserLoad,
  userLoadsOf,
  waitContextOf,
} from './api/snapshot.js';
import {
  type EstimatorStates,
  JOB_LENGTHS,
  type SchedulerConfig,
  type SchedulerEnvironment,
  type SchedulerTimer,
} from './contract.js';
import { releaseExpiredSlots } from './dispatch/assigning.js';
import { continueSeries, receiveRequest, serveSeek } from './dispatch/binding.js';
import { probesMoved, probeWithoutCentral } from './dispatch/routing.js';
import { evaluatePilots } from './dispatch/sampling.js';
import { slowdownAt } from './dispatch/slowdown.js';
import { checkJob } from './job/invariants.js';
import type { Job } from './job/job.js';
import type { SchedulerCounters } from './job/job-events.js';
import type { Tallies } from './job/tallies.js';
import { cancelJob } from './life/cancelling.js';
import {
  drainListener,
  heartbeatAcknowledged,
  limitsReceived,
  membersChanged,
  reportIfDrained,
  sendHeartbeat,
  welcomed,
} from './life/cluster-messages.js';
import { closeIfInactive, deadlinePassed, endIfOutOfTime, retryAfterBackoff } from './life/endings.js';
import { releaseBegun } from './life/holds.js';
import { acceptJob } from './life/intake.js';
import {
  fatesReported,
  jobsAwaited,
  ownerNamed,
  predecessorEnded,
  repeatQueries,
} from './life/predecessors.js';
import { tasksReported } from './life/reconciling.js';
import { loadJobs } from './life/restarting.js';
import { sweep } from './life/retries.js';
import { keyTaken } from './life/submissions.js';
import {
  gangReady,
  outputArrived,
  taskDeclined,
  taskEnded,
  taskLent,
  taskPreempted,
  tasksPlaced,
} from './life/task-messages.js';
import { SchedulerState } from './state/state.js';

/**
 * Owns jobs from submission to result. Depending on the policy and the class of a job, it sends probes to workers or
 * its needs to central. Either way it assigns each task itself, and only it decides which attempt of a task counts.
 */
export class Scheduler implements Machine<SchedulerTimer> {
  readonly #s: SchedulerState;
  readonly #clientApi: ClientApi;
  #startedAt: Millis = 0;
  /** Whether jobs of previous incarnations are still being loaded. Until that is done, messages are ignored. */
  #isLoading: boolean;

  constructor(config: SchedulerConfig, env: SchedulerEnvironment) {
    this.#s = new SchedulerState(config, env);
    this.#clientApi = new ClientApi(this.#s);
    const { events, overload } = this.#s;
    const predecessors = { ended: (job: Job, now: Millis) => predecessorEnded(this.#s, job, now) };
    events.setListeners(overload, this.#clientApi.watching, predecessors, drainListener(this.#s));
    this.#isLoading = config.inheritance !== undefined;
  }

  // ---- events of the driver
  start(now: Millis): void {
    this.#startedAt = now;
    this.#s.chunkedWork.begin(this.#loadAndEnlist(), now);
  }

  *#loadAndEnlist(): Iterable<number> {
    const { config, env, cluster, jobs, chunkedWork } = this.#s;
    yield* loadJobs(this.#s);
    this.#isLoading = false;
    if (config.inheritance !== undefined) env.inherited?.(jobs.activeCount);
    cluster.enlist(chunkedWork.now);
    reportIfDrained(this.#s);
  }

  receive(from: Address, message: Message, now: Millis): void {
    if (this.#isLoading) return;
    const s = this.#s;
    switch (message.type) {
      case 'ask':
        s.cluster.slotIsFree(from, now);
        return receiveRequest(s, from, message, now);
      case 'matched':
      case 'checkMatch':
        return receiveRequest(s, from, message, now);
      case 'seek':
        s.cluster.slotIsFree(from, now);
        return serveSeek(s, from, message, now);
      case 'ended':
        taskEnded(s, from, message, now);
        return continueSeries(s, from, message, now);
      case 'lent':
        return taskLent(s, from, message, now);
      case 'gangReady':
        return gangReady(s, from, message);
      case 'output':
        return outputArrived(s, from, message, now);
      case 'declined':
        return taskDeclined(s, from, message, now);
      case 'moved':
        return probesMoved(s, from, message, now);
      case 'placed':
        return tasksPlaced(s, from, message, now);
      case 'preempt':
        return taskPreempted(s, from, message);
      case 'holding':
        return tasksReported(s, from, message, now);
      case 'occupied':
        if (from === s.cluster.central) s.cluster.members.setOccupied(message.bits);
        return;
      case 'members':
        return membersChanged(s, from, message, now);
      case 'noticesStored':
        if (from === s.cluster.central) s.notices.stored(message);
        return;
      case 'remember':
        return s.cluster.setFormerSchedulers(from, message);
      case 'welcome':
        return welcomed(s, from, message, now);
      case 'heartbeatAck':
        return heartbeatAcknowledged(s, from, message, now);
      case 'limits':
        if (from === s.cluster.central) limitsReceived(s, message, now);
        return;
      case 'notRegistered':
        return s.cluster.notRegistered(from, now);
      case 'nameTaken':
        return s.env.nameTaken?.(message.holder, message.tag, message.needsTakeover === true);
      case 'takeOver':
        if (from === s.cluster.central) s.env.takeOver?.(message.name, message.tag, message.epoch);
        return;
      case 'superseded':
        if (message.epoch > (s.config.epoch ?? 0)) s.env.superseded?.();
        return;
      case 'ownerIs':
        if (from === s.cluster.central) ownerNamed(s, message, now);
        return;
      case 'awaitJobs':
        return jobsAwaited(s, from, message);
      case 'outline':
        if (from !== s.cluster.central) return;
        return this.#outline(from, message, now);
      case 'count':
        if (from !== s.cluster.central) return;
        return s.env.send(from, { type: 'counted', id: message.id, counters: s.events.counted as Counters });
      case 'expectedEnds':
        if (from === s.cluster.central) s.forecasts.update(message, (job) => s.jobs.byNumber(job), now);
        return;
      case 'jobFates':
        return fatesReported(s, from, message, now);
      default:
        return this.#clientApi.receive(from, message, now);
    }
  }

  #outline(from: Address, message: MessageOf<'outline'>, now: Millis): void {
    const { forecasts, jobs, cluster, env } = this.#s;
    const slowdown = (job: Job, worker: Address) => slowdownAt(job, worker, cluster.members);
    for (const answer of forecasts.answer(message, jobs.active(), slowdown, now)) env.send(from, answer);
  }

  wake(timer: SchedulerTimer, key: number, now: Millis): void {
    const s = this.#s;
    switch (timer) {
      case 'chunk':
        return s.chunkedWork.runChunk(now);
      case 'heartbeat':
        return sendHeartbeat(s, this.#startedAt, now);
      case 'sweep':
        return sweep(s, now);
      case 'progress':
        return this.#clientApi.watching.progressTimerFired(key, now);
      case 'usage':
        return s.usage.report(s.cluster.central, now);
      case 'predecessors':
        return repeatQueries(s, now);
      case 'waitingSlots':
        return releaseExpiredSlots(s, now);
      case 'begin':
        return releaseBegun(s, now);
      case 'weigh':
      case 'deadline':
      case 'retry':
      case 'open':
      case 'timeLimit': {
        const job = s.jobs.byNumber(key);
        return job === undefined ? undefined : this.#wakeJob(job, timer, now);
      }
    }
  }

  #wakeJob(job: Job, timer: 'weigh' | 'deadline' | 'retry' | 'open' | 'timeLimit', now: Millis): void {
    const s = this.#s;
    if (timer === 'weigh') evaluatePilots(s, job, now);
    else if (timer === 'deadline') deadlinePassed(s, job, now);
    else if (timer === 'retry') retryAfterBackoff(s, job, now);
    else if (timer === 'open') closeIfInactive(s, job, now);
    else endIfOutOfTime(s, job, now);
  }

  disconnected(from: Address, now: Millis): void {
    if (this.#s.cluster.disconnected(from, now)) probeWithoutCentral(this.#s, now);
  }

  // ---- events of the journal

  /** The first `count` records of this process are durable. */
  recorded(count: number, now: Millis): void {
    this.#s.ledger.recorded(count, now);
  }

  /** More task output is stored. */
  outputSettled(): void {
    this.#s.jobs.logs.storeSettled();
  }

  /**
   * Another job in the cluster has the same key, so the journal refused this one. Refers the submitter to the other
   * job. The driver calls this before the acceptance counts as recorded, so no task has started.
   */
  keyTaken(number: JobNumber, by: KeyHolder): void {
    keyTaken(this.#s, number, by);
  }

  /** Reports an event that the driver has noticed to central. */
  notice(kind: NoticeKind, text: string, now: Millis): void {
    this.#s.notices.add(kind, text, now);
  }

  /** The journal has started or stopped accepting records. */
  journalChanged(state: JournalState, now: Millis): void {
    const { ledger, notices } = this.#s;
    ledger.setJournal(state);
    if (state.kind === 'open') notices.add('journal-accepts-jobs', 'the journal accepts new jobs again', now);
    else if (state.kind !== 'failed')
      notices.add('journal-refuses-jobs', `no new jobs are accepted: ${state.message}`, now);
    this.#s.notDurableJobs.setJournalUnreachable(state.kind === 'away', now);
  }

  // ---- direct calls of a driver in the same process

  /**
   * Accepts a job and schedules it.
   *
   * @param key chosen by the client; if a job with this key exists, that job is returned
   * @param ageMs how long the job has been able to start, if a simulation continues another cluster
   */
  submit(spec: JobSpec, key: string | undefined, now: Millis, ageMs = 0): Job {
    return acceptJob(this.#s, spec, key, now, ageMs);
  }

  /** Explains why no worker could ever run some stage of this job; undefined if each stage has one. */
  whyImpossible(spec: JobSpec): Impossible | undefined {
    return whyImpossible(spec, this.#s.cluster.joinedPolicy, this.#s.cluster.members);
  }

  /** Cancels all unfinished tasks. Waiting tasks end at once, running tasks when their workers have killed them. */
  cancel(job: Job, now: Millis): void {
    cancelJob(this.#s, job, now);
  }

  /** Stops accepting jobs, and calls `env.drained()` once all accepted jobs have ended. */
  drain(): void {
    this.#s.cluster.drain();
    if (!this.#isLoading) reportIfDrained(this.#s);
  }

  /** Tells central that this scheduler stops, so that no process waits for its lease to expire. */
  leave(): void {
    this.#s.cluster.leave();
  }

  // ---- status

  get counters(): SchedulerCounters {
    return this.#s.counters;
  }

  get tallies(): Tallies {
    return this.#s.tallies;
  }

  /** Users with active jobs, those with the most jobs first. */
  largestUsers(count: number): { user: string | undefined; jobs: number; waiting: number }[] {
    return this.#s.jobs.largestUsers(count);
  }

  /** Active jobs and tasks by user. */
  userLoads(): UserLoad[] {
    return userLoadsOf(this.#s.jobs.active());
  }

  get isDraining(): boolean {
    return this.#s.cluster.isDraining;
  }

  /** Whether central has welcomed this scheduler at least once, so that it can accept jobs. */
  get isReady(): boolean {
    return this.#s.cluster.isReady;
  }

  /** The policy of the cluster; undefined before central's first welcome. */
  get policy(): PolicySettings | undefined {
    return this.#s.cluster.policy;
  }

  /** Sends central the list of all journals in the shared database. Central looks for journals without owners. */
  reportJournals(journals: MessageOf<'journals'>['journals']): void {
    this.#s.cluster.setJournals(journals);
  }

  /** Returns the name of a worker, which may be lost. */
  workerName(worker: Address): string {
    return this.#s.cluster.nameOf(worker);
  }

  /** Usage recorded in this journal. Another scheduler keeps it when the journal is discarded. */
  get usageBooks(): readonly UsageBook[] {
    return this.#s.accounting.books();
  }

  /** Records the usage of a journal that will be discarded. @param done called when that record is durable */
  keepUsage(books: readonly UsageBook[], done: () => void, now: Millis): void {
    this.#s.accounting.importBooks(books, done, now);
  }

  /** The job's target has been notified of its `ends`-th end, or never will be. */
  notified(job: JobNumber, ends: number, now: Millis): void {
    this.#s.notifications.notified(job, ends, now);
  }

  /** Number of exceptions and invalid answers of estimators. */
  get estimatorFailures(): number {
    return this.#s.estimators.failures;
  }

  /** Returns the estimator states to save; undefined if they have not changed since the last call. */
  takeEstimatorStates(): EstimatorStates | undefined {
    const { estimators, usage } = this.#s;
    const learned = estimators.takeStates();
    return learned && { ...learned, [JOB_LENGTHS]: usage.jobLengths };
  }

  /** Summarizes the current state, at the cost of a few steps per active job. */
  snapshot(now: Millis): SchedulerSnapshot {
    const { jobs } = this.#s;
    return snapshotOf(jobs.active(), waitContextOf(this.#s, now), now);
  }

  /** Whether central is disconnected or has not answered several heartbeats. */
  isCentralSilent(now: Millis): boolean {
    return this.#s.cluster.isSilent(now);
  }

  get knownWorkers(): number {
    return this.#s.cluster.members.size;
  }

  /** Estimated memory of active jobs and of the tombstones of ended jobs, in bytes. */
  get activeBytes(): number {
    return this.#s.jobs.activeBytes;
  }

  /** The part of `activeBytes` that tombstones of ended jobs use. */
  get tombstoneBytes(): number {
    return this.#s.jobs.tombstoneBytes;
  }

  /** Number of answers that wait until a record is durable. */
  get pendingAnswers(): number {
    return this.#s.ledger.delayedCount;
  }

  get activeJobs(): number {
    return this.#s.jobs.activeCount;
  }

  checkInvariants(): void {
    // Jobs that are still being loaded are incomplete.
    if (this.#isLoading) return;
    const { offers, jobs } = this.#s;
    offers.checkInvariants();
    for (const job of jobs.active()) checkJob(job);
  }
}
