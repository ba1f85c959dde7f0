import {
  counted,
  type FeasibleWorkers,
  formatBytes,
  GPU,
  grantOf,
  type Needs,
  projectGrantOf,
  type ResourceNames,
  SLOT,
  type UserGrants,
  type UserLimits,
  unitsOf,
  type Vector,
} from '@goshawk/core';
import { hasRoom } from '../fitting.js';
import type { BookedJob, BookedStage, BookedWorker } from './entries.js';

/** Resources with limits, in the order of `amountsOf`. */
const LIMITED = ['running', 'cpus', 'memory', 'gpus'] as const satisfies (keyof UserLimits)[];
type Limited = (typeof LIMITED)[number];

/** Usage and limits of a user, or of a project. */
interface Account {
  readonly title: string;
  readonly limits: UserLimits;
  /** Usage of running and admitted tasks, by index of `LIMITED`. */
  readonly used: number[];
  /** Usage of running tasks alone. */
  readonly running: number[];
}

/** Waiting tasks of one class that one limit holds. */
export interface HeldTasks {
  readonly long: boolean;
  readonly reason: string;
  tasks: number;
  /** The job among them that arrived first. */
  oldest: BookedJob;
}

/**
 * Enforces limits on what users and projects run at a time. A policy sees only as many waiting tasks of a user as the
 * limits admit, so every policy obeys them.
 */
export class RunningLimits {
  readonly #names: ResourceNames;
  #grants: UserGrants = new Map();
  /** Jobs by pool: a set of users whose jobs share limits. */
  readonly #pools = new Map<string, Set<BookedJob>>();
  readonly #poolOf = new Map<BookedJob, string>();
  readonly #changed = new Set<string>();
  /** Pools whose limits admit less than all waiting tasks. */
  readonly #short = new Set<string>();
  /** Held tasks by pool. */
  readonly #held = new Map<string, readonly HeldTasks[]>();
  isEmpty = true;

  constructor(names: ResourceNames) {
    this.#names = names;
  }

  grant(grants: UserGrants, jobs: Iterable<BookedJob>): void {
    for (const pool of this.#pools.keys()) this.#changed.add(pool);
    this.#grants = grants;
    this.isEmpty = [...grants.values()].every(({ limits }) => !isLimited(limits));
    for (const job of jobs) this.arrived(job);
  }

  /** Adds a new job, or moves a job whose user has become known. */
  arrived(job: BookedJob): void {
    if (this.isEmpty && this.#pools.size === 0) return;
    const pool = this.#poolFor(job.user);
    const before = this.#poolOf.get(job);
    if (before !== undefined && before !== pool) this.gone(job);
    this.#poolOf.set(job, pool);
    const jobs = this.#pools.get(pool);
    if (jobs === undefined) this.#pools.set(pool, new Set([job]));
    else jobs.add(job);
    if (hasTasksOverLimit(job) || this.isLimited(job.user)) this.#changed.add(pool);
  }

  gone(job: BookedJob): void {
    const pool = this.#poolOf.get(job);
    if (pool === undefined) return;
    this.#poolOf.delete(job);
    const jobs = this.#pools.get(pool)!;
    jobs.delete(job);
    if (jobs.size === 0) {
      this.#pools.delete(pool);
      this.#short.delete(pool);
      this.#held.delete(pool);
    }
    if (this.isLimited(job.user)) this.#changed.add(pool);
  }

  /** Call when the number of waiting or running tasks of the job has changed. */
  changed(job: BookedJob): void {
    if (this.#poolOf.size === 0) return;
    const pool = this.#poolOf.get(job);
    if (pool !== undefined && this.isLimited(job.user)) this.#changed.add(pool);
  }

  /** Call when room at workers has changed, or workers joined or left: other tasks of a pool may fit now. */
  workersChanged(): void {
    for (const pool of this.#short) this.#changed.add(pool);
  }

  /** Whether any limit applies to the jobs of this user. */
  isLimited(user: string): boolean {
    if (this.isEmpty) return false;
    const { limits, project } = grantOf(this.#grants, user);
    return isLimited(limits) || isLimited(projectGrantOf(this.#grants, project)?.limits);
  }

  /** Tasks that limits held at the last allotment, by class and limit. */
  get held(): Iterable<HeldTasks> {
    return [...this.#held.values()].flat();
  }

  /** Whether any pool must be allotted again. */
  get hasChanges(): boolean {
    return this.#changed.size > 0;
  }

  /**
   * Admits waiting tasks of each changed pool within its limits: tasks and gangs that fit now come first, then in order
   * of arrival.
   *
   * @param show sets how many of a stage's tasks the policy sees
   */
  allot(feasible: FeasibleWorkers<BookedWorker>, show: (stage: BookedStage, tasks: number) => void): void {
    // Showing tasks changes no worker.
    const fits: Fits = { ofTask: new Map(), rooms: new Map() };
    for (const pool of this.#changed) {
      const jobs = this.#pools.get(pool);
      if (jobs === undefined) continue;
      const held = new Map<string, HeldTasks>();
      if (this.#allotPool(jobs, feasible, fits, held, show)) this.#short.add(pool);
      else this.#short.delete(pool);
      if (held.size > 0) this.#held.set(pool, [...held.values()]);
      else this.#held.delete(pool);
    }
    this.#changed.clear();
  }

  /** @returns whether the limits admit less than all waiting tasks */
  #allotPool(
    jobs: ReadonlySet<BookedJob>,
    feasible: FeasibleWorkers<BookedWorker>,
    fits: Fits,
    held: Map<string, HeldTasks>,
    show: (stage: BookedStage, tasks: number) => void,
  ): boolean {
    const accounts = new Map<string, Account>();
    const waiting: { readonly stage: BookedStage; readonly accounts: readonly Account[] }[] = [];
    for (const job of jobs) {
      const of = this.#accountsOf(job.user, accounts);
      for (const stage of job.allStages) {
        if (stage.running > 0) charge(of, this.#amountsOf(stage.demand), stage.running);
        if (stage.waiting + stage.overLimit > stage.named) waiting.push({ stage, accounts: of });
      }
    }
    for (const { used, running } of accounts.values())
      for (const at of LIMITED.keys()) running[at] = used[at]!;
    waiting.sort(
      (one, other) =>
        orderOf(one.stage.job) - orderOf(other.stage.job) || partOrder(one.stage) - partOrder(other.stage),
    );
    const short = isShort(waiting, (stage) => this.#amountsOf(stage.demand));
    const order = short ? fittingFirst(waiting, feasible, fits) : waiting;
    for (const { stage, accounts: of } of order) {
      const amounts = this.#amountsOf(stage.demand);
      const wanted = stage.waiting + stage.overLimit;
      const room = roomIn(of, amounts);
      const tasks = stage.gang && room < wanted ? 0 : Math.min(wanted, room);
      charge(of, amounts, tasks);
      stage.limitReason = tasks === wanted ? undefined : bindingOf(of, amounts, stage.gang ? wanted : 1);
      show(stage, tasks);
      if (stage.limitReason !== undefined) addHeld(held, stage, stage.limitReason);
    }
    return short;
  }

  #poolFor(user: string): string {
    const { project } = grantOf(this.#grants, user);
    return isLimited(projectGrantOf(this.#grants, project)?.limits) ? `@${project}` : `user ${user}`;
  }

  #accountsOf(user: string, known: Map<string, Account>): readonly Account[] {
    const { limits, project } = grantOf(this.#grants, user);
    const shared = projectGrantOf(this.#grants, project)?.limits;
    const accounts: Account[] = [];
    const add = (title: string, of: UserLimits): void => {
      let account = known.get(title);
      if (account === undefined) {
        account = { title, limits: of, used: LIMITED.map(() => 0), running: LIMITED.map(() => 0) };
        known.set(title, account);
      }
      accounts.push(account);
    };
    if (isLimited(limits)) add(user === '' ? 'users without a name' : `user ${user}`, limits);
    if (isLimited(shared)) add(`project ${project}`, shared);
    return accounts;
  }

  /** Amounts of one task by index of `LIMITED`; a task that requests no CPU counts as one. */
  #amountsOf(demand: Vector): readonly number[] {
    const of = (name: string): number => {
      const index = this.#names.find(name);
      return index === undefined ? 0 : (demand[index] ?? 0) / unitsOf(name);
    };
    return [demand[SLOT] ?? 1, of('cpu') || 1, of('memory'), of(GPU)];
  }
}

function isLimited(limits: UserLimits | undefined): limits is UserLimits {
  return limits !== undefined && LIMITED.some((name) => limits[name] !== undefined);
}

function hasTasksOverLimit({ allStages }: BookedJob): boolean {
  for (const { overLimit } of allStages) if (overLimit > 0) return true;
  return false;
}

function addHeld(held: Map<string, HeldTasks>, { job, overLimit }: BookedStage, reason: string): void {
  const key = `${job.long} ${reason}`;
  const known = held.get(key);
  if (known === undefined) held.set(key, { long: job.long, reason, tasks: overLimit, oldest: job });
  else {
    known.tasks += overLimit;
    if (job.arrivedAt < known.oldest.arrivedAt) known.oldest = job;
  }
}

/** Higher priorities first, then order of arrival. */
function orderOf(job: BookedJob): number {
  return job.arrivedAt + PRIORITY_MS[job.priority];
}

/** Pilots come before the other tasks of their job, which may have to wait for the results of the pilots. */
function partOrder({ part }: BookedStage): number {
  return part === 'pilots' ? 0 : 1;
}

const PRIORITY_MS = { high: -1e15, normal: 0, low: 1e15 } as const;

/** Tolerance for sums of decimal fractions. */
const ROUNDING = 1e-6;

function roomIn(accounts: readonly Account[], amounts: readonly number[]): number {
  let room = Number.POSITIVE_INFINITY;
  for (const { limits, used } of accounts)
    for (const [at, name] of LIMITED.entries()) {
      const limit = limits[name];
      if (limit !== undefined && amounts[at]! > 0)
        room = Math.min(room, Math.max(0, Math.floor((limit - used[at]!) / amounts[at]! + ROUNDING)));
    }
  return room;
}

function charge(accounts: readonly Account[], amounts: readonly number[], tasks: number): void {
  for (const { used } of accounts) for (const [at, amount] of amounts.entries()) used[at]! += tasks * amount;
}

/** Whether the limits admit less than all waiting tasks. */
function isShort(
  waiting: readonly { readonly stage: BookedStage; readonly accounts: readonly Account[] }[],
  amountsOf: (stage: BookedStage) => readonly number[],
): boolean {
  const all = new Map<Account, number[]>();
  for (const { stage, accounts } of waiting) {
    const amounts = amountsOf(stage);
    for (const account of accounts) {
      const sums = all.get(account) ?? [...account.used];
      all.set(account, sums);
      for (const [at, amount] of amounts.entries()) sums[at]! += amount * (stage.waiting + stage.overLimit);
    }
  }
  for (const [{ limits }, sums] of all)
    for (const [at, name] of LIMITED.entries())
      if (sums[at]! > (limits[name] ?? Number.POSITIVE_INFINITY) * (1 + ROUNDING)) return true;
  return false;
}

/** Number of tasks of some needs that fit now, and that would fit if nothing else ran. */
interface Rooms {
  readonly now: number;
  readonly ever: number;
}

/** Computed ranks and rooms, by needs. */
interface Fits {
  /** Rank of one task. */
  readonly ofTask: Map<Needs, number>;
  /** Room for gangs. */
  readonly rooms: Map<Needs, Rooms>;
}

/**
 * Tasks and gangs that fit now come first, so that others without room do not use up a limit. Those that never fit
 * come last: a gang that is too large for the cluster would block all other jobs of its user forever.
 */
function fittingFirst<T extends { readonly stage: BookedStage }>(
  waiting: readonly T[],
  feasible: FeasibleWorkers<BookedWorker>,
  fits: Fits,
): readonly T[] {
  const ranks = new Map(waiting.map(({ stage }) => [stage, rankOf(stage, feasible, fits)]));
  // The sort is stable: the order within a rank is kept.
  return [...waiting].sort((one, other) => ranks.get(one.stage)! - ranks.get(other.stage)!);
}

/** 0: fits now; 1: would fit if nothing else ran; 2: never fits the workers that accept tasks. */
function rankOf(stage: BookedStage, feasible: FeasibleWorkers<BookedWorker>, fits: Fits): number {
  const { needs } = stage;
  const together = stage.gang ? stage.waiting + stage.overLimit : 1;
  if (together > 1) {
    const rooms = cached(fits.rooms, needs, () => roomsFor(needs, feasible));
    return together <= rooms.now ? 0 : together <= rooms.ever ? 1 : 2;
  }
  return cached(fits.ofTask, needs, () => fitOf(needs, feasible));
}

function cached<T>(known: Map<Needs, T>, needs: Needs, compute: () => T): T {
  let value = known.get(needs);
  if (value === undefined) {
    value = compute();
    known.set(needs, value);
  }
  return value;
}

function roomsFor(needs: Needs, feasible: FeasibleWorkers<BookedWorker>): Rooms {
  let now = 0;
  let ever = 0;
  for (const worker of feasible.for(needs)) {
    if (!worker.open) continue;
    now += worker.roomFor(needs.demand);
    ever += worker.roomFor(needs.demand, worker.runs);
  }
  return { now, ever };
}

/** Rank of one task: see `rankOf`. */
function fitOf(needs: Needs, feasible: FeasibleWorkers<BookedWorker>): number {
  let fit = 2;
  for (const worker of feasible.for(needs)) {
    if (!worker.open) continue;
    if (hasRoom(needs, worker)) return 0;
    fit = 1;
  }
  return fit;
}

const WORDS: Readonly<Record<Limited, (amount: number) => string>> = {
  running: (amount) => counted(amount, 'running task'),
  cpus: (amount) => `${round(amount)} CPUs`,
  memory: (amount) => `${formatBytes(amount)} of memory`,
  gpus: (amount) => `${round(amount)} GPUs`,
};

function round(amount: number): number {
  return Math.round(amount * 1_000) / 1_000;
}

/** The limit that blocks the next tasks, for `why`. Tasks admitted before them count, although they may wait. */
function bindingOf(accounts: readonly Account[], amounts: readonly number[], tasks: number): string {
  for (const { title, limits, used, running } of accounts)
    for (const [at, name] of LIMITED.entries()) {
      const limit = limits[name];
      if (limit === undefined || used[at]! + tasks * amounts[at]! <= limit * (1 + ROUNDING)) continue;
      const others = used[at]! > running[at]! + ROUNDING ? ', counting tasks that go first' : '';
      return `${title} has ${WORDS[name](used[at]!)} of the ${limitText(name, limit)} that --users allows at a time${others}`;
    }
  return 'a limit of --users';
}

function limitText(name: Limited, limit: number): string {
  return name === 'memory' ? formatBytes(limit) : String(limit);
}
