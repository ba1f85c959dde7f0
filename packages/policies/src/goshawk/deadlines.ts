import type { Millis } from '@goshawk/core';
import type { ClusterView, Draft, PolicyContext, StageView, WorkerView } from '../contract.js';
import { fitsNow, gangSize, isPreferredAt } from '../fitting.js';
import type { Reservations } from '../reservations.js';
import type { Lending, Offer } from './lending.js';
import type { Placement } from './placement.js';
import type { Precedence } from './precedence.js';
import { Preemption } from './preemption.js';
import type { JobState, Queue } from './queue.js';
import type { Starting } from './starting.js';

/** Stages of one user that one plan tries in vain before it tries only a random sample of the others. */
const MISSES_MAX = 64;

/** Serves jobs that have reached their latest start, and preempts other tasks for them if necessary. */
export class Deadlines {
  readonly #queue: Queue;
  readonly #reservations: Reservations;
  readonly #placement: Placement;
  readonly #starting: Starting;
  readonly #lending: Lending;
  readonly #precedence: Precedence;
  readonly #context: PolicyContext;
  readonly #preemption = new Preemption();

  constructor(
    queue: Queue,
    placement: Placement,
    starting: Starting,
    lending: Lending,
    precedence: Precedence,
    context: PolicyContext,
  ) {
    this.#context = context;
    this.#lending = lending;
    this.#precedence = precedence;
    this.#queue = queue;
    this.#reservations = placement.reservations;
    this.#placement = placement;
    this.#starting = starting;
  }

  /** Starts jobs with a forced reservation once the preempted tasks have ended. */
  startForced(draft: Draft, now: Millis): void {
    for (const reservation of this.#reservations.all) {
      const { stage, rooms, isForced } = reservation;
      if (!isForced) continue;
      if (gangSize(stage) > 1) {
        if (this.#starting.startTogether(stage, draft, now)) this.#reservations.drop(reservation);
        continue;
      }
      for (const worker of rooms.keys()) {
        while (fitsNow(stage, worker) && this.#starting.start(stage, worker, draft, now));
      }
    }
  }

  /** Serves jobs at their latest start before all others, preempting tasks if necessary, unless their users are too far ahead. */
  serve(cluster: ClusterView, draft: Draft, now: Millis): void {
    const urgent: { readonly stage: StageView; readonly startAt: Millis }[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const [job, state] of this.#queue.due) {
      const { latest } = state;
      if (latest === undefined || state.isHopeless) continue;
      if (now > latest.hopelessAt) {
        this.#queue.placeJob(job, state, now);
        this.#dropForced(state);
      } else if (now >= latest.startAt)
        for (const stage of state.waiting) urgent.push({ stage, startAt: latest.startAt });
      else next = Math.min(next, latest.startAt);
    }
    if (next < Number.POSITIVE_INFINITY) draft.again(Math.max(now + 1, next));
    urgent.sort((one, other) => one.startAt - other.startAt || one.stage.id - other.stage.id);
    const misses = new Map<string, number>();
    for (const { stage } of urgent) {
      const { user } = stage.job;
      const missed = misses.get(user) ?? 0;
      const isTried = missed < MISSES_MAX || this.#context.random() < MISSES_MAX / urgent.length;
      if (!isTried || !this.#precedence.has(stage.job)) continue;
      this.#startUrgent(stage, cluster, draft, now);
      if (stage.waiting > 0) misses.set(user, missed + 1);
    }
  }

  #dropForced({ waiting }: JobState): void {
    for (const reservation of this.#reservations.all)
      if (reservation.isForced && waiting.includes(reservation.stage)) this.#reservations.drop(reservation);
  }

  /** A worker where other tasks pause for the stage. */
  #offerFor(stage: StageView, now: Millis): Offer | undefined {
    const accepts = (worker: WorkerView) => this.#queue.accepts(stage, worker, now);
    if (stage.waiting === 0 || !this.#precedence.mayStart(stage, now)) return undefined;
    return this.#lending.forDeadline(stage, accepts, now);
  }

  #startUrgent(stage: StageView, cluster: ClusterView, draft: Draft, now: Millis): void {
    if (gangSize(stage) > 1) {
      if (this.#starting.startTogether(stage, draft, now)) return;
    } else {
      while (stage.waiting > 0 && this.#precedence.mayStart(stage, now)) {
        const worker = this.#placement.workerFor(stage, now);
        if (worker === undefined || !this.#queue.accepts(stage, worker, now)) break;
        if (!this.#starting.start(stage, worker, draft, now)) break;
      }
      for (let offer = this.#offerFor(stage, now); offer !== undefined; offer = this.#offerFor(stage, now))
        if (!this.#starting.start(stage, offer.worker, draft, now, offer.loan)) break;
      if (stage.waiting === 0 || !this.#precedence.mayStart(stage, now)) return;
    }
    const known = this.#reservations.of(stage);
    if (known?.isForced) return;
    const onlyPreferred = this.#queue.needsPreferred(stage, now);
    const workers = [...cluster.workers].filter(
      (worker) => !onlyPreferred || isPreferredAt(stage.job, worker),
    );
    const victimsFor = (tasks: number) =>
      this.#preemption.victimsFor(stage, tasks, workers, this.#reservations, now);
    const victims = victimsFor(stage.waiting) ?? (stage.gang ? undefined : victimsFor(1));
    if (victims === undefined) return;
    if (known !== undefined) this.#reservations.drop(known);
    this.#preemption.preempted(victims.runs, now);
    for (const run of victims.runs) draft.preempt(run);
    this.#reservations.add(this.#reservations.forced(stage, victims.counts, now));
  }
}
