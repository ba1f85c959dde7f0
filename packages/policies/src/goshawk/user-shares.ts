import { addVector, CPU, invariant, type Millis, type Vector } from '@goshawk/core';
import { dominantShare, isCounted } from '../amounts.js';
import type { ClusterView, JobView, PolicyShares, RunView, StageView } from '../contract.js';
import { Fragments } from '../fragments.js';
import type { QueuedUser } from './kind-queues.js';
import type { Kind } from './kinds.js';
import type { Waiting } from './waiting.js';

/** Usage that has lasted for this many run times counts twice: as current usage, and as much virtual time. */
const MEMORY_TURNS = 4;
/** Maximum difference between the virtual time of a user and of the others, in its tasks. */
const LAG_MAX_TASKS = 4;
/** Weight of each start in the virtual time of the others. */
const START_WEIGHT = 1 / 10;
/** Run times are averaged over this many run times of the whole cluster. */
const AVERAGED_TURNS = 10;

/**
 * Charges each user the dominant shares of its running tasks, what they make unusable beyond these, and the time for which they run.
 * The user with the lowest `share` goes first.
 *
 * Current usage alone would give a user of short tasks less than its share: it must win a slot again after each task, whereas others
 * keep theirs. It would also give users whose share is not a whole number of tasks too much or too little, and those with a share of
 * less than one task nothing. So usage is integrated as the virtual time of the user, as in start-time fair queueing (Goyal et al.).
 */
export class UserShares {
  readonly #waiting: Waiting;
  /** The share of the cluster charged to a user for each run, by run id. */
  readonly #charges: ({ readonly user: QueuedUser; readonly share: number } | undefined)[] = [];
  /** Shares charged beyond those of the runs. */
  #fragments = new Fragments(0);
  #capacity: Vector = [];
  /** Mean run time of tasks, weighted by what they received; 0: no task has ended. */
  #turnMs: Millis = 0;
  /** Virtual time of users whose tasks have started recently. */
  #served = 0;

  constructor(waiting: Waiting) {
    this.#waiting = waiting;
  }

  /** The user to be served first among those with stages of these kinds that may fit. */
  first(kinds: readonly Kind[], now: Millis): QueuedUser | undefined {
    for (;;) {
      const user = this.#waiting.firstUser(kinds);
      if (user === undefined || user.task === undefined || user.servedAt === now) return user;
      // Virtual times never decrease, so the first user whose own is current is the first of all.
      this.#serve(user, now);
      this.#waiting.shareChanged(user);
    }
  }

  /** Mean run time of tasks, weighted by what they received; 0: no task has ended. */
  get turnMs(): Millis {
    return this.#turnMs;
  }

  /** Whether tasks with parts of CPUs run, so that a free CPU may be spread over workers. */
  get hasFragments(): boolean {
    return this.#fragments.hasRuns;
  }

  /** The share of the user; if none of its tasks has started, that of users who are served now. */
  of(user: QueuedUser): number {
    return user.task === undefined ? this.#served : user.share;
  }

  charge(run: RunView, now: Millis): void {
    const share = this.#shareOfRun(run);
    const isPaused = run.borrower !== undefined;
    if (isPaused && share === 0) return;
    const user = this.#waiting.userOf(run.stage.job);
    if (user.task === undefined) user.served = this.#served;
    else this.#serve(user, now);
    user.servedAt = now;
    this.#served += (user.served - this.#served) * START_WEIGHT;
    user.used += share + this.#fragments.add(run, user.name, share);
    user.runs++;
    if (!isPaused) user.task = share;
    this.#charges[run.id] = { user, share };
    this.#waiting.shareChanged(user);
  }

  uncharge(run: RunView, now: Millis, { hasEnded }: { readonly hasEnded: boolean }): void {
    const charged = this.#charges[run.id];
    if (charged === undefined) return;
    this.#charges[run.id] = undefined;
    const { user, share } = charged;
    this.#serve(user, now);
    if (hasEnded) this.#learn(share, now - run.startedAt - run.pausedMs(now));
    user.runs--;
    const less = share - this.#fragments.remove(run);
    // Clears the rounding error of the sum.
    user.used = user.runs === 0 ? 0 : user.used - less;
    this.#waiting.shareChanged(user);
    this.#waiting.deleteIfIdle(user);
  }

  /** The run has paused or resumed: what it lends is no longer charged, or is charged again. */
  lentOrTakenBack(run: RunView, now: Millis): void {
    const charged = this.#charges[run.id];
    if (charged === undefined) return this.charge(run, now);
    const share = this.#shareOfRun(run);
    if (run.borrower !== undefined && share === 0) return this.uncharge(run, now, { hasEnded: false });
    const { user } = charged;
    this.#serve(user, now);
    user.used += share - charged.share + this.#fragments.remove(run);
    user.used += this.#fragments.add(run, user.name, share);
    this.#charges[run.id] = { user, share };
    this.#waiting.shareChanged(user);
  }

  /**
   * Advances the virtual time of the user to now. It stays near that of the others: an idle or blocked user saves nothing, and one
   * that used idle room does not pay for it.
   */
  #serve(user: QueuedUser, now: Millis): void {
    const { used, served, servedAt, weight, task = 0 } = user;
    const turns = this.#turnMs > 0 ? (now - servedAt) / this.#turnMs : 0;
    const grown = served + (used * turns) / (weight * MEMORY_TURNS);
    const lagMax = (LAG_MAX_TASKS * task) / weight;
    user.served = Math.max(served, this.#served - lagMax, Math.min(grown, this.#served + lagMax));
    user.servedAt = now;
  }

  /** Adds the run time of a task of this share to the mean. */
  #learn(share: number, ranMs: Millis): void {
    if (ranMs <= 0) return;
    const weight = this.#turnMs === 0 ? 1 : Math.min(1, (share * ranMs) / (AVERAGED_TURNS * this.#turnMs));
    this.#turnMs += (ranMs - this.#turnMs) * weight;
  }

  /** Charges the run to another user if that of its job has changed. */
  recharge(run: RunView, now: Millis): void {
    const charged = this.#charges[run.id];
    if (charged === undefined || charged.user === this.#waiting.userOf(run.stage.job)) return;
    this.uncharge(run, now, { hasEnded: false });
    this.charge(run, now);
  }

  /** The size of the cluster has changed. */
  resize({ workers, capacity }: Pick<ClusterView, 'workers' | 'capacity'>): void {
    this.#capacity = capacity;
    const cpus = capacity[CPU] ?? 0;
    const [before, after] = [this.#fragments, new Fragments(isCounted(cpus) ? 1 / cpus : 0)];
    this.#fragments = after;
    for (const { runs } of workers) {
      for (const run of runs) {
        const charged = this.#charges[run.id];
        if (charged === undefined) continue;
        const { user } = charged;
        const share = this.#shareOfRun(run);
        user.used += share - charged.share + before.remove(run) + after.add(run, user.name, share);
        this.#charges[run.id] = { user, share };
      }
    }
    for (const user of this.#waiting.users.values()) this.#waiting.shareChanged(user);
  }

  /** At most the whole cluster: a worker may report any demand, and the rounding error of a huge one would remain in the sum. */
  shareOf({ needs }: StageView): number {
    return Math.min(1, dominantShare(needs.counted, this.#capacity));
  }

  /** The share of what the run does not lend. */
  #shareOfRun({ stage, lent }: RunView): number {
    if (lent.length === 0) return this.shareOf(stage);
    const kept = [...stage.needs.counted];
    addVector(kept, lent, -1);
    return Math.min(1, dominantShare(kept, this.#capacity));
  }

  /** The user that is charged for the CPUs of the run; undefined: none, because it is paused. */
  userOf({ id, borrower }: RunView): QueuedUser | undefined {
    return borrower === undefined ? this.#charges[id]?.user : undefined;
  }

  /** The part of the cluster to which a user is entitled among all users with work. */
  fairShareOf({ weight }: QueuedUser): number {
    return weight / this.#waiting.weights;
  }

  /** Checks that every run is charged once, to the right user. */
  check({ workers }: ClusterView): void {
    const used = new Map<QueuedUser, number>();
    for (const { runs } of workers)
      for (const run of runs) {
        const charged = this.#charges[run.id];
        // The user of its borrower is charged for what it lends.
        if (run.borrower !== undefined && charged === undefined) continue;
        const name = this.#waiting.userNameOf(run.stage.job);
        invariant(
          charged?.user.name === name,
          () => `run ${run.id} of "${name}" is charged to "${charged?.user.name}"`,
        );
        used.set(charged.user, (used.get(charged.user) ?? 0) + charged.share);
      }
    for (const user of this.#waiting.users.values()) {
      const sum = (used.get(user) ?? 0) + this.#fragments.of(user.name);
      invariant(
        Math.abs(user.used - sum) <= 1e-6 * Math.max(1, sum),
        () => `${user.name} is charged ${user.used}, and has ${sum}`,
      );
    }
  }
}

/** Weighted fair shares of the users with work, divided among each user's jobs by weight. */
export function sharesByUser({ capacity, jobs }: ClusterView): PolicyShares {
  const users = new Map<string, { weight: number; jobsWeight: number }>();
  let weights = 0;
  for (const job of jobs) {
    if (!hasWork(job)) continue;
    const { user, userWeight, weight } = job;
    let known = users.get(user);
    if (known === undefined) {
      known = { weight: userWeight, jobsWeight: 0 };
      users.set(user, known);
      weights += userWeight;
    }
    known.jobsWeight += weight;
  }
  const dueTo = (job: JobView): readonly number[] => {
    const user = users.get(job.user);
    if (user === undefined || !hasWork(job)) return [];
    const part = ((user.weight / weights) * job.weight) / user.jobsWeight;
    return capacity.map((amount) => part * amount);
  };
  return { by: 'user', dueTo };
}

function hasWork({ running, stages }: JobView): boolean {
  return running > 0 || stages.some(({ waiting }) => waiting > 0);
}
