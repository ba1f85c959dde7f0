import {
  type Address,
  addVector,
  GPU,
  grantOf,
  invariant,
  type JobNumber,
  type Millis,
  projectGrantOf,
  ResourceNames,
  SLOT,
  type StageIndex,
  sumOf,
  type TaskAttempt,
  type TaskIndex,
  type UserGrants,
  type Vector,
} from '@goshawk/core';
import type { Attributes, ClusterView, News, RunEnd } from '../contract.js';
import { fitsEver, hasRoom } from '../fitting.js';
import {
  BookedJob,
  BookedRun,
  type BookedStage,
  BookedWorker,
  type JobFacts,
  type StageFacts,
} from './entries.js';
import { RunningLimits } from './user-limits.js';

/**
 * Central's view of the cluster: workers, jobs with their stages, and runs, each in one place. Every change
 * is news for the policy. Central records what parties report; a policy makes changes through a draft.
 */
export class ClusterBooks implements ClusterView {
  readonly names = new ResourceNames();
  readonly capacity: number[] = [];
  version = 0;
  /** Grows whenever a worker has more or fewer runs of long jobs than before. */
  longChanges = 0;
  readonly #workers = new Map<Address, BookedWorker>();
  readonly #byId: (BookedWorker | undefined)[] = [];
  readonly #jobs = new Map<Address, Map<number, BookedJob>>();
  /** The present incarnation of owners that workers may still name by an earlier one. */
  readonly #presentOwners = new Map<Address, Address>();
  #grants: UserGrants = new Map();
  readonly #byUser = new Map<string, Set<BookedJob>>();
  readonly #limits = new RunningLimits(this.names);
  readonly #ids = { worker: new Ids(), job: new Ids(), stage: new Ids(), run: new Ids() };
  #ended = NO_NEWS;
  #ofWorkers = NO_NEWS;
  #ofJobs = NO_NEWS;
  #answers = NO_NEWS;
  /** Ids of what is gone, kept from others until the policy has heard so. */
  #leaving: (() => void)[] = [];
  #waitingTasks = 0;
  #runs = 0;

  // ---- the view

  get resources(): readonly string[] {
    return this.names.names;
  }

  get workers(): Iterable<BookedWorker> {
    return this.#byId.filter((worker) => worker !== undefined);
  }

  get jobs(): Iterable<BookedJob> {
    return [...this.#jobs.values()].flatMap((ofOwner) => [...ofOwner.values()]);
  }

  /** Tasks that may start and have no worker. */
  get waitingTasks(): number {
    return this.#waitingTasks;
  }

  /** Runs, those on their way included. */
  get runCount(): number {
    return this.#runs;
  }

  // ---- workers

  worker(address: Address): BookedWorker | undefined {
    return this.#workers.get(address);
  }

  /** Closed at first. */
  addWorker(address: Address, capacity: Vector, attributes: Attributes = {}): BookedWorker {
    const gpuAt = this.names.find(GPU) ?? 0;
    const worker = new BookedWorker(this.#ids.worker.take(), address, capacity, attributes, gpuAt);
    this.#workers.set(address, worker);
    this.#byId[worker.id] = worker;
    this.version++;
    return worker;
  }

  setOpen(worker: BookedWorker, open: boolean): void {
    if (worker.open === open) return;
    worker.open = open;
    addVector(this.capacity, worker.capacity, open ? 1 : -1);
    this.#tellOfWorker({ kind: open ? 'opened' : 'closed', worker });
  }

  /** Its runs are lost. */
  removeWorker(worker: BookedWorker, now: Millis): void {
    for (const run of [...worker.runs]) this.end(run, 'lost', now);
    this.setOpen(worker, false);
    this.#workers.delete(worker.address);
    this.#byId[worker.id] = undefined;
    this.#leaving.push(() => this.#ids.worker.free(worker.id));
    this.#tellOfWorker({ kind: 'left', worker });
  }

  /**
   * Sets the free amounts as the worker reports them, less what is in flight; never more than its runs leave.
   * A change is news.
   * @param gpuParts free amounts of partly used GPUs; empty with at most one, which `free` covers
   */
  setFree(
    worker: BookedWorker,
    free: Vector,
    gpuParts: readonly number[] = [],
    onTheWay: readonly BookedRun[] = [],
  ): void {
    const before = [...worker.free];
    worker.setFree(free, gpuParts);
    for (const run of onTheWay) worker.occupy(run);
    worker.free[SLOT] = Math.max(0, Math.min(worker.free[SLOT]!, slotsLeft(worker)));
    const more = worker.free.some((amount, index) => amount > (before[index] ?? 0));
    const less = worker.free.some((amount, index) => amount < (before[index] ?? 0));
    if (more) this.#freed(worker);
    else this.version++;
    if (less) this.#shrank(worker);
  }

  // ---- jobs

  job(owner: Address, number: JobNumber): BookedJob | undefined {
    return this.#jobs.get(this.#presentOwner(owner))?.get(number);
  }

  jobsOf(owner: Address): Iterable<BookedJob> {
    return this.#jobs.get(this.#presentOwner(owner))?.values() ?? [];
  }

  /**
   * The owner has been started again: its jobs, and what runs of them, have the new address. Workers that have not heard
   * of it yet name a former one, which stands for the new one from now on.
   */
  rehome(owner: Address, formers: readonly Address[], now: Millis): void {
    for (const [former, present] of this.#presentOwners)
      if (present === owner || formers.includes(present)) this.#presentOwners.delete(former);
    for (const former of formers) {
      if (former === owner) continue;
      for (const job of [...(this.#jobs.get(former)?.values() ?? [])]) this.#move(job, owner, now);
      this.#presentOwners.set(former, owner);
    }
    this.#presentOwners.delete(owner);
  }

  /** Nobody will go on with the jobs of this owner. */
  forgetOwner(owner: Address): void {
    for (const [former, present] of this.#presentOwners)
      if (present === owner) this.#presentOwners.delete(former);
  }

  #move(job: BookedJob, owner: Address, now: Millis): void {
    const ofOwner = this.#jobsBy(owner);
    // Two incarnations that each have a job of that number contradict each other, and the present one is right.
    if (ofOwner.has(job.number)) {
      this.withdraw(job, now);
      for (const run of [...job.runs]) this.end(run, 'lost', now);
      return;
    }
    const ofFormer = this.#jobs.get(job.owner)!;
    ofFormer.delete(job.number);
    if (ofFormer.size === 0) this.#jobs.delete(job.owner);
    job.owner = owner;
    // Each incarnation counts its matches from 0.
    for (const stage of job.allStages) stage.matches = 0;
    ofOwner.set(job.number, job);
  }

  #jobsBy(owner: Address): Map<number, BookedJob> {
    let ofOwner = this.#jobs.get(owner);
    if (ofOwner === undefined) {
      ofOwner = new Map();
      this.#jobs.set(owner, ofOwner);
    }
    return ofOwner;
  }

  #presentOwner(owner: Address): Address {
    return this.#presentOwners.size === 0 ? owner : (this.#presentOwners.get(owner) ?? owner);
  }

  /** The job with these facts, known or new. */
  declare(by: Address, number: JobNumber, facts: JobFacts): BookedJob {
    const owner = this.#presentOwner(by);
    const known = this.job(owner, number);
    if (known !== undefined) {
      const { long, user } = known;
      const isNew = known.learn(facts);
      if (known.user !== user) {
        this.#leaves(known, user);
        this.#comes(known);
      }
      const isReweighed = facts.user !== undefined && this.#weigh(known, facts);
      if (isNew || isReweighed) this.#tellOfJob({ kind: 'changed', job: known });
      if (known.long !== long) this.longChanges++;
      if (facts.user !== undefined) this.#limits.came(known);
      return known;
    }
    const job = new BookedJob(this.#ids.job.take(), owner, number, facts);
    this.#weigh(job, facts);
    this.#jobsBy(owner).set(number, job);
    this.#limits.came(job);
    this.#comes(job);
    this.#tellOfJob({ kind: 'arrived', job });
    return job;
  }

  /** Sets the grants of all users. */
  grant(grants: UserGrants): void {
    this.#grants = grants;
    this.#limits.grant(grants, this.jobs);
    for (const job of this.jobs) if (this.#weigh(job)) this.#tellOfJob({ kind: 'changed', job });
    const projects = new Set([...this.#byUser.keys()].map((user) => grantOf(grants, user).project));
    for (const project of projects) if (project !== undefined) this.#divideWeight(project);
  }

  #comes(job: BookedJob): void {
    const { user } = job;
    const others = this.#byUser.get(user);
    if (others === undefined) this.#byUser.set(user, new Set([job]));
    else others.add(job);
    const { project } = grantOf(this.#grants, user);
    if (project === undefined || (projectGrantOf(this.#grants, project)?.weight ?? 0) === 0) return;
    // All jobs of a user have one weight, which the first of them divides anew.
    const [other] = others ?? [];
    if (other === undefined || other === job) this.#divideWeight(project);
    else job.userWeight = other.userWeight;
  }

  #leaves(job: BookedJob, user = job.user): void {
    const left = this.#byUser.get(user);
    if (left?.delete(job) !== true || left.size > 0) return;
    this.#byUser.delete(user);
    const { project } = grantOf(this.#grants, user);
    if (project !== undefined) this.#divideWeight(project);
  }

  /** A project with a weight has it divided among its users who have jobs: there is one more, or one less. */
  #divideWeight(project: string): void {
    const whole = projectGrantOf(this.#grants, project)?.weight ?? 0;
    if (whole === 0) return;
    const users = [...this.#byUser.keys()].filter((user) => grantOf(this.#grants, user).project === project);
    const sum = sumOf(users, (user) => grantOf(this.#grants, user).weight);
    for (const user of users) {
      const weight = (whole * grantOf(this.#grants, user).weight) / sum;
      for (const job of this.#byUser.get(user)!) {
        if (job.userWeight === weight) continue;
        job.userWeight = weight;
        this.#tellOfJob({ kind: 'changed', job });
      }
    }
  }

  /** @returns whether its user has another weight than before */
  #weigh(job: BookedJob, facts?: JobFacts): boolean {
    const { weight, project } = grantOf(this.#grants, job.user);
    if (facts?.userWeight !== undefined || job.userWeight === weight) return false;
    if ((projectGrantOf(this.#grants, project)?.weight ?? 0) > 0) return false;
    job.userWeight = weight;
    return true;
  }

  /** The job of which a worker runs something since then. Its owner may have found it long without the worker's knowing. */
  declareFound(owner: Address, number: JobNumber, arrivedAt: Millis, long: boolean): BookedJob {
    const isLong = long || this.job(owner, number)?.long === true;
    return this.declare(owner, number, { arrivedAt, isArrivalGuessed: true, long: isLong });
  }

  /** The stage with these facts, known or new. */
  stage(job: BookedJob, index: StageIndex, facts: StageFacts): BookedStage {
    const known = job.stageAt(index);
    if (known !== undefined) {
      if (known.learn(facts)) this.#tellOfJob({ kind: 'waiting', stage: known });
      return known;
    }
    return job.addStage(this.#ids.stage.take(), index, facts);
  }

  /** So many of its tasks wait, and their owner will choose which of them runs. */
  setWaiting(stage: BookedStage, waiting: number, now: Millis): void {
    if (stage.named > 0) stage.forgetNamed();
    if (waiting === stage.waiting + stage.held) return;
    if (stage.waiting + stage.held === 0) stage.waitsSince = now;
    const seen = this.#limits.isLimited(stage.job.user) ? Math.min(waiting, stage.waiting) : waiting;
    stage.held = waiting - seen;
    this.#limits.changed(stage.job);
    this.#show(stage, seen);
  }

  /** So many of its tasks are for the policy to start. */
  #show(stage: BookedStage, waiting: number): void {
    if (waiting === stage.waiting) return;
    this.#waitingTasks += waiting - stage.waiting;
    stage.waiting = waiting;
    this.#tellOfJob({ kind: 'waiting', stage });
  }

  /** Lets as many waiting tasks of each user start as the limits allow. */
  #keepLimits(): void {
    if (!this.#limits.hasChanges) return;
    this.#limits.allot(
      () => this.workers,
      (stage, tasks) => {
        stage.held += stage.waiting - tasks;
        this.#show(stage, tasks);
      },
    );
  }

  /** Some user has a limit on what runs. */
  get hasLimits(): boolean {
    return !this.#limits.isEmpty;
  }

  /** This very task of the stage waits, also when the others do not. */
  nameWaiting(stage: BookedStage, named: TaskAttempt, now: Millis): void {
    // Owners that name tasks no longer count them.
    if (stage.waiting !== stage.named) this.setWaiting(stage, 0, now);
    if (!stage.name(named)) return;
    if (stage.waiting === 0) stage.waitsSince = now;
    this.#waitingTasks++;
    stage.waiting++;
    this.#tellOfJob({ kind: 'waiting', stage });
  }

  /** A named task waits no more: a worker has it already. */
  unnameWaiting(stage: BookedStage, task: TaskIndex): void {
    if (stage.waitingAttempt(task) === undefined) return;
    stage.unname(task);
    this.#waitingTasks--;
    stage.waiting--;
    this.#tellOfJob({ kind: 'waiting', stage });
  }

  /** The job wants nothing any more; what runs of it stays in the books until it ends. */
  withdraw(job: BookedJob, now: Millis): void {
    job.isDeclared = false;
    for (const stage of job.allStages) this.setWaiting(stage, 0, now);
    this.forgetIfOver(job);
  }

  /** Nothing of the job waits or runs, and its owner has declared nothing that is to come. */
  forgetIfOver(job: BookedJob): void {
    if (!job.isOver || this.job(job.owner, job.number) !== job) return;
    const ofOwner = this.#jobs.get(job.owner)!;
    ofOwner.delete(job.number);
    if (ofOwner.size === 0) this.#jobs.delete(job.owner);
    this.#limits.gone(job);
    this.#leaves(job);
    this.#leaving.push(() => {
      this.#ids.job.free(job.id);
      for (const stage of job.allStages) this.#ids.stage.free(stage.id);
    });
    this.#tellOfJob({ kind: 'gone', job });
  }

  // ---- runs

  /** Whether one more task of the stage could start there. */
  canStart(stage: BookedStage, worker: BookedWorker): boolean {
    return stage.waiting > 0 && worker.open && hasRoom(stage, worker);
  }

  /** @returns undefined where `canStart` says no */
  start(stage: BookedStage, worker: BookedWorker, now: Millis): BookedRun | undefined {
    if (!this.canStart(stage, worker)) return undefined;
    const run = this.#take(stage, worker, now);
    worker.occupy(run);
    return this.#enter(run);
  }

  /** Queues a task that is named at the worker. @returns undefined where none is, or it could never run there */
  place(stage: BookedStage, worker: BookedWorker, now: Millis): BookedRun | undefined {
    if (stage.named === 0 || !worker.open || !fitsEver(stage, worker)) return undefined;
    const run = this.#take(stage, worker, now);
    run.isQueued = true;
    return this.#enter(run);
  }

  /** A start of this draft is taken back: nobody has heard of it. */
  undo(run: BookedRun): void {
    const { stage, worker } = run;
    worker.removeRun(run);
    stage.job.removeRun(run);
    stage.running--;
    stage.waiting++;
    if (run.named !== undefined) stage.name(run.named);
    this.#waitingTasks++;
    this.#runs--;
    this.#ids.run.free(run.id);
    worker.vacate(run);
  }

  /**
   * Runs there without a start of these books.
   *
   * @returns undefined where a worker names more runs than it has slots
   */
  find(
    stage: BookedStage,
    worker: BookedWorker,
    startedAt: Millis,
    named?: TaskAttempt,
  ): BookedRun | undefined {
    if (slotsLeft(worker) <= 0) return undefined;
    const run = this.#enter(this.#newRun(stage, worker, startedAt, named));
    this.#occupy(run);
    this.#found(run);
    return run;
  }

  /** Waits in the worker's queue without these books having placed it. */
  findQueued(stage: BookedStage, worker: BookedWorker, now: Millis, named: TaskAttempt): BookedRun {
    const run = this.#enter(this.#newRun(stage, worker, now, named));
    run.isQueued = true;
    run.isConfirmed = true;
    this.#found(run);
    return run;
  }

  /** A run that was queued has started, if its worker can have a slot for it. */
  begin(run: BookedRun, startedAt: Millis): void {
    if (!run.isQueued || slotsLeft(run.worker) <= 0) return;
    run.isQueued = false;
    run.startedAt = startedAt;
    this.#occupy(run);
    this.#tellOfWorker({ kind: 'began', run });
  }

  /** The worker has said that it is there. */
  confirm(run: BookedRun): void {
    if (run.isConfirmed) return;
    run.isConfirmed = true;
    if (!run.isQueued) this.#confirmSlot(run, run.worker.free[SLOT]!);
  }

  /**
   * The run is over, and its room is free. What it had is its job's; a task that was declined had nothing, and waits
   * again when its owner says so.
   */
  end(run: BookedRun, how: RunEnd, now: Millis): void {
    const { stage, worker } = run;
    if (!worker.removeRun(run)) return;
    stage.job.removeRun(run);
    stage.running--;
    this.#runs--;
    if (how === 'done') stage.ended = Math.min(stage.tasks, stage.ended + 1);
    this.#limits.changed(stage.job);
    if (stage.job.long) this.longChanges++;
    this.version++;
    // A run found in this turn cannot end before it.
    if (run.isFoundInNews) this.#ofWorkers = added(this.#ofWorkers, { kind: 'ended', run, how });
    else this.#ended = added(this.#ended, { kind: 'ended', run, how });
    if (how === 'declined') {
      stage.declinedBy ??= new Map();
      stage.declinedBy.set(worker, now);
    }
    if (!run.isQueued) {
      if (how !== 'declined') stage.job.attained += Math.max(0, now - run.startedAt);
      if (run.isConfirmed) worker.confirmedSlots -= stage.demand[SLOT]!;
      worker.vacate(run);
      worker.free[SLOT] = Math.max(0, Math.min(worker.free[SLOT]!, slotsLeft(worker)));
      if (how !== 'lost') this.#freed(worker);
    }
    this.forgetIfOver(stage.job);
  }

  /** Short work that no job of these books stands for. */
  shortWork(workMs: Millis): void {
    if (workMs > 0) this.#tellOfJob({ kind: 'shortWork', workMs });
  }

  solved(answer: Extract<News, { kind: 'solved' }>): void {
    this.version++;
    this.#answers = added(this.#answers, answer);
  }

  // ---- news

  get hasNews(): boolean {
    return this.#ended.length + this.#ofWorkers.length + this.#ofJobs.length + this.#answers.length > 0;
  }

  /** Returns the changes since the last call. */
  takeNews(): readonly News[] {
    this.#keepLimits();
    let news = this.#ended;
    for (const each of this.#ofWorkers) news = added(news, each);
    for (const each of this.#ofJobs) news = added(news, each);
    for (const each of this.#answers) news = added(news, each);
    this.#ended = this.#ofWorkers = this.#ofJobs = this.#answers = NO_NEWS;
    for (const each of news) this.#isHeard(each);
    if (this.#leaving.length > 0) {
      for (const leave of this.#leaving) leave();
      this.#leaving = [];
    }
    return news;
  }

  #isHeard(news: News): void {
    if (news.kind === 'freed') (news.worker as BookedWorker).isFreedInNews = false;
    else if (news.kind === 'waiting') (news.stage as BookedStage).isInNews = false;
    else if (news.kind === 'found') (news.run as BookedRun).isFoundInNews = false;
    else if (news.kind === 'ended') this.#ids.run.free(news.run.id);
  }

  /** The owner asks for workers once more: those that it declined some time ago may be offered again. */
  reconsider(stage: BookedStage, now: Millis, avoided: readonly BookedWorker[] = []): void {
    for (const worker of stage.avoided as readonly BookedWorker[]) {
      if (avoided.includes(worker) || stage.declinedBy?.delete(worker) !== true) continue;
      if (this.worker(worker.address) === worker) this.#freed(worker);
    }
    stage.avoided = avoided;
    const { declinedBy } = stage;
    const isNew = avoided.some((worker) => declinedBy?.has(worker) !== true);
    for (const worker of avoided) {
      stage.declinedBy ??= new Map();
      stage.declinedBy.set(worker, now);
    }
    if (isNew && stage.waiting > 0) this.#tellOfJob({ kind: 'waiting', stage });
    if (declinedBy === undefined) return;
    for (const [worker, at] of declinedBy) {
      if (now - at < DECLINED_MS) continue;
      declinedBy.delete(worker);
      this.#freed(worker as BookedWorker);
    }
  }

  /** Nothing is in two places, and nothing was lost between them. */
  checkInvariants(): void {
    let runs = 0;
    for (const worker of this.workers) {
      runs += worker.runs.length;
      const confirmed = worker.runs.filter((run) => run.isConfirmed && !run.isQueued);
      const used = sumOf(confirmed, (run) => run.stage.demand[SLOT]!);
      const free = worker.free[SLOT]!;
      invariant(
        used === worker.confirmedSlots && free >= 0 && used + free <= Math.max(used, worker.capacity[SLOT]!),
        () =>
          `${used} slots are used (counted ${worker.confirmedSlots}), ${free} free of ${worker.capacity[SLOT]}`,
      );
    }
    let waiting = 0;
    let ofJobs = 0;
    for (const job of this.jobs) {
      let ofStages = 0;
      for (const stage of job.allStages) {
        waiting += stage.waiting;
        ofStages += stage.running;
        invariant(stage.waiting >= 0 && stage.running >= 0, () => `stage ${stage.index} counts below 0`);
        invariant(
          stage.named === 0 || stage.named === stage.waiting,
          () => `${stage.named} of ${stage.waiting} are named`,
        );
      }
      invariant(ofStages === job.runs.size, () => `${ofStages} runs by stage, ${job.runs.size} by job`);
      ofJobs += ofStages;
    }
    invariant(waiting === this.#waitingTasks, () => `${waiting} tasks wait, counted ${this.#waitingTasks}`);
    invariant(runs === this.#runs, () => `${runs} runs at workers, counted ${this.#runs}`);
    invariant(ofJobs === runs, () => `${ofJobs} runs of jobs, ${runs} at workers`);
  }

  /** It has a slot of which these books do not know. */
  #occupy(run: BookedRun): void {
    const before = run.worker.free[SLOT]!;
    run.worker.occupy(run);
    const { free } = run.worker;
    for (const [index, amount] of free.entries()) if (amount < 0) free[index] = 0;
    run.isConfirmed = true;
    this.#confirmSlot(run, before);
  }

  /** @param before what was free there */
  #confirmSlot({ worker, stage }: BookedRun, before: number): void {
    worker.confirmedSlots += stage.demand[SLOT]!;
    worker.free[SLOT] = Math.max(0, Math.min(worker.free[SLOT]!, slotsLeft(worker)));
    if (worker.free[SLOT] < before) this.#shrank(worker);
  }

  #take(stage: BookedStage, worker: BookedWorker, now: Millis): BookedRun {
    this.#waitingTasks--;
    stage.waiting--;
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
    worker.runs.push(run);
    this.#runs++;
    this.#limits.changed(stage.job);
    if (stage.job.long) this.longChanges++;
    this.version++;
    return run;
  }

  #found(run: BookedRun): void {
    run.isFoundInNews = true;
    this.#ofWorkers = added(this.#ofWorkers, { kind: 'found', run });
  }

  #freed(worker: BookedWorker): void {
    this.version++;
    this.#limits.workersChanged();
    if (worker.isFreedInNews || !worker.open) return;
    worker.isFreedInNews = true;
    this.#ofWorkers = added(this.#ofWorkers, worker.freed);
  }

  #shrank(worker: BookedWorker): void {
    if (worker.open) this.#tellOfWorker({ kind: 'shrank', worker });
  }

  #tellOfWorker(news: News): void {
    this.version++;
    this.#limits.workersChanged();
    this.#ofWorkers = added(this.#ofWorkers, news);
  }

  #tellOfJob(news: News): void {
    this.version++;
    if (news.kind === 'waiting') {
      const stage = news.stage as BookedStage;
      if (stage.isInNews) return;
      stage.isInNews = true;
    }
    this.#ofJobs = added(this.#ofJobs, news);
  }
}

/** The need that follows a declined worker at once says nothing new. */
const DECLINED_MS = 100;

const NO_NEWS: News[] = [];

/** The list with one more. Most are of one, and a list that grows from nothing is made for 17. */
function added(list: News[], news: News): News[] {
  if (list.length === 0) return [news];
  list.push(news);
  return list;
}

/** Slots that its confirmed runs leave. */
function slotsLeft(worker: BookedWorker): number {
  return worker.capacity[SLOT]! - worker.confirmedSlots;
}

/** Small numbers; the one that was freed last is given first. */
class Ids {
  readonly #free: number[] = [];
  #next = 0;

  take(): number {
    return this.#free.pop() ?? this.#next++;
  }

  free(id: number): void {
    this.#free.push(id);
  }
}
