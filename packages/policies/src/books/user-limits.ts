import {
  CPU,
  type FeasibleWorkers,
  GPU,
  grantOf,
  LIMITS,
  limitsRunning,
  type Needs,
  PER_CPU,
  projectGrantOf,
  type ResourceNames,
  RUNNING_LIMITS,
  SLOT,
  type UserGrants,
  type UserLimits,
  unitsOf,
  type Vector,
} from '@goshawk/core';
import type { JobView } from '../contract.js';
import { mayFit } from '../fitting.js';
import { cpuPerPlace, Fragments, isFragment } from '../fragments.js';
import type { BookedJob, BookedRun, BookedStage, BookedWorker } from './entries.js';
import { type Account, CPUS, UNTIL_KNOWN } from './limit-accounts.js';
import type { LimitedTasks } from './limit-group.js';
import { LimitPool } from './limit-pool.js';

/**
 * Enforces limits on what users and projects run at a time. A policy sees only as many waiting tasks of a user as the
 * limits admit, so every policy obeys them.
 */
export class RunningLimits {
  readonly #names: ResourceNames;
  #grants: UserGrants = new Map();
  readonly #pools = new Map<string, LimitPool>();
  readonly #poolOf = new Map<BookedJob, LimitPool>();
  readonly #changed = new Set<LimitPool>();
  /** Pools whose limits admit less than all waiting tasks. */
  readonly #short = new Set<LimitPool>();
  /** Jobs with tasks over a limit that no longer exists. */
  readonly #released = new Set<BookedJob>();
  readonly #amounts = new WeakMap<Needs, readonly number[]>();
  /** What running tasks make unusable beyond their amounts, in CPUs. */
  #fragments = new Fragments(1 / PER_CPU);
  isEmpty = true;
  /** Whether running tasks may be unknown, so that limits which must not be exceeded admit no others. */
  #isUnsure = false;

  constructor(names: ResourceNames) {
    this.#names = names;
  }

  grant(grants: UserGrants, jobs: Iterable<BookedJob>): void {
    this.#grants = grants;
    this.isEmpty = [...grants.values()].every(({ limits }) => !limitsRunning(limits));
    for (const job of this.#poolOf.keys()) this.gone(job);
    this.#fragments = new Fragments(1 / PER_CPU);
    for (const job of jobs) {
      this.arrived(job);
      for (const run of job.runs) this.occupies(run);
    }
  }

  /** @param isUnsure whether running tasks may be unknown, because central has just started */
  setUnsure(isUnsure: boolean): void {
    if (this.#isUnsure === isUnsure) return;
    this.#isUnsure = isUnsure;
    for (const pool of this.#pools.values()) {
      pool.workersChanged();
      this.#changed.add(pool);
    }
  }

  /** Adds a new job, or updates a job whose user, class, priority or arrival has changed. */
  arrived(job: BookedJob): void {
    const before = this.#poolOf.get(job);
    if (this.isEmpty && before === undefined && !hasTasksOverLimit(job)) return;
    const name = this.isLimited(job.user) ? this.#poolFor(job.user) : undefined;
    if (before !== undefined && before.name !== name) this.gone(job);
    if (name === undefined) {
      if (hasTasksOverLimit(job)) this.#released.add(job);
      return;
    }
    let pool = this.#pools.get(name);
    if (pool === undefined) {
      pool = new LimitPool(name);
      this.#pools.set(name, pool);
    }
    this.#poolOf.set(job, pool);
    pool.add(job);
    this.#changed.add(pool);
  }

  gone(job: BookedJob): void {
    this.#released.delete(job);
    const pool = this.#poolOf.get(job);
    if (pool === undefined) return;
    this.#poolOf.delete(job);
    pool.delete(job);
    this.#changed.add(pool);
    if (!pool.isEmpty) return;
    this.#pools.delete(pool.name);
    this.#changed.delete(pool);
    this.#short.delete(pool);
  }

  /** Call when the number of waiting or running tasks of the stage, its needs or its part have changed. */
  changed(stage: BookedStage): void {
    if (this.#poolOf.size === 0) return;
    const pool = this.#poolOf.get(stage.job);
    if (pool === undefined) return;
    pool.changed(stage);
    this.#changed.add(pool);
  }

  /** Call when room at workers has changed, or workers joined or left: other tasks of a pool may fit now. */
  workersChanged(): void {
    for (const pool of this.#short) {
      if (!pool.hasUnlikeTasks) continue;
      pool.workersChanged();
      this.#changed.add(pool);
    }
  }

  /** Call when the run has started, or what it lends or its user has changed. */
  occupies(run: BookedRun): void {
    const { needs, job } = run.stage;
    if (this.isEmpty || run.isQueued || !isFragment(needs.demand)) return;
    this.#fragments.remove(run);
    this.#fragments.add(run, job.user, this.#amountsOf(needs)[CPUS]!);
    this.#chargesChanged(job);
  }

  /** Call when the run has ended, or its start is undone. */
  vacates(run: BookedRun): void {
    if (this.isEmpty || !isFragment(run.stage.demand)) return;
    this.#fragments.remove(run);
    this.#chargesChanged(run.stage.job);
  }

  #chargesChanged(job: BookedJob): void {
    const pool = this.#poolOf.get(job);
    if (pool === undefined) return;
    pool.chargesChanged();
    this.#changed.add(pool);
  }

  /** Whether any limit applies to the jobs of this user. */
  isLimited(user: string): boolean {
    if (this.isEmpty) return false;
    const { limits, project } = grantOf(this.#grants, user);
    return limitsRunning(limits) || limitsRunning(projectGrantOf(this.#grants, project)?.limits);
  }

  /** Tasks that limits kept waiting at the last allotment, by class and limit. */
  *held(): Iterable<LimitedTasks> {
    for (const pool of this.#pools.values()) yield* pool.held();
  }

  /** Whether any pool must be allotted again. */
  get hasChanges(): boolean {
    return this.#changed.size + this.#released.size > 0;
  }

  /**
   * Admits waiting tasks of each changed pool within its limits: tasks and gangs that fit now come first, then in order
   * of arrival. The cost grows with the admitted and running tasks of the pool, not with all that wait.
   *
   * @param capacity of the cluster
   * @param parentOf returns the running task that submitted a job
   * @param show sets how many of a stage's tasks the policy sees
   */
  allot(
    feasible: FeasibleWorkers<BookedWorker>,
    capacity: Vector,
    parentOf: (job: JobView) => BookedRun | undefined,
    show: (stage: BookedStage, tasks: number) => void,
  ): void {
    for (const { stages } of this.#released)
      for (const stage of stages) if (stage.overLimit > 0) show(stage, stage.waiting + stage.overLimit);
    this.#released.clear();
    // Showing tasks changes no worker.
    const fits: Fits = { ofTask: new Map(), rooms: new Map(), visited: 0, withSlot: undefined };
    for (const pool of this.#changed) {
      const accounts = new Map<string, Account>();
      const byUser = new Map<string, readonly Account[]>();
      pool.allot(
        {
          accountsOf: (user) => cached(byUser, user, () => this.#accountsOf(user, accounts)),
          amountsOf: (needs) => this.#amountsOf(needs),
          firstAmountsOf: (needs) => this.#firstAmountsOf(needs, capacity),
          levelOf: (job) => updateLevel(job, parentOf),
          isAwaited: (job) => parentOf(job) !== undefined,
          extraCpusOf: (user) => this.#fragments.of(user),
          rankOf: (needs, together) => rankOf(needs, together, feasible, fits),
        },
        show,
      );
      if (pool.isShort) this.#short.add(pool);
      else this.#short.delete(pool);
    }
    this.#changed.clear();
  }

  #poolFor(user: string): string {
    const { project } = grantOf(this.#grants, user);
    return limitsRunning(projectGrantOf(this.#grants, project)?.limits) ? `@${project}` : `user ${user}`;
  }

  #accountsOf(user: string, known: Map<string, Account>): readonly Account[] {
    const { limits, project } = grantOf(this.#grants, user);
    const shared = projectGrantOf(this.#grants, project)?.limits;
    const accounts: Account[] = [];
    const add = (title: string, limits: UserLimits): void => {
      const of = this.#isUnsure && limits.lapse !== true ? UNTIL_KNOWN : limits;
      let account = known.get(title);
      if (account === undefined) {
        account = {
          title,
          limits: of,
          used: RUNNING_LIMITS.map(() => 0),
          running: RUNNING_LIMITS.map(() => 0),
          levels: new Set(),
        };
        known.set(title, account);
      }
      accounts.push(account);
    };
    if (limitsRunning(limits)) add(user === '' ? 'users without a name' : `user ${user}`, limits);
    if (limitsRunning(shared)) add(`project ${project}`, shared);
    return accounts;
  }

  /** Amounts of one task by index of `RUNNING_LIMITS`; a task that requests no CPU counts as one. */
  #amountsOf(needs: Needs): readonly number[] {
    return cached(this.#amounts, needs, () => {
      const { counted } = needs;
      const of = (name: string): number => {
        const index = this.#names.find(name);
        return index === undefined ? 0 : (counted[index] ?? 0) / unitsOf(name);
      };
      const cpus = of('cpu');
      return [
        counted[SLOT] ?? 1,
        cpus === 0 ? 1 : Math.max(cpus, 1 / LIMITS.placesPerCpu),
        of('memory'),
        of(GPU),
      ];
    });
  }

  /**
   * Amounts of a task before its worker is known. One with parts of CPUs takes at least its place, and its part of a CPU that as many
   * as fit share; or whole CPUs if it selects workers or requests anything else, because others of its user may run elsewhere.
   */
  #firstAmountsOf(needs: Needs, capacity: Vector): readonly number[] {
    const amounts = this.#amountsOf(needs);
    const cpu = needs.demand[CPU] ?? 0;
    if (!isFragment(needs.demand) || cpu === 0) return amounts;
    const shared = cpu < PER_CPU ? 1 / Math.floor(PER_CPU / cpu) : cpu / PER_CPU;
    const isFree = needs.requires === undefined && isOnlyCpu(needs.demand);
    const least = isFree ? cpuPerPlace(capacity) / PER_CPU : Math.ceil(shared);
    return amounts.with(CPUS, Math.max(amounts[CPUS]!, shared, least));
  }
}

/** Updates and returns the level of the job: see `BookedJob.level`. */
function updateLevel(job: BookedJob, parentOf: (job: JobView) => BookedRun | undefined): number {
  const line: BookedJob[] = [];
  let top = job;
  // Bounded, because users may name parents in a circle.
  for (let run = parentOf(job); run !== undefined && line.length < LIMITS.nestedMax; run = parentOf(top)) {
    line.push(top);
    top = run.stage.job;
  }
  let above = top.level;
  for (let next = line.pop(); next !== undefined; next = line.pop()) {
    next.level = Math.max(next.level, above + 1);
    above = next.level;
  }
  return above;
}

function isOnlyCpu(demand: Vector): boolean {
  for (const [at, amount] of demand.entries()) if (amount > 0 && at !== CPU && at !== SLOT) return false;
  return true;
}

function hasTasksOverLimit({ stages }: BookedJob): boolean {
  for (const { overLimit } of stages) if (overLimit > 0) return true;
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
  /** Number of workers that searches for room have visited. */
  visited: number;
  /** Workers that accept tasks and have a free slot; undefined: not computed yet. */
  withSlot: readonly BookedWorker[] | undefined;
}

/** 0: fits now; 1: would fit if nothing else ran; 2: never fits the workers that accept tasks. */
function rankOf(needs: Needs, together: number, feasible: FeasibleWorkers<BookedWorker>, fits: Fits): number {
  if (together > 1) {
    const rooms = cached(fits.rooms, needs, () => roomsFor(needs, feasible));
    return together <= rooms.now ? 0 : together <= rooms.ever ? 1 : 2;
  }
  return cached(fits.ofTask, needs, () => fitOf(needs, feasible, fits));
}

function cached<K extends object | string, T>(
  known: { get(key: K): T | undefined; set(key: K, value: T): unknown },
  key: K,
  compute: () => T,
): T {
  let value = known.get(key);
  if (value === undefined) {
    value = compute();
    known.set(key, value);
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
function fitOf(needs: Needs, feasible: FeasibleWorkers<BookedWorker>, fits: Fits): number {
  // Without this list, the searches for many needs would each visit all workers of a full cluster.
  if (fits.visited > feasible.size)
    fits.withSlot ??= [...feasible.all()].filter(({ open, free }) => open && free[SLOT]! > 0);
  if (fits.withSlot !== undefined && (needs.demand[SLOT] ?? 0) > 0) {
    if (fits.withSlot.some((worker) => mayFit(needs, worker))) return 0;
    for (const { open } of feasible.for(needs)) if (open) return 1;
    return 2;
  }
  let fit = 2;
  for (const worker of feasible.for(needs)) {
    fits.visited++;
    if (!worker.open) continue;
    if (mayFit(needs, worker)) return 0;
    fit = 1;
  }
  return fit;
}
