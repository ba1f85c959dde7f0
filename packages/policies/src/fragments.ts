import { CPU, ONE_CPU, PER_CPU, SLOT, type Vector } from '@goshawk/core';
import { TOLERANCE } from './amounts.js';
import type { RunView, WorkerView } from './contract.js';

/** Number of workers at which one call looks for room that costs nothing. */
const WORKERS_MAX = 64;

/** The tasks of a user at a worker that request parts of CPUs. */
interface Fragment {
  /** Thousandths of a CPU that they use. */
  cpu: number;
  tasks: number;
  /** They are charged this alone. */
  base: number;
  /** The user is charged this in addition. */
  extra: number;
}

interface Entry {
  readonly user: string;
  readonly cpu: number;
  readonly base: number;
}

/**
 * What tasks make unusable beyond their requests: a task of a thousandth of a CPU leaves no whole CPU at a worker that has one, and
 * sixteen of them leave no place for another task. A user is charged the whole CPUs and places that its tasks with parts
 * of CPUs block at each worker, so the charges of all users there are at least what all of them block. Tasks with whole CPUs cost
 * nothing here.
 */
export class Fragments {
  readonly #users = new Map<string, { extra: number; readonly at: Map<WorkerView, Fragment> }>();
  readonly #runs = new Map<RunView, Entry>();
  /** Units of charges per thousandth of a CPU. */
  readonly #unit: number;

  constructor(unit = 1) {
    this.#unit = unit;
  }

  /** Whether any such task runs. */
  get hasRuns(): boolean {
    return this.#runs.size > 0;
  }

  /** What the user is charged beyond the charges of its tasks. */
  of(user: string): number {
    return this.#users.get(user)?.extra ?? 0;
  }

  /**
   * Workers where one more task with this demand, which alone is charged `base`, costs the user nothing. Calls see all workers in turn.
   */
  *covering(demand: Vector, user: string, base: number): Iterable<WorkerView> {
    const at = this.#users.get(user)?.at;
    if (at === undefined || !isFragment(demand)) return;
    let left = Math.min(WORKERS_MAX, at.size);
    for (const [worker, fragment] of at) {
      if (left-- === 0) return;
      at.delete(worker);
      at.set(worker, fragment);
      const { cpu, tasks, extra } = fragment;
      const more = { cpu: cpu + (demand[CPU] ?? 0), tasks: tasks + 1, base: fragment.base + base };
      if (this.#extraOf(more, worker) + base <= extra + TOLERANCE) yield worker;
    }
  }

  /**
   * Adds a run that is not queued. Tasks with whole CPUs are ignored.
   *
   * @param base what the run alone is charged
   * @returns by how much the charge of its user grows beyond that
   */
  add(run: RunView, user: string, base: number): number {
    const { stage, worker, lent } = run;
    if (!isFragment(stage.demand)) return 0;
    const cpu = Math.max(0, (stage.demand[CPU] ?? 0) - (lent[CPU] ?? 0));
    this.#runs.set(run, { user, cpu, base });
    let of = this.#users.get(user);
    if (of === undefined) {
      of = { extra: 0, at: new Map() };
      this.#users.set(user, of);
    }
    let fragment = of.at.get(worker);
    if (fragment === undefined) {
      fragment = { cpu: 0, tasks: 0, base: 0, extra: 0 };
      of.at.set(worker, fragment);
    }
    fragment.cpu += cpu;
    fragment.base += base;
    fragment.tasks++;
    return this.#update(of, fragment, worker);
  }

  /** @returns by how much the charge of its user grows beyond what the run alone was charged */
  remove(run: RunView): number {
    const entry = this.#runs.get(run);
    if (entry === undefined) return 0;
    const { worker } = run;
    this.#runs.delete(run);
    const of = this.#users.get(entry.user)!;
    const fragment = of.at.get(worker)!;
    fragment.cpu -= entry.cpu;
    fragment.tasks--;
    // Clears the rounding error of the sum.
    fragment.base = fragment.tasks === 0 ? 0 : fragment.base - entry.base;
    const change = this.#update(of, fragment, worker);
    if (fragment.tasks === 0) of.at.delete(worker);
    if (of.at.size === 0) this.#users.delete(entry.user);
    return change;
  }

  #update(of: { extra: number }, fragment: Fragment, worker: WorkerView): number {
    const extra = this.#extraOf(fragment, worker);
    const change = extra - fragment.extra;
    fragment.extra = extra;
    of.extra += change;
    return change;
  }

  #extraOf(fragment: Omit<Fragment, 'extra'>, { capacity }: WorkerView): number {
    return Math.max(0, this.#unit * blockedBy(fragment, capacity) - fragment.base);
  }
}

/** Thousandths of CPUs that such tasks make unusable for tasks with whole CPUs. */
function blockedBy({ cpu, tasks }: Pick<Fragment, 'cpu' | 'tasks'>, capacity: Vector): number {
  if (tasks === 0) return 0;
  const whole = Math.ceil(cpu / PER_CPU) * PER_CPU;
  return Math.min(capacity[CPU] ?? 0, Math.max(whole, tasks * cpuPerPlace(capacity)));
}

/** Thousandths of a CPU per place for a task. */
export function cpuPerPlace(capacity: Vector): number {
  const places = capacity[SLOT] ?? 0;
  return places > 0 ? (capacity[CPU] ?? 0) / places : 0;
}

/** Whether the CPUs of the task are not a whole number of at least one. */
export function isFragment(demand: Vector): boolean {
  if (demand === ONE_CPU) return false;
  const cpu = demand[CPU] ?? 0;
  return cpu === 0 || cpu % PER_CPU !== 0;
}
