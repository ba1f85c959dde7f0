import {
  type Address,
  effectiveScope,
  listAttributes,
  type MessageOf,
  type Millis,
  type Scope,
} from '@goshawk/core';
import type { Batch } from '../job/batch.js';
import type { Job } from '../job/job.js';
import type { SchedulerState } from '../state/state.js';

/**
 * Maximum number of outstanding probes of one batch; more follow as they are used. More at once could overflow the
 * send queue of a peer that many workers share, and a full queue drops messages.
 */
const PROBES_OUT_MAX = 200_000;
/** In a small cluster, a batch may have this many outstanding probes per worker, but at least the minimum. */
const PROBES_PER_WORKER = 20;
const PROBES_OUT_MIN = 10_000;
/**
 * The same for all batches of a user together if workers also seek: more probes only fill queues. Further batches may
 * have a few, so that small jobs start soon, until there are twice as many.
 */
const SOUGHT_PROBES_MIN = 1_000;
const SOUGHT_PROBES_OF_BATCH = 20;
/**
 * Number of hinted probes that replace one random probe. A hinted worker may have found work elsewhere, so each task
 * keeps at least one random probe.
 */
const HINTS_PER_RANDOM_PROBE = 2;

// Batch probing (Sparrow; Hawk §3.5): a batch of t tasks sends `probeRatio`·t probes to random workers, and each
// worker that serves one gets the next task. The locations of probes are tracked, so that those on a lost
// worker can be replaced.

/**
 * Ensures that a batch has probes for every startable task. The first call sends `probeRatio` probes per
 * task; later calls send more only if fewer probes than startable tasks are outstanding.
 */
export function ensureProbes(s: SchedulerState, job: Job, batch: Batch): void {
  const needed = Math.min(batch.waiting, job.assignableCount);
  sendProbes(s, job, batch, needed - batch.probes.outstanding);
}

/** Sends probes for all startable tasks in addition to the outstanding ones. */
export function repeatProbes(s: SchedulerState, job: Job, batch: Batch): void {
  batch.hasExtraProbes = true;
  sendProbes(s, job, batch, Math.min(batch.waiting, job.assignableCount));
}

function sendProbes(s: SchedulerState, job: Job, batch: Batch, missing: number): void {
  if (missing <= 0) return;
  const { env, counters } = s;
  const { members, joinedPolicy: policy } = s.cluster;
  const maySeek = job.route.by !== 'probing';
  const probes = Math.min(
    maySeek ? roomOfUser(s, job, batch) : mostProbes(s, PROBES_OUT_MIN) - batch.probes.outstanding,
    Math.max(missing, Math.ceil(batch.probeFactor * policy.probeRatio * missing)),
  );
  if (probes <= 0) return;
  const scope: Scope = effectiveScope(policy.preset, batch.scope ?? job.route.over);
  const { spec } = batch;
  const message: MessageOf<'probe'> = {
    type: 'probe',
    job: job.number,
    stage: batch.index,
    long: job.class === 'long',
    lane: batch.lane,
    demand: spec.demand,
    sizeMs: maySeek ? sizeMsOf(job, batch) : 0,
    requires: listAttributes(spec.requires),
  };
  batch.areProbesCancelled = false;
  s.probing.set(batch, job);
  batch.probes.reserve(probes);
  const send = (to: Address): void => {
    counters.probesSent++;
    batch.probes.add(to, 1);
    env.send(to, message);
  };
  const draw = { how: policy.probeDraw, scope, needs: spec };
  if (!maySeek) return members.draw({ ...draw, count: probes }, env, send);
  const isSuitable = (worker: Address): boolean => members.mayProbe(worker, scope, spec);
  const hinted = s.hints.take(Math.min(missing, probes), isSuitable);
  for (const worker of hinted) send(worker);
  const random = Math.max(
    Math.min(missing, probes),
    probes - Math.floor(hinted.length / HINTS_PER_RANDOM_PROBE),
  );
  members.draw({ ...draw, count: random, avoidsOccupied: true }, env, send);
}

/** Returns the maximum number of outstanding probes, of which small clusters may have this minimum. */
function mostProbes({ cluster }: SchedulerState, min: number): number {
  return Math.min(PROBES_OUT_MAX, Math.max(min, PROBES_PER_WORKER * cluster.members.size));
}

/** Returns the number of probes that the batch may add to those of all batches of its user. */
function roomOfUser(s: SchedulerState, { spec }: Job, { probes }: Batch): number {
  probes.countFor(spec.user, s.probesByUser);
  const most = mostProbes(s, SOUGHT_PROBES_MIN);
  const all = s.probesByUser.get(spec.user) ?? 0;
  return Math.max(most - all, Math.min(2 * most - all, SOUGHT_PROBES_OF_BATCH - probes.outstanding));
}

/** Records that probes were served or returned. */
export function probesUsed(batch: Batch, worker: Address, probes: number): void {
  if (batch.areProbesCancelled) return;
  batch.probes.add(worker, -probes);
}

export function moveProbes(
  s: SchedulerState,
  job: Job,
  batch: Batch,
  from: Address,
  to: Address,
  probes: number,
): void {
  if (batch.areProbesCancelled) return;
  s.probing.set(batch, job);
  batch.probes.add(from, -probes);
  // If the stealing worker has left, the probes are lost.
  if (s.cluster.members.has(to)) batch.probes.add(to, probes);
}

/**
 * Called when the batch needs no more probes. `proactive` cancels the remaining probes now; `lazy` refuses
 * them when workers serve them. Repeated probes are always cancelled, because a refusal costs a round trip.
 */
export function endProbing(s: SchedulerState, job: Job, batch: Batch): void {
  if (batch.probes.outstanding === 0 || (s.cluster.policy?.cancel === 'lazy' && !batch.hasExtraProbes))
    return;
  cancelProbes(s, job, batch);
}

/** Drops the probes of lost workers. @returns the jobs to which they belonged */
export function dropProbesAt(s: SchedulerState, gone: ReadonlySet<Address>): Set<Job> {
  const affected = new Set<Job>();
  for (const [batch, job] of s.probing) {
    const { outstanding } = batch.probes;
    batch.probes.drop(gone);
    if (batch.probes.outstanding !== outstanding) affected.add(job);
    if (batch.probes.entryCount === 0) s.probing.delete(batch);
  }
  return affected;
}

/** Forgets the probes of a batch whose job has ended. */
export function forgetProbes(s: SchedulerState, batch: Batch): void {
  s.probing.delete(batch);
  batch.probes.clear();
  batch.areProbesCancelled = true;
}

/** Cancels all probes of the batch. */
export function cancelProbes(s: SchedulerState, job: Job, batch: Batch): void {
  s.counters.probesRecalled += batch.probes.outstanding;
  for (const worker of batch.probes.byWorker().keys()) {
    s.env.send(worker, { type: 'cancelProbes', job: job.number, stage: batch.index });
  }
  batch.probes.clear();
  s.probing.delete(batch);
  batch.areProbesCancelled = true;
  batch.hasExtraProbes = false;
}

/**
 * Returns the size by which workers order probes. Tasks that are not pilots have the largest size until their
 * job is classified, so that jobs known to be short go first.
 */
function sizeMsOf(job: Job, batch: Batch): Millis {
  return batch === batch.countingBatch
    ? job.expectedRunMs * batch.waiting * job.slackFactor
    : Number.MAX_SAFE_INTEGER;
}
