import {
  type Address,
  Deque,
  type FateOfJob,
  isFinal,
  type JobFate,
  LIMITS,
  type MessageOf,
  type Millis,
  NOBODY,
  type Predecessor,
  slicesOf,
  tagOf,
} from '@goshawk/core';
import { startJob } from '../dispatch/routing.js';
import type { Refusal } from '../durability/ledger.js';
import type { Job } from '../job/job.js';
import type { JobListener } from '../job/job-events.js';
import { cancelJob } from './cancelling.js';
import { abandonIfLate } from './endings.js';
import type { LifeState } from './life.js';
import { PredecessorRights } from './predecessor-rights.js';

/**
 * First and longest interval between queries to another scheduler, in milliseconds. Ends are also reported without a
 * query.
 */
const QUERY_INTERVAL_MIN_MS = 1_000;
const QUERY_INTERVAL_MAX_MS = 15_000;
/**
 * Jobs count as gone when central has named no owner for this long, in milliseconds. Central waits as long for a
 * disconnected owner.
 */
const OWNER_GONE_MS = 10 * 60_000;
/** Maximum number of listed predecessors. */
const PREDECESSORS_LISTED_MAX = 100;

/** The scheduler that owns the jobs of a tag. */
interface Owner {
  address: Address;
  /** Whether it has answered since the last query. */
  hasAnswered: boolean;
  queryIntervalMs: Millis;
  nextQueryAt: Millis;
  /** Time of central’s first reply that names no owner; undefined: it names one, or has not replied. */
  goneSince: Millis | undefined;
}

/**
 * Tracks dependencies between jobs. The search for workers begins when the predecessors of a job have ended. For jobs
 * of other schedulers, central names the owner, and the owner reports their ends.
 */
export class Predecessors implements JobListener {
  readonly #s: LifeState;
  /** Waiting jobs by the id of a predecessor. */
  readonly #dependents = new Map<string, Set<Job>>();
  /** Last known fates of other schedulers' jobs. */
  readonly #fates = new Map<string, FateOfJob>();
  readonly #owners = new Map<string, Owner>();
  /** Schedulers that wait for the end of a local job, by its number. */
  readonly #subscribers = new Map<number, Set<Address>>();
  /** Fates that are not processed yet. A queue avoids deep recursion along chains of jobs. */
  readonly #endedFates = new Deque<FateOfJob>();
  #isApplying = false;
  readonly #rights: PredecessorRights;

  constructor(s: LifeState) {
    this.#s = s;
    this.#rights = new PredecessorRights(s);
  }

  /** Why a user who may see only own jobs may not submit a job that depends on these. */
  refusalOf(ids: readonly string[], user: string, now: Millis): Refusal | undefined {
    return this.#rights.refusalOf(ids, user, now);
  }

  /** The job must not start before its predecessors have ended. */
  track(job: Job, now: Millis): void {
    for (const id of job.predecessors.pending) addTo(this.#dependents, id, job);
    this.#query([...job.predecessors.pending], now);
  }

  /** Removes a job that has ended or was withdrawn. */
  untrack(job: Job): void {
    for (const id of job.predecessors.pending) this.#removeDependent(id, job);
  }

  /** A local job has ended. */
  ended(job: Job, now: Millis): void {
    this.untrack(job);
    const fate = fateOf(job);
    for (const asker of this.#subscribers.get(job.number) ?? [])
      this.#s.ledger.sendWhenDurable(asker, { type: 'jobFates', fates: [fate], user: undefined });
    this.#subscribers.delete(job.number);
    if (this.#dependents.has(job.id)) this.#applyFate(fate, now);
  }

  /** Answers another scheduler whose jobs depend on local ones. The end of a job is reported once it is durable. */
  onAwaitJobs(from: Address, { ids, user }: MessageOf<'awaitJobs'>): void {
    if (user !== undefined) {
      const fates = ids.map((id) =>
        this.#rights.isOwn(id, user) ? this.#localFate(id) : { ...UNKNOWN_FATE, id },
      );
      return this.#s.ledger.sendNow(from, { type: 'jobFates', fates, user });
    }
    const fates = ids.map((id) => this.#localFate(id));
    for (const { id, state } of fates) {
      const job = state === 'waiting' || state === 'running' ? this.#s.jobs.byId(id) : undefined;
      if (job !== undefined) addTo(this.#subscribers, job.number, from);
    }
    this.#s.ledger.sendWhenDurable(from, { type: 'jobFates', fates, user: undefined });
  }

  onFates(from: Address, { fates, user }: MessageOf<'jobFates'>, now: Millis): void {
    if (user !== undefined) {
      this.#rights.onFates(fates, user);
      return;
    }
    for (const fate of fates) {
      const owner = this.#owners.get(tagOf(fate.id));
      if (owner?.address === from) {
        owner.hasAnswered = true;
        owner.goneSince = undefined;
      }
      if (!this.#dependents.has(fate.id)) continue;
      this.#fates.set(fate.id, fate);
      if (isFinalFate(fate.state)) this.#applyFate(fate, now);
    }
  }

  /** Central names the owner of a tag's jobs. */
  onOwnerIs({ tag, owner: address, gone }: MessageOf<'ownerIs'>, now: Millis): void {
    this.#rights.onOwnerIs(tag, address, gone);
    const owner = this.#owners.get(tag);
    if (owner === undefined) return;
    owner.goneSince = gone && address === undefined ? (owner.goneSince ?? now) : undefined;
    if (address !== undefined && address !== owner.address) {
      owner.address = address;
      this.#sendQuery(owner, this.#pendingIdsOf(tag));
    }
    if (owner.goneSince === undefined || now - owner.goneSince < OWNER_GONE_MS) return;
    for (const id of this.#pendingIdsOf(tag)) this.#applyFate({ ...UNKNOWN_FATE, id }, now);
  }

  /** Repeats unanswered queries. */
  wake(now: Millis): void {
    if (!this.#s.cluster.isReady) return this.#s.env.setTimer('predecessors', 0, now + QUERY_INTERVAL_MIN_MS);
    const awaited = byTag(this.#dependents.keys());
    for (const tag of this.#owners.keys()) if (!awaited.has(tag)) this.#owners.delete(tag);
    for (const [tag, ids] of awaited) {
      const owner = this.#owners.get(tag);
      if (tag === this.#s.config.tag || owner === undefined) this.#query(ids, now);
      else if (owner.nextQueryAt <= now) this.#repeatQuery(tag, owner, ids, now);
    }
    this.#setTimer();
  }

  /**
   * Whether no active job can continue: each is idle, waits for a retry of a failed job, directly or through other
   * local jobs, or has tasks that no worker can run.
   *
   * @param isUnmet whether no worker has what the waiting tasks of a job require
   */
  areAllStuck(isUnmet: (job: Job) => boolean): boolean {
    const stuck = new Set<string>();
    for (const job of this.#s.jobs.active()) {
      const isStuck =
        job.isIdle ||
        isUnmet(job) ||
        [...job.predecessors.pending].some(
          (id) => stuck.has(id) || (job.spec.afterOk?.includes(id) === true && this.#hasFailed(id)),
        );
      if (!isStuck) return false;
      stuck.add(job.id);
    }
    return true;
  }

  #hasFailed(id: string): boolean {
    const { state } =
      tagOf(id) === this.#s.config.tag ? this.#localFate(id) : (this.#fates.get(id) ?? UNKNOWN_FATE);
    return state === 'failed' || state === 'cancelled';
  }

  /** The unfinished predecessors of the job, truncated. */
  unfinishedOf(job: Job): Predecessor[] {
    if (!job.hasPendingPredecessors || job.hasEnded) return [];
    return [...job.predecessors.pending].slice(0, PREDECESSORS_LISTED_MAX).map((id) => {
      const fate =
        tagOf(id) === this.#s.config.tag
          ? this.#localFate(id)
          : (this.#fates.get(id) ?? { ...UNKNOWN_FATE, id });
      return { ...fate, ok: job.spec.afterOk?.includes(id) ?? false };
    });
  }

  /** Looks up the fates of new predecessors. */
  #query(ids: readonly string[], now: Millis): void {
    // Jobs cannot start before the policy is known.
    if (!this.#s.cluster.isReady) return this.#s.env.setTimer('predecessors', 0, now + QUERY_INTERVAL_MIN_MS);
    for (const [tag, those] of byTag(ids)) {
      if (tag === this.#s.config.tag) {
        for (const id of those) {
          const fate = this.#localFate(id);
          if (isFinalFate(fate.state)) this.#applyFate(fate, now);
        }
        continue;
      }
      let owner = this.#owners.get(tag);
      if (owner === undefined) {
        owner = {
          address: NOBODY,
          hasAnswered: false,
          queryIntervalMs: QUERY_INTERVAL_MIN_MS,
          nextQueryAt: 0,
          goneSince: undefined,
        };
        this.#owners.set(tag, owner);
        this.#repeatQuery(tag, owner, those, now);
      } else this.#sendQuery(owner, those);
    }
    this.#setTimer();
  }

  #repeatQuery(tag: string, owner: Owner, ids: readonly string[], now: Millis): void {
    const { central } = this.#s.cluster;
    // Another scheduler may have taken the jobs over.
    if (!owner.hasAnswered && central !== NOBODY) this.#s.env.send(central, { type: 'seekOwner', tag });
    this.#sendQuery(owner, ids);
    owner.hasAnswered = false;
    owner.nextQueryAt = now + owner.queryIntervalMs;
    owner.queryIntervalMs = Math.min(2 * owner.queryIntervalMs, QUERY_INTERVAL_MAX_MS);
  }

  #sendQuery({ address }: Owner, ids: readonly string[]): void {
    if (address === NOBODY) return;
    for (const some of slicesOf(ids, LIMITS.awaitedMax))
      this.#s.env.send(address, { type: 'awaitJobs', ids: some, user: undefined });
  }

  #pendingIdsOf(tag: string): string[] {
    return [...this.#dependents.keys()].filter((id) => tagOf(id) === tag);
  }

  #setTimer(): void {
    let at = Number.POSITIVE_INFINITY;
    for (const { nextQueryAt } of this.#owners.values()) at = Math.min(at, nextQueryAt);
    if (at < Number.POSITIVE_INFINITY) this.#s.env.setTimer('predecessors', 0, at);
  }

  #removeDependent(id: string, job: Job): void {
    const dependents = this.#dependents.get(id);
    if (dependents?.delete(job) !== true || dependents.size > 0) return;
    this.#dependents.delete(id);
    this.#fates.delete(id);
  }

  #localFate(id: string): FateOfJob {
    const job = this.#s.jobs.byId(id);
    if (job !== undefined) return fateOf(job);
    const state =
      this.#s.jobs.tombstoneOfId(id)?.state ?? (this.#s.jobs.isDeleted(id) ? 'forgotten' : 'unknown');
    return { id, state, tasks: 0, ended: 0 };
  }

  #applyFate(fate: FateOfJob, now: Millis): void {
    if (!this.#s.cluster.isReady) return this.#s.env.setTimer('predecessors', 0, now + QUERY_INTERVAL_MIN_MS);
    this.#endedFates.push(fate);
    if (this.#isApplying) return;
    this.#isApplying = true;
    while (this.#endedFates.length > 0) {
      const next = this.#endedFates.shift()!;
      const dependents = this.#dependents.get(next.id) ?? [];
      this.#dependents.delete(next.id);
      this.#fates.delete(next.id);
      for (const job of dependents) this.#updateDependent(job, next, now);
    }
    this.#isApplying = false;
  }

  /** A failed or cancelled job may be retried, so jobs that need it to complete stay on hold. */
  #updateDependent(job: Job, fate: FateOfJob, now: Millis): void {
    const { id, state } = fate;
    if (job.hasEnded || job.cancelling) return;
    if (state !== 'completed' && job.spec.afterOk?.includes(id)) {
      if (state === 'forgotten' || state === 'unknown')
        return cancelJob(
          this.#s,
          job,
          now,
          `it depended on the completion of ${id}, ${FATE_DESCRIPTIONS[state]}`,
        );
      addTo(this.#dependents, id, job);
      this.#fates.set(id, fate);
      return;
    }
    job.predecessors.pending.delete(id);
    this.#s.ledger.passed(job, id, now);
    // A later owner, or a restart, must know that the job may run, and not ask again.
    if (job.predecessors.pending.size === 0)
      this.#s.ledger.whenDurable((then) => this.#start(job, then), now);
  }

  #start(job: Job, now: Millis): void {
    if (job.hasEnded || job.cancelling || this.#s.jobs.byNumber(job.number) !== job) return;
    job.predecessorsEnded(now);
    this.#s.sampler.resume(job, now);
    startJob(this.#s, job, now);
    abandonIfLate(this.#s, job, now);
  }
}

const UNKNOWN_FATE = { state: 'unknown', tasks: 0, ended: 0 } as const;

const FATE_DESCRIPTIONS = {
  forgotten: 'which has ended with an outcome that is no longer recorded',
  unknown: 'which is unknown',
} as const satisfies Partial<Record<JobFate, string>>;

function addTo<K, V>(sets: Map<K, Set<V>>, key: K, value: V): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([value]));
  else set.add(value);
}

function byTag(ids: Iterable<string>): Map<string, readonly string[]> {
  const tags = new Map<string, Set<string>>();
  for (const id of ids) addTo(tags, tagOf(id), id);
  return new Map(Array.from(tags, ([tag, those]) => [tag, [...those]]));
}

function isFinalFate(state: JobFate): boolean {
  return state === 'forgotten' || state === 'unknown' || isFinal(state);
}

function fateOf({ id, state, counts }: Job): FateOfJob {
  const { total, completed, failed, cancelled } = counts;
  return { id, state, tasks: total, ended: completed + failed + cancelled };
}
