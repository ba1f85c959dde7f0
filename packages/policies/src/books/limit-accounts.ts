import { counted, formatBytes, RUNNING_LIMITS, type UserLimits } from '@goshawk/core';

type Limited = (typeof RUNNING_LIMITS)[number];

/** Index of CPUs. */
export const CPUS = RUNNING_LIMITS.indexOf('cpus');

/** Usage and limits of a user, or of a project. */
export interface Account {
  readonly title: string;
  readonly limits: UserLimits;
  /** Usage of running and admitted tasks, by index of `RUNNING_LIMITS`. */
  readonly used: number[];
  /** Usage of running tasks alone. */
  readonly running: number[];
}

/** Admits nothing until a new central knows all running tasks. */
export const UNTIL_KNOWN: UserLimits = { running: 0 };

/** Tolerance for sums of decimal fractions. */
const ROUNDING = 1e-6;

/**
 * The limit for a job that stands this many running tasks under the first: each level may add as much again. The tasks above
 * wait for it and may fill their own room, so it always finds its own.
 */
function withLevels(limit: number, level: number): number {
  return limit * (1 + level);
}

/** Number of tasks of these amounts, of a job of this level, that the accounts still admit. */
export function roomIn(accounts: readonly Account[], amounts: readonly number[], level: number): number {
  let room = Number.POSITIVE_INFINITY;
  for (const { limits, used } of accounts)
    for (const [at, name] of RUNNING_LIMITS.entries()) {
      const limit = limits[name];
      if (limit !== undefined && amounts[at]! > 0)
        room = Math.min(room, Math.floor((withLevels(limit, level) - used[at]!) / amounts[at]! + ROUNDING));
    }
  return Math.max(0, room);
}

/** Adds the amounts of tasks to all accounts; subtracts them for a negative number. */
export function charge(accounts: readonly Account[], amounts: readonly number[], tasks: number): void {
  for (const { used } of accounts) for (const [at, amount] of amounts.entries()) used[at]! += tasks * amount;
}

export function chargeCpus(accounts: readonly Account[], cpus: number): void {
  for (const { used } of accounts) used[CPUS]! += cpus;
}

export function usesNoCpus({ used }: Account): boolean {
  return used[CPUS]! === 0;
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

/** The limit that blocks the next tasks, for `why`. Tasks admitted before them count, although they still wait. */
export function bindingOf(
  accounts: readonly Account[],
  amounts: readonly number[],
  tasks: number,
  level: number,
): string {
  for (const { title, limits, used, running } of accounts)
    for (const [at, name] of RUNNING_LIMITS.entries()) {
      if (limits === UNTIL_KNOWN)
        return 'central has just started, and starts no tasks of users with limits until it knows all that run';
      const ownLimit = limits[name];
      const limit = ownLimit && withLevels(ownLimit, level);
      if (limit === undefined || used[at]! + tasks * amounts[at]! <= limit * (1 + ROUNDING)) continue;
      const gang = tasks > 1 ? `, and the ${tasks} tasks of a gang start together` : '';
      // Limits are not computed again when admitted tasks start, so the sentence must be true before and after.
      return used[at]! > running[at]! + ROUNDING
        ? `--users allows ${title} ${WORDS[name](limit)} at a time; tasks that run or start first take ${amountText(name, used[at]!)}${gang}`
        : `${title} has ${WORDS[name](used[at]!)} of the ${amountText(name, limit)} that --users allows at a time${gang}`;
    }
  return 'a limit of --users';
}

function amountText(name: Limited, amount: number): string {
  return name === 'memory' ? formatBytes(amount) : String(round(amount));
}
