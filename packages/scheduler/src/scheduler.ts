import {
  type Address,
  invariant,
  type JobSpec,
  type KeyHolder,
  LIMITS,
  type Machine,
  type Message,
  type MessageOf,
  type Millis,
  maySeek,
  NOBODY,
  type PolicySettings,
} from '@goshawk/core';
import { type Impossible, whyImpossible } from './accepting/admission.js';
import { Intake } from './accepting/intake.js';
import { Keys } from './accepting/keys.js';
import { DEFAULT_LOAD_LIMITS, Overload } from './accepting/overload.js';
import { Predecessors } from './accepting/predecessors.js';
import { Submissions } from './accepting/submissions.js';
import { Avoidance } from './binding/avoidance.js';
import { Binder } from './binding/binder.js';
import { Delivery } from './binding/delivery.js';
import { Answers } from './clients/answers.js';
import { ClientApi } from './clients/client-api.js';
import { JobViews } from './clients/job-views.js';
import { Watching } from './clients/watching.js';
import {
  type EstimatorStates,
  JOB_LENGTHS,
  type LoadLimits,
  type SchedulerConfig,
  type SchedulerCounters,
  type SchedulerEnvironment,
  type SchedulerTimer,
} from './contract.js';
import { AbandonedAttempts } from './ending/abandoned-attempts.js';
import { Cancelling } from './ending/cancelling.js';
import { watchDeadline } from './ending/deadline.js';
import { Endings } from './ending/endings.js';
import { LostWorkers } from './ending/lost-workers.js';
import { watchTimeLimit } from './ending/time-limit.js';
import { HeldSlots } from './finding/held-slots.js';
import { IdleHints } from './finding/idle-hints.js';
import { Needer } from './finding/needing.js';
import { Offers } from './finding/offers.js';
import { Placer } from './finding/placing.js';
import { Prober } from './finding/probing.js';
import { Routing } from './finding/routing.js';
import { AssignedBy } from './job/assignment.js';
import type { AttemptEnd } from './job/attempt-history.js';
import { type Job, TaskState } from './job/job.js';
import { Enlistment } from './joining/enlistment.js';
import { Members } from './joining/members.js';
import { Usage } from './joining/usage.js';
import { JobStore, type Recalled, type Retention } from './keeping/job-store.js';
import { Ledger } from './keeping/ledger.js';
import { type MemoryShares, sharesOf } from './keeping/memory-shares.js';
import type { Trace } from './keeping/traces.js';
import { Unwritten } from './keeping/unwritten.js';
import { JobEvents } from './observing/job-events.js';
import {
  type Circumstances,
  circumstancesOf,
  type SchedulerStanding,
  standingOf,
} from './observing/snapshot.js';
import { Tallies } from './observing/tallies.js';
import { Pieces } from './recovering/pieces.js';
import { inherit, rebuiltJob } from './recovering/rebuild.js';
import { Recovery } from './recovering/recovery.js';
import { RunningTaskAudit } from './recovering/running-task-audit.js';
import { SweepTimer } from './recovering/sweep-timer.js';
import { Sampler } from './sampling/sampler.js';

/** What is believed to run is asked after once in so many retries. */
const AUDIT_RETRIES = 10;

/** Workers are looked for for a job in the time of so many records of a journal. */
const STARTED_RECORDS = 5;

/** Messages that ask for tasks of a job. */
type Question = MessageOf<'ask'> | MessageOf<'matched'> | MessageOf<'unheard'>;

/**
 * The scheduler: owns jobs from submission to result. A batch of short tasks is probed and bound late, one
 * of long tasks is handed to central; either way a worker that is about to start a task asks here first, and
 * only here is it known which attempt of a task counts.
 */
export class Scheduler implements Machine<SchedulerTimer> {
  readonly counters: SchedulerCounters = {
    jobsAccepted: 0,
    jobsEnded: 0,
    tasksBound: 0,
    tasksCompleted: 0,
    tasksFailed: 0,
    retries: 0,
    lost: 0,
    probesSent: 0,
    probesRecalled: 0,
    asksRefused: 0,
    staleReports: 0,
  };
  readonly tallies = new Tallies();
  readonly #env: SchedulerEnvironment;
  readonly #config: SchedulerConfig;
  readonly #members = new Members();
  readonly #unwritten = new Unwritten();
  readonly #enlistment: Enlistment;
  readonly #usage: Usage;
  readonly #ledger: Ledger;
  readonly #jobs: JobStore;
  readonly #keys: Keys;
  readonly #pieces: Pieces;
  readonly #recovery: Recovery;
  readonly #audit: RunningTaskAudit;
  readonly #sweep: SweepTimer;
  readonly #watching: Watching;
  readonly #events: JobEvents;
  readonly #prober: Prober;
  readonly #placer: Placer;
  readonly #offers: Offers;
  readonly #routing: Routing;
  readonly #sampler: Sampler;
  readonly #delivery: Delivery;
  readonly #binder: Binder;
  readonly #abandoned: AbandonedAttempts;
  readonly #endings: Endings;
  readonly #lostWorkers: LostWorkers;
  readonly #predecessors: Predecessors;
  readonly #intake: Intake;
  readonly #submissions: Submissions;
  readonly #cancelling: Cancelling;
  readonly #clientApi: ClientApi;
  #startedAt: Millis = 0;
  /** The jobs of the incarnations before are not all here: until then nobody is heard, as if it had not started. */
  #isInheriting: boolean;

  constructor(config: SchedulerConfig, env: SchedulerEnvironment) {
    const members = this.#members;
    const shares = sharesOf(config.memoryBytes ?? LIMITS.schedulerBytesMax);
    const { inheritance } = config;
    const previousIncarnations = inheritance?.previousIncarnations ?? [];
    const lastJob = inheritance === undefined ? 0 : inheritance.lastJob + LIMITS.unrecordedJobsMax;
    this.#env = env;
    this.#config = config;
    // Joining.
    const enlistment = new Enlistment(config, env, members);
    this.#enlistment = enlistment;
    this.#usage = new Usage(env, config.estimatorStates?.[JOB_LENGTHS]);
    // Keeping.
    const ledger = new Ledger(env, config, shares);
    this.#ledger = ledger;
    const retention = retentionOf(config, (job, now) => ledger.forgotten(job, now));
    const recallJob = ({ number, endedAt }: Trace): Recalled | undefined =>
      rebuiltJob(env.recallJob!(number), {
        wallOffsetMs: config.wallOffsetMs,
        now: endedAt,
        idOf: (job) => jobs.idOf(job),
        formerly: (worker) => members.formerly(worker),
        isShort: () => jobs.isShort,
      });
    const jobs: JobStore = new JobStore(
      config.tag,
      lastJob,
      retention,
      config.logBytesMax,
      shares,
      () => env.random(),
      env.recallJob && recallJob,
    );
    this.#jobs = jobs;
    // Recovering.
    this.#pieces = new Pieces(env, inheritance?.piece);
    this.#isInheriting = inheritance !== undefined;
    this.#recovery = new Recovery(env, jobs, members, previousIncarnations, lastJob);
    this.#audit = new RunningTaskAudit(jobs, ledger, previousIncarnations);
    this.#sweep = new SweepTimer(env, enlistment);
    // Watching.
    const views = new JobViews(env, config, members, (job) => this.#predecessors.of(job));
    this.#watching = new Watching(env, enlistment, ledger, views);
    const overload = new Overload(jobs, loadLimitsOf(config, shares), () => env.random());
    this.#events = new JobEvents(env, this.counters, this.tallies, overload, this.#watching);
    // Finding.
    this.#prober = new Prober(env, members, new IdleHints(), this.counters);
    this.#placer = new Placer(env, enlistment);
    const needer = new Needer(env, enlistment);
    const offers = new Offers(enlistment);
    this.#offers = offers;
    this.#routing = new Routing(
      jobs,
      enlistment,
      this.#recovery,
      this.#unwritten,
      this.#prober,
      this.#placer,
      needer,
      offers,
      this.#usage,
      this.#sweep,
      (job, batch, now) => this.#binder.giveHeld(job, batch, now),
    );
    this.#sampler = new Sampler(
      env,
      members,
      ledger,
      this.#prober,
      needer,
      this.#routing,
      this.#events,
      config.estimatorStates,
    );
    // Binding.
    this.#delivery = new Delivery(env, jobs, members, ledger, this.#sweep, enlistment);
    this.#binder = new Binder(
      env,
      jobs,
      members,
      this.#prober,
      this.#routing,
      offers,
      new HeldSlots(enlistment),
      new Avoidance(members, enlistment),
      this.#delivery,
      this.#sampler,
      this.#events,
    );
    // Ending.
    this.#abandoned = new AbandonedAttempts(ledger);
    this.#endings = new Endings(
      env,
      jobs,
      members,
      enlistment,
      ledger,
      this.#usage,
      this.#routing,
      this.#sampler,
      this.#abandoned,
      this.#events,
      (job, now) => this.#predecessors.ended(job, now),
    );
    this.#lostWorkers = new LostWorkers(jobs, enlistment, this.#abandoned, this.#endings);
    // Accepting, and what clients ask.
    this.#cancelling = new Cancelling(ledger, this.#routing, this.#endings, this.#sweep, this.#events);
    this.#predecessors = new Predecessors(
      env,
      config.tag,
      enlistment,
      jobs,
      ledger,
      this.#routing,
      this.#sampler,
      this.#endings,
      this.#cancelling,
    );
    this.#keys = new Keys(config.name, ledger);
    const answers = new Answers(ledger, this.tallies);
    this.#intake = new Intake(
      env,
      config,
      enlistment,
      jobs,
      ledger,
      this.#unwritten,
      this.#sampler,
      this.#routing,
      this.#events,
      this.#predecessors,
    );
    this.#submissions = new Submissions(
      config,
      enlistment,
      members,
      jobs,
      ledger,
      this.#keys,
      overload,
      this.#intake,
      answers,
    );
    this.#clientApi = new ClientApi(
      env,
      config,
      members,
      enlistment,
      this.#recovery,
      jobs,
      this.#submissions,
      this.#cancelling,
      this.#events,
      views,
      this.#watching,
      answers,
      overload,
    );
  }

  // ---- entries

  start(now: Millis): void {
    this.#startedAt = now;
    this.#pieces.begin(this.#begin(), now);
  }

  *#begin(): Iterable<number> {
    const { inheritance, wallOffsetMs } = this.#config;
    if (inheritance !== undefined)
      yield* inherit(inheritance, this.#jobs, this.#members, wallOffsetMs, (names) =>
        this.#keys.inherit(names),
      );
    this.#jobs.start(this.#pieces.now);
    // Cancelled, and not yet said to have ended.
    for (const job of [...this.#jobs.active()]) {
      this.#endings.endIfDone(job, this.#pieces.now);
      yield 1;
    }
    for (const job of this.#jobs.active()) {
      this.#ledger.resumed(job, this.#pieces.now);
      if (job.isAwaiting) this.#predecessors.hold(job, this.#pieces.now);
      yield 1;
    }
    this.#isInheriting = false;
    if (inheritance !== undefined) this.#env.inherited?.(this.#jobs.activeCount);
    this.#enlistment.enlist(this.#pieces.now);
    if (this.isDraining && this.#jobs.activeCount === 0) this.#env.drained();
  }

  receive(from: Address, message: Message, now: Millis): void {
    if (this.#isInheriting) return;
    switch (message.type) {
      case 'ask':
        this.#hasFreeSlot(from, now);
        return this.#asked(from, message, now);
      case 'ended':
        this.#ended(from, message, now);
        return this.#binder.continueSeries(from, message, now);
      case 'moved':
        return this.#moved(from, message, now);
      case 'declined':
        return this.#declined(from, message, now);
      case 'output':
        return this.#output(from, message);
      case 'placed':
        if (this.#isFormerCentral(from)) return;
        return this.#placed(message, now);
      case 'matched':
      case 'unheard':
        return this.#asked(from, message, now);
      case 'seek':
        this.#hasFreeSlot(from, now);
        return this.#binder.seek(from, message, now);
      case 'occupied':
        if (from === this.#enlistment.central) this.#members.setOccupied(message.bits);
        return;
      case 'preempt':
        return this.#preempt(from, message);
      case 'members':
        return this.#membersChanged(from, message, now);
      case 'welcome':
        return this.#welcomed(from, message, now);
      case 'heartbeatAck':
        if (this.#enlistment.acknowledged(from, message, this.#keys.version, now))
          this.#routing.reliefChanged(now);
        return;
      case 'holding':
        return this.#holding(from, message, now);
      case 'nameTaken':
        return this.#env.nameTaken?.(message.holder);
      case 'takeOver':
        if (from === this.#enlistment.central) this.#env.takeOver?.(message.name, message.tag, message.epoch);
        return;
      case 'superseded':
        if (message.epoch > (this.#config.epoch ?? 0)) this.#env.superseded?.();
        return;
      case 'ownerIs':
        if (from === this.#enlistment.central) this.#predecessors.ownerIs(message, now);
        return;
      case 'awaitJobs':
        return this.#predecessors.asked(from, message);
      case 'jobFates':
        return this.#predecessors.onFates(from, message, now);
      case 'notRegistered':
        return this.#enlistment.answeredUnregistered(from, now);
      default:
        return this.#clientApi.receive(from, message, now);
    }
  }

  /** What is asked of a job waits until it is written down. */
  #asked(from: Address, message: Question, now: Millis): void {
    const job = this.#unwritten.isEmpty ? undefined : this.#jobs.byNumber(message.job);
    if (job !== undefined && this.#unwritten.defers(job, (then) => this.#answer(from, message, then))) return;
    this.#answer(from, message, now);
  }

  #answer(from: Address, message: Question, now: Millis): void {
    if (message.type === 'ask') return this.#binder.answer(from, message, now);
    if (this.#isFormerCentral(from)) return;
    if (message.type === 'matched') {
      this.#enlistment.matched(message, now);
      return this.#binder.matched(from, message, now);
    }
    this.#binder.unheard(from, message);
  }

  wake(timer: SchedulerTimer, key: number, now: Millis): void {
    switch (timer) {
      case 'piece':
        return this.#pieces.goOn(now);
      case 'heartbeat':
        this.#workersLost(this.#enlistment.dropMissingWorkers(), now);
        this.#jobs.forgetOld(now);
        if (this.#hasServed(now)) return this.#retire();
        this.#enlistment.beat(this.#jobs.activeCount, () => this.#waitingTasks(), now);
        return this.#routing.doWithoutCentral(now);
      case 'sweep':
        return this.#sweepOnce(now);
      case 'progress':
        return this.#watching.tellNews(now);
      case 'usage':
        return this.#usage.tell(this.#enlistment.central, now);
      case 'weigh':
        return this.#sampler.wake(this.#jobs.byNumber(key), now);
      case 'predecessors':
        return this.#predecessors.wake(now);
      case 'deadline':
        return this.#deadlineCame(this.#jobs.byNumber(key), now);
      case 'held':
        return this.#binder.letGo(now);
      case 'retry':
        return this.#retryCame(this.#jobs.byNumber(key), now);
      case 'timeLimit':
        return this.#timeLimitCame(this.#jobs.byNumber(key), now);
    }
  }

  disconnected(from: Address, now: Millis): void {
    if (this.#enlistment.disconnected(from, now)) this.#routing.doWithoutCentral(now);
  }

  /** A worker has said what it holds of this owner's tasks. */
  #holding(from: Address, message: MessageOf<'holding'>, now: Millis): void {
    this.#recovery.holding(from, message, now);
    this.#startIfRecovered(now);
    this.#sweep.arm(now);
    // It may still be under way. If it was given back, the worker says so once more.
    for (const { job, task } of this.#audit.missing(from, message)) this.#delivery.send(job, task);
  }

  /** Once it is known what runs of the jobs that were here before, the rest may be given out. */
  #startIfRecovered(now: Millis): void {
    if (this.#recovery.takeEnd()) this.#pieces.begin(this.#startRecovered(), now);
  }

  *#startRecovered(): Iterable<number> {
    for (const job of this.#recovery.toStart()) {
      const { now } = this.#pieces;
      this.#sampler.resume(job, now);
      this.#routing.findAll(job, now);
      watchDeadline(job, this.policy, this.#env);
      watchTimeLimit(job, this.#env);
      this.#endings.watchRest(job);
      yield STARTED_RECORDS;
    }
  }

  /** The first `count` records of this process are durable. */
  recorded(count: number, now: Millis): void {
    this.#ledger.recorded(count, now);
  }

  /**
   * Another job of the cluster has the key of this one, of which nothing is written down: who brought it is told of the
   * other. Said before the acceptance counts as recorded, so that nothing of the job was started.
   */
  keyTaken(number: number, by: KeyHolder): void {
    const job = this.#jobs.byNumber(number);
    if (job === undefined) return;
    this.#submissions.keyTaken(job, by);
    this.#routing.takeBack(job);
    this.#predecessors.forget(job);
    this.#jobs.withdraw(job);
  }

  /** The journal does not answer, which is said to whoever wants something written; undefined: it does again. */
  journalAway(message: string | undefined, now: Millis): void {
    this.#ledger.setAway(message);
    this.#unwritten.setAway(message !== undefined, now);
  }

  /** The journal has too little room for new jobs, which is said to whoever brings one; undefined: it has room. */
  journalFull(message: string | undefined): void {
    this.#ledger.setFull(message);
  }

  /** The journal has no room for anything, which is told instead of what it should keep; undefined: it has some. */
  journalStopped(message: string | undefined): void {
    this.#ledger.setStopped(message);
  }

  /** The journal takes nothing any more. */
  journalFailed(): void {
    this.#ledger.fail();
  }

  /**
   * Accepts a job and starts to schedule it.
   *
   * @param key chosen by the client; a key that is known gives the job that has it
   */
  submit(spec: JobSpec, key: string | undefined, now: Millis): Job {
    return this.#intake.accept(spec, key, now);
  }

  #deadlineCame(job: Job | undefined, now: Millis): void {
    if (job !== undefined) this.#endings.abandonIfLate(job, now);
  }

  #retryCame(job: Job | undefined, now: Millis): void {
    if (job !== undefined) this.#endings.retryRested(job, now);
  }

  #timeLimitCame(job: Job | undefined, now: Millis): void {
    if (job !== undefined) this.#endings.endIfOutOfTime(job, now);
  }

  /** Ends what has not ended: what waits at once, what runs as soon as its worker has killed it. */
  cancel(job: Job, now: Millis): void {
    this.#cancelling.cancel(job, now);
  }

  /** It looks after the jobs of one that is gone, and takes no others. */
  get isAdopted(): boolean {
    return this.#config.adopted === true;
  }

  /** Of the jobs that it was to look after nothing is left, and whoever missed one has had the time to ask. */
  #hasServed(now: Millis): boolean {
    const isOver = this.isAdopted && this.#jobs.isEmpty && this.#ledger.isDurable;
    return isOver && now - this.#startedAt > LIMITS.endedAgeMinMs;
  }

  #retire(): void {
    this.#enlistment.retire();
    this.#env.drained();
  }

  /** Takes no more jobs; `env.drained()` follows when those it has are done. */
  drain(): void {
    this.#enlistment.drain();
    if (!this.#isInheriting && this.#jobs.activeCount === 0) this.#env.drained();
  }

  /** Says goodbye, so that nobody has to wait for the lease to end. */
  leave(): void {
    this.#enlistment.leave();
  }

  get isDraining(): boolean {
    return this.#enlistment.isDraining;
  }

  /** It can take jobs: central has welcomed it once. */
  get isReady(): boolean {
    return this.#enlistment.isReady;
  }

  /** The cluster's; there is none before central has welcomed this scheduler. */
  get policy(): PolicySettings {
    return this.#enlistment.policy;
  }

  /** What its estimators have learnt of run times, to be kept; undefined where nothing since it was last asked. */
  takeEstimatorStates(): EstimatorStates | undefined {
    const learnt = this.#sampler.takeEstimatorStates();
    return learnt && { ...learnt, [JOB_LENGTHS]: this.#usage.jobLengths };
  }

  /** How things stand now, for whoever looks at the process: a few steps for each job that has not ended. */
  standing(now: Millis): SchedulerStanding {
    return standingOf(this.#jobs.active(), this.circumstances(now));
  }

  /** What has to be known to say why a task waits. */
  circumstances(now: Millis): Circumstances {
    return circumstancesOf(this.#members, this.#enlistment, this.#recovery, now);
  }

  /** Nothing was heard of central for some heartbeats. */
  isCentralSilent(now: Millis): boolean {
    return this.#enlistment.isSilent(now);
  }

  get knownWorkers(): number {
    return this.#members.size;
  }

  /** What the jobs that have not ended take of its memory, and keys of those that have, as it estimates it. */
  get activeBytes(): number {
    return this.#jobs.activeBytes;
  }

  /** Of it, what is kept of jobs that have ended. */
  get traceBytes(): number {
    return this.#jobs.traceBytes;
  }

  /** Answers that wait for the disk. */
  get heldAnswers(): number {
    return this.#ledger.heldCount;
  }

  get activeJobs(): number {
    return this.#jobs.activeCount;
  }

  checkInvariants(): void {
    // Of some it has yet to be said that they have ended.
    if (this.#isInheriting) return;
    this.#offers.checkInvariants();
    for (const job of this.#jobs.active()) {
      job.checkInvariants();
      for (let task = 0; task < job.taskCount; task++) {
        const bound =
          job.tasks.states[task] === TaskState.running || job.tasks.states[task] === TaskState.placed;
        invariant(
          !bound || job.tasks.workers[task] !== NOBODY,
          () => `task ${task} of ${job.id} runs nowhere`,
        );
      }
    }
  }

  // ---- ends of attempts

  #ended(from: Address, message: MessageOf<'ended'>, now: Millis): void {
    const { task, attempt, runMs } = message;
    const job = this.#jobs.byNumber(message.job);
    const counts = job !== undefined && !job.hasEnded && job.tasks.isRunning(task, attempt, from);
    // Its worker keeps it, and sends it again.
    if (counts ? this.#ledger.isBehind : this.#recovery.awaits(from)) return;
    const outcome = counts ? this.#endings.judged(job, task, message.outcome) : message.outcome;
    const end: AttemptEnd = { task, outcome, runMs, place: undefined };
    if (counts) this.#endings.writeDown(job, end, now);
    // The worker forgets a report that is confirmed.
    if (this.#enlistment.timings.retryMs > 0)
      this.#ledger.send(from, { type: 'confirm', report: message.report });
    if (!counts) {
      this.counters.staleReports++;
      return this.#abandoned.settled(from, message);
    }
    for (const chunk of message.output)
      this.#jobs.logs.append(job.number, job.spec.user, task, attempt, chunk);
    job.history.reports.isBrief = this.#jobs.isShort;
    this.#endings.ended(job, end, now);
    if (!job.hasEnded) this.#jobs.weigh(job);
  }

  // ---- what workers and central tell

  #moved(from: Address, { job: number, stage: index, to, probes }: MessageOf<'moved'>, now: Millis): void {
    const job = this.#jobs.byNumber(number);
    const batch = job?.batches[index];
    if (job === undefined || batch === undefined || job.hasEnded) return;
    this.#prober.moved(batch, from, to, probes);
    job.probesMoved += probes;
    // Its thief may be a worker that is passed over again and again: it would be probed, refused, and steal for ever.
    if (batch.probes.out < batch.waiting && job.history.blame?.mayLook(now) !== false)
      this.#routing.find(job, batch, now);
  }

  #declined(from: Address, message: MessageOf<'declined'>, now: Millis): void {
    const job = this.#jobs.byNumber(message.job);
    if (job === undefined || job.hasEnded) return;
    if (message.placed === undefined) {
      const batch = job.batches[message.stage];
      if (batch === undefined) return;
      // Doubled, it would bring one probe more each time: of what is not believed to be there nothing comes back.
      const probes = Math.min(message.probes, batch.probes.at(from));
      if (probes <= 0) return;
      this.#prober.used(batch, from, probes);
      return this.#routing.givenBack(job, batch, probes, now);
    }
    const { task, attempt } = message.placed;
    this.#abandoned.settled(from, { job: message.job, task, attempt });
    if (task >= job.taskCount || job.tasks.attempts[task] !== attempt || job.tasks.isFinal(task)) return;
    const state = job.tasks.stateOf(task);
    if (state !== TaskState.placing && job.tasks.workers[task] !== from) return;
    if (state === TaskState.waiting) return;
    this.#endings.declined(job, task, now);
  }

  /** Nobody tells who is occupied while central is silent; and then nothing long is started, so that fewer and fewer are. */
  #hasFreeSlot(worker: Address, now: Millis): void {
    if (this.#enlistment.isSilent(now)) this.#members.setUnoccupied(worker);
  }

  #output(from: Address, message: MessageOf<'output'>): void {
    const job = this.#jobs.byNumber(message.job);
    if (job === undefined || job.hasEnded || !job.tasks.isRunning(message.task, message.attempt, from))
      return;
    this.#jobs.logs.append(job.number, job.spec.user, message.task, message.attempt, message.chunk);
  }

  /** Central's policy wants the room of a task: it ends there, and waits again. */
  #preempt(from: Address, { job: number, worker, match }: MessageOf<'preempt'>): void {
    const job = this.#jobs.byNumber(number);
    if (job === undefined || from !== this.#enlistment.central) return;
    const task = job.tasks.assigned(worker, { by: AssignedBy.match, number: match });
    if (task >= 0) this.#ledger.send(worker, { type: 'evict', ...job.tasks.ref(task) });
  }

  /** Another central has welcomed this scheduler: what the one before had decided counts no more. */
  #isFormerCentral(from: Address): boolean {
    const { central } = this.#enlistment;
    return central !== NOBODY && from !== central;
  }

  #placed(message: MessageOf<'placed'>, now: Millis): void {
    const job = this.#jobs.byNumber(message.job);
    if (job === undefined) return;
    for (const { task, attempt, worker } of message.at) {
      if (task >= job.taskCount) continue;
      this.#placer.placed(job, task, attempt, worker);
      this.#members.met(worker, now);
      if (job.cancelling && job.tasks.states[task] === TaskState.cancelled)
        this.#cancelling.cancelAt(worker, job, task);
    }
  }

  // ---- workers come and go

  #membersChanged(from: Address, message: MessageOf<'members'>, now: Millis): void {
    if (from !== this.#enlistment.central) return;
    this.#enlistment.heard(now);
    const gone = this.#members.apply(message);
    if (gone === undefined) return this.#env.send(from, { type: 'resync' });
    if (!this.#ledger.isShared) this.#keys.onMembers(from, message, now);
    else this.#keys.listed(message);
    this.#workersLost(gone, now);
    const mayAskAgain = this.#recovery.workersJoined(message.changed, now);
    this.#startIfRecovered(now);
    if (mayAskAgain) this.#sweep.arm(now);
    this.#abandoned.cameBack(message.changed);
    // Those that came may be what a batch has waited for.
    if (message.changed.length > 0) this.#routing.findForThoseThatProbe(now);
  }

  #workersLost(addresses: readonly Address[], now: Millis): void {
    if (addresses.length === 0) return;
    const gone = new Set(addresses);
    this.#binder.forget(gone);
    for (const job of this.#jobs.active()) for (const batch of job.batches) batch.probes.drop(gone);
    this.#lostWorkers.lost(gone, now);
    for (const job of [...this.#jobs.active()]) this.#routing.findAll(job, now);
    this.#recovery.lost(gone);
    this.#startIfRecovered(now);
    this.#audit.lost(gone);
  }

  // ---- belonging to a cluster

  #welcomed(from: Address, message: MessageOf<'welcome'>, now: Millis): void {
    const { heardAt, timings, isCutOff } = this.#enlistment;
    const isNew = this.#enlistment.welcomed(from, message, now);
    this.#sampler.adopt(this.policy);
    if (!isNew) {
      this.#usage.adopt(this.policy, now);
      return isCutOff ? this.#routing.centralIsBack(now) : undefined;
    }
    for (const job of this.#jobs.active()) watchDeadline(job, this.policy, this.#env);
    this.#usage.startAnew(from, this.policy, now);
    this.#prober.hints.startAnew(maySeek(this.policy.preset));
    this.#routing.tellAnotherCentral(now);
    if (this.#delivery.centralChanged(heardAt, timings.leaseMs, now)) this.#sweep.arm(now);
  }

  #waitingTasks(): number {
    let waiting = 0;
    // What waits for the end of other jobs has no use for a worker yet.
    for (const job of this.#jobs.active()) if (!job.isAwaiting) waiting += job.counts.waiting;
    return waiting;
  }

  // ---- safety nets

  #sweepOnce(now: Millis): void {
    const lateMs = this.#sweep.fired(now);
    const { retryMs, leaseMs } = this.#enlistment.timings;
    let open = this.#recovery.askAgain(leaseMs, lateMs, now);
    this.#startIfRecovered(now);
    if (this.#audit.start(AUDIT_RETRIES * retryMs, now)) open = true;
    if (this.#delivery.resendDoubtful(now)) open = true;
    for (const job of this.#jobs.active()) {
      if (this.#routing.askAgain(job, retryMs, now)) open = true;
      if (!job.cancelling) continue;
      open = true;
      this.#cancelling.repeat(job);
    }
    if (open) this.#sweep.arm(now);
  }

  /** Why no worker could ever run a stage of this job; undefined when some could. */
  whyImpossible(spec: JobSpec): Impossible | undefined {
    return whyImpossible(spec, this.policy, this.#members);
  }
}

function retentionOf(config: SchedulerConfig, forgot: Retention['forgot']): Retention {
  return {
    jobsMax: config.endedJobsMax,
    keepMs: config.endedJobsKeepMs ?? Number.POSITIVE_INFINITY,
    forgot,
  };
}

function loadLimitsOf({ load }: SchedulerConfig, shares: MemoryShares): LoadLimits {
  return { ...DEFAULT_LOAD_LIMITS, activeBytesMax: shares.activeMax, ...load };
}
