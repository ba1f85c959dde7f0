import {
  type Address,
  attributesByName,
  type Borrowing,
  type CentralLine,
  type ClusterShares,
  CPU,
  type Environment,
  type JobNumber,
  LIMITS,
  type MessageOf,
  type Millis,
  PER_CPU,
  receivedFacts,
  requiresOf,
  slicesOf,
  type Timings,
  type UnmatchedKind,
  type UserGrants,
} from '@goshawk/core';
import {
  BookedDraft,
  type BookedJob,
  type BookedRun,
  type BookedStage,
  type BookedWorker,
  type CentralPolicy,
  ClusterBooks,
  checkBooks,
  type RunEnd,
  type SolverAnswer,
  type SolverProblem,
  type StageView,
  startable,
} from '@goshawk/policies';
import type { BookedLoad } from '../cluster/describing.js';
import type { WorkerRecord } from '../cluster/registry.js';
import { WaitingLine, waitingStages } from './line.js';
import {
  addReportedRuns,
  areRunsOutdated,
  checkLoansAt,
  checkMatch,
  isPullStale,
  namedRun,
  placementBegan,
  type ReportState,
  updateQueue,
  workerPulled,
} from './reports.js';
import { sharesOf } from './shares.js';
import { WaitingLists } from './waiting-lists.js';

type Env = Environment<'plan'> & {
  readonly solve?: ((id: number, problem: SolverProblem) => void) | undefined;
};

type Description = NonNullable<MessageOf<'need'>['about']>;

/** The dispatcher's view of the rest of central. */
interface DispatcherHost {
  /** Called when tasks arrive whose jobs are short or of unknown length. */
  tasksArrived(tasks: number): void;
  /** Returns the name of a worker; undefined if the owner already knows it. */
  nameIfUnknown(owner: Address, worker: Address): string | undefined;
  /** Called when no task that central assigned runs or waits at the worker any more. */
  freed?(worker: Address): void;
  /** Called when resources of a worker do not count, because it or the cluster has too many names. */
  ignores?(worker: string, resources: readonly string[]): void;
  /** Called when a policy preempts a running task. */
  preempts?(job: BookedJob, worker: Address): void;
}

/**
 * Matches tasks with workers. Owners report their needs, and workers report free slots and runs. The
 * dispatcher keeps both in `ClusterBooks`, from which the policy plans once per turn. Each start of the plan
 * pairs a worker with a stage and is sent to the owner. A task that its owner has named can queue at a busy
 * worker, which receives the start, too.
 */
export class Dispatcher {
  readonly books = new ClusterBooks();
  readonly #env: Env;
  readonly #policy: CentralPolicy;
  readonly #reports: ReportState;
  readonly #line: WaitingLine;
  readonly #waitingLists: WaitingLists;
  /** Age in ms at which an unconfirmed match counts as possibly lost; 0 if messages are never lost. */
  readonly #lostAfterMs: Millis;
  readonly #host: DispatcherHost;
  /** Whether to plan at the end of this turn: something has changed, or the policy's timer has fired. */
  #isDue = false;
  readonly #declares: boolean;
  /** Id of the next problem for the solver. */
  #nextProblemId = 1;
  matches = 0;
  /** Number of tasks that were placed in the queues of workers. */
  tasksPlaced = 0;
  preemptions = 0;
  /** Number of the policy's starts that were refused. */
  refused = 0;

  /** @param declares whether owners declare whole jobs */
  constructor(
    env: Env,
    policy: CentralPolicy,
    { retryMs, leaseMs }: Pick<Timings, 'retryMs' | 'leaseMs'>,
    host: DispatcherHost,
    declares = false,
  ) {
    this.#env = env;
    this.#policy = policy;
    this.#declares = declares;
    this.#lostAfterMs = 2 * retryMs;
    const inFlightMs = { started: this.#lostAfterMs, queued: leaseMs };
    this.#reports = { env, books: this.books, inFlightMs };
    this.#line = new WaitingLine(this.books, policy);
    this.#waitingLists = new WaitingLists(this.books, declares);
    this.#host = host;
    this.books.onIdle = ({ address }) => this.#host.freed?.(address);
  }

  /** Number of matches not yet known to their workers. */
  get unconfirmedMatches(): number {
    let open = 0;
    for (const { runs } of this.books.workers)
      for (const run of runs) if (!run.isConfirmed && run.named === undefined) open++;
    return open;
  }

  /** Planning statistics: the policy's counters, and the outcome of its plans. */
  get planning(): Readonly<Record<string, number>> {
    return { ...this.#policy.counters, preemptions: this.preemptions, refusedStarts: this.refused };
  }

  /** Whether any user has a limit on running tasks. */
  get hasLimits(): boolean {
    return this.books.hasLimits;
  }

  /** Number of placed tasks that are not known to have ended. */
  get placedTasks(): number {
    let placed = 0;
    for (const { runs } of this.books.workers) for (const run of runs) if (run.named !== undefined) placed++;
    return placed;
  }

  /** Number of tasks that wait for a worker. */
  get waitingTasks(): number {
    return this.books.waitingTasks;
  }

  /** Waiting tasks that central places. */
  get pendingTasks(): number {
    let pending = 0;
    for (const stage of waitingStages(this.books)) pending += stage.named;
    return pending;
  }

  /** Waiting tasks that central matches, by kind. */
  get unmatched(): Readonly<Partial<Record<UnmatchedKind, number>>> {
    const line = this.#policy.line?.(0);
    const counts: Partial<Record<UnmatchedKind, number>> = {};
    for (const stage of waitingStages(this.books)) {
      if (stage.named > 0) continue;
      const kind = line?.kindOf(stage) ?? 'planned';
      counts[kind] = (counts[kind] ?? 0) + stage.waiting;
    }
    return counts;
  }

  /** Returns the tasks that central knows at the worker. */
  loadAt(worker: Address): BookedLoad {
    const load = { tasks: 0, long: 0, cpus: 0 };
    for (const { stage, lent } of this.books.worker(worker)?.runs ?? []) {
      load.tasks++;
      if (stage.job.long) load.long++;
      load.cpus += ((stage.demand[CPU] ?? 0) - (lent[CPU] ?? 0)) / PER_CPU;
    }
    return load;
  }

  // ---- workers

  /** Sets whether the worker accepts work. */
  setOpen(record: WorkerRecord, open: boolean): void {
    const known = this.books.worker(record.address);
    const worker = known ?? this.#admit(record);
    this.books.setOpen(worker, open);
    this.#isDue = true;
  }

  removeWorker(address: Address, now: Millis): void {
    const worker = this.books.worker(address);
    if (worker === undefined) return;
    this.books.removeWorker(worker, now);
    this.#isDue = true;
  }

  /** Returns the job of each task at the worker. */
  jobsAt(address: Address): readonly BookedJob[] {
    return (this.books.worker(address)?.runs ?? []).map(({ stage }) => stage.job);
  }

  /** Returns whether tasks that central assigned run or wait at the worker. */
  isBusy(address: Address): boolean {
    return (this.books.worker(address)?.runs.length ?? 0) > 0;
  }

  /** Adds the runs and queued tasks that a registering worker reports. A previous central may have sent them. */
  addReported(from: Address, runs: MessageOf<'register'>['runs'], now: Millis): void {
    const worker = this.books.worker(from);
    if (worker === undefined) return;
    addReportedRuns(this.#reports, worker, runs, now);
    this.#isDue = true;
  }

  pulled(from: Address, message: MessageOf<'pull'>, now: Millis): void {
    const worker = this.books.worker(from);
    if (worker === undefined) return;
    workerPulled(this.#reports, worker, message, now);
    this.#isDue = true;
  }

  /** Returns whether the books show more busy slots than the worker reported, so that it should report them again. */
  isStale(address: Address, busy: number, now: Millis): boolean {
    const worker = this.books.worker(address);
    return worker !== undefined && isPullStale(this.#reports, worker, busy, now);
  }

  /** Looks for lost messages about loans. @returns whether the worker should report its runs again */
  checkLoans(address: Address, now: Millis): boolean {
    const worker = this.books.worker(address);
    return worker !== undefined && checkLoansAt(this.#reports, worker, now);
  }

  /** Returns whether the books differ from the tasks that the worker holds, so that it should register again. */
  areBooksOutdated(address: Address, held: number, now: Millis): boolean {
    const worker = this.books.worker(address);
    return worker !== undefined && areRunsOutdated(this.#reports, worker, held, now);
  }

  /**
   * Handles a worker's report that it runs nothing. The books may still contain runs of the worker, because a
   * draining worker does not report free slots, or because a report was lost.
   */
  idle(address: Address, queued: number, now: Millis): void {
    const worker = this.books.worker(address);
    if (worker === undefined || worker.runs.length === 0) return;
    if (queued === 0) updateQueue(this.#reports, worker, [], now);
    for (const run of [...worker.runs])
      if (run.isConfirmed && run.named === undefined) this.#end(run, 'done', now);
    this.#isDue = true;
  }

  /**
   * Handles a worker's report that it drains and runs nothing. Only the owner knows of a run that the worker has never
   * confirmed: it has ended, or its start was lost.
   */
  drained(address: Address, now: Millis): void {
    for (const run of [...(this.books.worker(address)?.runs ?? [])]) {
      if (run.named !== undefined) continue;
      if (run.isConfirmed || this.#lostAfterMs === 0) this.#end(run, 'done', now);
      else checkMatch(this.#reports, run, now);
    }
    this.#isDue = true;
  }

  /** @returns whether the worker should register again, because a report of it was lost */
  placementStarted(from: Address, message: MessageOf<'placementStarted'>, now: Millis): boolean {
    const worker = this.books.worker(from);
    this.#isDue = true;
    return worker !== undefined && placementBegan(this.#reports, worker, message, now);
  }

  placementEnded(from: Address, message: MessageOf<'placementEnded'>, now: Millis): void {
    const run = namedRun(this.#reports, message);
    if (run?.worker.address === from) this.#end(run, 'done', now);
  }

  /** Handles the owner's report that it has no task left for the match. */
  unused(owner: Address, { worker, match }: MessageOf<'unused'>, now: Millis): void {
    const run = this.books.worker(worker)?.runOf(match);
    if (run === undefined || run.isConfirmed || run.stage.job.owner.address !== owner) return;
    this.#end(run, 'declined', now);
  }

  // ---- jobs

  needed(owner: Address, message: MessageOf<'need'>, now: Millis): void {
    const { job: number, stage: index, about, tasks, matches, part, estimateMs } = message;
    const known = this.books.job(owner, number)?.stageAt(index);
    if (known === undefined && tasks === 0 && about?.stages === undefined) return;
    const job =
      about === undefined ? this.books.job(owner, number) : this.#described(owner, number, about, now);
    if (job === undefined) return;
    const isOnly = this.#declares && about !== undefined && about.stages === undefined;
    const stage = this.books.stage(job, index, {
      part,
      estimateFollows: message.estimateFollows ?? false,
      // Until the estimate follows, the value is a growing lower bound. Its growth is not a change.
      estimateMs: message.estimateFollows && known?.estimateFollows ? known.estimateMs : estimateMs,
      demand: known?.demand ?? this.books.names.demandOf(message.demand),
      requires: requiresOf(message.requires),
      gang: message.gang ?? false,
      mayLend: message.lend ?? true,
      ...(isOnly && { tasks: job.tasks, ended: 0 }),
    });
    // A stage arrives with its first tasks, not with its description.
    const arrives = known === undefined || (known.waiting + known.overLimit === 0 && known.matches === 0);
    if (known === undefined) stage.matches = matches;
    if (arrives && !job.long) this.#host.tasksArrived(tasks);
    const avoided = message.avoid?.flatMap((address) => this.books.worker(address) ?? []);
    this.books.reconsider(stage, now, avoided);
    const inFlight = this.#matchesInFlight(stage, matches, now);
    stage.matches = matches + inFlight;
    this.books.setWaiting(stage, Math.max(0, tasks - inFlight), now);
    this.books.deleteIfOver(job);
    this.#isDue = true;
  }

  /** Applies the description of a job. */
  #described(owner: Address, number: JobNumber, about: Description, now: Millis): BookedJob {
    const { ageMs, deadlineMs = Number.POSITIVE_INFINITY, attainedMs = 0, stages } = about;
    const arrivedAt = now - ageMs;
    const known = this.books.job(owner, number)?.deadlineAt ?? Number.POSITIVE_INFINITY;
    const job = this.books.declare(owner, number, {
      ...receivedFacts(about),
      arrivedAt,
      // A repeated message may arrive later, but must not extend the deadline.
      deadlineAt: Math.min(known, arrivedAt + deadlineMs),
      attainedMs,
      isDeclared: stages !== undefined,
    });
    stages?.forEach((stage, index) => {
      const {
        tasks,
        ended,
        after,
        demand,
        estimateMs,
        distribution,
        requires,
        gang = false,
        lend = true,
      } = stage;
      this.books.stage(job, index, {
        tasks,
        ended,
        after,
        gang,
        mayLend: lend,
        estimateMs,
        demand: this.books.names.demandOf(demand),
        distribution: distribution.length === 0 ? undefined : distribution,
        requires: requiresOf(requires),
      });
    });
    return job;
  }

  /** Handles a need that names its tasks, so that they can queue at workers (Hawk §3.7). */
  place(owner: Address, message: MessageOf<'place'>, now: Millis): void {
    const { job: number, stage: index, long, estimateMs } = message;
    const demand = this.books.names.demandOf(message.demand);
    const job = this.books.declare(owner, number, { arrivedAt: now, isArrivalGuessed: true, long });
    const requires = requiresOf(message.requires);
    const stage = this.books.stage(job, index, { demand, estimateMs, requires });
    const known: BookedRun[] = [];
    for (const named of message.tasks) {
      const run = job.runOf(named.task);
      // The owner repeats the request because it got no answer. The message to the worker may be lost as well.
      if (run?.named?.attempt === named.attempt) {
        known.push(run);
        run.queriedAt = now;
      }
      if (run !== undefined && run.named!.attempt >= named.attempt) continue;
      this.books.nameWaiting(stage, named, now);
      if (run !== undefined) this.books.end(run, 'lost', now);
    }
    this.books.deleteIfOver(job);
    this.#queue(stage, known);
    this.#isDue = true;
  }

  withdraw(owner: Address, number: JobNumber, now: Millis): void {
    const job = this.books.job(owner, number);
    if (job !== undefined) this.books.withdraw(job, now);
    this.#isDue = true;
  }

  /** Withdraws all needs of an owner, which is about to repeat them. */
  withdrawAll(owner: Address, now: Millis): void {
    for (const job of [...this.books.jobsOf(owner)]) this.books.withdraw(job, now);
    this.#isDue = true;
  }

  /** Returns the next part of the owner's waiting jobs, which it compares with its own; undefined if there are none. */
  listWaiting(owner: Address): MessageOf<'heartbeatAck'>['waiting'] {
    return this.#waitingLists.next(owner);
  }

  removeOwner(owner: Address, now: Millis): void {
    this.#waitingLists.removeOwner(owner);
    for (const job of [...this.books.jobsOf(owner)]) {
      // The owner cannot be asked about its matches any more: the next report of each worker decides.
      for (const run of job.runs) if (run.named === undefined) this.books.confirm(run);
      this.books.withdraw(job, now);
    }
    this.#isDue = true;
  }

  /** Records that the scheduler with this tag now has this address; see `ClusterBooks.rehome`. */
  rehome(tag: string, address: Address, formers: readonly Address[], now: Millis): void {
    this.books.rehome(tag, address, formers, now);
  }

  /** Records that no scheduler will continue the jobs of the owner. */
  forgetOwner(owner: Address): void {
    this.books.ownerLost(owner);
  }

  /** Sets the grants of all users. */
  grant(grants: UserGrants): void {
    this.books.grant(grants);
    this.#isDue = true;
  }

  /** Sets whether tasks may run that the books do not contain. */
  setUnsure(isUnsure: boolean): void {
    this.books.setUnsure(isUnsure);
    this.#isDue = true;
  }

  /** Records arrived short work (estimate × tasks) that central does not match. */
  shortArrived(workMs: Millis): void {
    this.books.shortWork(workMs);
  }

  solved(id: number, answer: SolverAnswer): void {
    this.books.solved({ kind: 'solved', id, answer });
    this.#isDue = true;
  }

  // ---- planning

  /** Plans at the end of this turn, because the policy's timer has fired. */
  wake(): void {
    this.#isDue = true;
  }

  /** Ends a turn: lets the policy plan, and executes its plan. */
  settle(now: Millis): void {
    if (!this.#isDue) return;
    this.#isDue = false;
    this.#policy.update(this.books.takeChanges(), now);
    const draft = new BookedDraft(this.books, this.#nextProblemId, now);
    this.#policy.plan(this.books, draft, now);
    this.refused += draft.refused;
    for (const { stage } of draft.started) this.#line.started(stage, now);
    if (draft.started.length > 0) this.#sendStarts(draft.started);
    this.#line.sampleIfDue(now);
    for (const run of draft.preempted) this.#preempt(run, now);
    if (draft.problem !== undefined) {
      this.#nextProblemId = draft.problem.id + 1;
      this.#env.solve?.(draft.problem.id, draft.problem.problem);
    }
    if (draft.againAt < Number.POSITIVE_INFINITY) this.#env.setTimer('plan', 0, draft.againAt);
  }

  /** Stages that could start but that the policy has left waiting; for checks. */
  startable(now: Millis): StageView[] {
    return startable([...waitingStages(this.books)], this.#policy, this.books, now);
  }

  /** Returns actual and fair shares. */
  shares(): ClusterShares {
    return sharesOf(this.books, this.#policy);
  }

  /**
   * Returns the order of waiting jobs, and the capacity.
   *
   * @param job the requested job; undefined: no particular job
   */
  line(job: BookedJob | undefined, now: Millis): CentralLine {
    return this.#line.describe(job, now);
  }

  checkInvariants(): void {
    checkBooks(this.books);
    // Unless the policy has received all changes, its state may differ from the books.
    if (!this.books.hasChanges) this.#policy.checkInvariants?.(this.books);
  }

  // ---- messages

  #admit(record: WorkerRecord): BookedWorker {
    const { address, name, slots, places, capacity, row, attributes } = record;
    const worker = this.books.addWorker(
      address,
      this.books.names.capacityOf(places, { cpu: slots, ...capacity }, name),
      attributesByName(attributes),
      name,
    );
    const ignored = Object.keys(capacity).filter((each) => this.books.names.find(each) === undefined);
    if (ignored.length > 0) this.#host.ignores?.(name, ignored);
    // The worker has not reported its free slots yet.
    worker.free.fill(0);
    worker.row = row;
    return worker;
  }

  #end(run: BookedRun, how: RunEnd, now: Millis): void {
    this.books.end(run, how, now);
    this.#isDue = true;
  }

  /**
   * Sends matches to their owners. An owner ignores a match unless its number exceeds that of the last one for the same
   * worker, so matches are numbered in the order of sending.
   */
  #sendStarts(started: readonly BookedRun[]): void {
    const [first] = started;
    if (started.length === 1) return this.#sendStartsOf(first!.stage, started);
    const byStage = new Map<BookedStage, BookedRun[]>();
    for (const run of started) {
      const runs = byStage.get(run.stage);
      if (runs === undefined) byStage.set(run.stage, [run]);
      else runs.push(run);
    }
    for (const [stage, runs] of byStage) this.#sendStartsOf(stage, runs);
  }

  /** Sends the matches of one stage. The owner of a stage names either all waiting tasks or none. */
  #sendStartsOf(stage: BookedStage, runs: readonly BookedRun[]): void {
    if (runs[0]!.named === undefined) return this.#match(stage, runs);
    this.tasksPlaced += runs.length;
    this.#queue(stage, runs);
  }

  /** Sends named tasks to the workers where they queue. */
  #queue(
    { job: { number, owner, long }, index, estimateMs, demand: vector }: BookedStage,
    runs: readonly BookedRun[],
  ): void {
    const demand = this.books.names.resourcesOf(vector);
    const at: MessageOf<'placed'>['at'][number][] = [];
    for (const run of runs) {
      const of = { job: number, stage: index, ...run.named!, long, estimateMs, demand };
      this.#env.send(run.worker.address, { type: 'assign', owner: owner.address, ...of });
      at.push({ ...run.named!, worker: run.worker.address });
    }
    for (const part of slicesOf(at, LIMITS.tasksPerMessageMax))
      this.#env.send(owner.address, { type: 'placed', job: number, at: part });
  }

  #match({ job, index }: BookedStage, runs: readonly BookedRun[]): void {
    const workers = runs.map((run) => {
      const to = { worker: run.worker.address, match: this.#number(run) };
      return run.lenders.length === 0 ? to : { ...to, borrows: borrowingOf(run) };
    });
    const noneWaiting = this.books.waitingTasks === 0 || undefined;
    const newcomers = this.#newcomers(job.owner.address, runs);
    this.#env.send(job.owner.address, {
      type: 'matched',
      job: job.number,
      stage: index,
      workers,
      noneWaiting,
      newcomers,
    });
  }

  #newcomers(owner: Address, runs: readonly BookedRun[]): MessageOf<'matched'>['newcomers'] {
    let found: { worker: Address; name: string }[] | undefined;
    for (const { worker } of runs) {
      const name = this.#host.nameIfUnknown(owner, worker.address);
      if (name === undefined) continue;
      found ??= [];
      found.push({ worker: worker.address, name });
    }
    return found;
  }

  #number(run: BookedRun): number {
    run.match = ++run.worker.match;
    run.stage.matches++;
    this.matches++;
    return run.match;
  }

  #preempt(run: BookedRun, now: Millis): void {
    const isFirst = run.preemption === 'requested';
    const mayBeLost = this.#lostAfterMs > 0 && now - run.queriedAt >= this.#lostAfterMs;
    if (!isFirst && !mayBeLost) return;
    if (isFirst) {
      run.preemption = 'sent';
      this.preemptions++;
      this.#host.preempts?.(run.stage.job, run.worker.address);
    }
    run.queriedAt = now;
    const { job } = run.stage;
    const { address } = run.worker;
    const to = job.owner.address;
    this.#env.send(to, { type: 'preempt', job: job.number, worker: address, match: run.match });
  }

  /** Returns the number of recent matches of a stage that are still in flight to its owner. */
  #matchesInFlight({ matches, waitsSince }: BookedStage, known: number, now: Millis): number {
    const mayBeInFlight = this.#lostAfterMs === 0 || now - waitsSince < this.#lostAfterMs;
    return mayBeInFlight ? Math.max(0, matches - known) : 0;
  }
}

/** The worker's part of a loan, whose runs are identified by their matches. */
function borrowingOf({ lenders, lentAtMostMs, isShared, stage }: BookedRun): Borrowing {
  const matches = lenders.map(({ match }) => match);
  if (!isShared) return { lenders: matches, atMostMs: lentAtMostMs };
  const { job, task } = stage.job.parent!;
  return { lenders: matches, parent: { job, task } };
}
