import type { Millis } from '@goshawk/core';
import type { ClusterView, Draft, JobView, RunView, StageView, WorkerView } from '../contract.js';
import { fitsNow, gangSize, isSelective } from '../fitting.js';
import type { Contender, KindQueues, QueuedUser, WaitingNeeds } from './kind-queues.js';
import { KINDS, type Kind } from './kinds.js';
import type { Lending, Offer } from './lending.js';
import type { Limits } from './limits.js';
import { CANDIDATES_MAX, type Candidate, type Placement } from './placement.js';
import type { Queue } from './queue.js';
import type { Starting } from './starting.js';
import type { UserShares } from './user-shares.js';
import { isServedBefore } from './users-in-order.js';
import type { Waiting } from './waiting.js';

/** Starts tasks until nothing more fits: the user with the lowest share next, and that user's first stage. */
export class Serving {
  readonly #waiting: Waiting;
  readonly #shares: UserShares;
  readonly #queue: Queue;
  readonly #limits: Limits;
  readonly #placement: Placement;
  readonly #starting: Starting;
  readonly #lending: Lending;
  /** Needs of stages for which no lender was found in this round. */
  readonly #triedForShort = new Set<WaitingNeeds>();
  readonly #triedForUser = new Set<WaitingNeeds>();
  /** Stages that were skipped in earlier plans, by needs of which too many were skipped to try all in one plan. */
  readonly #passed = new Map<WaitingNeeds, WeakSet<StageView>>();
  #passedCount = 0;
  /** When a plan tries the stages after the passed ones; other plans try the first ones. */
  #passesAt: Millis = Number.NEGATIVE_INFINITY;
  readonly children = new Children();

  constructor(queue: Queue, placement: Placement, starting: Starting, shares: UserShares, lending: Lending) {
    this.#lending = lending;
    this.#waiting = queue.waiting;
    this.#shares = shares;
    this.#queue = queue;
    this.#limits = queue.limits;
    this.#placement = placement;
    this.#starting = starting;
  }

  /** @param before serve only users before this one; default: all */
  serve(draft: Draft, now: Millis, before?: QueuedUser): void {
    if (this.#placement.free.size === 0) return this.#waiting.restoreSkipped();
    const passes = this.#passed.size > 0 && now >= this.#passesAt;
    const plan: Plan = { passes, candidates: new Map(), skipped: new Map(), closed: [] };
    for (const of of [NOT_LARGE, KINDS]) {
      while (this.#placement.free.size > 0) {
        const kinds = this.#limits.servedKinds(of, now);
        const user = this.#shares.first(kinds, now);
        if (user === undefined || (before !== undefined && !isServedBefore(user, before))) break;
        if (this.#waiting.needs > 1 && !plan.candidates.has(user))
          plan.candidates.set(user, this.#candidatesOf(user, kinds));
        this.#serveFirst(firstQueues(user, kinds)!, plan, draft, now);
      }
    }
    this.#waiting.restoreSkipped();
    for (const { queues, needs } of plan.closed) this.#waiting.open(queues, needs);
    if (plan.passes || (plan.closed.length > 0 && this.#passed.size === 0)) this.#pass(plan, draft, now);
  }

  /** Plans when to try the stages after those that this plan has skipped. Begins anew with needs whose last stage was tried. */
  #pass({ closed, skipped }: Plan, draft: Draft, now: Millis): void {
    const left = new Set(closed.map(({ needs }) => needs));
    for (const needs of this.#passed.keys()) if (!left.has(needs)) this.#passed.delete(needs);
    if (left.size === 0) this.#passedCount = 0;
    for (const needs of left) {
      const passed = this.#passed.get(needs) ?? new WeakSet();
      for (const stage of skipped.get(needs)!) passed.add(stage);
      this.#passed.set(needs, passed);
      this.#passedCount += skipped.get(needs)!.length;
    }
    if (left.size === 0) return;
    this.#passesAt = now + Math.max(PASS_MS, this.#passedCount / PASSED_PER_MS);
    draft.again(this.#passesAt);
  }

  /** Starts tasks with parts of CPUs above the limit of their kind on the rest of CPUs that count as used. */
  fill(draft: Draft, now: Millis): void {
    if (!this.#limits.covers) return;
    const kinds = KINDS.filter((kind) => !this.#limits.mayRun(kind, now));
    while (this.#fillOne(kinds, draft, now));
  }

  #fillOne(kinds: readonly Kind[], draft: Draft, now: Millis): boolean {
    const { free, gangs, reservations } = this.#placement;
    for (const { stage, needs } of this.#waiting.firstOf(kinds, CONTENDERS_MAX)) {
      for (const worker of needs.together > 1 ? [] : this.#limits.covering(stage)) {
        const suits = fitsNow(stage, worker) && reservations.admits(stage, worker, now);
        if (suits && this.#queue.accepts(stage, worker, now))
          return this.#starting.start(stage, worker, draft, now);
      }
      // Only the limit keeps this stage waiting: later ones must not keep it above the limit for ever.
      if (needs.together > 1 ? gangs.holds(stage) : free.hasRoom(stage)) return false;
    }
    return false;
  }

  /** Starts tasks that fit nowhere on the CPUs of tasks that pause. */
  lend(cluster: ClusterView, draft: Draft, now: Millis): void {
    for (const { stage, parent } of this.children.waiting(cluster))
      this.#startOn(this.#lending.forChild(stage, parent), stage, draft, now);
    while (this.#lendOne(draft, now));
  }

  #lendOne(draft: Draft, now: Millis): boolean {
    const lend =
      (rule: 'forShort' | 'forUser') =>
      ({ stage, queues }: Contender): boolean => {
        const offer = this.#lending[rule](stage, queues.user, this.#accepts(stage, now), now);
        return this.#startOn(offer, stage, draft, now);
      };
    if (this.#lending.mayLendToShort && this.#lendToFirst(SHORT_KINDS, this.#triedForShort, lend('forShort')))
      return true;
    return this.#waiting.users.size > 1 && this.#lendToFirst(KINDS, this.#triedForUser, lend('forUser'));
  }

  /** Tries the first stages, and then the next ones in turn, because no pause may help the first. */
  #lendToFirst(
    kinds: readonly Kind[],
    tried: Set<WaitingNeeds>,
    start: (contender: Contender) => boolean,
  ): boolean {
    const first = this.#waiting.firstOf(kinds, CONTENDERS_MAX);
    if (first.some(start)) return true;
    if (first.length < CONTENDERS_MAX) return false;
    for (const { needs } of first) tried.add(needs);
    const next = this.#waiting.firstOf(kinds, CONTENDERS_MAX, (needs) => !tried.has(needs));
    for (const { needs } of next) tried.add(needs);
    if (next.length < CONTENDERS_MAX || tried.size > TRIED_MAX) tried.clear();
    return next.some(start);
  }

  #accepts(stage: StageView, now: Millis): (worker: WorkerView) => boolean {
    return (worker) => this.#queue.accepts(stage, worker, now);
  }

  #startOn(offer: Offer | undefined, stage: StageView, draft: Draft, now: Millis): boolean {
    if (offer === undefined) return false;
    return this.#starting.start(stage, offer.worker, draft, now, offer.loan);
  }

  /** The user's first stages that may fit, in their order. */
  #candidatesOf(user: QueuedUser, kinds: readonly Kind[]): Candidate[] {
    const candidates: Candidate[] = [];
    while (candidates.length < CANDIDATES_MAX) {
      const queues = firstQueues(user, kinds);
      if (queues === undefined) break;
      const stage = queues.first()!;
      if (gangSize(stage) === 1) candidates.push({ stage, rank: candidates.length });
      this.#waiting.skipFirst(queues);
    }
    this.#waiting.restoreSkipped(user);
    return candidates;
  }

  #serveFirst(
    queues: KindQueues,
    { passes, candidates, skipped, closed }: Plan,
    draft: Draft,
    now: Millis,
  ): void {
    const stage = queues.first()!;
    const needs = this.#waiting.needsOf(stage)!;
    if (passes && this.#passed.get(needs)?.has(stage) === true) return this.#waiting.skipFirst(queues);
    if (needs.together > 1) {
      if (this.#starting.startTogether(stage, draft, now)) return;
    } else {
      const worker = this.#placement.workerFor(stage, now);
      if (worker !== undefined && this.#queue.accepts(stage, worker, now)) {
        const chosen = this.#placement.taskFor(worker, candidates.get(queues.user) ?? [], now) ?? stage;
        if (this.#starting.start(chosen, worker, draft, now)) return;
        if (chosen === stage || !this.#starting.start(stage, worker, draft, now))
          this.#waiting.skipFirst(queues);
        return;
      }
    }
    // Other stages with equal needs may be admitted even if this one is not: they end earlier or prefer other
    // workers.
    const mayDiffer =
      isSelective(stage) || (this.#placement.reservations.size > 0 && this.#placement.free.hasRoom(stage));
    const others = skipped.get(needs) ?? [];
    others.push(stage);
    if (mayDiffer) skipped.set(needs, others);
    if (mayDiffer && others.length < CANDIDATES_MAX) return this.#waiting.skipFirst(queues);
    const blocked = this.#waiting.block(needs);
    if (others.length >= CANDIDATES_MAX) for (const each of blocked) closed.push({ queues: each, needs });
  }
}

const NOT_LARGE: readonly Kind[] = KINDS.filter((kind) => kind !== 'large');
/** Tasks of these kinds borrow from long ones: those of unknown length, too, unless their jobs are large. */
const SHORT_KINDS: readonly Kind[] = ['pilots', 'short', 'small'];
/** Number of stages for which lenders are searched. */
const CONTENDERS_MAX = 8;
/** Number of needs in a round. */
const TRIED_MAX = 1_024;

/** Shortest delay (ms) of the plan that tries the stages after the first hundred, and how many it may pass per ms of delay. */
const PASS_MS = 250;
const PASSED_PER_MS = 10;

/** State of one pass over the waiting stages. */
interface Plan {
  /** Whether it passes the stages that earlier plans have tried. */
  readonly passes: boolean;
  readonly candidates: Map<QueuedUser, readonly Candidate[]>;
  /** Stages that were skipped, by their needs. */
  readonly skipped: Map<WaitingNeeds, StageView[]>;
  /** Stages that are excluded until the end of the pass, because too many with equal needs were skipped. */
  readonly closed: { readonly queues: KindQueues; readonly needs: WaitingNeeds }[];
}

/** The user's next stage of these kinds; large jobs of unknown class come last. */
function firstQueues(user: QueuedUser, kinds: readonly Kind[]): KindQueues | undefined {
  let next: KindQueues | undefined;
  for (const kind of kinds) {
    if (kind === 'large' && next !== undefined) break;
    const queues = user.queues[kind];
    if (queues === undefined || queues.isEmpty) continue;
    if (next === undefined || queues.firstKey < next.firstKey) next = queues;
  }
  return next;
}

/** The waiting stages of jobs that running tasks have submitted, in order of arrival. Such a task usually waits for them. */
class Children {
  readonly #stages = new Set<StageView>();

  /** The number of waiting tasks has changed. */
  update(stage: StageView): void {
    if (stage.job.parent === undefined) return;
    if (stage.waiting > 0) this.#stages.add(stage);
    else this.#stages.delete(stage);
  }

  gone({ stages, parent }: JobView): void {
    if (parent !== undefined) for (const stage of stages) this.#stages.delete(stage);
  }

  /** Waiting stages whose parents run and share their CPUs with no other child yet. */
  *waiting(cluster: ClusterView): Iterable<{ readonly stage: StageView; readonly parent: RunView }> {
    for (const stage of this.#stages) {
      if (stage.waiting === 0) continue;
      const parent = cluster.parentOf(stage.job);
      if (parent !== undefined && parent.borrower === undefined) yield { stage, parent };
    }
  }
}
