import {
  type Address,
  type FateOfJob,
  type Millis,
  NOBODY,
  scopedKey,
  setLatest,
  tagOf,
} from '@goshawk/core';
import type { Refusal } from '../durability/ledger.js';
import type { SchedulerState } from '../state.js';

/** Maximum number of answers about jobs of other schedulers that are kept. */
const CHECKS_MAX = 10_000;
/** Interval between questions to another scheduler, while the client repeats its submission. ms */
const QUESTION_INTERVAL_MS = 500;

/** A job of another scheduler, and a user whose job is to depend on it. */
interface Check {
  readonly id: string;
  readonly user: string;
  /** Whether the job is one of the user; undefined: its owner has not answered. */
  isOwn: boolean | undefined;
  askedAt: Millis;
}

/**
 * For clients that may see only their own jobs: checks which jobs theirs may depend on. Without the check, the fate of their
 * jobs would tell which other jobs exist, and how they end.
 *
 * The owner of a job of another scheduler is asked while the client repeats its submission.
 */
export class PredecessorRights {
  readonly #s: SchedulerState;
  readonly #checks = new Map<string, Check>();
  /** Addresses of owners that central has named, by the tags of their jobs. */
  readonly #owners = new Map<string, Address>();

  constructor(s: SchedulerState) {
    this.#s = s;
  }

  refusalOf(ids: readonly string[], user: string, now: Millis): Refusal | undefined {
    const open: Check[] = [];
    for (const id of ids) {
      const isLocal = tagOf(id) === this.#s.config.tag;
      const check = isLocal ? undefined : this.#checkOf(id, user);
      const isOwn = check === undefined ? this.isOwn(id, user) : check.isOwn;
      if (isOwn === false) return noSuchJob(id);
      if (isOwn === undefined) open.push(check!);
    }
    const [first] = open;
    if (first === undefined) return undefined;
    for (const check of open) this.#ask(check, now);
    const message = `the scheduler of ${first.id}, which the job depends on, has not answered yet`;
    return { code: 'not-ready', message, hint: 'try again in a moment' };
  }

  /** Whether a local job exists and is one of the user. */
  isOwn(id: string, user: string): boolean {
    const { jobs } = this.#s;
    // A job of another user is not read from the journal, which would take longer than for an unknown one.
    const tombstone = jobs.tombstoneOfId(id);
    if (tombstone !== undefined) return tombstone.user === user;
    return jobs.byId(id)?.spec.user === user;
  }

  /** The owner of jobs has answered a question. */
  onFates(fates: readonly FateOfJob[], user: string): void {
    for (const { id, state } of fates) {
      const check = this.#checks.get(scopedKey(id, user));
      if (check !== undefined) check.isOwn = state !== 'unknown';
    }
  }

  onOwnerIs(tag: string, owner: Address | undefined, gone: boolean): void {
    if (this.#checks.size === 0) return;
    if (owner !== undefined) setLatest(this.#owners, tag, owner, CHECKS_MAX);
    for (const check of this.#checks.values()) {
      if (check.isOwn !== undefined || tagOf(check.id) !== tag) continue;
      if (owner !== undefined) this.#question(owner, check);
      else if (gone) check.isOwn = false;
    }
  }

  #checkOf(id: string, user: string): Check {
    const key = scopedKey(id, user);
    let check = this.#checks.get(key);
    // An id that is unknown now may belong to a job later.
    if (check === undefined || check.isOwn === false) {
      const askedAt = Number.NEGATIVE_INFINITY;
      const known = check;
      check = { id, user, isOwn: undefined, askedAt };
      setLatest(this.#checks, key, check, CHECKS_MAX);
      if (known !== undefined) return known;
    }
    return check;
  }

  #ask(check: Check, now: Millis): void {
    if (now - check.askedAt < QUESTION_INTERVAL_MS) return;
    check.askedAt = now;
    const tag = tagOf(check.id);
    const owner = this.#owners.get(tag);
    if (owner !== undefined) this.#question(owner, check);
    // Another scheduler may have taken the jobs over.
    const { central } = this.#s.cluster;
    if (central !== NOBODY) this.#s.env.send(central, { type: 'seekOwner', tag });
  }

  #question(owner: Address, { id, user }: Check): void {
    this.#s.env.send(owner, { type: 'awaitJobs', ids: [id], user });
  }
}

/** The same refusal as for a job that does not exist. */
function noSuchJob(id: string): Refusal {
  return {
    code: 'unknown-job',
    message: `there is no job ${id}`,
    hint: '`goshawk jobs --all` lists the existing jobs',
  };
}
