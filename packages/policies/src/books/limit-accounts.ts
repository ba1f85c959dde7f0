import { counted, formatBytes, LIMITS, RUNNING_LIMITS, type UserLimits } from '@goshawk/core';

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
  /** Levels of running and admitted tasks, without level 0. */
  readonly levels: Set<number>;
}

/** A number of tasks of one stage that ask for a start. */
export interface Request {
  readonly amounts: readonly number[];
  /** Number of tasks that start together. */
  readonly together: number;
  /** Level of the job: see `BookedJob.level`. */
  readonly level: number;
  /** Whether a running task has submitted the job, and may wait for it. */
  readonly isAwaited: boolean;
}

/** Admits nothing until a new central knows all running tasks. */
export const UNTIL_KNOWN: UserLimits = { running: 0 };

/** Tolerance for sums of decimal fractions. */
const ROUNDING = 1e-6;

/** Number of tasks of these amounts that the accounts still admit. */
export function roomIn(accounts: readonly Account[], amounts: readonly number[]): number {
  let room = Number.POSITIVE_INFINITY;
  for (const { limits, used } of accounts)
    for (const [at, name] of RUNNING_LIMITS.entries()) {
      const limit = limits[name];
      if (limit !== undefined && amounts[at]! > 0)
        room = Math.min(room, Math.floor((limit - used[at]!) / amounts[at]! + ROUNDING));
    }
  return Math.max(0, room);
}

/**
 * Whether the tasks may start although they exceed limits: those running may all wait for them if none is as deep. At most one
 * task or gang per level thus runs beyond a limit.
 */
export function mayExceed(accounts: readonly Account[], request: Request): boolean {
  if (!request.isAwaited) return false;
  return accounts.every((account) => {
    const exceeded = exceededBy(account, request);
    return exceeded === undefined || (canExceed(account, request) && isDeepest(account, request));
  });
}

/** Index of the first limit that the tasks would exceed, given what is used. */
function exceededBy({ limits, used }: Account, { amounts, together }: Request): number | undefined {
  for (const [at, name] of RUNNING_LIMITS.entries()) {
    const limit = limits[name];
    if (limit === undefined || amounts[at] === 0) continue;
    if (used[at]! + together * amounts[at]! > limit * (1 + ROUNDING)) return at;
  }
  return undefined;
}

/** Whether the tasks fit the limits of the account if nothing else runs, and a running task may wait for them. */
function canExceed({ limits }: Account, { amounts, together, isAwaited }: Request): boolean {
  return (
    isAwaited &&
    RUNNING_LIMITS.every(
      (name, at) => together * amounts[at]! <= (limits[name] ?? Number.POSITIVE_INFINITY) * (1 + ROUNDING),
    )
  );
}

function isDeepest({ levels }: Account, { level }: Request): boolean {
  if (levels.size >= LIMITS.nestedMax) return false;
  for (const other of levels) if (other >= level) return false;
  return true;
}

/** Adds tasks of a level to all accounts. */
export function charge(
  accounts: readonly Account[],
  amounts: readonly number[],
  tasks: number,
  level: number,
): void {
  for (const { used, levels } of accounts) {
    for (const [at, amount] of amounts.entries()) used[at]! += tasks * amount;
    if (level > 0 && tasks > 0) levels.add(level);
  }
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

/** The limit that blocks the tasks, for `why`. Admitted tasks count, although they still wait. */
export function bindingOf(accounts: readonly Account[], request: Request): string {
  for (const account of accounts) {
    const { title, limits, used, running } = account;
    if (limits === UNTIL_KNOWN)
      return 'central has just started, and starts no tasks of users with limits until it knows all that run';
    const at = exceededBy(account, request);
    const isExceedable = canExceed(account, request);
    if (at === undefined || (isExceedable && isDeepest(account, request))) continue;
    const name = RUNNING_LIMITS[at]!;
    const [limit, use] = [limits[name]!, used[at]!];
    const { together } = request;
    const gang = together > 1 ? `, and the ${together} tasks of a gang start together` : '';
    const nested = isExceedable ? `; ${exception(account, together)}` : '';
    // Limits are not computed again when admitted tasks start, so the sentence must be true before and after.
    const allowed =
      use > running[at]! + ROUNDING
        ? `--users allows ${title} ${WORDS[name](limit)} at a time; tasks that run or start first take ${amountText(name, use)}`
        : use > limit * (1 + ROUNDING)
          ? `${title} has ${WORDS[name](use)}, more than the ${amountText(name, limit)} that --users allows at a time`
          : `${title} has ${WORDS[name](use)} of the ${amountText(name, limit)} that --users allows at a time`;
    return `${allowed}${gang}${nested}`;
  }
  return 'a limit of --users';
}

function exception({ levels }: Account, together: number): string {
  if (levels.size >= LIMITS.nestedMax)
    return `jobs of running tasks exceed that only ${LIMITS.nestedMax} deep, and so deep tasks run already`;
  const one = together > 1 ? 'gang' : 'task';
  return `a job of a running task may exceed that by one ${one}, but not while tasks as deep run or start first`;
}

function amountText(name: Limited, amount: number): string {
  return name === 'memory' ? formatBytes(amount) : String(round(amount));
}
