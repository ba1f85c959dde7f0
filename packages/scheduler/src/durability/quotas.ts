import {
  amountOf,
  countTasks,
  formatBytes,
  GPU,
  type JobSpec,
  LIMITS,
  limitsRunning,
  type MessageOf,
  type Millis,
  type StageSpec,
} from '@goshawk/core';
import type { JobStore } from './job-store.js';
import type { Refusal } from './ledger.js';

type Holder = MessageOf<'limits'>['holders'][number];

type Usage = MessageOf<'limits'>['elsewhere'][number];

const DEFAULT_HOLDER = '*';

/** A user or project, and its limits. */
interface LimitScope {
  readonly title: string;
  readonly limits: Holder;
  /** Whether the limits apply to the jobs of this user. */
  includes(user: string): boolean;
  /** Usage by jobs of other schedulers. */
  readonly elsewhere: Usage | undefined;
}

/**
 * Returns the limit on waiting tasks of one user, for a job that stands this many levels under the first: each level may add as
 * many again. The tasks above wait for it and may fill their own room, so it always finds its own.
 */
export function withLevels(limit: number, level: number): number {
  return limit * (1 + level);
}

/**
 * Enforces the limits of users and projects on waiting tasks, journal bytes and run times. Central enforces
 * the limits on running tasks, and sends the last reported usage at the other schedulers.
 */
export class Quotas {
  /** Whether the present central has not sent any limits. */
  isOfFormerCentral = false;
  readonly #jobs: JobStore;
  #holders = new Map<string, Holder>();
  #elsewhere = new Map<string, Usage>();
  #projectsElsewhere = new Map<string, Usage>();

  constructor(jobs: JobStore) {
    this.#jobs = jobs;
  }

  setLimits({ holders, elsewhere, projectsElsewhere }: MessageOf<'limits'>): void {
    this.isOfFormerCentral = false;
    this.#holders = new Map(holders.map((each) => [each.holder, each]));
    this.#elsewhere = new Map(elsewhere.map((each) => [each.user, each]));
    this.#projectsElsewhere = new Map(projectsElsewhere.map((each) => [each.user, each]));
  }

  /** Keeps the limits of a central that was replaced until the new one has sent its own. */
  centralReplaced(): void {
    this.isOfFormerCentral = this.hasLimits;
  }

  /** Removes all limits. */
  clear(): void {
    this.isOfFormerCentral = false;
    this.#holders.clear();
    this.#elsewhere.clear();
    this.#projectsElsewhere.clear();
  }

  /** Whether central has sent any limits. */
  get hasLimits(): boolean {
    return this.#holders.size > 0;
  }

  /** Whether central needs the usage of users at this scheduler. */
  get mustReportUsage(): boolean {
    for (const { waiting, journal } of this.#holders.values())
      if (waiting !== undefined || journal !== undefined) return true;
    return false;
  }

  projectOf(user: string | undefined): string | undefined {
    return this.#holderOf(user ?? '')?.project;
  }

  /** The usage of each user at this scheduler, for central. */
  usageReport(): MessageOf<'holdings'>['users'] {
    const users = new Set([...this.#jobs.activeByUser.keys(), ...this.#jobs.journalByUser.keys()]);
    const all = [...users].map((user) => ({
      user: user ?? '',
      waiting: this.#jobs.activeOf(user).waiting,
      journal: this.#jobs.journalByUser.get(user) ?? 0,
    }));
    if (all.length <= LIMITS.usageListedMax) return all;
    return all.sort((one, other) => other.waiting - one.waiting).slice(0, LIMITS.usageListedMax);
  }

  /** Returns the refusal of a job that can never run under a limit, or that exceeds a limit now. */
  refusalOf({ user, stages, parent }: JobSpec, tasks: number, bytes: number): Refusal | undefined {
    if (!this.hasLimits) return undefined;
    for (const limited of this.#limitScopesOf(user))
      for (const stage of stages) {
        const message = impossibleReason(limited, stage);
        if (message !== undefined) return { code: 'over-limit', message, hint: ASK_FOR_LESS };
      }
    return this.refusalOfTasks(user, tasks, bytes, parent?.job);
  }

  /**
   * Returns the refusal of tasks that exceed their user's limits on waiting tasks or journal bytes.
   *
   * @param parent id of the job whose task submits theirs
   */
  refusalOfTasks(
    user: string | undefined,
    tasks: number,
    bytes: number,
    parent: string | undefined,
  ): Refusal | undefined {
    if (!this.hasLimits) return undefined;
    const level = this.#jobs.levelUnder(parent, user);
    for (const limited of this.#limitScopesOf(user)) {
      const { waiting, journal } = limited.limits;
      const { title } = limited;
      const has = this.#usageOf(limited);
      const most = waiting && withLevels(waiting, level);
      if (most !== undefined && tasks > 0 && (has.waiting + tasks > most || tasks > waiting!))
        return {
          code: 'over-limit',
          message: `${title} may have ${tasks > waiting! ? waiting : most} waiting tasks and has ${has.waiting}; this request adds ${tasks}`,
          hint:
            tasks > waiting! ? 'submit fewer tasks' : 'wait until some have started, or submit fewer tasks',
        };
      if (journal !== undefined && has.journal + bytes > journal)
        return {
          code: 'over-limit',
          message: `${title} may have ${formatBytes(journal)} in journals and has ${formatBytes(has.journal)}; this request adds ${formatBytes(bytes)}`,
          hint: 'ended jobs count until they are deleted; submit less, or ask the operator for a higher limit',
        };
    }
    return undefined;
  }

  /** Whether running tasks of the user are limited in number or resources. */
  limitsRunningTasks(user: string | undefined): boolean {
    return this.hasLimits && this.#limitScopesOf(user).some(({ limits }) => limitsRunning(limits));
  }

  /** Whether only central, which knows all running tasks, may start tasks of the user. */
  needsCentral(user: string | undefined): boolean {
    if (!this.hasLimits) return false;
    return this.#limitScopesOf(user).some(({ limits }) => limits.lapse !== true && limitsRunning(limits));
  }

  /** Maximum run time of the user's tasks. ms; undefined: unlimited */
  runTimeLimitOf(user: string | undefined): Millis | undefined {
    if (!this.hasLimits) return undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const { limits } of this.#limitScopesOf(user)) least = Math.min(least, limits.runTime ?? least);
    return least === Number.POSITIVE_INFINITY ? undefined : least;
  }

  #usageOf({ includes, elsewhere }: LimitScope): { readonly waiting: number; readonly journal: number } {
    let waiting = elsewhere?.waiting ?? 0;
    let journal = elsewhere?.journal ?? 0;
    for (const [user, held] of this.#jobs.activeByUser) if (includes(user ?? '')) waiting += held.waiting;
    for (const [user, bytes] of this.#jobs.journalByUser) if (includes(user ?? '')) journal += bytes;
    return { waiting, journal };
  }

  #holderOf(user: string): Holder | undefined {
    return (user.startsWith('@') ? undefined : this.#holders.get(user)) ?? this.#holders.get(DEFAULT_HOLDER);
  }

  #limitScopesOf(user = ''): LimitScope[] {
    const own = this.#holderOf(user);
    const found: LimitScope[] = [];
    if (own !== undefined)
      found.push({
        title: user === '' ? 'a user without a name' : `user ${user}`,
        limits: own,
        includes: (each) => each === user,
        elsewhere: this.#elsewhere.get(user),
      });
    const project = own?.project;
    const shared = project === undefined ? undefined : this.#holders.get(`@${project}`);
    if (shared !== undefined)
      found.push({
        title: `project ${project}`,
        limits: shared,
        includes: (each) => this.#holderOf(each)?.project === project,
        elsewhere: this.#projectsElsewhere.get(project!),
      });
    return found;
  }
}

/** Explains why one task of the stage, or its gang, exceeds a limit even if nothing else runs. */
function impossibleReason({ title, limits }: LimitScope, stage: StageSpec): string | undefined {
  const together = stage.gang === true ? countTasks(stage.tasks) : 1;
  const demands: readonly [keyof Holder, number, (amount: number) => string][] = [
    ['running', together, (amount) => `${amount} running tasks`],
    ['cpus', together * countedCpusOf(stage, together), (amount) => `${amount} CPUs`],
    ['memory', together * amountOf(stage.demand, 'memory'), (amount) => `${formatBytes(amount)} of memory`],
    ['gpus', together * amountOf(stage.demand, GPU), (amount) => `${amount} GPUs`],
  ];
  for (const [name, amount, words] of demands) {
    const limit = limits[name] as number | undefined;
    if (limit !== undefined && amount > limit)
      return `${title} may use ${words(limit)} at a time, and ${together > 1 ? 'this gang counts as' : 'a task of this job requests'} ${words(amount)}`;
  }
  return undefined;
}

/**
 * Returns the CPUs as which one task counts in limits. In a gang, tasks with parts of CPUs that may not share a worker count as
 * whole CPUs, as in central's books.
 */
function countedCpusOf({ demand, requires }: StageSpec, together: number): number {
  const cpus = amountOf(demand, 'cpu') || 1;
  const mayShare = requires === undefined && Object.keys(demand ?? {}).every((name) => name === 'cpu');
  return together > 1 && !mayShare ? Math.ceil(cpus) : cpus;
}

const ASK_FOR_LESS = 'request fewer resources, or ask the operator for a higher limit';
