import { CPU, fitsIn, formatAttributes, type Millis, SLOT } from '@goshawk/core';
import type { ClusterView, PolicyExplanation, StageView, WorkerView } from '../contract.js';
import { countIn, gangSize } from '../fitting.js';
import { formatAmount, formatAmounts } from '../format-amounts.js';
import type { Reservation, Reservations } from '../reservations.js';
import type { Kind } from './kinds.js';

/** The policy's facts about a waiting stage. */
export interface Facts {
  readonly cluster: ClusterView;
  readonly reservations: Reservations;
  /** The kind of the stage, and the running tasks that count towards its limit. */
  readonly count: { readonly kind: Kind; readonly running: number; readonly limit: number };
  /** Whether the limit on long tasks blocks the stage. */
  readonly isOverLimit: boolean;
  /** Whether tasks lend CPUs at all. */
  readonly lends: boolean;
  readonly now: Millis;
}

/**
 * Explains which constraint keeps a task of the stage from starting; if several do, the sentence lists them. Returns undefined if only other jobs ahead in the order do.
 */
export function explainWait(stage: StageView, facts: Facts): PolicyExplanation | undefined {
  const workers = [...facts.cluster.workers].filter(({ open }) => open);
  const able = workers.filter((worker) => stage.needs.permits(worker));
  if (workers.length === 0) return { reason: 'no-worker', sentence: 'no worker accepts tasks' };
  if (able.length === 0)
    return {
      reason: 'required',
      sentence: `no worker that accepts tasks has ${formatAttributes(stage.needs.requires!)}`,
    };
  // Others have declined it only for a moment.
  const willing = able.filter((worker) => !stage.avoided.includes(worker));
  if (willing.length === 0)
    return {
      reason: 'resources',
      sentence: 'it failed at every worker that may run it, and tries these again after a while',
    };
  const room = noRoom(stage, willing, facts);
  const parent = unsharedParent(stage, facts);
  if (parent !== undefined && room !== undefined)
    return { reason: 'resources', sentence: room === BUSY ? parent : `${room}; ${parent}` };
  if (room === BUSY)
    return able.some((worker) => !willing.includes(worker) && worker.roomFor(stage.demand) > 0)
      ? {
          reason: 'resources',
          sentence:
            'it failed at every worker that has room, and tries these again after a while; no CPU is free at the others',
        }
      : undefined;
  const limit = facts.isOverLimit ? limitOf(facts) : undefined;
  if (room !== undefined && limit !== undefined)
    return { reason: 'resources', sentence: `${room}, and ${limit}` };
  if (limit !== undefined) return { reason: 'reserve', sentence: limit };
  if (room !== undefined) return { reason: 'resources', sentence: room };
  const reserved = reservedFor(stage, willing, facts);
  return reserved === undefined ? undefined : { reason: 'reserved', sentence: reserved };
}

/** No CPU is free anywhere; the position in the order says more. */
const BUSY = '';

/** Why the task that submitted the job does not share its CPUs with it; undefined: it has none, or will. */
function unsharedParent({ job, gang }: StageView, { cluster, lends }: Facts): string | undefined {
  const parent = cluster.parentOf(job);
  if (parent === undefined) return undefined;
  const { stage, borrower } = parent;
  const who = `its parent, task ${job.parent!.task} of job ${stage.job.name},`;
  if (!lends) return `${who} may wait for it, and the cluster lends no CPUs`;
  if (stage.gang) return `${who} may wait for it, and is a member of a gang, which never lends CPUs`;
  if (!stage.mayLend) return `${who} may wait for it, and lends no CPUs`;
  if (gang) return `${who} may wait for it, and a gang starts only on CPUs that are free`;
  if (borrower?.isShared)
    return `${who} shares its CPUs with another task at present, and with this one later`;
  return undefined;
}

function limitOf({ count: { kind, running, limit } }: Facts): string {
  const tasks = kind === 'long' ? 'long tasks' : 'tasks that are or may be long';
  const used = Math.round(running);
  // The limit shrinks when short work arrives, and does not stop tasks that run.
  return used > limit
    ? `${tasks} use ${used} CPUs, and the limit is now ${limit}`
    : `${tasks} use ${used} of at most ${limit} CPUs`;
}

/** Why a gang does not fit now; undefined: it fits. */
function noRoom(stage: StageView, able: readonly WorkerView[], facts: Facts): string | undefined {
  const together = gangSize(stage);
  let fit = 0;
  for (const worker of able) fit += Math.min(together - fit, worker.roomFor(stage.demand));
  if (fit >= together) return undefined;
  if (together > 1) return `all ${together} tasks of a gang start together, and ${fit} of them would fit now`;
  const place = facts.reservations.of(stage);
  const what = missing(stage, able, facts.cluster.resources);
  if (place === undefined || what === BUSY) return what;
  return `${what}; it has a reservation, and starts ${formatTimeUntil(place, facts.now)}`;
}

/** Resources of which every worker that is large enough has too little free; `BUSY`: only CPUs, and none is free. */
function missing({ demand }: StageView, able: readonly WorkerView[], resources: readonly string[]): string {
  const large = able.filter(({ capacity }) => fitsIn(demand, capacity));
  if (large.length === 0)
    return `each task needs ${formatAmounts(demand, resources)}, more than any worker has`;
  const lacks = ({ free }: WorkerView, index: number): boolean => (free[index] ?? 0) < demand[index]!;
  const indices = [...demand.keys()].filter((index) => demand[index]! > 0);
  const short = indices.filter((index) => large.every((worker) => lacks(worker, index)));
  const others = indices.filter((index) => !short.includes(index));
  // Some worker lacks other resources, so the resources that are short everywhere are not the whole cause.
  const isAll = large.some((worker) => !others.some((index) => lacks(worker, index)));
  const mostFree = (index: number): number => Math.max(0, ...large.map(({ free }) => free[index] ?? 0));
  if (!isAll || short.length === 0)
    return `no worker has ${formatAmounts(demand, resources)} free at the same time`;
  if (short.every((index) => (index === CPU || index === SLOT) && mostFree(index) === 0)) return BUSY;
  // A task without CPUs takes just a place; for others, the CPUs say more.
  const named = short.includes(CPU) ? short.filter((index) => index !== SLOT) : short;
  const parts = named.map((index) => {
    if (index === SLOT) return 'a place for another task';
    const name = resources[index]!;
    return `${name} ${formatAmount(name, demand[index]!)} (at most ${formatAmount(name, mostFree(index))})`;
  });
  return `no worker has ${parts.join(' and ')} free`;
}

/** The reservation of another stage that blocks this one, or part of its gang, from free resources. */
function reservedFor(stage: StageView, able: readonly WorkerView[], facts: Facts): string | undefined {
  const { reservations, now } = facts;
  let holder: Reservation | undefined;
  let left = gangSize(stage);
  for (const worker of able) {
    const fit = countIn(stage, worker.free, left);
    const admitted = countIn(stage, reservations.roomFor(stage, worker, now), fit);
    if (admitted < fit) holder ??= reservations.at(worker);
    left -= admitted;
    if (left <= 0) return undefined;
  }
  if (holder === undefined) return undefined;
  const { job } = holder.stage;
  return `the free resources are reserved for job ${job.name}, which starts ${formatTimeUntil(holder, now)}`;
}

function formatTimeUntil({ at }: Reservation, now: Millis): string {
  const seconds = Math.ceil((at - now) / 1_000);
  return seconds <= 0 ? 'as soon as it fits' : `within ${seconds} s`;
}
