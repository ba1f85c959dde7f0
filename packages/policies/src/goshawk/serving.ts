import { IndexedHeap, type Millis } from '@goshawk/core';
import type { Draft } from '../contract.js';
import { togetherOf } from '../fitting.js';
import type { FreeWorkers } from '../free-workers.js';
import type { Reservations } from '../reservations.js';
import { KINDS } from './kinds.js';
import type { Limits } from './limits.js';
import type { Line, WaitingNeeds } from './line.js';
import { CANDIDATES_MAX, type Candidate, hasPreference, type Placement } from './placement.js';
import type { Queue } from './queue.js';
import type { Starting } from './starting.js';
import type { UserLines, Waiting } from './waiting.js';

/** Starts tasks until nothing more fits: the user with the lowest share next, and that user's first stage. */
export class Serving {
  readonly #waiting: Waiting;
  readonly #queue: Queue;
  readonly #limits: Limits;
  readonly #free: FreeWorkers;
  readonly #reservations: Reservations;
  readonly #placement: Placement;
  readonly #starting: Starting;

  constructor(
    waiting: Waiting,
    queue: Queue,
    limits: Limits,
    free: FreeWorkers,
    reservations: Reservations,
    placement: Placement,
    starting: Starting,
  ) {
    this.#waiting = waiting;
    this.#queue = queue;
    this.#limits = limits;
    this.#free = free;
    this.#reservations = reservations;
    this.#placement = placement;
    this.#starting = starting;
  }

  serve(draft: Draft, now: Millis): void {
    const candidates = new Map<UserLines, readonly Candidate[]>();
    const passedOver = new Map<WaitingNeeds, number>();
    for (const withLarge of [false, true]) {
      const users = [...this.#waiting.users.values()].filter(({ hasOpen }) => hasOpen);
      // Orders users by share, and equal shares by arrival.
      const order = new IndexedHeap();
      for (const [at, { share }] of users.entries()) order.set(at, share);
      while (this.#free.size > 0 && order.size > 0) {
        const at = order.top();
        const user = users[at]!;
        const line = this.#firstLine(user, withLarge, now);
        if (line === undefined) {
          order.delete(at);
          continue;
        }
        if (this.#waiting.needs.size > 1 && !candidates.has(user))
          candidates.set(user, this.#candidatesOf(user, withLarge, now));
        this.#serveFirst(line, candidates.get(user) ?? [], passedOver, draft, now);
        order.set(at, user.share);
      }
    }
    this.#waiting.takeBack();
    for (const [needs, count] of passedOver) if (count >= CANDIDATES_MAX) this.#waiting.block(needs, false);
  }

  /** The user's next eligible stage; large jobs of unknown class come last. */
  #firstLine({ lines }: UserLines, withLarge: boolean, now: Millis): Line | undefined {
    let next: Line | undefined;
    for (const kind of KINDS) {
      if (kind === 'large' && (!withLarge || next !== undefined)) break;
      const line = lines[kind];
      if (line.isEmpty || !this.#limits.mayRun(kind, now)) continue;
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
    passedOver: Map<WaitingNeeds, number>,
    draft: Draft,
    now: Millis,
  ): void {
    const stage = line.first()!;
    const needs = this.#waiting.needsOf(stage)!;
    if (needs.together > 1) {
      if (this.#starting.startTogether(stage, draft, now)) return;
    } else {
      const worker = this.#placement.workerFor(stage, now);
      if (worker !== undefined && this.#queue.accepts(stage, worker, now)) {
        const chosen = this.#placement.taskFor(worker, candidates, now) ?? stage;
        if (this.#starting.start(chosen, worker, draft, now)) return;
        if (chosen === stage || !this.#starting.start(stage, worker, draft, now)) line.passOverFirst();
        return;
      }
    }
    // Other stages with equal needs may be admitted even if this one is not: they end earlier or prefer other
    // workers.
    const isSelective = hasPreference(stage.job) || stage.declinedBy !== undefined;
    const mayDiffer = isSelective || (this.#reservations.size > 0 && this.#free.hasRoom(stage));
    const count = (passedOver.get(needs) ?? 0) + 1;
    if (mayDiffer) passedOver.set(needs, count);
    if (mayDiffer && count < CANDIDATES_MAX) line.passOverFirst();
    else this.#waiting.block(needs, true);
  }
}
