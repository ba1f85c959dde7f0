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

type Amount = 'waiting' | 'journal';

/** Position of a scheduler among those that share the limits. */
type Part = NonNullable<MessageOf<'limits'>['part']>;

interface Room {
  readonly most: number;
  readonly used: number;
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
 * the limits on running tasks, and sends the last reported usage at the other schedulers. While central is away, each
 * scheduler has a part of what the limits left then, so that all together do not exceed them.
 */
export class Quotas {
  /** Whether the present central has not sent any limits. */
  isOfFormerCentral = false;
  readonly #jobs: JobStore;
  readonly #isCentralSilent: (now: Millis) => boolean;
  #holders = new Map<string, Holder>();
  #elsewhere = new Map<string, Usage>();
  #projectsElsewhere = new Map<string, Usage>();
  #part: Part | undefined;
  /** Whether `#part` is of an earlier central, because the present one does not know all usage yet. */
  #isPartOfFormerCentral = false;
  /** Usage here as last reported, and as reported before central last sent the usage elsewhere. */
  #reported: readonly Usage[] = [];
  #counted: readonly Usage[] = [];

  constructor(jobs: JobStore, isCentralSilent: (now: Millis) => boolean) {
    this.#jobs = jobs;
    this.#isCentralSilent = isCentralSilent;
  }

  setLimits({ holders, elsewhere, projectsElsewhere, part }: MessageOf<'limits'>): void {
    this.isOfFormerCentral = false;
    this.#holders = new Map(holders.map((each) => [each.holder, each]));
    this.#isPartOfFormerCentral = part === undefined && this.#part !== undefined;
    if (this.#isPartOfFormerCentral) return;
    this.#part = part;
    this.#counted = this.#reported;
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
    this.#part = undefined;
    this.#isPartOfFormerCentral = false;
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
    this.#reported = this.#usageByUser();
    return this.#reported;
  }

  #usageByUser(): Usage[] {
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
  refusalOf(
    { user, stages, parent }: JobSpec,
    tasks: number,
    bytes: number,
    now: Millis,
  ): Refusal | undefined {
    if (!this.hasLimits) return undefined;
    for (const limited of this.#limitScopesOf(user))
      for (const stage of stages) {
        const message = impossibleReason(limited, stage);
        if (message !== undefined) return { code: 'over-limit', message, hint: ASK_FOR_LESS };
      }
    return this.refusalOfTasks(user, tasks, bytes, parent?.job, now);
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
    now: Millis,
  ): Refusal | undefined {
    if (!this.hasLimits) return undefined;
    const part = this.#partAt(now);
    const level = this.#jobs.levelUnder(parent, user);
    for (const limited of this.#limitScopesOf(user)) {
      const { waiting, journal } = limited.limits;
      const { title } = limited;
      if (waiting !== undefined && tasks > waiting) {
        const { used } = this.#roomOf(limited, 'waiting', waiting, undefined);
        const message = `${title} may have ${waiting} waiting tasks and has ${used}; this request adds ${tasks}`;
        return { code: 'over-limit', message, hint: 'submit fewer tasks' };
      }
      if (waiting !== undefined && tasks > 0) {
        const room = this.#roomOf(limited, 'waiting', waiting, part);
        const most = room.most + waiting * level;
        if (room.used + tasks > most) {
          const limit = `${most} waiting tasks${part ? ofWhole(withLevels(waiting, level)) : ''}`;
          const message = `${title} may have ${limit} and has ${room.used}; this request adds ${tasks}`;
          return { code: 'over-limit', message, hint: part ? WAIT_FOR_CENTRAL : WAIT_FOR_STARTS };
        }
      }
      if (journal !== undefined) {
        const { most, used } = this.#roomOf(limited, 'journal', journal, part);
        if (used + bytes > most) {
          const limit = part
            ? `${formatBytes(most)} of journal${ofWhole(formatBytes(journal))}`
            : `${formatBytes(most)} in journals`;
          const message = `${title} may have ${limit} and has ${formatBytes(used)}; this request adds ${formatBytes(bytes)}`;
          return { code: 'over-limit', message, hint: part ? WAIT_FOR_CENTRAL : WAIT_FOR_DELETION };
        }
      }
    }
    return undefined;
  }

  /** Returns which part of the limits this scheduler has; undefined while central knows the usage of all. */
  #partAt(now: Millis): Part | undefined {
    const isAway = this.isOfFormerCentral || this.#isPartOfFormerCentral || this.#isCentralSilent(now);
    return isAway ? this.#part : undefined;
  }

  /**
   * Returns how much may be used and is used: in the whole cluster, or in this scheduler's part of it.
   *
   * @param part undefined: the whole limit
   */
  #roomOf({ includes, elsewhere }: LimitScope, name: Amount, limit: number, part: Part | undefined): Room {
    let used = 0;
    if (name === 'waiting') {
      for (const [user, held] of this.#jobs.activeByUser) if (includes(user ?? '')) used += held.waiting;
    } else {
      for (const [user, bytes] of this.#jobs.journalByUser) if (includes(user ?? '')) used += bytes;
    }
    const others = elsewhere?.[name] ?? 0;
    if (part === undefined) return { most: limit, used: used + others };
    let counted = 0;
    for (const each of this.#counted) if (includes(each.user)) counted += each[name];
    return { most: partOf(limit, part, counted, others), used };
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

/**
 * Returns this scheduler's part of a limit: what it used, and its share of what was left. If the limit was exceeded, all
 * shrink alike. The parts of all schedulers never sum to more than the limit.
 *
 * @param used here, when central last counted
 * @param others used at the other schedulers then
 */
function partOf(limit: number, { index, of }: Part, used: number, others: number): number {
  const left = Math.floor(limit - used - others);
  if (left < 0) return Math.floor((used * limit) / (used + others));
  return used + Math.floor(left / of) + (index < left % of ? 1 : 0);
}

function ofWhole(limit: number | string): string {
  return ` at this scheduler, its part of ${limit} while central is away or has just started,`;
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

const WAIT_FOR_STARTS = 'wait until some have started, or submit fewer tasks';
const WAIT_FOR_DELETION =
  'ended jobs count until they are deleted; submit less, or ask the operator for a higher limit';
const WAIT_FOR_CENTRAL = 'wait until central is back and counts for all schedulers, or submit less';
const ASK_FOR_LESS = 'request fewer resources, or ask the operator for a higher limit';
