import { DenseIds, fitsIn, invariant, LIMITS, type Vector } from '@goshawk/core';
import type { JobView, StageView } from '../contract.js';
import { gangSize } from '../fitting.js';
import {
  type Contender,
  firstAccepted,
  KindQueues,
  QueuedUser,
  type SizeClass,
  WaitingNeeds,
} from './kind-queues.js';
import { KINDS, type Kind } from './kinds.js';
import { isServedBefore, merged, UsersInOrder } from './users-in-order.js';

interface Entry {
  readonly queues: KindQueues;
  readonly needs: WaitingNeeds;
}

/** Blocked stages of one size class. */
interface BlockedSize {
  readonly size: SizeClass;
  /** Users with such stages, by kind. */
  readonly users: Readonly<Record<Kind, UsersInOrder>>;
}

/** The first stage for each of some needs, and the first user not considered because the limit was reached. */
export interface First {
  readonly contenders: readonly Contender[];
  readonly next: QueuedUser | undefined;
}

/** All waiting stages, by user, kind and needs. */
export class Waiting {
  readonly users = new Map<string, QueuedUser>();
  /** Sum of the weights of all users. */
  weights = 0;
  /** If false, all users are served as one. */
  readonly #byUser: boolean;
  readonly #entries = new Map<StageView, Entry>();
  readonly #needs = new Map<number, WaitingNeeds>();
  readonly #needsIds = new DenseIds();
  readonly #usersById: (QueuedUser | undefined)[] = [];
  readonly #ranks: number[] = [];
  readonly #userIds = new DenseIds();
  #arrived = 0;
  /** Users with stages that may fit, by kind. */
  readonly #open = this.#byKind();
  /** Users with stages for which a reservation may help, by kind. */
  readonly #reservable = this.#byKind();
  readonly #blocked = new Map<string, BlockedSize>();
  /** Has the queues with skipped stages. */
  readonly #skipped = new Set<KindQueues>();

  constructor(byUser: boolean) {
    this.#byUser = byUser;
  }

  #byKind(): Readonly<Record<Kind, UsersInOrder>> {
    const make = () => new UsersInOrder(this.#usersById, this.#ranks);
    return { pilots: make(), short: make(), small: make(), long: make(), large: make() };
  }

  /** Number of stages. */
  get size(): number {
    return this.#entries.size;
  }

  /** Number of distinct needs of waiting stages. */
  get needs(): number {
    return this.#needs.size;
  }

  /** The needs of all waiting stages if they are equal. */
  get onlyNeeds(): WaitingNeeds | undefined {
    if (this.#needs.size !== 1) return undefined;
    for (const needs of this.#needs.values()) return needs;
    return undefined;
  }

  get hasBlocked(): boolean {
    return this.#blocked.size > 0;
  }

  /** Whether a stage of this kind waits that may fit. */
  hasOpen(kind: Kind): boolean {
    return !this.#open[kind].isEmpty;
  }

  /** The user to be served first among those with stages of these kinds that may fit. */
  firstUser(kinds: readonly Kind[]): QueuedUser | undefined {
    let first: QueuedUser | undefined;
    for (const kind of kinds) {
      const user = this.#open[kind].first;
      if (user !== undefined && (first === undefined || isServedBefore(user, first))) first = user;
    }
    return first;
  }

  /** Name of the user that is charged for the job. */
  userNameOf(job: JobView): string {
    return this.#byUser ? job.user : '';
  }

  userOf(job: JobView): QueuedUser {
    const name = this.userNameOf(job);
    let user = this.users.get(name);
    if (user === undefined) {
      const id = this.#userIds.take();
      user = new QueuedUser(name, id, this.#arrived++);
      this.#usersById[id] = user;
      this.#ranks[id] = user.rank;
      this.users.set(name, user);
      this.weights += user.weight;
    }
    if (this.#byUser && user.weight !== job.userWeight) {
      this.weights += job.userWeight - user.weight;
      user.weight = job.userWeight;
      this.shareChanged(user);
    }
    return user;
  }

  /** Deletes a user without waiting or running tasks. */
  deleteIfIdle(user: QueuedUser): void {
    if (user.waiting > 0 || user.runs > 0 || this.#usersById[user.id] !== user) return;
    this.users.delete(user.name);
    // Clears the rounding error of the sum.
    this.weights = this.users.size === 0 ? 0 : this.weights - user.weight;
    this.#usersById[user.id] = undefined;
    this.#userIds.release(user.id);
  }

  /** Moves the user to the position of its share. */
  shareChanged(user: QueuedUser): void {
    for (const kind of KINDS) {
      const queues = user.queues[kind];
      if (queues === undefined) continue;
      this.#open[kind].update(user);
      this.#reservable[kind].update(user);
      for (const key of queues.blockedSizes) this.#blocked.get(key)?.users[kind].update(user);
    }
  }

  has(stage: StageView): boolean {
    return this.#entries.has(stage);
  }

  kindOf(stage: StageView): Kind | undefined {
    return this.#entries.get(stage)?.queues.kind;
  }

  needsOf(stage: StageView): WaitingNeeds | undefined {
    return this.#entries.get(stage)?.needs;
  }

  keyOf(stage: StageView): number {
    const entry = this.#entries.get(stage);
    return entry === undefined ? Number.POSITIVE_INFINITY : entry.queues.keyOf(stage, entry.needs);
  }

  /** Whether no stage of its user and of these kinds comes before it in the order. */
  isFirst(stage: StageView, kinds: readonly Kind[]): boolean {
    const { queues } = this.userOf(stage.job);
    const key = this.keyOf(stage);
    return kinds.every((kind) => (queues[kind]?.lowestKey ?? Number.POSITIVE_INFINITY) >= key);
  }

  set(stage: StageView, kind: Kind, key: number): void {
    let entry = this.#entries.get(stage);
    const together = gangSize(stage);
    let user = this.userOf(stage.job);
    if (
      entry !== undefined &&
      (entry.queues.user !== user ||
        entry.queues.kind !== kind ||
        entry.needs.of !== stage.needs ||
        entry.needs.together !== together)
    ) {
      this.delete(stage);
      entry = undefined;
      user = this.userOf(stage.job);
    }
    if (entry === undefined) {
      user.waiting++;
      user.queues[kind] ??= new KindQueues(user, kind);
      entry = { queues: user.queues[kind], needs: this.#intern(stage, together) };
      this.#entries.set(stage, entry);
    }
    const { queues, needs } = entry;
    queues.set(stage, needs, key);
    this.#index(queues, needs);
  }

  delete(stage: StageView): boolean {
    const entry = this.#entries.get(stage);
    if (entry === undefined) return false;
    const { queues, needs } = entry;
    this.#entries.delete(stage);
    queues.delete(stage, needs);
    this.#index(queues, needs);
    queues.user.waiting--;
    this.deleteIfIdle(queues.user);
    if (needs.queueCount === 0) {
      this.#needs.delete(keyOf(needs));
      this.#needsIds.release(needs.id);
    }
    return true;
  }

  /**
   * The first stages of their needs for which a reservation may help, blocked or not, up to a limit: users by share,
   * stages of a user by key.
   */
  firstReservable(kinds: readonly Kind[], most: number): readonly Contender[] {
    const orders = notEmpty(this.#reservable, kinds);
    const headsOf = (queues: KindQueues) => [queues.openHeads, ...queues.blockedHeads()];
    return first(kinds, orders, most, headsOf, ({ isReservable }) => isReservable).contenders;
  }

  /** The first stages of their needs, blocked or not, up to a limit: users by share, stages of a user by key. */
  firstOf(
    kinds: readonly Kind[],
    most: number,
    accepts: (needs: WaitingNeeds) => boolean = () => true,
  ): readonly Contender[] {
    const orders = notEmpty(this.#open, kinds);
    for (const { users } of this.#blocked.values()) orders.push(...notEmpty(users, kinds));
    const headsOf = (queues: KindQueues) => [queues.openHeads, ...queues.blockedHeads()];
    return first(kinds, orders, most, headsOf, accepts).contenders;
  }

  /** The first stages of blocked needs that are accepted and fit into this room, in the same order. */
  firstBlocked(
    kinds: readonly Kind[],
    most: number,
    room: Vector,
    accepts: (needs: WaitingNeeds) => boolean,
  ): First {
    const orders: UsersInOrder[] = [];
    for (const { size, users } of this.#blocked.values())
      if (fitsIn(size.least, room)) orders.push(...notEmpty(users, kinds));
    return first(kinds, orders, most, (queues) => queues.blockedHeads(room), accepts);
  }

  /** Excludes the stages with these needs until they are opened. */
  #block(queues: KindQueues, needs: WaitingNeeds): void {
    queues.block(needs, true);
    this.#index(queues, needs);
  }

  /** Includes stages that were blocked. */
  open(queues: KindQueues, needs: WaitingNeeds): void {
    needs.isBlocked = false;
    queues.block(needs, false);
    this.#index(queues, needs);
  }

  /** Excludes all stages with these needs. @returns the queues in which they were not blocked */
  block(needs: WaitingNeeds): readonly KindQueues[] {
    needs.isBlocked = true;
    const open = [...needs.open];
    for (const queues of open) this.#block(queues, needs);
    return open;
  }

  /** Skips the first stage of the queues until all skipped stages are restored. */
  skipFirst(queues: KindQueues): void {
    const needs = this.needsOf(queues.first()!)!;
    queues.skipFirst();
    this.#skipped.add(queues);
    this.#index(queues, needs);
  }

  /** Restores all skipped stages. @param user only those of this user */
  restoreSkipped(user?: QueuedUser): void {
    for (const queues of this.#skipped) {
      if (user !== undefined && queues.user !== user) continue;
      this.#skipped.delete(queues);
      for (const needs of queues.restoreSkipped()) this.#index(queues, needs);
    }
  }

  /** Checks that the index of users agrees with their waiting stages and current shares. */
  check(): void {
    for (const kind of KINDS) {
      let before: QueuedUser | undefined;
      const open = [...this.#open[kind]];
      for (const user of open) {
        invariant(
          before === undefined || isServedBefore(before, user),
          () => `${before?.name} comes before ${user.name} with a share of ${before?.share} > ${user.share}`,
        );
        before = user;
      }
      const expected = [...this.users.values()].filter(({ queues }) => queues[kind]?.isEmpty === false);
      invariant(
        open.length === expected.length && expected.every((user) => open.includes(user)),
        () => `${open.length} users with open ${kind} stages, not ${expected.length}`,
      );
    }
  }

  /** Updates the position of the user of the queues after a change of the stages with these needs. */
  #index(queues: KindQueues, needs: WaitingNeeds): void {
    const { user, kind } = queues;
    this.#open[kind].put(user, !queues.isEmpty);
    this.#reservable[kind].put(user, queues.isReservable);
    if (this.#blocked.size === 0 && !needs.isBlocked) return;
    const { size } = needs;
    const isIn = queues.hasBlocked(size);
    let known = this.#blocked.get(size.key);
    if (known === undefined) {
      if (!isIn) return;
      known = { size, users: this.#byKind() };
      this.#blocked.set(size.key, known);
    }
    const { users } = known;
    users[kind].put(user, isIn);
    if (KINDS.every((each) => users[each].isEmpty)) this.#blocked.delete(size.key);
  }

  #intern({ needs: of }: StageView, together: number): WaitingNeeds {
    const key = keyOf({ of, together });
    let needs = this.#needs.get(key);
    if (needs === undefined) {
      needs = new WaitingNeeds(this.#needsIds.take(), of, together);
      this.#needs.set(key, needs);
    }
    return needs;
  }
}

/** The orders of these kinds that have users. */
function notEmpty(orders: Readonly<Record<Kind, UsersInOrder>>, kinds: readonly Kind[]): UsersInOrder[] {
  const found: UsersInOrder[] = [];
  for (const kind of kinds) if (!orders[kind].isEmpty) found.push(orders[kind]);
  return found;
}

/** The first accepted stages: users in order of share, stages of a user in order. */
function first(
  kinds: readonly Kind[],
  orders: readonly UsersInOrder[],
  most: number,
  headsOf: (queues: KindQueues) => Iterable<Contender>[],
  accepts: (needs: WaitingNeeds) => boolean,
): First {
  const contenders: Contender[] = [];
  if (orders.length === 0) return { contenders, next: undefined };
  for (const user of merged(orders)) {
    if (contenders.length === most) return { contenders, next: user };
    const heads: Iterable<Contender>[] = [];
    for (const kind of kinds) {
      const queues = user.queues[kind];
      if (queues !== undefined) heads.push(...headsOf(queues));
    }
    contenders.push(...firstAccepted(heads, most - contenders.length, accepts));
  }
  return { contenders, next: undefined };
}

function keyOf({ of, together }: Pick<WaitingNeeds, 'of' | 'together'>): number {
  return of.id * (LIMITS.tasksPerJobMax + 1) + together;
}
