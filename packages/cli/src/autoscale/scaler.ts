import type { WorkerView } from '@goshawk/client';
import { type Millis, sumOf } from '@goshawk/core';

/** Member of a pool: a pod or an allocation. */
export interface Member {
  /** Name of its worker. */
  readonly name: string;
  /** Whether it may be stopped without a drain before its worker has joined, since nothing runs there yet. */
  readonly endsUnjoined: boolean;
}

/** A source of workers: a StatefulSet, or Slurm allocations. */
export interface Pool {
  readonly name: string;
  /** See `ScalerOptions`. */
  readonly lastLeavesFirst: boolean;
  /** @throws UnreachableError with the reason if the pool does not respond; so do the other methods */
  members(signal: AbortSignal): Promise<readonly Member[]>;
  /** @returns the members that were started */
  start(count: number, signal: AbortSignal): Promise<readonly Member[]>;
  /** @param members of the last answer of `members` and `start` */
  end(members: readonly Member[], signal: AbortSignal): Promise<void>;
}

/** A snapshot of the cluster and the pool. */
export interface Snapshot {
  /** Tasks that another worker might run; undefined while not all of the cluster answers. */
  readonly waiting: number | undefined;
  /** Members in order, if only the last may leave. */
  readonly members: readonly Member[];
  readonly workers: readonly Pick<WorkerView, 'name' | 'state' | 'slots' | 'busy' | 'queued'>[];
}

export interface ScalerOptions {
  /** Minimum and maximum number of members. */
  readonly min: number;
  readonly max: number;
  /** Members leave after a smaller number has been enough for this time. */
  readonly cooldownMs: Millis;
  /** Slots per worker, until one is known. */
  readonly slots: number;
  /** Whether the last member leaves first, as in a StatefulSet; otherwise the least busy one does. */
  readonly lastLeavesFirst: boolean;
}

/** Actions to take now. */
export interface Actions {
  /** Members to start. */
  readonly start: number;
  /** Workers to drain, and workers whose drain to undo. */
  readonly drain: readonly string[];
  readonly undo: readonly string[];
  /** Members to stop, which are drained or never joined. */
  readonly end: readonly Member[];
  /** Members that ended before their workers joined. */
  readonly failed: readonly string[];
  /** Target number of members that accept tasks. */
  readonly wanted: number;
  /** Observed load: tasks that keep waiting, busy slots of the pool, and all its slots. */
  readonly waiting: number;
  readonly busy: number;
  readonly slots: number;
}

/** Expected time until a new worker is ready. A queue that will be empty before then needs no worker. */
const START_MS: Millis = 10_000;
/** Pause after a member exits before its worker joins, because a replacement would probably fail too. */
const COOLDOWN_MS: Millis = 60_000;
/** Time after which a missing worker is not expected back. */
const UNREACHABLE_MS: Millis = 60_000;

type State = 'active' | 'quarantined' | 'draining' | 'drained' | 'starting' | 'unjoined';

interface ObservedMember extends Member {
  readonly state: State;
  readonly busy: number;
  /** Whether this scaler drained it and so may undo the drain. */
  readonly isOurs: boolean;
}

/**
 * Decides how many workers a pool should have, and which ones leave. It scales up immediately by waiting and
 * running tasks, and down, by drain, to the maximum target within the cool-down (the stabilization window of
 * Kubernetes' HorizontalPodAutoscaler).
 */
export class Scaler {
  readonly #options: ScalerOptions;
  /** Target sizes with their expiry, descending, so that the first is the maximum. */
  readonly #window: { untilMs: Millis; wanted: number }[] = [];
  readonly #drainedHere = new Set<string>();
  readonly #unjoined = new Set<string>();
  readonly #lastSeenMs = new Map<string, Millis>();
  #before: { readonly waiting: number; readonly busy: number; readonly atMs: Millis } | undefined;
  #failedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ScalerOptions) {
    this.#options = options;
  }

  /** Records members that were started, by the names of their workers. */
  started(names: readonly string[]): void {
    for (const name of names) this.#unjoined.add(name);
  }

  /** @param now monotonic */
  decide(snapshot: Snapshot, now: Millis): Actions {
    const isFirst = this.#window.length === 0;
    const failed = this.#failures(snapshot);
    if (failed.length > 0) this.#failedAtMs = now;
    const members = this.#inOrder(snapshot, now, isFirst);
    const capacity = members.filter(takesWork).length;
    if (isFirst) this.#want(capacity, now);
    const names = new Set(members.map(({ name }) => name));
    const workers = snapshot.workers.filter(({ name }) => names.has(name));
    const busy = sumOf(workers, (worker) => worker.busy);
    const waiting = this.#lasting(snapshot.waiting, busy, now);
    const size = workers.reduce((most, { slots }) => Math.max(most, slots), 0) || this.#options.slots;
    const needed = this.#needed(members, workers, waiting, busy, size);
    // A scheduler that does not respond may have waiting tasks.
    const least = snapshot.waiting === undefined ? this.#window.at(-1)!.wanted : 0;
    const wanted = this.#want(Math.max(needed, least), now);
    return {
      ...this.#toReach(wanted, members, now),
      failed,
      wanted,
      waiting,
      busy,
      slots: sumOf(workers, ({ slots }) => slots),
    };
  }

  /** Returns the members in the order in which they are kept. */
  #inOrder({ members, workers }: Snapshot, now: Millis, isFirst: boolean): ObservedMember[] {
    const joined = new Map(workers.map((worker) => [worker.name, worker]));
    const seen = members.map((member): ObservedMember => {
      const { name } = member;
      const worker = joined.get(name);
      if (worker === undefined) {
        const isExpected = now - (this.#lastSeenMs.get(name) ?? Number.NEGATIVE_INFINITY) < UNREACHABLE_MS;
        const state = member.endsUnjoined && !isExpected ? 'unjoined' : 'starting';
        return { ...member, state, busy: 0, isOurs: false };
      }
      this.#lastSeenMs.set(name, now);
      const { state, busy } = worker;
      const isDraining = state === 'draining' || state === 'drained';
      // An earlier process may have drained it.
      if (isDraining && isFirst) this.#drainedHere.add(name);
      if (!isDraining) this.#drainedHere.delete(name);
      return { ...member, state, busy, isOurs: isDraining && this.#drainedHere.has(name) };
    });
    const present = new Set(members.map(({ name }) => name));
    for (const name of this.#lastSeenMs.keys()) if (!present.has(name)) this.#lastSeenMs.delete(name);
    for (const name of this.#drainedHere) if (!present.has(name)) this.#drainedHere.delete(name);
    if (this.#options.lastLeavesFirst) return seen;
    return seen.sort((one, other) => rank(one) - rank(other) || other.busy - one.busy);
  }

  /** Returns members that disappeared before their workers joined. */
  #failures({ members, workers }: Snapshot): string[] {
    const joined = new Set(workers.map(({ name }) => name));
    const present = new Set(members.map(({ name }) => name));
    const failed = [...this.#unjoined].filter((name) => !joined.has(name) && !present.has(name));
    this.#unjoined.clear();
    for (const { name } of members) if (!joined.has(name)) this.#unjoined.add(name);
    return failed;
  }

  /**
   * Returns the number of tasks that also waited at the last check and, at the current rate, will still wait
   * when a worker can be ready. Tasks that a newly joined worker takes do not count as a trend.
   */
  #lasting(waiting: number | undefined, busy: number, now: Millis): number {
    if (waiting === undefined) return 0;
    const before = this.#before ?? { waiting: 0, busy, atMs: now };
    this.#before = { waiting, busy, atMs: now };
    const fallen = Math.max(0, before.waiting - waiting - Math.max(0, busy - before.busy));
    const elapsedMs = Math.max(1, now - before.atMs);
    return Math.max(0, Math.min(waiting, before.waiting) - Math.ceil((fallen * START_MS) / elapsedMs));
  }

  #needed(
    members: readonly ObservedMember[],
    workers: Snapshot['workers'],
    waiting: number,
    busy: number,
    slots: number,
  ): number {
    const needed = Math.ceil((busy + waiting) / slots);
    const idle = workers.filter(
      (worker) => worker.state === 'active' && worker.busy + worker.queued === 0,
    ).length;
    // Idle workers cannot run the waiting tasks, so more workers would not help; one idle worker is kept.
    if (waiting > 0 && idle > 0) return Math.min(needed, members.filter(takesWork).length - idle + 1);
    return needed;
  }

  /** @returns the maximum target within the cool-down */
  #want(needed: number, now: Millis): number {
    const { min, max, cooldownMs } = this.#options;
    const wanted = Math.min(max, Math.max(min, needed));
    const window = this.#window;
    // The last target was valid until now.
    const last = window.at(-1);
    if (last !== undefined) last.untilMs = now;
    while (window.length > 0 && window[0]!.untilMs <= now - cooldownMs) window.shift();
    while (window.length > 0 && window.at(-1)!.wanted <= wanted) window.pop();
    window.push({ untilMs: now, wanted });
    return window[0]!.wanted;
  }

  #toReach(
    wanted: number,
    members: readonly ObservedMember[],
    now: Millis,
  ): Pick<Actions, 'start' | 'drain' | 'undo' | 'end'> {
    let kept = 0;
    const undo: string[] = [];
    const leaving: ObservedMember[] = [];
    for (const member of members) {
      if (kept >= wanted) leaving.push(member);
      else if (takesWork(member)) {
        kept++;
        if (member.isOurs) undo.push(member.name);
      } else if (!this.#options.lastLeavesFirst && member.state === 'drained') leaving.push(member);
    }
    const drain = leaving
      .filter(({ state }) => state === 'active' || state === 'quarantined')
      .map(({ name }) => name);
    for (const name of drain) this.#drainedHere.add(name);
    const end: Member[] = [];
    for (const { name, endsUnjoined, state } of leaving.reverse()) {
      if (state === 'drained' || state === 'unjoined') end.push({ name, endsUnjoined });
      else if (this.#options.lastLeavesFirst) break;
    }
    for (const { name } of end) this.#unjoined.delete(name);
    const isResting = now - this.#failedAtMs < COOLDOWN_MS;
    const start = Math.max(0, Math.min(wanted - kept, this.#options.max - members.length));
    return { start: isResting ? 0 : start, drain, undo, end };
  }
}

/**
 * Reports whether a member accepts tasks, now or soon. Members that are quarantined or that others drain do
 * not.
 */
function takesWork({ state, isOurs }: ObservedMember): boolean {
  return isOurs || state === 'active' || state === 'starting' || state === 'unjoined';
}

/** Returns the removal order if any member may leave: the highest rank goes first. */
function rank({ state, isOurs }: ObservedMember): number {
  if (isOurs) return 1;
  return { active: 0, starting: 2, unjoined: 3, quarantined: 4, draining: 5, drained: 5 }[state];
}
