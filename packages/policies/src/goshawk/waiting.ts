import { LIMITS, type Vector } from '@goshawk/core';
import type { JobView, StageView } from '../contract.js';
import { togetherOf } from '../fitting.js';
import { KINDS, type Kind } from './kinds.js';
import { type Contender, Line, type WaitingNeeds } from './line.js';

/** A user with waiting or running tasks. */
export class UserLines {
  readonly name: string;
  readonly lines: Readonly<Record<Kind, Line>> = {
    pilots: new Line(),
    short: new Line(),
    small: new Line(),
    long: new Line(),
    large: new Line(),
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

  /** Whether a stage waits that may fit. */
  get hasOpen(): boolean {
    for (const kind of KINDS) if (!this.lines[kind].isEmpty) return true;
    return false;
  }

  /** The user's usage relative to its fair share; the lowest goes first. */
  get share(): number {
    return this.used / this.weight;
  }
}

interface Entry {
  readonly user: UserLines;
  kind: Kind;
  needs: WaitingNeeds;
}

/** All waiting stages, by user, kind and needs. */
export class Waiting {
  readonly users = new Map<string, UserLines>();
  /** If false, all users are served as one. */
  readonly #byUser: boolean;
  readonly #entries = new Map<StageView, Entry>();
  readonly #needs = new Map<number, WaitingNeeds>();
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

  /** Whether some needs of waiting stages are accepted. */
  hasNeeds(accepts: (needs: WaitingNeeds) => boolean): boolean {
    for (const needs of this.#needs.values()) if (accepts(needs)) return true;
    return false;
  }

  /** The distinct needs of waiting stages. */
  get needs(): ReadonlyMap<number, WaitingNeeds> {
    return this.#needs;
  }

  get hasBlocked(): boolean {
    return this.#blocked > 0;
  }

  /** Name of the user that is charged for the job. */
  userNameOf(job: JobView): string {
    return this.#byUser ? job.user : '';
  }

  userOf(job: JobView): UserLines {
    const name = this.userNameOf(job);
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

  needsOf(stage: StageView): WaitingNeeds | undefined {
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
      (entry.user !== user ||
        entry.kind !== kind ||
        entry.needs.of !== stage.needs ||
        entry.needs.together !== together)
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
      this.#needs.delete(keyOf(entry.needs));
      this.#freeIds.push(entry.needs.id);
    }
    return true;
  }

  /** The first stages of their needs, blocked or not, up to a limit: users by share, stages of a user by key. */
  firstOfNeeds(kinds: Iterable<Kind>, most: number, accepts: (needs: WaitingNeeds) => boolean): Contender[] {
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
    accepts: (needs: WaitingNeeds) => boolean,
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

  block(needs: WaitingNeeds, isBlocked: boolean): void {
    if (needs.isBlocked === isBlocked) return;
    needs.isBlocked = isBlocked;
    this.#blocked += isBlocked ? 1 : -1;
    for (const line of needs.lines) line.refresh(needs);
  }

  takeBack(): void {
    for (const { lines } of this.users.values()) for (const kind of KINDS) lines[kind].takeBack();
  }

  #intern({ needs: of }: StageView, together: number): WaitingNeeds {
    const key = keyOf({ of, together });
    let needs = this.#needs.get(key);
    if (needs === undefined) {
      const id = this.#freeIds.pop() ?? this.#needs.size;
      needs = { id, of, size: undefined, together, isBlocked: false, lines: [] };
      this.#needs.set(key, needs);
    }
    return needs;
  }
}

function lineOf({ user, kind }: Entry): Line {
  return user.lines[kind];
}

function keyOf({ of, together }: Pick<WaitingNeeds, 'of' | 'together'>): number {
  return of.id * (LIMITS.tasksPerJobMax + 1) + together;
}
