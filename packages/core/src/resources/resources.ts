import { LIMITS } from '../limits.js';

/**
 * Resources that a task needs or a worker has, apart from slots: amounts by name. `cpu` is in cores, `memory`
 * in bytes; other names are defined by the operator (`gpu`, `licence-x`). A missing name counts as 0.
 */
export type Resources = Readonly<Record<string, number>>;

/** The demand of a task that requests nothing, and so takes one CPU. Shared, so that the common case is an identity check. */
export const NO_RESOURCES: Resources = Object.freeze({});

/** The resource whose units are devices. */
export const GPU = 'gpu';

/** Maximum number of tasks at a worker with this many CPUs, however little each of them takes. */
export function placesOf(cpus: number): number {
  return Math.max(cpus, Math.min(LIMITS.placesMax, LIMITS.placesPerCpu * cpus));
}

/** Number of slots of a worker: its whole CPUs, at least one. */
export function slotsOf(capacity: Resources): number {
  return Math.min(LIMITS.slotsMax, Math.max(1, Math.floor(amountOf(capacity, 'cpu'))));
}

/** Whether the demand fits into the free resources. */
export function fits(demand: Resources, free: Resources): boolean {
  const needed = taken(demand, free);
  if (needed === ONE) return free.cpu! >= 1;
  for (const name in needed) {
    if (needed[name]! > amountOf(free, name)) return false;
  }
  return true;
}

/** Operators choose the names, `constructor` included, so only own properties count. */
export function amountOf(resources: Resources, name: string): number {
  return Object.hasOwn(resources, name) ? resources[name]! : 0;
}

/**
 * Returns what a task takes from a worker with this capacity: its demand, or one CPU if it requests nothing. If the
 * worker does not state its CPUs, a task without a request takes only a slot.
 */
export function taken(demand: Resources, { cpu }: Resources): Resources {
  return demand === NO_RESOURCES && cpu !== undefined ? ONE : demand;
}

const ONE: Resources = Object.freeze({ cpu: 1 });

/** CPUs of a task: one if it requests nothing. */
export function cpusOf(demand: Resources): number {
  return demand === NO_RESOURCES ? 1 : amountOf(demand, 'cpu');
}

/**
 * Adds `sign · demand` to `amounts` in place. Rounding prevents decimal fractions from leaving residues, with
 * which an exact fit would fail.
 */
export function addTo(amounts: Record<string, number>, demand: Resources, sign: 1 | -1): void {
  if (demand === NO_RESOURCES) return;
  if (demand === ONE && Number.isInteger(amounts.cpu)) {
    amounts.cpu! += sign;
    return;
  }
  for (const name in demand) {
    const [before, change] = [amountOf(amounts, name), demand[name]!];
    amounts[name] =
      Number.isInteger(before) && Number.isInteger(change)
        ? before + sign * change
        : (Math.round(before * PARTS) + sign * Math.round(change * PARTS)) / PARTS;
  }
}

/** Fractional amounts are rounded to multiples of 1 ÷ PARTS. */
const PARTS = 1e6;

/** Formats amounts for display: `cpu 2, memory 1 GiB`. */
export function formatResources(resources: Resources): string {
  const parts = Object.entries(resources).map(([name, amount]) =>
    name === 'memory' ? `memory ${formatBytes(amount)}` : `${name} ${amount}`,
  );
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}

/** CPU and memory that running tasks use at present: hundredths of a CPU, and bytes. */
export interface Used {
  readonly cpuPercent: number;
  readonly memory: number;
}

/** Formats what running tasks use at present; undefined: unknown. */
export function formatUsed(used: Used | undefined): string {
  if (used === undefined) return 'unknown';
  return `${used.cpuPercent / 100} CPU, ${formatBytes(used.memory)}`;
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let amount = bytes;
  let unit = 0;
  while (amount >= 1024 && unit < units.length - 1) {
    amount /= 1024;
    unit++;
  }
  return `${Number(amount.toPrecision(4))} ${units[unit]}`;
}
