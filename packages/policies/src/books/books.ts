import {
  type Address,
  addVector,
  DenseIds,
  FeasibleWorkers,
  GPU,
  invariant,
  type JobNumber,
  LIMITS,
  type Millis,
  NeedsTable,
  ResourceNames,
  SLOT,
  type StageIndex,
  type TaskAttempt,
  type TaskIndex,
  type UserGrants,
  type Vector,
} from '@goshawk/core';
import type { Attributes, ClusterChange, ClusterView, Loan, RunEnd } from '../contract.js';
import { fitsEver, hasRoom } from '../fitting.js';
import { canMakeRoom, hasRoomWith, lentBy } from '../loans.js';
import { PendingChanges } from './changes.js';
import {
  BookedJob,
  type BookedOwner,
  BookedRun,
  type BookedStage,
  BookedWorker,
  type GpuShare,
  type JobFacts,
  type StageFacts,
} from './entries.js';
import type { LimitedTasks } from './limit-group.js';
import { Owners } from './owners.js';
import { RunningLimits } from './user-limits.js';
import { UserWeights } from './user-weights.js';
import type { WaitingKind } from './waiting-kind.js';
import { WaitingKinds } from './waiting-kinds.js';

/**
 * Central's view of the cluster: workers, jobs with their stages, and runs, each stored once. Every change is
 * reported to the policy. Central records what parties report; the policy makes changes through a draft.
 */
export class ClusterBooks implements ClusterView {
  readonly names = new ResourceNames();
  readonly feasible = new FeasibleWorkers<BookedWorker>();
  readonly capacity: number[] = [];
  version = 0;
  /** Called when the last run of a worker has ended. */
  onIdle: ((worker: BookedWorker) => void) | undefined;
  /** Incremented when the number of long runs of any worker changes. */
  longChanges = 0;
  readonly #workers = new Map<Address, BookedWorker>();
  readonly #byName = new Map<string, BookedWorker>();
  readonly #needs = new NeedsTable(this.names);
  readonly #byId: (BookedWorker | undefined)[] = [];
  readonly #owners = new Owners();
  readonly #changes = new PendingChanges();
  readonly #weights = new UserWeights((job) => this.#jobChanged({ kind: 'changed', job }));
  readonly #limits = new RunningLimits(this.names);
  readonly #kinds = new WaitingKinds();
  readonly #ids = { worker: new DenseIds(), job: new DenseIds(), stage: new DenseIds(), run: new DenseIds() };
  /** Free amounts of a worker before its report: one array for all reports. */
  readonly #freeBefore: number[] = [];
  #waitingTasks = 0;
  #runs = 0;

  // ---- the policy's view

  get resources(): readonly string[] {
    return this.names.names;
  }

  get workers(): Iterable<BookedWorker> {
    return this.#byId.filter((worker) => worker !== undefined);
  }

  get jobs(): Iterable<BookedJob> {
    return [...this.everyJob()];
  }

  /** All jobs, without a copy of the list. The books must not change during the iteration. */
  *everyJob(): Iterable<BookedJob> {
    for (const { jobs } of this.#owners.withJobs) yield* jobs.values();
  }

  get jobCount(): number {
    let count = 0;
    for (const { jobs } of this.#owners.withJobs) count += jobs.size;
    return count;
  }

  /** Tasks that may start and have no worker. */
  get waitingTasks(): number {
    return this.#waitingTasks;
  }

  /** Kinds of waiting tasks, each with at least one. The books must not change during the iteration. */
  get waitingKinds(): Iterable<WaitingKind> {
    return this.#kinds.all();
  }

  /** Tasks that limits of users kept waiting when they were last applied. */
  get limitedTasks(): Iterable<LimitedTasks> {
    return this.#limits.held();
  }

  /** Number of runs, including those in flight to their workers. */
  get runCount(): number {
    return this.#runs;
  }

  parentOf({ parent, user }: Pick<BookedJob, 'parent' | 'user'>): BookedRun | undefined {
    if (parent === undefined) return undefined;
    const { match, task, worker } = parent;
    for (const run of this.#byName.get(worker)?.runs ?? []) {
      if (run.stage.job.user !== user) continue;
      // Only the worker knows the task of a match, which may be of another job (series), and refuses a loan by another one.
      if (match > 0 ? run.match === match : run.task === task && run.stage.job.name === parent.job)
        return run;
    }
    return undefined;
  }

  // ---- workers

  worker(address: Address): BookedWorker | undefined {
    return this.#workers.get(address);
  }

  /** Adds a worker, which is closed at first. */
  addWorker(address: Address, capacity: Vector, attributes: Attributes = {}, name = ''): BookedWorker {
    const gpuAt = this.names.find(GPU) ?? 0;
    const worker = new BookedWorker(this.#ids.worker.take(), address, capacity, attributes, gpuAt);
    worker.name = name;
    this.#workers.set(address, worker);
    if (name !== '') this.#byName.set(name, worker);
    this.#byId[worker.id] = worker;
    this.feasible.add(worker);
    this.version++;
    return worker;
  }

  setOpen(worker: BookedWorker, open: boolean): void {
    if (worker.open === open) return;
    worker.open = open;
    addVector(this.capacity, worker.capacity, open ? 1 : -1);
    this.#workerChanged({ kind: open ? 'opened' : 'closed', worker });
  }

  /** Removes a worker; its runs are lost. */
  removeWorker(worker: BookedWorker, now: Millis): void {
    for (const run of [...worker.runs]) this.end(run, 'lost', now);
    this.setOpen(worker, false);
    this.#workers.delete(worker.address);
    if (this.#byName.get(worker.name) === worker) this.#byName.delete(worker.name);
    this.#byId[worker.id] = undefined;
    this.feasible.delete(worker);
    this.#changes.whenTaken(() => this.#ids.worker.release(worker.id));
    this.#workerChanged({ kind: 'left', worker });
  }

  /**
   * Sets the free amounts reported by the worker, less runs in flight, and at most what its runs leave. Reports a
   * change to the policy.
   *
   * @param gpuParts free amounts of partly used GPUs; empty with at most one, which `free` covers
   * @param gpus GPUs that tasks hold; empty if the worker does not report them
   * @param lentInFlight lenders that do not pause yet, because their borrowers are in flight
   */
  setFree(
    worker: BookedWorker,
    free: Vector,
    gpuParts: readonly number[] = [],
    inFlight: readonly BookedRun[] = [],
    gpus: readonly GpuShare[] = [],
    lentInFlight: readonly BookedRun[] = [],
  ): void {
    const before = copyInto(this.#freeBefore, worker.free);
    worker.setFree(free, gpuParts);
    if (gpus.length > 0) worker.setGpus(gpus);
    for (const run of inFlight) worker.occupyAgain(run);
    for (const { lent } of lentInFlight) addVector(worker.free, lent, 1);
    worker.limitFreeSlots();
    let more = false;
    let less = false;
    for (let index = 0; index < worker.free.length; index++) {
      const amount = worker.free[index]!;
      const known = before[index] ?? 0;
      if (amount > known) more = true;
      else if (amount < known) less = true;
    }
    if (more) this.#freed(worker);
    else this.version++;
    if (less) this.#recordShrink(worker);
  }

  // ---- owners

  /**
   * Sets the address of the scheduler with this tag, which has enlisted for the first time, or restarted, or whose
   * journal another scheduler has taken over.
   *
   * @param formers earlier addresses, which workers may still use
   */
  rehome(tag: string, address: Address, formers: readonly Address[], now: Millis): void {
    const { owner, isMoved, same } = this.#owners.rehome(tag, address, formers);
    for (const other of same) this.#merge(other, owner, now);
    // Each incarnation counts its matches from 0.
    for (const job of isMoved ? owner.jobs.values() : []) for (const stage of job.stages) stage.matches = 0;
  }

  /** The owner is lost permanently, and no other scheduler continues its jobs. */
  ownerLost(address: Address): void {
    this.#owners.lost(address);
  }

  /** Moves the jobs that workers reported before the owner enlisted, under `other`, to the owner. */
  #merge(other: BookedOwner, owner: BookedOwner, now: Millis): void {
    for (const job of [...other.jobs.values()]) {
      const known = owner.jobs.get(job.number);
      if (known === undefined) {
        this.#owners.removeJob(job);
        this.#owners.addJob(owner, job);
      } else {
        this.withdraw(job, now);
        for (const run of [...job.runs]) this.#reassign(run, known, now);
      }
    }
  }

  /** Moves the run to another record of the same job. */
  #reassign(run: BookedRun, job: BookedJob, now: Millis): void {
    const { worker, startedAt, named, isQueued, match } = run;
    const stage = this.stage(job, run.stage.index, { demand: run.stage.demand });
    this.end(run, 'lost', now);
    if (named !== undefined && job.runOf(named.task) !== undefined) return;
    if (isQueued) return void this.adoptQueued(stage, worker, now, named!);
    this.adoptRun(stage, worker, startedAt, { named, match });
  }

  // ---- jobs

  job(owner: Address, number: JobNumber): BookedJob | undefined {
    return this.#owners.find(owner)?.jobs.get(number);
  }

  jobsOf(owner: Address): Iterable<BookedJob> {
    return this.#owners.find(owner)?.jobs.values() ?? [];
  }

  /** Creates or updates the job. */
  declare(by: Address, number: JobNumber, facts: JobFacts): BookedJob {
    const known = this.job(by, number);
    if (known !== undefined) {
      const { long, user, arrivedAt } = known;
      const hasChanged = known.update(facts);
      if (known.user !== user) {
        this.#weights.remove(known, user);
        this.#weights.add(known);
      }
      const isWeightChanged =
        facts.user !== undefined && facts.userWeight === undefined && this.#weights.apply(known);
      if (hasChanged || isWeightChanged) this.#jobChanged({ kind: 'changed', job: known });
      if (known.long !== long) this.longChanges++;
      if (known.long !== long || known.arrivedAt !== arrivedAt) this.#kinds.updateJob(known.stages);
      if (hasChanged) this.#limits.arrived(known);
      if (known.user !== user) for (const run of known.runs) this.#limits.occupies(run);
      return known;
    }
    const owner = this.#owners.at(by);
    const job = new BookedJob(this.#ids.job.take(), owner, number, facts);
    if (facts.userWeight === undefined) this.#weights.apply(job);
    this.#owners.addJob(owner, job);
    this.#limits.arrived(job);
    this.#weights.add(job);
    this.#jobChanged({ kind: 'arrived', job });
    return job;
  }

  /** Sets the grants of all users. */
  grant(grants: UserGrants): void {
    this.#limits.grant(grants, this.jobs);
    this.#weights.grant(grants, this.jobs);
  }

  /** Sets whether tasks may run that the books do not contain, because central has just started. */
  setUnsure(isUnsure: boolean): void {
    this.#limits.setUnsure(isUnsure);
  }

  /**
   * The job of a run found at a worker. The owner may have reclassified it as long without the worker's knowledge.
   */
  declareAdopted(owner: Address, number: JobNumber, arrivedAt: Millis, long: boolean): BookedJob {
    const isLong = long || this.job(owner, number)?.long === true;
    return this.declare(owner, number, { arrivedAt, isArrivalGuessed: true, long: isLong });
  }

  /** Creates or updates the stage. */
  stage(job: BookedJob, index: StageIndex, facts: StageFacts): BookedStage {
    const known = job.stageAt(index);
    if (known !== undefined) {
      const hasChanged = known.update(facts);
      const isNarrowed = this.#requires(known, facts.requires);
      this.#kinds.update(known);
      this.#limits.changed(known);
      if (isNarrowed || hasChanged) this.#waitingChanged(known);
      return known;
    }
    const needs = this.#needs.take(facts.demand, facts.requires);
    const stage = job.addStage(this.#ids.stage.take(), index, needs, facts);
    const gpuAt = this.names.find(GPU);
    stage.hasGpus = gpuAt !== undefined && (facts.demand[gpuAt] ?? 0) > 0;
    return stage;
  }

  /**
   * Requirements never change, but may arrive late: a run that a worker reports to a new central does not include
   * them. @returns whether they are new
   */
  #requires(stage: BookedStage, requires: Attributes | undefined): boolean {
    const { needs } = stage;
    if (requires === undefined || needs.requires !== undefined) return false;
    stage.needs = this.#needs.take(needs.demand, requires);
    stage.job.spreads(stage.needs);
    this.#changes.whenTaken(() => this.#needs.release(needs));
    return true;
  }

  /** Sets the number of waiting tasks. The owner chooses the task when it binds one. */
  setWaiting(stage: BookedStage, waiting: number, now: Millis): void {
    if (stage.named > 0) stage.clearNamed();
    if (waiting === stage.waiting + stage.overLimit) return;
    if (stage.waiting + stage.overLimit === 0) stage.waitsSince = now;
    const seen = this.#limits.isLimited(stage.job.user) ? Math.min(waiting, stage.waiting) : waiting;
    stage.overLimit = waiting - seen;
    this.#limits.changed(stage);
    this.#setVisible(stage, seen);
  }

  #addWaiting(stage: BookedStage, tasks: number): void {
    this.#waitingTasks += tasks;
    stage.waiting += tasks;
    invariant(
      stage.waiting >= 0,
      () => `${stage.waiting} tasks of stage ${stage.id} wait after ${tasks} more`,
    );
    this.#kinds.update(stage);
  }

  /** Sets the number of tasks that the policy may start. */
  #setVisible(stage: BookedStage, waiting: number): void {
    if (waiting === stage.waiting) return;
    this.#addWaiting(stage, waiting - stage.waiting);
    this.#waitingChanged(stage);
  }

  /** Admits as many waiting tasks of each user as the limits allow. */
  #applyLimits(): void {
    if (!this.#limits.hasChanges) return;
    this.#limits.allot(
      this.feasible,
      this.capacity,
      (job) => this.parentOf(job),
      (stage, tasks) => {
        stage.overLimit += stage.waiting - tasks;
        this.#setVisible(stage, tasks);
      },
    );
  }

  /** Whether any user has a limit on running tasks. */
  get hasLimits(): boolean {
    return !this.#limits.isEmpty;
  }

  /** Adds a particular waiting task, which the owner has named. */
  nameWaiting(stage: BookedStage, named: TaskAttempt, now: Millis): void {
    // An owner that names tasks does not report a count.
    if (stage.waiting !== stage.named) this.setWaiting(stage, 0, now);
    if (!stage.name(named)) return;
    if (stage.waiting === 0) stage.waitsSince = now;
    this.#addWaiting(stage, 1);
    this.#waitingChanged(stage);
  }

  /** Removes a named task from the waiting ones, because a worker already has it. */
  unnameWaiting(stage: BookedStage, task: TaskIndex): void {
    if (stage.waitingAttempt(task) === undefined) return;
    stage.unname(task);
    this.#addWaiting(stage, -1);
    this.#waitingChanged(stage);
  }

  /** The job needs no more workers; its runs stay in the books until they end. */
  withdraw(job: BookedJob, now: Millis): void {
    job.isDeclared = false;
    for (const stage of job.stages) this.setWaiting(stage, 0, now);
    this.deleteIfOver(job);
  }

  /** Deletes a job without waiting or running tasks, unless its owner has declared it. */
  deleteIfOver(job: BookedJob): void {
    if (!job.isOver || job.owner.jobs.get(job.number) !== job) return;
    this.#owners.removeJob(job);
    this.#limits.gone(job);
    this.#weights.remove(job);
    this.#changes.whenTaken(() => {
      this.#ids.job.release(job.id);
      for (const { id, needs } of job.stages) {
        this.#ids.stage.release(id);
        this.#needs.release(needs);
      }
    });
    this.#jobChanged({ kind: 'gone', job });
  }

  // ---- runs

  /** Whether one more task of the stage could start at the worker. */
  canStart(stage: BookedStage, worker: BookedWorker): boolean {
    return stage.waiting > 0 && worker.open && hasRoom(stage, worker);
  }

  /** @returns undefined if `canStart` is false, or with a loan, if a lender may not lend or the task does not fit */
  start(stage: BookedStage, worker: BookedWorker, now: Millis, loan?: Loan): BookedRun | undefined {
    if (loan !== undefined) return this.#startWith(loan, stage, worker, now);
    if (!this.canStart(stage, worker)) return undefined;
    const run = this.#take(stage, worker, now);
    worker.occupy(run);
    return this.#enter(run);
  }

  #startWith(
    { lenders, atMostMs }: Loan,
    stage: BookedStage,
    worker: BookedWorker,
    now: Millis,
  ): BookedRun | undefined {
    const isShared = atMostMs === Number.POSITIVE_INFINITY;
    if (isShared && lenders[0] !== this.parentOf(stage.job)) return undefined;
    if (!canMakeRoom(lenders, isShared, worker) || stage.waiting === 0 || !worker.open) return undefined;
    if (!hasRoomWith(lenders, stage, worker, true) || stage.gang || !(atMostMs > 0)) return undefined;
    const run = this.#take(stage, worker, now);
    run.lentAtMostMs = atMostMs;
    run.isShared = isShared;
    this.#lend(lenders as readonly BookedRun[], run, now);
    worker.occupy(run);
    return this.#enter(run);
  }

  /** Pauses the lenders for the run. */
  #lend(lenders: readonly BookedRun[], run: BookedRun, now: Millis): void {
    run.lenders = lenders;
    const parts = lentBy(lenders, run.stage.demand);
    lenders.forEach((lender, at) => {
      lender.borrower = run;
      lender.pausedAt = now;
      lender.worker.lend(lender, parts[at]!);
      this.#limits.occupies(lender);
    });
  }

  /** The run uses its CPUs again, whether its borrower has ended or not. */
  resume(run: BookedRun, now: Millis): void {
    if (run.borrower === undefined) return;
    const { worker } = run;
    this.#endLoan(run, now);
    worker.takeBack(run);
    this.#limits.occupies(run);
    for (const [index, amount] of worker.free.entries()) {
      if (amount >= 0) continue;
      worker.free[index] = 0;
      worker.isOverbooked = true;
    }
    worker.limitFreeSlots();
    this.version++;
    if (run.stage.job.long) this.longChanges++;
    this.#changes.runResumed(run);
  }

  #endLoan(run: BookedRun, now: Millis): void {
    const borrower = run.borrower!;
    run.pausedBeforeMs = run.pausedMs(now);
    borrower.lenders = borrower.lenders.filter((each) => each !== run);
    run.borrower = undefined;
  }

  /** Queues a named task at the worker. @returns undefined if none waits, or if it could never run there */
  place(stage: BookedStage, worker: BookedWorker, now: Millis): BookedRun | undefined {
    if (stage.named === 0 || !worker.open || !fitsEver(stage, worker)) return undefined;
    const run = this.#take(stage, worker, now);
    run.step('queue');
    return this.#enter(run);
  }

  /** Reverts a start of this draft, which no other party has seen. */
  undo(run: BookedRun): void {
    const { stage, worker } = run;
    invariant(worker.removeRun(run), () => `run ${run.id} is undone, but not at worker ${worker.id}`);
    this.#leave(run);
    this.#limits.vacates(run);
    this.#addWaiting(stage, 1);
    if (run.named !== undefined) stage.name(run.named);
    this.#ids.run.release(run.id);
    worker.vacate(run);
  }

  /**
   * Records a run at a worker that these books did not start.
   *
   * @returns undefined if the worker reports more runs than it has slots
   */
  adoptRun(
    stage: BookedStage,
    worker: BookedWorker,
    startedAt: Millis,
    {
      named,
      match = 0,
      isExtra = false,
    }: {
      readonly named?: TaskAttempt | undefined;
      readonly match?: number;
      /** It has outlasted its loan of CPUs, so that it uses a slot beyond the capacity. */
      readonly isExtra?: boolean;
    } = {},
  ): BookedRun | undefined {
    // A worker lends at most each of its slots once, and once more for each level of nested jobs.
    if (worker.slotsLeft <= (isExtra ? -worker.capacity[SLOT]! * LIMITS.nestedMax : 0)) return undefined;
    const run = this.#enter(this.#newRun(stage, worker, startedAt, named));
    run.match = match;
    this.#occupy(run);
    this.#changes.runFound(run);
    return run;
  }

  /**
   * Records a run that its worker has started on the CPUs of paused runs, which these books already have.
   *
   * @returns undefined as `adoptRun`
   */
  adoptBorrower(
    stage: BookedStage,
    worker: BookedWorker,
    startedAt: Millis,
    match: number,
    lenders: readonly BookedRun[],
    isShared: boolean,
    now: Millis,
  ): BookedRun | undefined {
    const run = this.#newRun(stage, worker, startedAt, undefined);
    run.isShared = isShared;
    this.#lend(lenders, run, now);
    if (worker.slotsLeft <= 0) {
      for (const lender of lenders) this.resume(lender, now);
      this.#ids.run.release(run.id);
      return undefined;
    }
    this.#enter(run);
    run.match = match;
    this.#occupy(run);
    this.#changes.runFound(run);
    return run;
  }

  /** Records a run again that ended as done at that time, because its worker still reports it. */
  restore({ stage, worker, startedAt, match }: BookedRun, endedAt: Millis): void {
    const { owner, number } = stage.job;
    const known = this.job(owner.address, number);
    const job = known ?? this.declare(owner.address, number, factsOf(stage.job));
    const again = this.stage(job, stage.index, { demand: stage.demand });
    if (this.adoptRun(again, worker, startedAt, { match }) === undefined) return this.deleteIfOver(job);
    again.ended = Math.max(0, again.ended - 1);
    job.attained = Math.max(0, job.attained - (endedAt - startedAt));
  }

  /** Records a queued task at a worker that these books did not place. */
  adoptQueued(stage: BookedStage, worker: BookedWorker, now: Millis, named: TaskAttempt): BookedRun {
    const run = this.#newRun(stage, worker, now, named);
    run.step('queue');
    this.#enter(run);
    run.step('confirm');
    this.#changes.runFound(run);
    return run;
  }

  /** Marks a queued run as started, unless confirmed runs take all slots of its worker. */
  begin(run: BookedRun, startedAt: Millis): void {
    if (!run.isQueued || run.worker.slotsLeft <= 0) return;
    run.startedAt = startedAt;
    this.#occupy(run);
    this.#limits.occupies(run);
    this.#workerChanged({ kind: 'began', run });
  }

  /** The worker has confirmed the run. */
  confirm(run: BookedRun): void {
    if (run.isConfirmed) return;
    run.step('confirm');
    if (!run.isQueued) this.#confirmSlot(run, run.worker.free[SLOT]!);
    if (run.lent.length > 0) run.worker.confirmSlots(-run.lent[SLOT]!);
  }

  /**
   * Ends a run, frees its resources and adds its slot time to the job's. A declined task used no slot time, and waits
   * again once its owner reports it. A run that is done although it was to be preempted ends as `preempted`.
   */
  end(run: BookedRun, reported: RunEnd, now: Millis): void {
    const { stage, worker } = run;
    const how = reported === 'done' && run.isPreempted ? 'preempted' : reported;
    if (!worker.removeRun(run)) return;
    if (worker.runCount === 0) this.onIdle?.(worker);
    this.#leave(run);
    if (how === 'done') stage.ended = Math.min(stage.tasks, stage.ended + 1);
    this.#limits.vacates(run);
    this.#limits.changed(stage);
    if (stage.job.long) this.longChanges++;
    this.version++;
    this.#changes.runEnded(run, how);
    if (how === 'declined') stage.declined(worker, now);
    else if (stage.needs.spread !== undefined) this.#roomToSpread(stage.job);
    if (!run.isQueued) {
      if (how !== 'declined') stage.job.attained += Math.max(0, now - run.startedAt - run.pausedMs(now));
      if (run.borrower !== undefined) {
        this.#endLoan(run, now);
        worker.takeBack(run);
      }
      if (run.isConfirmed) worker.confirmSlots(-stage.demand[SLOT]!);
      worker.vacate(run);
      for (const lender of run.lenders) this.resume(lender, how === 'declined' ? lender.pausedAt : now);
      if (worker.isOverbooked) worker.limitFree();
      worker.limitFreeSlots();
      if (how !== 'lost') this.#freed(worker);
    }
    this.deleteIfOver(stage.job);
  }

  /** Records short work of jobs that are not in these books. */
  shortWork(workMs: Millis): void {
    if (workMs > 0) this.#jobChanged({ kind: 'shortWork', workMs });
  }

  solved(answer: Extract<ClusterChange, { kind: 'solved' }>): void {
    this.version++;
    this.#changes.solved(answer);
  }

  // ---- changes

  get hasChanges(): boolean {
    return !this.#changes.isEmpty;
  }

  /** Returns the changes since the last call. */
  takeChanges(): readonly ClusterChange[] {
    this.#applyLimits();
    const changes = this.#changes.take();
    for (const change of changes) if (change.kind === 'ended') this.#ids.run.release(change.run.id);
    return changes;
  }

  /** A run of a job that spreads has ended, so that tasks may start at other workers with the same attribute. */
  #roomToSpread({ stages }: BookedJob): void {
    for (const stage of stages) {
      if (stage.needs.spread === undefined) continue;
      for (const worker of stage.declinedBy?.keys() ?? [])
        if (!stage.avoided.includes(worker)) stage.declinedBy!.delete(worker);
      if (stage.waiting > 0) this.#waitingChanged(stage);
    }
  }

  /** Offers workers again that the owner declined some time ago. Called when the owner repeats its need. */
  reconsider(stage: BookedStage, now: Millis, avoided: readonly BookedWorker[] = NO_WORKERS): void {
    for (const worker of stage.avoided as readonly BookedWorker[]) {
      if (avoided.includes(worker) || stage.declinedBy?.delete(worker) !== true) continue;
      if (this.worker(worker.address) === worker) this.#freed(worker);
    }
    stage.avoided = avoided;
    const { declinedBy } = stage;
    const hasChanged = avoided.some((worker) => declinedBy?.has(worker) !== true);
    for (const worker of avoided) stage.declined(worker, now);
    if (hasChanged && stage.waiting > 0) this.#waitingChanged(stage);
    if (declinedBy === undefined) return;
    for (const [worker, at] of declinedBy) {
      if (now - at < DECLINED_MS) continue;
      declinedBy.delete(worker);
      this.#freed(worker as BookedWorker);
    }
  }

  /** The run takes a slot that these books had counted as free. */
  #occupy(run: BookedRun): void {
    const before = run.worker.free[SLOT]!;
    run.worker.occupy(run);
    const { free } = run.worker;
    for (let index = 0; index < free.length; index++) if (free[index]! < 0) free[index] = 0;
    run.step('run');
    this.#confirmSlot(run, before);
  }

  /** @param before free slots at the worker before this run */
  #confirmSlot({ worker, stage }: BookedRun, before: number): void {
    worker.confirmSlots(stage.demand[SLOT]!);
    worker.limitFreeSlots();
    if (worker.free[SLOT]! < before) this.#recordShrink(worker);
  }

  #take(stage: BookedStage, worker: BookedWorker, now: Millis): BookedRun {
    this.#addWaiting(stage, -1);
    stage.waitsSince = now;
    return this.#newRun(stage, worker, now, stage.takeNamed());
  }

  #newRun(stage: BookedStage, worker: BookedWorker, startedAt: Millis, named?: TaskAttempt): BookedRun {
    return new BookedRun(this.#ids.run.take(), stage, worker, startedAt, named);
  }

  #enter(run: BookedRun): BookedRun {
    const { stage, worker } = run;
    stage.running++;
    stage.job.addRun(run);
    worker.addRun(run);
    this.#runs++;
    this.#limits.occupies(run);
    this.#limits.changed(stage);
    if (stage.job.long) this.longChanges++;
    this.version++;
    return run;
  }

  /** The run leaves its job. Each run enters and leaves once, so no count falls below 0. */
  #leave(run: BookedRun): void {
    const { stage } = run;
    const wasThere = stage.job.removeRun(run);
    stage.running--;
    this.#runs--;
    invariant(
      wasThere && stage.running >= 0 && this.#runs >= 0,
      () => `run ${run.id} ends, known ${wasThere}: ${stage.running} runs of its stage, ${this.#runs} in all`,
    );
  }

  #freed(worker: BookedWorker): void {
    this.version++;
    this.#limits.workersChanged();
    if (worker.open) this.#changes.workerFreed(worker);
  }

  #recordShrink(worker: BookedWorker): void {
    if (worker.open) this.#workerChanged({ kind: 'shrank', worker });
  }

  #workerChanged(change: ClusterChange): void {
    this.version++;
    this.#limits.workersChanged();
    this.#changes.workerChanged(change);
  }

  #waitingChanged(stage: BookedStage): void {
    this.version++;
    this.#changes.waitingChanged(stage);
  }

  #jobChanged(change: ClusterChange): void {
    this.version++;
    this.#changes.jobChanged(change);
  }
}

function copyInto(target: number[], from: Vector): Vector {
  target.length = from.length;
  for (let index = 0; index < from.length; index++) target[index] = from[index]!;
  return target;
}

/** The facts of a job that outlive its record: a run may be found again after the record was deleted. */
function factsOf(job: BookedJob): JobFacts {
  const { arrivedAt, deadlineAt } = job;
  return { ...job.facts, arrivedAt, deadlineAt, isArrivalGuessed: true };
}

/** A declined worker is not offered again for this time (ms). */
const DECLINED_MS = 100;

const NO_WORKERS: readonly BookedWorker[] = [];
