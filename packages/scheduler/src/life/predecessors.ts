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
import type { Routing } from '../dispatch/routing.js';
import type { Sampler } from '../dispatch/sampler.js';
import type { Job } from '../job/job.js';
import type { JobListener } from '../job/job-events.js';
import type { SchedulerState } from '../state.js';
import type { Cancelling } from './cancelling.js';
import type { Endings } from './endings.js';

/**
 * First and longest interval between queries to another scheduler, in milliseconds. Ends are also reported without a
 * query.
 */
const PAUSE_MS = 1_000;
const PAUSE_MAX_MS = 15_000;
/**
 * Jobs count as gone when central has named no owner for this long, in milliseconds. Central waits as long for a
 * disconnected owner.
 */
const GONE_MS = 10 * 60_000;
/** Maximum number of listed predecessors. */
const LISTED_MAX = 100;

/** Owner of a tag's jobs, as far as known. */
interface Owner {
  address: Address;
  /** Whether it has answered the last query. */
  isHeard: boolean;
  pauseMs: Millis;
  askAt: Millis;
  /** Time of central’s first reply that names no owner; undefined: it names one, or has not replied. */
  goneSince: Millis | undefined;
}

/**
 * Tracks dependencies between jobs. The search for workers begins when the predecessors of a job have ended. For jobs
 * of other schedulers, central names the owner, and the owner reports their ends.
 */
export class Predecessors implements JobListener {
  readonly #s: SchedulerState;
  readonly #routing: Routing;
  readonly #sampler: Sampler;
  readonly #endings: Endings;
  readonly #cancelling: Cancelling;
  /** Waiting jobs by predecessor id. */
  readonly #followers = new Map<string, Set<Job>>();
  /** Last known fates of other schedulers' jobs. */
  readonly #fates = new Map<string, FateOfJob>();
  readonly #owners = new Map<string, Owner>();
  /** Schedulers that wait for a local job, by its number. */
  readonly #askers = new Map<number, Set<Address>>();
  /** Fates not yet acted upon: a queue, so that long chains do not recurse deeply. */
  readonly #settled = new Deque<FateOfJob>();
  #isSettling = false;

  constructor(
    s: SchedulerState,
    routing: Routing,
    sampler: Sampler,
    endings: Endings,
    cancelling: Cancelling,
  ) {
    this.#s = s;
    this.#routing = routing;
    this.#sampler = sampler;
    this.#endings = endings;
    this.#cancelling = cancelling;
  }

  /** The job must not start before its predecessors have ended. */
  hold(job: Job, now: Millis): void {
    for (const id of job.pendingPredecessors) addTo(this.#followers, id, job);
    this.#look([...job.pendingPredecessors], now);
  }

  /** The job no longer waits: it has ended or was withdrawn. */
  forget(job: Job): void {
    for (const id of job.pendingPredecessors) this.#unfollow(id, job);
  }

  /** A local job has ended. */
  ended(job: Job, now: Millis): void {
    this.forget(job);
    const fate = fateOf(job);
    for (const asker of this.#askers.get(job.number) ?? [])
      this.#s.ledger.send(asker, { type: 'jobFates', fates: [fate] });
    this.#askers.delete(job.number);
    if (this.#followers.has(job.id)) this.#settle(fate, now);
  }

  /** Another scheduler has jobs that depend on local ones. An end is reported once it is durable. */
  asked(from: Address, { ids }: MessageOf<'awaitJobs'>): void {
    const fates = ids.map((id) => this.#ownFate(id));
    for (const { id, state } of fates) {
      const job = state === 'waiting' || state === 'running' ? this.#s.jobs.byId(id) : undefined;
      if (job !== undefined) addTo(this.#askers, job.number, from);
    }
    this.#s.ledger.send(from, { type: 'jobFates', fates });
  }

  onFates(from: Address, { fates }: MessageOf<'jobFates'>, now: Millis): void {
    for (const fate of fates) {
      const owner = this.#owners.get(tagOf(fate.id));
      if (owner?.address === from) {
        owner.isHeard = true;
        owner.goneSince = undefined;
      }
      if (!this.#followers.has(fate.id)) continue;
      this.#fates.set(fate.id, fate);
      if (isOver(fate.state)) this.#settle(fate, now);
    }
  }

  /** Central names the owner of a tag's jobs. */
  ownerIs({ tag, owner: address, gone }: MessageOf<'ownerIs'>, now: Millis): void {
    const owner = this.#owners.get(tag);
    if (owner === undefined) return;
    owner.goneSince = gone && address === undefined ? (owner.goneSince ?? now) : undefined;
    if (address !== undefined && address !== owner.address) {
      owner.address = address;
      this.#ask(owner, this.#awaitedOf(tag));
    }
    if (owner.goneSince === undefined || now - owner.goneSince < GONE_MS) return;
    for (const id of this.#awaitedOf(tag)) this.#settle({ ...NOTHING_KNOWN, id }, now);
  }

  /** Repeats unanswered queries. */
  wake(now: Millis): void {
    if (!this.#s.cluster.isReady) return this.#s.env.setTimer('predecessors', 0, now + PAUSE_MS);
    const awaited = byTag(this.#followers.keys());
    for (const tag of this.#owners.keys()) if (!awaited.has(tag)) this.#owners.delete(tag);
    for (const [tag, ids] of awaited) {
      const owner = this.#owners.get(tag);
      if (tag === this.#s.config.tag || owner === undefined) this.#look(ids, now);
      else if (owner.askAt <= now) this.#askAgain(tag, owner, ids, now);
    }
    this.#arm();
  }

  /**
   * Whether no active job can continue: each is on hold, waits for a retry of a failed job, directly or through other
   * local jobs, or has tasks that no worker can run.
   *
   * @param isUnmet whether no worker has what the waiting tasks of a job require
   */
  areAllStuck(isUnmet: (job: Job) => boolean): boolean {
    const stuck = new Set<string>();
    for (const job of this.#s.jobs.active()) {
      const isKept = job.isHeld && job.runningCount === 0;
      const isStuck =
        isKept ||
        isUnmet(job) ||
        [...job.pendingPredecessors].some(
          (id) => stuck.has(id) || (job.spec.afterOk?.includes(id) === true && this.#hasFailed(id)),
        );
      if (!isStuck) return false;
      stuck.add(job.id);
    }
    return true;
  }

  #hasFailed(id: string): boolean {
    const { state } =
      tagOf(id) === this.#s.config.tag ? this.#ownFate(id) : (this.#fates.get(id) ?? NOTHING_KNOWN);
    return state === 'failed' || state === 'cancelled';
  }

  /** The unfinished predecessors of the job, truncated. */
  of(job: Job): Predecessor[] {
    if (!job.hasPendingPredecessors || job.hasEnded) return [];
    return [...job.pendingPredecessors].slice(0, LISTED_MAX).map((id) => {
      const fate =
        tagOf(id) === this.#s.config.tag
          ? this.#ownFate(id)
          : (this.#fates.get(id) ?? { ...NOTHING_KNOWN, id });
      return { ...fate, ok: job.spec.afterOk?.includes(id) ?? false };
    });
  }

  /** Looks up the fates of new predecessors. */
  #look(ids: readonly string[], now: Millis): void {
    // Without a policy, no search for workers can begin.
    if (!this.#s.cluster.isReady) return this.#s.env.setTimer('predecessors', 0, now + PAUSE_MS);
    for (const [tag, those] of byTag(ids)) {
      if (tag === this.#s.config.tag) {
        for (const id of those) {
          const fate = this.#ownFate(id);
          if (isOver(fate.state)) this.#settle(fate, now);
        }
        continue;
      }
      let owner = this.#owners.get(tag);
      if (owner === undefined) {
        owner = { address: NOBODY, isHeard: false, pauseMs: PAUSE_MS, askAt: 0, goneSince: undefined };
        this.#owners.set(tag, owner);
        this.#askAgain(tag, owner, those, now);
      } else this.#ask(owner, those);
    }
    this.#arm();
  }

  #askAgain(tag: string, owner: Owner, ids: readonly string[], now: Millis): void {
    const { central } = this.#s.cluster;
    // Another scheduler may have the jobs by now.
    if (!owner.isHeard && central !== NOBODY) this.#s.env.send(central, { type: 'seekOwner', tag });
    this.#ask(owner, ids);
    owner.isHeard = false;
    owner.askAt = now + owner.pauseMs;
    owner.pauseMs = Math.min(2 * owner.pauseMs, PAUSE_MAX_MS);
  }

  #ask({ address }: Owner, ids: readonly string[]): void {
    if (address === NOBODY) return;
    for (const some of slicesOf(ids, LIMITS.awaitedMax))
      this.#s.env.send(address, { type: 'awaitJobs', ids: some });
  }

  #awaitedOf(tag: string): string[] {
    return [...this.#followers.keys()].filter((id) => tagOf(id) === tag);
  }

  #arm(): void {
    let at = Number.POSITIVE_INFINITY;
    for (const { askAt } of this.#owners.values()) at = Math.min(at, askAt);
    if (at < Number.POSITIVE_INFINITY) this.#s.env.setTimer('predecessors', 0, at);
  }

  #unfollow(id: string, job: Job): void {
    const followers = this.#followers.get(id);
    if (followers?.delete(job) !== true || followers.size > 0) return;
    this.#followers.delete(id);
    this.#fates.delete(id);
  }

  #ownFate(id: string): FateOfJob {
    const job = this.#s.jobs.byId(id);
    if (job !== undefined) return fateOf(job);
    const state =
      this.#s.jobs.tombstoneOfId(id)?.state ?? (this.#s.jobs.isForgotten(id) ? 'forgotten' : 'unknown');
    return { id, state, tasks: 0, ended: 0 };
  }

  #settle(fate: FateOfJob, now: Millis): void {
    if (!this.#s.cluster.isReady) return this.#s.env.setTimer('predecessors', 0, now + PAUSE_MS);
    this.#settled.push(fate);
    if (this.#isSettling) return;
    this.#isSettling = true;
    while (this.#settled.length > 0) {
      const next = this.#settled.shift()!;
      const followers = this.#followers.get(next.id) ?? [];
      this.#followers.delete(next.id);
      this.#fates.delete(next.id);
      for (const job of followers) this.#passHoldOrCancel(job, next, now);
    }
    this.#isSettling = false;
  }

  /** A failed or cancelled job may be retried, so jobs that need it to complete stay on hold. */
  #passHoldOrCancel(job: Job, fate: FateOfJob, now: Millis): void {
    const { id, state } = fate;
    if (job.hasEnded || job.cancelling) return;
    if (state !== 'completed' && job.spec.afterOk?.includes(id)) {
      if (state === 'forgotten' || state === 'unknown')
        return this.#cancelling.cancel(job, now, `it depended on the completion of ${id}, ${WORDS[state]}`);
      addTo(this.#followers, id, job);
      this.#fates.set(id, fate);
      return;
    }
    job.pendingPredecessors.delete(id);
    this.#s.ledger.passed(job, id, now);
    // A later owner, or a restart, must know that the job may run, and not ask again.
    if (job.pendingPredecessors.size === 0) this.#s.ledger.whenDurable((then) => this.#start(job, then), now);
  }

  #start(job: Job, now: Millis): void {
    if (job.hasEnded || job.cancelling || this.#s.jobs.byNumber(job.number) !== job) return;
    job.predecessorsEnded(now);
    this.#sampler.resume(job, now);
    this.#routing.startJob(job, now);
    this.#endings.abandonIfLate(job, now);
  }
}

const NOTHING_KNOWN = { state: 'unknown', tasks: 0, ended: 0 } as const;

const WORDS = {
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

function isOver(state: JobFate): boolean {
  return state === 'forgotten' || state === 'unknown' || isFinal(state);
}

function fateOf({ id, state, counts }: Job): FateOfJob {
  const { total, completed, failed, cancelled } = counts;
  return { id, state, tasks: total, ended: completed + failed + cancelled };
}
