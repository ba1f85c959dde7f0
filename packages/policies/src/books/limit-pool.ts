import { IndexedHeap, type Needs, RUNNING_LIMITS } from '@goshawk/core';
import type { JobView } from '../contract.js';
import type { BookedJob, BookedStage } from './entries.js';
import {
  type Account,
  bindingOf,
  charge,
  chargeCpus,
  mayExceed,
  type Request,
  roomIn,
  usesNoCpus,
} from './limit-accounts.js';
import { type LimitedTasks, LimitGroup } from './limit-group.js';

/** Facts about users, demands and workers that an allotment uses. */
interface Terms {
  accountsOf(user: string): readonly Account[];
  amountsOf(needs: Needs): readonly number[];
  /** Amounts of a task before its worker is known. */
  firstAmountsOf(needs: Needs): readonly number[];
  /** CPUs that the running tasks of the user make unusable beyond their amounts. */
  extraCpusOf(user: string): number;
  /** Updates and returns the job's level: see `BookedJob.level`. */
  levelOf(job: BookedJob): number;
  /** Whether the task that submitted the job runs. */
  isAwaited(job: JobView): boolean;
  /** 0: so many tasks fit now; 1: they would fit if nothing else ran; 2: they never fit. */
  rankOf(needs: Needs, together: number): number;
}

/** A group during an allotment. */
interface Claim {
  readonly group: LimitGroup;
  readonly accounts: readonly Account[];
  /** Amounts of one task. */
  readonly amounts: readonly number[];
  readonly firstAmounts: readonly number[];
  /** The first tasks that were not admitted, and their job. */
  refused: { readonly job: JobView; readonly request: Request } | undefined;
}

/**
 * Jobs that share limits. Waiting stages are kept in order by group, so that an allotment visits only those that it
 * admits, and the first of each group that it does not.
 */
export class LimitPool {
  readonly name: string;
  readonly #jobs = new Set<BookedJob>();
  readonly #changed = new Set<BookedStage>();
  readonly #groups = new Map<Needs, Map<string, LimitGroup>>();
  #groupCount = 0;
  #groupsMade = 0;
  /** Running tasks by stage. */
  readonly #running = new Map<BookedStage, number>();
  /** Admitted tasks that wait, by stage. */
  readonly #shown = new Map<BookedStage, number>();
  /** Whether another allotment may have another result than the last one. */
  #isDue = false;

  constructor(name: string) {
    this.name = name;
  }

  get isEmpty(): boolean {
    return this.#jobs.size === 0;
  }

  /** Whether tasks of the pool differ in needs or number, so that the room at workers affects their order. */
  get hasUnlikeTasks(): boolean {
    return this.#groupCount > 1;
  }

  add(job: BookedJob): void {
    const isNew = !this.#jobs.has(job);
    this.#jobs.add(job);
    for (const stage of job.stages) {
      this.#changed.add(stage);
      // The policy may have seen tasks before a limit applied to them; the next allotment hides those it does not admit.
      if (isNew && stage.waiting > 0) this.#shown.set(stage, stage.waiting);
    }
  }

  delete(job: BookedJob): void {
    this.#jobs.delete(job);
    this.#isDue = true;
    for (const stage of job.stages) {
      this.#changed.delete(stage);
      this.#running.delete(stage);
      this.#shown.delete(stage);
      this.#leave(stage);
    }
  }

  changed(stage: BookedStage): void {
    this.#changed.add(stage);
  }

  /** Call when other tasks may fit at workers than before. */
  workersChanged(): void {
    this.#isDue = true;
  }

  /** Call when running tasks are charged something else than before. */
  chargesChanged(): void {
    this.#isDue = true;
  }

  *held(): Iterable<LimitedTasks> {
    for (const { held, long, tasks, admitted } of this.#all())
      if (held !== undefined && tasks > admitted)
        yield { long, reason: held.reason, tasks: tasks - admitted, oldest: held.job };
  }

  /** Whether the last allotment admitted less than all waiting tasks. */
  get isShort(): boolean {
    for (const { held } of this.#all()) if (held !== undefined) return true;
    return false;
  }

  allot(terms: Terms, show: (stage: BookedStage, tasks: number) => void): void {
    for (const stage of this.#changed) if (this.#update(stage)) this.#isDue = true;
    this.#changed.clear();
    if (!this.#isDue) return;
    this.#isDue = false;
    const claims = Array.from(this.#all(), (group): Claim => {
      const { user, needs } = group;
      const [amounts, firstAmounts] = [terms.amountsOf(needs), terms.firstAmountsOf(needs)];
      return { group, accounts: terms.accountsOf(user), amounts, firstAmounts, refused: undefined };
    });
    const charged = new Set(claims.flatMap(({ accounts }) => accounts));
    const users = new Set<string>();
    for (const [{ job, needs }, running] of this.#running) {
      const accounts = terms.accountsOf(job.user);
      for (const account of accounts) charged.add(account);
      charge(accounts, terms.amountsOf(needs), running, terms.levelOf(job));
      if (!users.has(job.user)) chargeCpus(accounts, terms.extraCpusOf(job.user));
      users.add(job.user);
    }
    for (const { used, running } of charged) for (const at of RUNNING_LIMITS.keys()) running[at] = used[at]!;
    const byRank: readonly Claim[][] = [[], [], []];
    for (const claim of claims) {
      const { group } = claim;
      group.admitted = 0;
      // Without others, the room at workers changes nothing.
      byRank[claims.length === 1 ? 0 : terms.rankOf(group.needs, group.together)]!.push(claim);
    }
    const admitted = new Map<BookedStage, number>();
    const admitAll = (some: readonly Claim[], how: typeof admitWithin): void => {
      for (const claim of some) claim.refused = undefined;
      for (const [claim, stage] of inOrder(some)) {
        const tasks = how(claim, stage, terms);
        if (tasks > 0) admitted.set(stage, tasks);
      }
    };
    for (const some of byRank) {
      admitAll(some, admitWithin);
      const isBeyond = ({ group, refused }: Claim): boolean =>
        group.admitted === 0 && refused?.request.isAwaited === true;
      admitAll(some.filter(isBeyond), admitBeyond);
    }
    for (const { group, accounts, refused } of claims)
      group.held = refused && { job: refused.job, reason: bindingOf(accounts, refused.request) };
    for (const stage of this.#shown.keys())
      if (!admitted.has(stage) && stage.limitGroup !== undefined) show(stage, 0);
    this.#shown.clear();
    for (const [stage, tasks] of admitted) {
      show(stage, tasks);
      this.#shown.set(stage, tasks);
    }
  }

  *#all(): Iterable<LimitGroup> {
    for (const groups of this.#groups.values()) yield* groups.values();
  }

  /** Records the tasks of the stage. @returns whether another allotment may have another result */
  #update(stage: BookedStage): boolean {
    const { waiting, running, limitGroup: group, limitTasks } = stage;
    const visible = this.#shown.get(stage) ?? 0;
    const used = (this.#running.get(stage) ?? 0) + visible;
    const isMoved = this.#move(stage);
    if (running > 0) this.#running.set(stage, running);
    else this.#running.delete(stage);
    const held = limitTasks - visible;
    const { limitGroup: next } = stage;
    // Only admitted tasks have started, and their usage is counted already.
    if (!isMoved && group !== undefined && waiting + running === used && stage.overLimit === held) {
      group.admitted += waiting - visible;
      if (waiting > 0) this.#shown.set(stage, waiting);
      else this.#shown.delete(stage);
      return false;
    }
    // The tasks arrive behind others that a limit keeps waiting.
    const isBehind =
      next?.held !== undefined && !isBefore(stage.job, next.held.job) && (group === undefined || !isMoved);
    return !(isBehind && visible === 0 && waiting === 0 && running === used);
  }

  /** Moves the stage to the group to which it belongs. @returns whether it has left a group for another one */
  #move(stage: BookedStage): boolean {
    const { needs, limitGroup: before } = stage;
    const wanted = stage.waiting + stage.overLimit;
    // Tasks that their owner has named are placed at workers, and no limit applies.
    if (wanted <= stage.named) {
      this.#leave(stage);
      return false;
    }
    const key = keyOf(stage, wanted);
    if (before?.needs === needs && before.key === key) {
      before.order.set(stage, stage.job.arrivedAt);
      before.tasks += wanted - stage.limitTasks;
      stage.limitTasks = wanted;
      return false;
    }
    this.#leave(stage);
    const group = this.#groupOf(stage, key, wanted);
    group.order.set(stage, stage.job.arrivedAt);
    group.tasks += wanted;
    stage.limitGroup = group;
    stage.limitTasks = wanted;
    return before !== undefined;
  }

  #groupOf(stage: BookedStage, key: string, wanted: number): LimitGroup {
    let groups = this.#groups.get(stage.needs);
    if (groups === undefined) {
      groups = new Map();
      this.#groups.set(stage.needs, groups);
    }
    let group = groups.get(key);
    if (group === undefined) {
      group = new LimitGroup(key, stage, wanted, this.#groupsMade++);
      groups.set(key, group);
      this.#groupCount++;
    }
    return group;
  }

  #leave(stage: BookedStage): void {
    const { limitGroup: group } = stage;
    if (group === undefined) return;
    group.order.delete(stage);
    group.tasks -= stage.limitTasks;
    stage.limitGroup = undefined;
    stage.limitTasks = 0;
    if (group.order.total > 0) return;
    const groups = this.#groups.get(group.needs)!;
    groups.delete(group.key);
    if (groups.size === 0) this.#groups.delete(group.needs);
    this.#groupCount--;
  }
}

function isBefore(one: JobView, other: JobView): boolean {
  return one.arrivedAt < other.arrivedAt;
}

function keyOf({ job, gang, part }: BookedStage, wanted: number): string {
  const { match = '', task = '', worker = '' } = job.parent ?? {};
  const under = `${match} ${task} ${worker}`;
  return `${job.long} ${job.priority} ${part === 'pilots'} ${gang ? wanted : ''} ${under} ${job.user}`;
}

/** Admits as many tasks of the stage as the limits permit. */
function admitWithin(claim: Claim, stage: BookedStage, terms: Terms): number {
  const { group, accounts, amounts: own, firstAmounts } = claim;
  const wanted = stage.limitTasks;
  let amounts = firstAmounts;
  let room = roomIn(accounts, amounts);
  // A task alone may start even if it blocks more than the limit.
  if (room === 0 && group.together === 1 && amounts !== own && accounts.every(usesNoCpus)) {
    amounts = own;
    room = Math.min(1, roomIn(accounts, own));
  }
  const tasks = group.isGang && room < wanted ? 0 : Math.min(wanted, room);
  return admit(claim, requestOf(claim, stage, amounts, terms), stage, tasks);
}

/** Admits one task or gang of the stage beyond the limits, if all running tasks may wait for it. */
function admitBeyond(claim: Claim, stage: BookedStage, terms: Terms): number {
  const { group, accounts, amounts, firstAmounts } = claim;
  // A task alone may block more than the limit, as within limits.
  const request = requestOf(claim, stage, group.isGang ? firstAmounts : amounts, terms);
  return admit(claim, request, stage, mayExceed(accounts, request) ? request.together : 0);
}

function requestOf(
  { group: { together } }: Claim,
  { job }: BookedStage,
  amounts: readonly number[],
  terms: Terms,
): Request {
  return { amounts, together, level: terms.levelOf(job), isAwaited: terms.isAwaited(job) };
}

/** Admits these tasks of the stage, and records that it refuses the others. */
function admit(claim: Claim, request: Request, { job, limitTasks }: BookedStage, tasks: number): number {
  charge(claim.accounts, request.amounts, tasks, request.level);
  claim.group.admitted += tasks;
  if (tasks < limitTasks) claim.refused = { job, request };
  return tasks;
}

/** Yields the stages of all groups in order of arrival; those of a group only until a limit stops one. */
function* inOrder(claims: readonly Claim[]): Iterable<readonly [Claim, BookedStage]> {
  const stages = claims.map(({ group }) => group.order.inOrder()[Symbol.iterator]());
  const heads: (BookedStage | undefined)[] = [];
  const heap = new IndexedHeap(claims.map(({ group }) => group.rank));
  const advance = (at: number): void => {
    const { done, value } = stages[at]!.next();
    heads[at] = done === true ? undefined : (value as BookedStage);
    if (heads[at] === undefined) heap.delete(at);
    else heap.set(at, heads[at].job.arrivedAt + claims[at]!.group.offsetMs);
  };
  for (const at of claims.keys()) advance(at);
  while (heap.size > 0) {
    const at = heap.top();
    yield [claims[at]!, heads[at]!];
    if (claims[at]!.refused === undefined) advance(at);
    else heap.delete(at);
  }
}
