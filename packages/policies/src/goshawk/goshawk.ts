import {
  CPU,
  invariant,
  type JobClass,
  type Millis,
  PER_CPU,
  reserveWindowMs,
  slotsIn,
  type Vector,
} from '@goshawk/core';
import { Beliefs } from '../beliefs.js';
import type {
  CentralPolicy,
  ClusterView,
  Draft,
  JobView,
  News,
  PolicyContext,
  PolicyExplanation,
  PolicyModule,
  PolicyOption,
  PolicyShares,
  QueueLine,
  RunView,
  StageView,
  WorkerView,
} from '../contract.js';
import { fitsNow, togetherOf } from '../fitting.js';
import { FreeWorkers, isDemanding } from '../free-workers.js';
import { RESERVATIONS_MAX, type Reservation, Reservations, sampleOf } from '../reservations.js';
import { explainWait } from './explaining.js';
import { LongTimes } from './long-times.js';
import {
  dueAt,
  type JobWork,
  keyOf,
  type Latest,
  latestOf,
  shareOf,
  UNPREFERRED_SLOWDOWN,
  workLeft,
} from './order.js';
import { type Candidate, hasPreference, isPreferredAt, Placement } from './placement.js';
import { Preemption } from './preemption.js';
import { LongLimit } from './reserve.js';
import { sharesByUser } from './user-shares.js';
import { KINDS, type Kind, type Line, type Needs, type UserLines, Waiting } from './waiting.js';

/**
 * A sampled job with at most this fraction of the reserve as tasks is small: it can do little harm while its pilots
 * run.
 */
const SMALL = 1 / 3;
/** Due times and smallness are recomputed when the cluster has grown or shrunk by more than this fraction. */
const RESIZED = 0.05;
/** Minimum interval of plans that only time triggers, for any cutoff. ms */
const AGAIN_MIN_MS = 10;
/** Maximum number of stages among which the best task for a worker is chosen; equal needs beyond them are skipped. */
const CANDIDATES_MAX = 100;
/** Maximum number of needs considered for reservations, because most of them fit somewhere. */
const CONTENDERS_MAX = 100;

/** Kinds of running tasks not known to be short. Pilots count like the rest of their job. */
type RunningKind = Exclude<Kind, 'pilots' | 'short'>;

/** A job with waiting tasks. */
interface JobState {
  readonly waiting: Set<StageView>;
  work: JobWork;
  latest: Latest | undefined;
  isHopeless: boolean;
}

/**
 * Goshawk's policy: one order, one rule of placement, a reserve for short tasks, and reservations for stages that fit
 * nowhere. The README of this folder gives the formulas.
 */
export class Goshawk implements CentralPolicy {
  readonly explainsAll = true;
  readonly #context: PolicyContext;
  readonly #limit: LongLimit;
  readonly #longTimes = new LongTimes();
  readonly #beliefs = new Beliefs();
  readonly #waiting: Waiting;
  readonly #sharesByUser: boolean;
  readonly #jobs = new Map<JobView, JobState>();
  /** The waiting jobs with a deadline. */
  readonly #due = new Map<JobView, JobState>();
  /** Jobs whose work, and so their position in the order, must be recomputed. */
  readonly #stale = new Set<JobView>();
  readonly #free = new FreeWorkers(({ free }) => slotsIn(free));
  readonly #reservations = new Reservations(this.#beliefs);
  readonly #preemption = new Preemption();
  readonly #placement: Placement;
  /** Workers that have more room than at the last plan. */
  readonly #roomier = new Set<WorkerView>();
  /** Runs of jobs not known to be short, on open workers, by run id; and their totals by kind. */
  readonly #counted: (RunningKind | undefined)[] = [];
  readonly #running: Record<RunningKind, number> = { small: 0, long: 0, large: 0 };
  /** The share of the cluster charged to a user for each run, by run id. */
  readonly #shares: ({ readonly user: UserLines; readonly share: number } | undefined)[] = [];
  /** Stages with runs that were counted before the class of their job was known. */
  readonly #undecided = new Set<StageView>();
  /** Number of one-CPU tasks that the cluster can run at a time. */
  #units = 0;
  /** Number of tasks started. */
  #starts = 0;
  /** Capacity on which the current shares and due times are based. */
  #sized: Vector = [];

  constructor(context: PolicyContext, shareBy: ShareBy) {
    this.#context = context;
    this.#sharesByUser = shareBy === 'user';
    this.#waiting = new Waiting(this.#sharesByUser);
    this.#placement = new Placement(this.#free, this.#reservations, context);
    this.#limit = new LongLimit(context.reserve, reserveWindowMs(context));
  }

  heard(news: readonly News[], now: Millis): void {
    for (const each of news) {
      switch (each.kind) {
        case 'opened':
          this.#opened(each.worker, true);
          break;
        case 'closed':
          this.#opened(each.worker, false);
          break;
        case 'freed':
          this.#roomier.add(each.worker);
          this.#free.update(each.worker);
          break;
        case 'shrank':
          this.#free.update(each.worker);
          break;
        case 'left':
          this.#roomier.delete(each.worker);
          this.#free.update(each.worker);
          break;
        case 'found':
          this.#entered(each.run);
          break;
        case 'ended':
          this.#ended(each.run, each.how, now);
          break;
        case 'changed':
          this.#changed(each.job);
          break;
        case 'waiting':
          this.#update(each.stage, now);
          break;
        case 'gone':
          this.#gone(each.job);
          break;
        case 'shortWork':
          this.#limit.shortArrived(each.workMs, now);
          break;
      }
    }
  }

  plan(cluster: ClusterView, draft: Draft, now: Millis): void {
    this.#measure(cluster, now);
    this.#limit.averageOver(reserveWindowMs(this.#context), now);
    if (this.#waiting.size > 0) {
      this.#reorder(now);
      this.#startHeld(draft, now);
      this.#serveUrgent(cluster, draft, now);
      let hasMore = this.#unblock(now);
      // Reserve before starting anything, or newly freed room would be taken bit by bit.
      this.#reserve(cluster, draft, now);
      for (;;) {
        const starts = this.#starts;
        this.#serve(draft, now);
        if (!hasMore || this.#starts === starts) break;
        hasMore = this.#unblock(now);
      }
      this.#roomier.clear();
    } else {
      this.#reservations.renew();
      this.#roomier.clear();
    }
    const { long, small, large } = this.#running;
    this.#limit.shortHave(Math.max(0, this.#units - this.#free.units - long - small - large), now);
    // The limit changes slowly, on the scale of cutoffs.
    if (this.#free.size > 0 && this.#limit.risesWithTime(this.#units, now) && this.#isLimited(now))
      draft.again(now + Math.max(AGAIN_MIN_MS, Math.min(1_000, this.#context.cutoffMs / 100)));
  }

  line(now: Millis): QueueLine {
    return {
      kindOf: (stage) => {
        const kind = this.#waiting.kindOf(stage);
        return kind === undefined || kind === 'pilots' ? 'short' : kind;
      },
      comesBefore: (one, other) => {
        const first = this.#waiting.kindOf(one);
        const second = this.#waiting.kindOf(other);
        // Changes since the last plan are not ordered yet.
        if (first === undefined || second === undefined) return first !== undefined;
        if ((first === 'large') !== (second === 'large')) return second === 'large';
        return this.#waiting.keyOf(one) < this.#waiting.keyOf(other);
      },
      keptFor: (stage) => this.#reservations.of(stage)?.rooms.size ?? 0,
      longRunning: Math.round(this.#running.long),
      longLimit: this.#limit.of(this.#units, now),
    };
  }

  explain(stage: StageView, cluster: ClusterView, now: Millis): PolicyExplanation | undefined {
    const kind = this.#waiting.kindOf(stage);
    if (kind === undefined) return undefined;
    return explainWait(stage, {
      cluster,
      reservations: this.#reservations,
      long: { running: this.#running.long, limit: this.#limit.of(this.#units, now) },
      isHeldBack: !this.#mayRun(kind, now),
      now,
    });
  }

  shares(cluster: ClusterView): PolicyShares | undefined {
    return this.#sharesByUser ? sharesByUser(cluster) : undefined;
  }

  /** Checks that every run is charged once, to the right user, and that only waiting stages have reservations. */
  checkInvariants(cluster: ClusterView): void {
    for (const { stage } of this.#reservations.all)
      invariant(
        this.#waiting.has(stage),
        () => `a place is reserved for stage ${stage.id}, which does not wait`,
      );
    const used = new Map<UserLines, number>();
    for (const { runs } of cluster.workers)
      for (const run of runs) {
        const charged = this.#shares[run.id];
        const name = this.#sharesByUser ? run.stage.job.user : '';
        invariant(
          charged?.user.name === name,
          () => `run ${run.id} of "${name}" is charged to "${charged?.user.name}"`,
        );
        used.set(charged.user, (used.get(charged.user) ?? 0) + charged.share);
      }
    for (const user of this.#waiting.users.values()) {
      const sum = used.get(user) ?? 0;
      invariant(
        Math.abs(user.used - sum) <= 1e-6 * Math.max(1, sum),
        () => `${user.name} is charged ${user.used}, and has ${sum}`,
      );
    }
  }

  // ---- the order

  /** Recomputes the order of changed jobs, or of all jobs if the cluster has changed. */
  #reorder(now: Millis): void {
    for (const job of this.#stale) {
      const state = this.#jobs.get(job);
      if (state !== undefined) this.#placeJob(job, state, now);
    }
    this.#stale.clear();
  }

  #placeJob(job: JobView, state: JobState, now: Millis): void {
    state.work = workLeft(job, this.#beliefs, this.#sized, now);
    state.latest = latestOf(job, state.work);
    if (state.latest === undefined) this.#due.delete(job);
    else this.#due.set(job, state);
    state.isHopeless = state.latest !== undefined && now > state.latest.hopelessAt;
    for (const stage of state.waiting) {
      const kind = this.#waiting.kindOf(stage) ?? this.#kind(stage, now);
      this.#waiting.set(stage, isDecided(kind) ? classOf(stage) : kind, this.#keyOf(stage, state, now));
    }
  }

  #keyOf(stage: StageView, { work, latest, isHopeless }: JobState, now: Millis): number {
    const { job, part } = stage;
    // Pilots come first: knowing a job's class is worth more than their slots.
    if (part === 'pilots') return Number.NEGATIVE_INFINITY;
    const due = dueAt(job, this.#workOf(stage, work, now));
    const at = latest === undefined || isHopeless ? due : Math.min(due, latest.startAt);
    return job.stages.length === 1 ? at : keyOf(at, work.pathsMs[job.stages.indexOf(stage)] ?? 0);
  }

  /** Remaining work of its job, or of the stage if the job's is unknown. */
  #workOf(stage: StageView, { workMs }: JobWork, now: Millis): Millis {
    if (stage.estimateFollows) {
      const taskMs = this.#longTimes.doubted(this.#beliefs.taskMs(stage, now));
      return taskMs * stage.waiting * shareOf(stage.demand, this.#sized);
    }
    return workMs;
  }

  #update(stage: StageView, now: Millis): void {
    if (stage.part !== 'early' && this.#undecided.delete(stage))
      for (const run of stage.job.runs) this.#recount(run);
    if (stage.waiting === 0) return this.#forget(stage);
    const { job } = stage;
    const before = this.#waiting.kindOf(stage);
    const isKnown = stage.part === 'judged' || stage.part === 'thin';
    const kind = before !== undefined && isDecided(before) === isKnown ? before : this.#kind(stage, now);
    if (before === undefined && kind === 'short' && this.#context.sizesAreGiven)
      this.#limit.shortArrived(stage.estimateMs * stage.waiting * unitsOf(stage), now);
    if (classOf(stage) === 'long' && !stage.estimateFollows) this.#longTimes.learn(job, stage.estimateMs);
    let state = this.#jobs.get(job);
    if (state === undefined) {
      state = { waiting: new Set(), work: NO_WORK, latest: undefined, isHopeless: false };
      this.#jobs.set(job, state);
    }
    state.waiting.add(stage);
    this.#stale.add(job);
    this.#waiting.set(stage, isDecided(kind) ? classOf(stage) : kind, this.#keyOf(stage, state, now));
  }

  #kind(stage: StageView, now: Millis): Kind {
    if (stage.part === 'pilots') return 'pilots';
    if (stage.part !== 'early') return classOf(stage);
    return stage.waiting <= SMALL * (this.#units - this.#limit.of(this.#units, now)) ? 'small' : 'large';
  }

  #forget(stage: StageView): void {
    this.#waiting.delete(stage);
    const state = this.#jobs.get(stage.job);
    if (state === undefined) return;
    state.waiting.delete(stage);
    if (state.waiting.size === 0) {
      this.#jobs.delete(stage.job);
      this.#due.delete(stage.job);
    }
    const reservation = this.#reservations.of(stage);
    if (reservation !== undefined) this.#reservations.drop(reservation);
  }

  #gone(job: JobView): void {
    for (const stage of job.stages) {
      this.#forget(stage);
      this.#undecided.delete(stage);
    }
    this.#stale.delete(job);
  }

  // ---- starting

  /**
   * Retries blocked needs on workers that have more room: the first hundred in order.
   *
   * @returns whether there are more
   */
  #unblock(now: Millis): boolean {
    if (this.#roomier.size === 0 || !this.#waiting.hasBlocked) return false;
    const mayRun = this.#runnableKinds(now);
    const workers = [...this.#roomier].filter(({ open }) => open);
    // The largest free amount of each resource at any of these workers.
    const room: number[] = [];
    for (const { free } of workers)
      for (const [index, amount] of free.entries()) room[index] = Math.max(room[index] ?? 0, amount);
    const fits = (needs: Needs): boolean => workers.some((worker) => fitsNow(needs, worker));
    // A kind at its limit may run when the limit rises, which no change of room announces.
    const heldBack = KINDS.filter((kind) => !mayRun.has(kind));
    const held =
      heldBack.length === 0 ? [] : this.#waiting.firstBlocked(heldBack, Number.POSITIVE_INFINITY, room, fits);
    const first = this.#waiting.firstBlocked(mayRun, CANDIDATES_MAX, room, fits);
    for (const { needs } of [...held, ...first]) this.#waiting.block(needs, false);
    return first.length === CANDIDATES_MAX;
  }

  #runnableKinds(now: Millis): ReadonlySet<Kind> {
    return new Set(KINDS.filter((kind) => this.#mayRun(kind, now)));
  }

  #serve(draft: Draft, now: Millis): void {
    const candidates = new Map<UserLines, readonly Candidate[]>();
    const passedOver = new Map<Needs, number>();
    for (const withLarge of [false, true]) {
      const idle = new Set<UserLines>();
      while (this.#free.size > 0) {
        const user = this.#nextUser(idle);
        if (user === undefined) break;
        const line = this.#firstLine(user, withLarge, now);
        if (line === undefined) {
          idle.add(user);
          continue;
        }
        if (this.#waiting.needs.size > 1 && !candidates.has(user))
          candidates.set(user, this.#candidatesOf(user, withLarge, now));
        this.#serveFirst(line, candidates.get(user) ?? [], passedOver, draft, now);
      }
    }
    this.#waiting.takeBack();
    for (const [needs, count] of passedOver) if (count >= CANDIDATES_MAX) this.#waiting.block(needs, false);
  }

  /** The user with the lowest weighted share among those with an eligible stage. */
  #nextUser(idle: ReadonlySet<UserLines>): UserLines | undefined {
    let next: UserLines | undefined;
    for (const user of this.#waiting.users.values()) {
      if (user.waiting === 0 || idle.has(user)) continue;
      if (next === undefined || user.share < next.share) next = user;
    }
    return next;
  }

  /** The user's next eligible stage; large jobs of unknown class come last. */
  #firstLine({ lines }: UserLines, withLarge: boolean, now: Millis): Line | undefined {
    let next: Line | undefined;
    for (const kind of KINDS) {
      if (kind === 'large' && (!withLarge || next !== undefined)) break;
      const line = lines[kind];
      if (line.isEmpty || !this.#mayRun(kind, now)) continue;
      if (next === undefined || line.firstKey < next.firstKey) next = line;
    }
    return next;
  }

  /** The user's first stages that may fit, in their order. */
  #candidatesOf(user: UserLines, withLarge: boolean, now: Millis): Candidate[] {
    const candidates: Candidate[] = [];
    while (candidates.length < CANDIDATES_MAX) {
      const line = this.#firstLine(user, withLarge, now);
      if (line === undefined) break;
      const stage = line.first()!;
      if (togetherOf(stage) === 1) candidates.push({ stage, rank: candidates.length });
      line.passOverFirst();
    }
    for (const kind of KINDS) user.lines[kind].takeBack();
    return candidates;
  }

  #serveFirst(
    line: Line,
    candidates: readonly Candidate[],
    passedOver: Map<Needs, number>,
    draft: Draft,
    now: Millis,
  ): void {
    const stage = line.first()!;
    const needs = this.#waiting.needsOf(stage)!;
    if (needs.together > 1) {
      if (this.#startTogether(stage, draft, now)) return;
    } else {
      const worker = this.#placement.workerFor(stage, now);
      if (worker !== undefined && !this.#waitsForPreferred(stage, worker, now)) {
        const chosen = this.#placement.taskFor(worker, candidates, now) ?? stage;
        if (this.#start(chosen, worker, draft, now)) return;
        if (chosen === stage || !this.#start(stage, worker, draft, now)) line.passOverFirst();
        return;
      }
    }
    // Other stages with equal needs may be admitted even if this one is not: they end earlier or prefer other
    // workers.
    const isSelective = hasPreference(stage.job) || stage.declinedBy !== undefined;
    const mayDiffer = isSelective || (this.#reservations.size > 0 && this.#placement.hasRoom(stage));
    const count = (passedOver.get(needs) ?? 0) + 1;
    if (mayDiffer) passedOver.set(needs, count);
    if (mayDiffer && count < CANDIDATES_MAX) line.passOverFirst();
    else this.#waiting.block(needs, true);
  }

  /** Whether a job with a deadline waits for a preferred worker because it would miss the deadline at this one. */
  #waitsForPreferred(stage: StageView, worker: WorkerView | undefined, now: Millis): boolean {
    const { job } = stage;
    const state = this.#jobs.get(job);
    if (state?.latest === undefined || state.isHopeless || !hasPreference(job)) return false;
    if (worker !== undefined && isPreferredAt(job, worker)) return false;
    return now + UNPREFERRED_SLOWDOWN * Math.max(0, ...state.work.pathsMs) > job.deadlineAt;
  }

  /** @returns false if the start was refused */
  #start(stage: StageView, worker: WorkerView, draft: Draft, now: Millis): boolean {
    const run = draft.start(stage, worker);
    this.#free.update(worker);
    if (run === undefined) return false;
    this.#reservations.started(stage, worker, now);
    this.#entered(run);
    this.#started(stage, now);
    return true;
  }

  /** Starts all tasks of a gang. @returns whether they fit */
  #startTogether(stage: StageView, draft: Draft, now: Millis): boolean {
    const onlyPreferred = this.#waitsForPreferred(stage, undefined, now);
    const workers = this.#placement.workersFor(stage, onlyPreferred, now);
    const runs = workers && draft.gang(workers.map((worker) => ({ stage, worker })));
    if (runs === undefined) return false;
    for (const run of runs) {
      this.#free.update(run.worker);
      this.#reservations.started(stage, run.worker, now);
      this.#entered(run);
    }
    this.#started(stage, now);
    return true;
  }

  /** Updates the order after a start: immediately for a job of one stage, at the next plan for others. */
  #started(stage: StageView, now: Millis): void {
    this.#starts++;
    if (stage.waiting === 0) return this.#forget(stage);
    const { job } = stage;
    if (job.stages.length > 1) this.#stale.add(job);
    else this.#placeJob(job, this.#jobs.get(job)!, now);
  }

  // ---- reservations and deadlines

  /** Starts jobs for which other tasks were preempted, as soon as those have ended. */
  #startHeld(draft: Draft, now: Millis): void {
    for (const reservation of this.#reservations.all) {
      const { stage, rooms, isForced } = reservation;
      if (!isForced) continue;
      if (togetherOf(stage) > 1) {
        if (this.#startTogether(stage, draft, now)) this.#reservations.drop(reservation);
        continue;
      }
      for (const worker of rooms.keys()) {
        while (fitsNow(stage, worker) && this.#start(stage, worker, draft, now));
      }
    }
  }

  /** Serves jobs at their latest start before all others, preempting tasks if necessary. */
  #serveUrgent(cluster: ClusterView, draft: Draft, now: Millis): void {
    const urgent: { readonly stage: StageView; readonly startAt: Millis }[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const [job, state] of this.#due) {
      const { latest } = state;
      if (latest === undefined || state.isHopeless) continue;
      if (now > latest.hopelessAt) {
        this.#placeJob(job, state, now);
        this.#dropForced(state);
      } else if (now >= latest.startAt)
        for (const stage of state.waiting) urgent.push({ stage, startAt: latest.startAt });
      else next = Math.min(next, latest.startAt);
    }
    if (next < Number.POSITIVE_INFINITY) draft.again(Math.max(now + 1, next));
    urgent.sort((one, other) => one.startAt - other.startAt || one.stage.id - other.stage.id);
    for (const { stage } of urgent) this.#startUrgent(stage, cluster, draft, now);
  }

  #dropForced({ waiting }: JobState): void {
    for (const reservation of this.#reservations.all)
      if (reservation.isForced && waiting.has(reservation.stage)) this.#reservations.drop(reservation);
  }

  #startUrgent(stage: StageView, cluster: ClusterView, draft: Draft, now: Millis): void {
    if (togetherOf(stage) > 1) {
      if (this.#startTogether(stage, draft, now)) return;
    } else {
      while (stage.waiting > 0) {
        const worker = this.#placement.workerFor(stage, now);
        if (worker === undefined || this.#waitsForPreferred(stage, worker, now)) break;
        if (!this.#start(stage, worker, draft, now)) break;
      }
      if (stage.waiting === 0) return;
    }
    const known = this.#reservations.of(stage);
    if (known?.isForced) return;
    const onlyPreferred = this.#waitsForPreferred(stage, undefined, now);
    const workers = [...cluster.workers];
    const victimsFor = (tasks: number) =>
      this.#preemption.victimsFor(stage, tasks, workers, this.#reservations, onlyPreferred, now);
    const victims = victimsFor(stage.waiting) ?? (stage.gang ? undefined : victimsFor(1));
    if (victims === undefined) return;
    if (known !== undefined) this.#reservations.drop(known);
    this.#preemption.preempted(victims.runs, now);
    for (const run of victims.runs) draft.preempt(run);
    this.#reservations.add(this.#reservations.forced(stage, victims.counts, now));
  }

  /** Makes reservations for the first stages that fit nowhere, if they are worth the room that stays idle. */
  #reserve(cluster: ClusterView, draft: Draft, now: Millis): void {
    this.#reservations.renew();
    const stuck = this.#stuck(now);
    if (stuck.length === 0) return;
    const workers = [...cluster.workers];
    for (const stage of stuck) {
      const reservation = this.#reservations.placeFor(
        stage,
        togetherOf(stage) > 1 ? workers : sampleOf(workers, this.#context),
        now,
      );
      if (reservation === undefined) continue;
      if (!this.#isNearLatest(stage, now) && !this.#isWorth(reservation, now)) continue;
      this.#reservations.add(reservation);
      draft.expect(stage.job, Math.max(now + 1, reservation.at), nameOf(reservation));
    }
  }

  /**
   * The first stages that fit nowhere and that have either waited longer than they will run, or must start soon to
   * meet their deadline.
   */
  #stuck(now: Millis): readonly StageView[] {
    const stuck: StageView[] = [];
    // If all needs are equal and no CPU is free, a reservation could only cover the next free slot anyway.
    const isPlain = this.#waiting.needs.size === 1 && this.#free.withCpu === 0;
    const mayReserve = (needs: Needs): boolean => needs.together > 1 || (!isPlain && isDemanding(needs));
    if (!this.#waiting.hasNeeds(mayReserve)) return stuck;
    const kinds = this.#runnableKinds(now);
    for (const { stage, needs } of this.#waiting.firstOfNeeds(kinds, CONTENDERS_MAX, mayReserve)) {
      if (stuck.length === RESERVATIONS_MAX) break;
      if (!this.#hasWaited(stage, now) && !this.#isNearLatest(stage, now)) continue;
      if (this.#reservations.of(stage) !== undefined) continue;
      if (
        needs.together > 1 ? this.#placement.holds(stage) : !needs.isBlocked && this.#placement.hasRoom(stage)
      )
        continue;
      stuck.push(stage);
    }
    return stuck;
  }

  /** Whether the stage has waited longer than it will run. */
  #hasWaited(stage: StageView, now: Millis): boolean {
    return now - stage.waitsSince >= this.#beliefs.taskMs(stage, now);
  }

  /** Whether the time until its latest start is shorter than its run time. */
  #isNearLatest(stage: StageView, now: Millis): boolean {
    const state = this.#jobs.get(stage.job);
    if (state?.latest === undefined || state.isHopeless) return false;
    return state.latest.startAt - now <= this.#beliefs.taskMs(stage, now);
  }

  /** Whether the stage has waited longer than the idle room would delay all waiting jobs together. */
  #isWorth(reservation: Reservation, now: Millis): boolean {
    const { stage, at } = reservation;
    const idle = this.#reservations.idleShare(reservation, this.#sized);
    return now - stage.waitsSince >= this.#jobs.size ** 2 * idle * (at - now);
  }

  // ---- who may run

  /** Whether some waiting tasks are above a limit. */
  #isLimited(now: Millis): boolean {
    return KINDS.some((kind) => {
      if (this.#mayRun(kind, now)) return false;
      for (const { lines } of this.#waiting.users.values()) if (!lines[kind].isEmpty) return true;
      return false;
    });
  }

  #mayRun(kind: Kind, now: Millis): boolean {
    if (kind === 'short') return true;
    const limit = this.#limit.of(this.#units, now);
    const { long, small, large } = this.#running;
    if (kind === 'long') return long < limit;
    if (kind === 'pilots') return long + small + large < this.#units - this.#limit.lastSlot(this.#units);
    if (long + small + large < limit) return true;
    return kind === 'small' && small + Math.max(0, long - limit) < this.#units - limit;
  }

  // ---- running tasks

  #opened(worker: WorkerView, open: boolean): void {
    if (open) this.#roomier.add(worker);
    this.#units += (open ? 1 : -1) * slotsIn(worker.capacity);
    this.#free.update(worker);
    for (const run of worker.runs) {
      if (open) this.#count(run);
      else this.#uncount(run);
    }
  }

  #changed(job: JobView): void {
    for (const run of job.runs) {
      this.#recount(run);
      if (this.#shares[run.id]?.user === this.#waiting.userOf(job)) continue;
      this.#uncharge(run);
      this.#charge(run);
    }
    if (this.#jobs.has(job)) this.#stale.add(job);
  }

  #entered(run: RunView): void {
    this.#beliefs.started(run);
    this.#charge(run);
    this.#count(run);
  }

  #ended(run: RunView, how: 'done' | 'declined' | 'lost' | 'preempted', now: Millis): void {
    this.#beliefs.ended(run, how, now);
    this.#uncharge(run);
    this.#uncount(run);
    const { job } = run.stage;
    if (job.stages.length > 1 && this.#jobs.has(job)) this.#stale.add(job);
  }

  #charge(run: RunView): void {
    const user = this.#waiting.userOf(run.stage.job);
    const share = shareOf(run.stage.demand, this.#sized);
    user.used += share;
    user.runs++;
    this.#shares[run.id] = { user, share };
  }

  #uncharge(run: RunView): void {
    const charged = this.#shares[run.id];
    if (charged === undefined) return;
    this.#shares[run.id] = undefined;
    const { user, share } = charged;
    user.runs--;
    // Clears the rounding error of the sum.
    user.used = user.runs === 0 ? 0 : user.used - share;
    this.#waiting.forgetIfIdle(user);
  }

  /** Counts a run again after its job has changed. */
  #recount(run: RunView): void {
    const before = this.#counted[run.id];
    if (before !== undefined && run.stage.part === 'early') return;
    this.#uncount(run);
    this.#count(run);
  }

  #count(run: RunView): void {
    const { stage, worker } = run;
    if (!worker.open || this.#counted[run.id] !== undefined) return;
    const early = earlyStageOf(stage);
    const kind = early === undefined ? classOf(stage) : (this.#waiting.kindOf(early) ?? 'large');
    if (early !== undefined) this.#undecided.add(early);
    if (kind === 'short' || kind === 'pilots') return;
    this.#counted[run.id] = kind;
    this.#running[kind] += unitsOf(stage);
  }

  #uncount(run: RunView): void {
    const kind = this.#counted[run.id];
    if (kind === undefined) return;
    this.#counted[run.id] = undefined;
    this.#running[kind] -= unitsOf(run.stage);
  }

  // ---- sizes

  /** Recomputes shares when the cluster has changed by more than a little. */
  #measure(cluster: ClusterView, now: Millis): void {
    const { capacity } = cluster;
    if (!isResized(this.#sized, capacity)) return;
    this.#sized = [...capacity];
    for (const { runs } of cluster.workers) {
      for (const { id, stage } of runs) {
        const charged = this.#shares[id];
        if (charged === undefined) continue;
        const share = shareOf(stage.demand, this.#sized);
        charged.user.used += share - charged.share;
        this.#shares[id] = { user: charged.user, share };
      }
    }
    for (const [job, state] of this.#jobs) {
      for (const stage of state.waiting) {
        const kind = this.#waiting.kindOf(stage)!;
        if (!isDecided(kind)) this.#waiting.set(stage, this.#kind(stage, now), this.#waiting.keyOf(stage));
      }
      this.#stale.add(job);
    }
  }
}

/** A task without CPUs counts as one of a CPU: it occupies a place. */
function unitsOf({ demand }: StageView): number {
  const cpus = (demand[CPU] ?? 0) / PER_CPU;
  return cpus > 0 ? cpus : 1;
}

const NO_WORK: JobWork = { workMs: 0, pathsMs: new Float64Array() };

function isResized(before: Vector, now: Vector): boolean {
  if (before.length !== now.length) return true;
  return now.some((amount, index) => Math.abs(amount - before[index]!) > RESIZED * before[index]!);
}

function classOf({ job }: StageView): JobClass {
  return job.long ? 'long' : 'short';
}

/** The stage whose class a run shares until it is known: pilots count like the rest of their job. */
function earlyStageOf(stage: StageView): StageView | undefined {
  if (stage.part === 'early') return stage;
  return stage.part === 'pilots' ? stage.job.stages.find(({ part }) => part === 'early') : undefined;
}

/** Whether the class of the job is known. */
function isDecided(kind: Kind): boolean {
  return kind === 'short' || kind === 'long';
}

function nameOf({ rooms }: Reservation): string | undefined {
  return rooms.size > 1 ? `${rooms.size} workers` : undefined;
}

type ShareBy = 'user' | 'none';

const SHARE_BY: PolicyOption<ShareBy> = {
  default: 'user',
  choices: ['user', 'none'],
  help: 'who gets equal (weighted) shares: users, or nobody',
};

export const goshawk: PolicyModule<{ readonly shareBy: ShareBy }> = {
  title: 'one order of virtual due times, reservations, a reserve for short jobs',
  declares: true,
  packs: true,
  options: { shareBy: SHARE_BY },
  make: ({ shareBy }, context) => new Goshawk(context, shareBy),
};
