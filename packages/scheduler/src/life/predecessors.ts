import {
  type Address,
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
import { resumeSampling } from '../dispatch/sampling.js';
import type { Job } from '../job/job.js';
import type { OwnerOfTag, SchedulerState } from '../state/state.js';
import { cancelJob } from './cancelling.js';
import { abandonIfLate } from './endings.js';
import { isOwnJob, rightsOwnerNamed, rightsReported } from './predecessor-rights.js';

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

// Tracks dependencies between jobs. The search for workers begins when the predecessors of a job have ended. For jobs
// of other schedulers, central names the owner, and the owner reports their ends.

/** The job must not start before its predecessors have ended. */
export function trackPredecessors(s: SchedulerState, job: Job, now: Millis): void {
  for (const id of job.predecessors.pending) addTo(s.dependencies.dependents, id, job);
  queryFates(s, [...job.predecessors.pending], now);
}

/** Removes a job that has ended or was withdrawn. */
export function untrackPredecessors(s: SchedulerState, job: Job): void {
  for (const id of job.predecessors.pending) removeDependent(s, id, job);
}

/** A local job has ended. */
export function predecessorEnded(s: SchedulerState, job: Job, now: Millis): void {
  const { dependents, subscribers } = s.dependencies;
  untrackPredecessors(s, job);
  const fate = fateOf(job);
  for (const asker of subscribers.get(job.number) ?? [])
    s.ledger.sendWhenDurable(asker, { type: 'jobFates', fates: [fate], user: undefined });
  subscribers.delete(job.number);
  if (dependents.has(job.id)) applyFate(s, fate, now);
}

/** Answers another scheduler whose jobs depend on local ones. The end of a job is reported once it is durable. */
export function jobsAwaited(s: SchedulerState, from: Address, { ids, user }: MessageOf<'awaitJobs'>): void {
  if (user !== undefined) {
    const fates = ids.map((id) => (isOwnJob(s, id, user) ? localFate(s, id) : { ...UNKNOWN_FATE, id }));
    return s.ledger.sendNow(from, { type: 'jobFates', fates, user });
  }
  const fates = ids.map((id) => localFate(s, id));
  for (const { id, state } of fates) {
    const job = state === 'waiting' || state === 'running' ? s.jobs.byId(id) : undefined;
    if (job !== undefined) addTo(s.dependencies.subscribers, job.number, from);
  }
  s.ledger.sendWhenDurable(from, { type: 'jobFates', fates, user: undefined });
}

export function fatesReported(
  s: SchedulerState,
  from: Address,
  { fates, user }: MessageOf<'jobFates'>,
  now: Millis,
): void {
  if (user !== undefined) {
    rightsReported(s, fates, user);
    return;
  }
  for (const fate of fates) {
    const owner = s.dependencies.owners.get(tagOf(fate.id));
    if (owner?.address === from) {
      owner.hasAnswered = true;
      owner.goneSince = undefined;
    }
    if (!s.dependencies.dependents.has(fate.id)) continue;
    s.dependencies.fates.set(fate.id, fate);
    if (isFinalFate(fate.state)) applyFate(s, fate, now);
  }
}

/** Central names the owner of a tag's jobs. */
export function ownerNamed(
  s: SchedulerState,
  { tag, owner: address, gone }: MessageOf<'ownerIs'>,
  now: Millis,
): void {
  rightsOwnerNamed(s, tag, address, gone);
  const owner = s.dependencies.owners.get(tag);
  if (owner === undefined) return;
  owner.goneSince = gone && address === undefined ? (owner.goneSince ?? now) : undefined;
  if (address !== undefined && address !== owner.address) {
    owner.address = address;
    sendQuery(s, owner, pendingIdsOf(s, tag));
  }
  if (owner.goneSince === undefined || now - owner.goneSince < OWNER_GONE_MS) return;
  for (const id of pendingIdsOf(s, tag)) applyFate(s, { ...UNKNOWN_FATE, id }, now);
}

/** Repeats unanswered queries. */
export function repeatQueries(s: SchedulerState, now: Millis): void {
  const { dependents, owners } = s.dependencies;
  if (!s.cluster.isReady) return s.env.setTimer('predecessors', 0, now + QUERY_INTERVAL_MIN_MS);
  const awaited = byTag(dependents.keys());
  for (const tag of owners.keys()) if (!awaited.has(tag)) owners.delete(tag);
  for (const [tag, ids] of awaited) {
    const owner = owners.get(tag);
    if (tag === s.config.tag || owner === undefined) queryFates(s, ids, now);
    else if (owner.nextQueryAt <= now) repeatQuery(s, tag, owner, ids, now);
  }
  setQueryTimer(s);
}

/**
 * Whether no active job can continue: each is idle, waits for a retry of a failed job, directly or through other
 * local jobs, or has tasks that no worker can run.
 *
 * @param isUnmet whether no worker has what the waiting tasks of a job require
 */
export function areAllStuck(s: SchedulerState, isUnmet: (job: Job) => boolean): boolean {
  const stuck = new Set<string>();
  for (const job of s.jobs.active()) {
    const isStuck =
      job.isIdle ||
      isUnmet(job) ||
      [...job.predecessors.pending].some(
        (id) => stuck.has(id) || (job.spec.afterOk?.includes(id) === true && hasFailed(s, id)),
      );
    if (!isStuck) return false;
    stuck.add(job.id);
  }
  return true;
}

function hasFailed(s: SchedulerState, id: string): boolean {
  const { state } =
    tagOf(id) === s.config.tag ? localFate(s, id) : (s.dependencies.fates.get(id) ?? UNKNOWN_FATE);
  return state === 'failed' || state === 'cancelled';
}

/** The unfinished predecessors of the job, truncated. */
export function unfinishedPredecessorsOf(s: SchedulerState, job: Job): Predecessor[] {
  if (!job.hasPendingPredecessors || job.hasEnded) return [];
  return [...job.predecessors.pending].slice(0, PREDECESSORS_LISTED_MAX).map((id) => {
    const fate =
      tagOf(id) === s.config.tag
        ? localFate(s, id)
        : (s.dependencies.fates.get(id) ?? { ...UNKNOWN_FATE, id });
    return { ...fate, ok: job.spec.afterOk?.includes(id) ?? false };
  });
}

/** Looks up the fates of new predecessors. */
function queryFates(s: SchedulerState, ids: readonly string[], now: Millis): void {
  const { owners } = s.dependencies;
  // Jobs cannot start before the policy is known.
  if (!s.cluster.isReady) return s.env.setTimer('predecessors', 0, now + QUERY_INTERVAL_MIN_MS);
  for (const [tag, those] of byTag(ids)) {
    if (tag === s.config.tag) {
      for (const id of those) {
        const fate = localFate(s, id);
        if (isFinalFate(fate.state)) applyFate(s, fate, now);
      }
      continue;
    }
    let owner = owners.get(tag);
    if (owner === undefined) {
      owner = {
        address: NOBODY,
        hasAnswered: false,
        queryIntervalMs: QUERY_INTERVAL_MIN_MS,
        nextQueryAt: 0,
        goneSince: undefined,
      };
      owners.set(tag, owner);
      repeatQuery(s, tag, owner, those, now);
    } else sendQuery(s, owner, those);
  }
  setQueryTimer(s);
}

function repeatQuery(
  s: SchedulerState,
  tag: string,
  owner: OwnerOfTag,
  ids: readonly string[],
  now: Millis,
): void {
  const { central } = s.cluster;
  // Another scheduler may have taken the jobs over.
  if (!owner.hasAnswered && central !== NOBODY) s.env.send(central, { type: 'seekOwner', tag });
  sendQuery(s, owner, ids);
  owner.hasAnswered = false;
  owner.nextQueryAt = now + owner.queryIntervalMs;
  owner.queryIntervalMs = Math.min(2 * owner.queryIntervalMs, QUERY_INTERVAL_MAX_MS);
}

function sendQuery(s: SchedulerState, { address }: OwnerOfTag, ids: readonly string[]): void {
  if (address === NOBODY) return;
  for (const some of slicesOf(ids, LIMITS.awaitedMax))
    s.env.send(address, { type: 'awaitJobs', ids: some, user: undefined });
}

function pendingIdsOf(s: SchedulerState, tag: string): string[] {
  return [...s.dependencies.dependents.keys()].filter((id) => tagOf(id) === tag);
}

function setQueryTimer(s: SchedulerState): void {
  let at = Number.POSITIVE_INFINITY;
  for (const { nextQueryAt } of s.dependencies.owners.values()) at = Math.min(at, nextQueryAt);
  if (at < Number.POSITIVE_INFINITY) s.env.setTimer('predecessors', 0, at);
}

function removeDependent(s: SchedulerState, id: string, job: Job): void {
  const { dependents, fates } = s.dependencies;
  const waiting = dependents.get(id);
  if (waiting?.delete(job) !== true || waiting.size > 0) return;
  dependents.delete(id);
  fates.delete(id);
}

function localFate(s: SchedulerState, id: string): FateOfJob {
  const job = s.jobs.byId(id);
  if (job !== undefined) return fateOf(job);
  const state = s.jobs.tombstoneOfId(id)?.state ?? (s.jobs.isDeleted(id) ? 'forgotten' : 'unknown');
  return { id, state, tasks: 0, ended: 0 };
}

function applyFate(s: SchedulerState, fate: FateOfJob, now: Millis): void {
  if (!s.cluster.isReady) return s.env.setTimer('predecessors', 0, now + QUERY_INTERVAL_MIN_MS);
  const { dependencies } = s;
  const { dependents, fates, endedFates } = dependencies;
  endedFates.push(fate);
  if (dependencies.isApplying) return;
  dependencies.isApplying = true;
  while (endedFates.length > 0) {
    const next = endedFates.shift()!;
    const waiting = dependents.get(next.id) ?? [];
    dependents.delete(next.id);
    fates.delete(next.id);
    for (const job of waiting) updateDependent(s, job, next, now);
  }
  dependencies.isApplying = false;
}

/** A failed or cancelled job may be retried, so jobs that need it to complete stay on hold. */
function updateDependent(s: SchedulerState, job: Job, fate: FateOfJob, now: Millis): void {
  const { id, state } = fate;
  if (job.hasEnded || job.cancelling) return;
  if (state !== 'completed' && job.spec.afterOk?.includes(id)) {
    if (state === 'forgotten' || state === 'unknown')
      return cancelJob(s, job, now, `it depended on the completion of ${id}, ${FATE_DESCRIPTIONS[state]}`);
    addTo(s.dependencies.dependents, id, job);
    s.dependencies.fates.set(id, fate);
    return;
  }
  job.predecessors.pending.delete(id);
  s.ledger.passed(job, id, now);
  // A later owner, or a restart, must know that the job may run, and not ask again.
  if (job.predecessors.pending.size === 0) s.ledger.whenDurable((then) => startDependent(s, job, then), now);
}

function startDependent(s: SchedulerState, job: Job, now: Millis): void {
  if (job.hasEnded || job.cancelling || s.jobs.byNumber(job.number) !== job) return;
  job.predecessorsEnded(now);
  resumeSampling(s, job, now);
  startJob(s, job, now);
  abandonIfLate(s, job, now);
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
