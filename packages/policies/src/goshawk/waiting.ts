import { fitsIn, IndexedHeap, type Vector } from '@goshawk/core';
import type { Attributes, JobView, StageView } from '../contract.js';
import { needsOf, togetherOf } from '../fitting.js';
import { StageOrder } from '../stage-order.js';

/** Kinds of waiting tasks. `small` and `large`: the rest of a job whose pilots have not ended. */
export const KINDS = ['pilots', 'short', 'small', 'long', 'large'] as const;
export type Kind = (typeof KINDS)[number];

/** Demands that are equal within a factor per resource. */
interface SizeClass {
  readonly key: string;
  /** Lower bound of the demands in the class. */
  readonly least: Vector;
}

/** Number of classes per doubling of a demand. */
const CLASSES = 2;

function sizeOf(demand: Vector): SizeClass {
  const classes = demand.map((amount) => (amount > 0 ? Math.floor(CLASSES * Math.log2(amount)) : undefined));
  // The factor allows for rounding errors.
  const least = classes.map((each) => (each === undefined ? 0 : (1 - 1e-9) * 2 ** (each / CLASSES)));
  return { key: classes.join(), least };
}

/** The needs of tasks; stages with equal needs share one object. */
export interface Needs {
  /** Small and dense; reused once no stage with these needs waits. */
  readonly id: number;
  readonly key: string;
  readonly demand: Vector;
  /** Set once the needs have been blocked. */
  size: SizeClass | undefined;
  readonly requires: Attributes | undefined;
  /** Number of tasks that must start together; 1: each may start alone. */
  readonly together: number;
  /** No worker has room; blocked until some worker has more than before. */
  isBlocked: boolean;
  /** Lines with a waiting stage with these needs. */
  readonly lines: Line[];
}

/**
 * Waiting stages of one user and one kind, lowest key first. It has one queue per needs, so that all stages that fit
 * nowhere can be skipped together.
 */
export class Line {
  readonly user: UserLines;
  readonly kind: Kind;
  readonly #queues: ({ readonly needs: Needs; readonly order: StageOrder } | undefined)[] = [];
  /** Needs that are not blocked, by the key of their first stage. */
  readonly #heads = new IndexedHeap();
  /** Blocked needs by the same key, grouped by size class. */
  readonly #blocked = new Map<string, { readonly size: SizeClass; readonly heads: IndexedHeap }>();
  readonly #touched = new Set<Needs>();

  constructor(user: UserLines, kind: Kind) {
    this.user = user;
    this.kind = kind;
  }

  /** Whether no stage waits that may fit. */
  get isEmpty(): boolean {
    return this.#heads.size === 0;
  }

  /** Infinity if no stage waits that may fit. */
  get firstKey(): number {
    return this.#heads.topKey();
  }

  first(): StageView | undefined {
    return this.#heads.size === 0 ? undefined : this.#queues[this.#heads.top()]!.order.first();
  }

  set(stage: StageView, needs: Needs, key: number): void {
    let queue = this.#queues[needs.id];
    if (queue === undefined) {
      queue = { needs, order: new StageOrder() };
      this.#queues[needs.id] = queue;
      needs.lines.push(this);
    }
    queue.order.set(stage, key);
    this.refresh(needs);
  }

  delete(stage: StageView, needs: Needs): void {
    const queue = this.#queues[needs.id];
    if (queue === undefined) return;
    queue.order.delete(stage);
    if (queue.order.total === 0) {
      this.#queues[needs.id] = undefined;
      needs.lines.splice(needs.lines.indexOf(this), 1);
    }
    this.refresh(needs);
  }

  /** The first stage of each accepted need, in order, up to a limit. */
  firstOpen(most: number, accepts: (needs: Needs) => boolean): Contender[] {
    return this.#firstOf(this.#heads, most, accepts);
  }

  /**
   * Like `firstOpen` for blocked needs: up to a limit per size class, in no particular order.
   *
   * @param room only needs that fit into it; default: all
   */
  firstBlocked(most: number, room: Vector | undefined, accepts: (needs: Needs) => boolean): Contender[] {
    const found: Contender[] = [];
    for (const { size, heads } of this.#blocked.values())
      if (room === undefined || fitsIn(size.least, room)) found.push(...this.#firstOf(heads, most, accepts));
    return found;
  }

  #firstOf(heads: IndexedHeap, most: number, accepts: (needs: Needs) => boolean): Contender[] {
    const found: Contender[] = [];
    for (const id of heads.inOrder()) {
      if (found.length === most) break;
      const { needs, order } = this.#queues[id]!;
      if (accepts(needs)) found.push({ stage: order.first()!, needs, key: order.firstKey });
    }
    return found;
  }

  keyOf(stage: StageView, needs: Needs): number {
    return this.#queues[needs.id]?.order.keyOf(stage) ?? Number.POSITIVE_INFINITY;
  }

  /** Removes the first stage from the line until all skipped stages are restored. */
  passOverFirst(): void {
    const { needs, order } = this.#queues[this.#heads.top()]!;
    order.passOverFirst();
    this.#touched.add(needs);
    this.refresh(needs);
  }

  takeBack(): void {
    for (const needs of this.#touched) {
      this.#queues[needs.id]?.order.takeBack();
      this.refresh(needs);
    }
    this.#touched.clear();
  }

  /** The first stage of these needs has changed, or whether they are blocked. */
  refresh(needs: Needs): void {
    const order = this.#queues[needs.id]?.order;
    const isEmpty = order === undefined || order.size === 0;
    if (isEmpty || needs.isBlocked) this.#heads.delete(needs.id);
    else this.#heads.set(needs.id, order.firstKey);
    if (isEmpty || !needs.isBlocked) this.#unblocked(needs);
    else this.#blockedOf(needs).set(needs.id, order.firstKey);
  }

  #blockedOf(needs: Needs): IndexedHeap {
    needs.size ??= sizeOf(needs.demand);
    const { size } = needs;
    let known = this.#blocked.get(size.key);
    if (known === undefined) {
      known = { size, heads: new IndexedHeap() };
      this.#blocked.set(size.key, known);
    }
    return known.heads;
  }

  #unblocked({ id, size }: Needs): void {
    if (size === undefined) return;
    const heads = this.#blocked.get(size.key)?.heads;
    if (heads?.delete(id) && heads.size === 0) this.#blocked.delete(size.key);
  }
}

/** The first stage of its needs in a line. */
export interface Contender {
  readonly stage: StageView;
  readonly needs: Needs;
  readonly key: number;
}

/** A user with waiting or running tasks. */
export class UserLines {
  readonly name: string;
  readonly lines: Readonly<Record<Kind, Line>> = {
    pilots: new Line(this, 'pilots'),
    short: new Line(this, 'short'),
    small: new Line(this, 'small'),
    long: new Line(this, 'long'),
    large: new Line(this, 'large'),
  };
  weight = 1;
  /** Sum of the dominant shares of running tasks. */
  used = 0;
  /** Number of runs charged to the user. */
  runs = 0;
  /** Number of waiting stages. */
  waiting = 0;

  constructor(name: string) {
    this.name = name;
  }

  /** The user's usage relative to its fair share; the lowest goes first. */
  get share(): number {
    return this.used / this.weight;
  }
}

interface Entry {
  readonly user: UserLines;
  kind: Kind;
  needs: Needs;
}

/** All waiting stages, by user, kind and needs. */
export class Waiting {
  readonly users = new Map<string, UserLines>();
  /** If false, all users are served as one. */
  readonly #byUser: boolean;
  readonly #entries = new Map<StageView, Entry>();
  readonly #needs = new Map<string, Needs>();
  /** Ids of needs that are free. */
  readonly #freeIds: number[] = [];
  /** Number of blocked needs. */
  #blocked = 0;

  constructor(byUser: boolean) {
    this.#byUser = byUser;
  }

  /** Number of stages. */
  get size(): number {
    return this.#entries.size;
  }

  get stages(): Iterable<StageView> {
    return this.#entries.keys();
  }

  /** Whether some needs of waiting stages are accepted. */
  hasNeeds(accepts: (needs: Needs) => boolean): boolean {
    for (const needs of this.#needs.values()) if (accepts(needs)) return true;
    return false;
  }

  /** The distinct needs of waiting stages. */
  get needs(): ReadonlyMap<string, Needs> {
    return this.#needs;
  }

  get hasBlocked(): boolean {
    return this.#blocked > 0;
  }

  userOf(job: JobView): UserLines {
    const name = this.#byUser ? job.user : '';
    let user = this.users.get(name);
    if (user === undefined) {
      user = new UserLines(name);
      this.users.set(name, user);
    }
    if (this.#byUser) user.weight = job.userWeight;
    return user;
  }

  /** Deletes a user without waiting or running tasks. */
  forgetIfIdle(user: UserLines): void {
    if (user.waiting === 0 && user.runs === 0) this.users.delete(user.name);
  }

  has(stage: StageView): boolean {
    return this.#entries.has(stage);
  }

  kindOf(stage: StageView): Kind | undefined {
    return this.#entries.get(stage)?.kind;
  }

  needsOf(stage: StageView): Needs | undefined {
    return this.#entries.get(stage)?.needs;
  }

  keyOf(stage: StageView): number {
    const entry = this.#entries.get(stage);
    return entry === undefined ? Number.POSITIVE_INFINITY : lineOf(entry).keyOf(stage, entry.needs);
  }

  set(stage: StageView, kind: Kind, key: number): void {
    let entry = this.#entries.get(stage);
    const together = togetherOf(stage);
    let user = this.userOf(stage.job);
    if (
      entry !== undefined &&
      (entry.user !== user || entry.kind !== kind || entry.needs.together !== together)
    ) {
      this.delete(stage);
      entry = undefined;
      user = this.userOf(stage.job);
    }
    if (entry === undefined) {
      user.waiting++;
      entry = { user, kind, needs: this.#intern(stage, together) };
      this.#entries.set(stage, entry);
    }
    lineOf(entry).set(stage, entry.needs, key);
  }

  delete(stage: StageView): boolean {
    const entry = this.#entries.get(stage);
    if (entry === undefined) return false;
    this.#entries.delete(stage);
    lineOf(entry).delete(stage, entry.needs);
    entry.user.waiting--;
    this.forgetIfIdle(entry.user);
    if (entry.needs.lines.length === 0) {
      if (entry.needs.isBlocked) this.#blocked--;
      this.#needs.delete(entry.needs.key);
      this.#freeIds.push(entry.needs.id);
    }
    return true;
  }

  /** The first stages of their needs, blocked or not, up to a limit: users by share, stages of a user by key. */
  firstOfNeeds(kinds: Iterable<Kind>, most: number, accepts: (needs: Needs) => boolean): Contender[] {
    return this.#first(kinds, most, (line, left) => [
      ...line.firstOpen(left, accepts),
      ...line.firstBlocked(left, undefined, accepts),
    ]);
  }

  /** The same for blocked needs that are accepted and fit into this room. */
  firstBlocked(
    kinds: Iterable<Kind>,
    most: number,
    room: Vector,
    accepts: (needs: Needs) => boolean,
  ): Contender[] {
    return this.#first(kinds, most, (line, left) => line.firstBlocked(left, room, accepts));
  }

  #first(kinds: Iterable<Kind>, most: number, of: (line: Line, left: number) => Contender[]): Contender[] {
    const first: Contender[] = [];
    const users = [...this.users.values()].filter(({ waiting }) => waiting > 0);
    for (const { lines } of users.sort((one, other) => one.share - other.share)) {
      const left = most - first.length;
      if (left === 0) break;
      const found = [...kinds].flatMap((kind) => of(lines[kind], left));
      found.sort((one, other) => one.key - other.key || one.stage.id - other.stage.id);
      first.push(...found.slice(0, left));
    }
    return first;
  }

  block(needs: Needs, isBlocked: boolean): void {
    if (needs.isBlocked === isBlocked) return;
    needs.isBlocked = isBlocked;
    this.#blocked += isBlocked ? 1 : -1;
    for (const line of needs.lines) line.refresh(needs);
  }

  takeBack(): void {
    for (const { lines } of this.users.values()) for (const kind of KINDS) lines[kind].takeBack();
  }

  #intern(stage: StageView, together: number): Needs {
    const key = keyOfNeeds(stage, together);
    let needs = this.#needs.get(key);
    if (needs === undefined) {
      const { demand, requires } = stage;
      const id = this.#freeIds.pop() ?? this.#needs.size;
      needs = { id, key, demand, size: undefined, requires, together, isBlocked: false, lines: [] };
      this.#needs.set(key, needs);
    }
    return needs;
  }
}

function lineOf({ user, kind }: Entry): Line {
  return user.lines[kind];
}

function keyOfNeeds(stage: StageView, together: number): string {
  return together === 1 ? needsOf(stage) : `${together} × ${needsOf(stage)}`;
}
