import { invariant, type Vector } from '@goshawk/core';
import { dominantShare } from '../amounts.js';
import type { ClusterView, JobView, PolicyShares, RunView } from '../contract.js';
import type { UserLines } from './line.js';
import type { Waiting } from './waiting.js';

/** Fractions of its multiples are spread evenly over [0, 1). */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

/** Charges each user the dominant shares of its running tasks. The user with the lowest `share` goes first. */
export class UserShares {
  readonly #waiting: Waiting;
  /** The share of the cluster charged to a user for each run, by run id. */
  readonly #charges: ({ readonly user: UserLines; readonly share: number } | undefined)[] = [];
  #capacity: Vector = [];

  constructor(waiting: Waiting) {
    this.#waiting = waiting;
  }

  charge(run: RunView): void {
    const user = this.#waiting.userOf(run.stage.job);
    const share = dominantShare(run.stage.demand, this.#capacity);
    user.used += share;
    user.runs++;
    user.offset = (user.offset + GOLDEN_RATIO) % 1;
    this.#charges[run.id] = { user, share };
    this.#waiting.shareChanged(user);
  }

  uncharge(run: RunView): void {
    const charged = this.#charges[run.id];
    if (charged === undefined) return;
    this.#charges[run.id] = undefined;
    const { user, share } = charged;
    user.runs--;
    // Clears the rounding error of the sum.
    user.used = user.runs === 0 ? 0 : user.used - share;
    this.#waiting.shareChanged(user);
    this.#waiting.deleteIfIdle(user);
  }

  /** Charges the run to another user if that of its job has changed. */
  recharge(run: RunView): void {
    if (this.#charges[run.id]?.user === this.#waiting.userOf(run.stage.job)) return;
    this.uncharge(run);
    this.charge(run);
  }

  /** The size of the cluster has changed. */
  resize({ workers, capacity }: Pick<ClusterView, 'workers' | 'capacity'>): void {
    this.#capacity = capacity;
    for (const { runs } of workers) {
      for (const { id, stage } of runs) {
        const charged = this.#charges[id];
        if (charged === undefined) continue;
        const share = dominantShare(stage.demand, capacity);
        charged.user.used += share - charged.share;
        this.#charges[id] = { user: charged.user, share };
      }
    }
    for (const user of this.#waiting.users.values()) this.#waiting.shareChanged(user);
  }

  /** Checks that every run is charged once, to the right user. */
  check({ workers }: ClusterView): void {
    const used = new Map<UserLines, number>();
    for (const { runs } of workers)
      for (const run of runs) {
        const charged = this.#charges[run.id];
        const name = this.#waiting.userNameOf(run.stage.job);
        invariant(
          charged?.user.name === name,
          () => `run ${run.id} of "${name}" is charged to "${charged?.user.name}"`,
        );
        used.set(charged.user, (used.get(charged.user) ?? 0) + charged.share);
      }
    for (const user of this.#waiting.users.values()) {
      const sum = used.get(user) ?? 0;
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
