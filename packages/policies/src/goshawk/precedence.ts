import type { Millis } from '@goshawk/core';
import type { JobView, StageView } from '../contract.js';
import { gangSize } from '../fitting.js';
import type { RunTimeEstimates } from '../run-time-estimates.js';
import type { UserShares } from './user-shares.js';
import { isServedBefore } from './users-in-order.js';
import type { Waiting } from './waiting.js';

/** Maximum lead of a user over its share, in mean run times of the whole cluster, and in time of the whole cluster. */
const AHEAD_MAX_TURNS = 1;
const AHEAD_MAX_MS: Millis = 600_000;
/** A user further ahead does not wait longer. */
const CAP = 2;

/** How far a user is ahead of its share. */
interface Lead {
  /** Time of the whole cluster. */
  aheadMs: Millis;
  /** Share of the cluster that the user has used since `at`. */
  used: number;
  at: Millis;
}

/**
 * Decides whose jobs may go before those of users with less of the cluster: at their latest start, and with reservations. A user
 * whose jobs have taken too much in this way waits until the others have caught up. Otherwise users with gangs or close
 * deadlines would get the whole cluster.
 */
export class Precedence {
  readonly #waiting: Waiting;
  readonly #shares: UserShares;
  readonly #estimates: RunTimeEstimates;
  /** Leads of the users who have had precedence, by name. */
  readonly #leads = new Map<string, Lead>();

  constructor(waiting: Waiting, shares: UserShares, estimates: RunTimeEstimates) {
    this.#waiting = waiting;
    this.#shares = shares;
    this.#estimates = estimates;
  }

  /** Whether the job may go before those of users with less of the cluster. */
  has(job: JobView): boolean {
    if (this.#waiting.users.size < 2) return true;
    const name = this.#waiting.userNameOf(job);
    const lead = this.#leads.get(name);
    if (lead === undefined) this.#leads.set(name, { aheadMs: 0, used: 0, at: Number.NaN });
    return lead === undefined || lead.aheadMs <= this.#aheadMaxMs || this.#delaysNobody(job);
  }

  /**
   * Whether a further task of a job that has precedence may start: its user will not be too far ahead when it ends. One task or
   * gang of a user always may, because it has to start at some time.
   */
  mayStart(stage: StageView, now: Millis): boolean {
    if (this.#waiting.users.size < 2 || gangSize(stage) > 1) return true;
    const user = this.#waiting.userOf(stage.job);
    if (user.runs === 0) return true;
    const beyond = user.used + this.#shares.shareOf(stage) - this.#shares.fairShareOf(user);
    const aheadMs = this.#leads.get(user.name)?.aheadMs ?? 0;
    return aheadMs + beyond * this.#estimates.taskMs(stage, now) <= this.#aheadMaxMs;
  }

  /** Whether no job of a user waits who is served before. */
  #delaysNobody(job: JobView): boolean {
    const user = this.#waiting.userOf(job);
    for (const other of this.#waiting.users.values())
      if (other !== user && other.waitingJobs > 0 && isServedBefore(other, user)) return false;
    return true;
  }

  /** Adds what users have used since the last plan. */
  planBegins(now: Millis): void {
    const most = CAP * this.#aheadMaxMs;
    for (const [name, lead] of this.#leads) {
      const user = this.#waiting.users.get(name);
      const fair = user === undefined ? 1 : this.#shares.fairShareOf(user);
      const aheadMs = lead.aheadMs + (lead.used - fair) * (now - lead.at);
      lead.aheadMs = Math.max(0, Math.min(most, aheadMs));
      if (user === undefined && lead.aheadMs === 0) this.#leads.delete(name);
    }
  }

  planEnds(now: Millis): void {
    for (const [name, lead] of this.#leads) {
      lead.used = this.#waiting.users.get(name)?.used ?? 0;
      lead.at = now;
    }
  }

  get #aheadMaxMs(): Millis {
    return Math.min(AHEAD_MAX_MS, AHEAD_MAX_TURNS * this.#shares.turnMs);
  }
}
