import {
  type Address,
  type Environment,
  type HeldRun,
  LIMITS,
  type MessageOf,
  type Millis,
} from '@goshawk/core';
import type { WorkerConfig } from './contract.js';
import type { WorkerQueue } from './queue.js';
import type { Reports } from './reports.js';
import type { Slots } from './slots.js';

/** What a worker holds of what a central has sent here, for one that may know nothing of it: what runs comes first. */
export function heldRuns(slots: Slots, queue: WorkerQueue, now: Millis): readonly HeldRun[] {
  // Thousands of workers may join at once, and hold nothing.
  if (slots.busyCount === 0 && queue.isEmpty) return NOTHING_HELD;
  const held: HeldRun[] = [];
  for (const [, r] of slots.running()) {
    if (r.match === 0 && !r.placedByCentral) continue;
    const { match, owner, job, stage, task, attempt, long, demand, estimateMs, startedAt } = r;
    const run = { match, owner, job, stage, task, attempt, long, demand, estimateMs };
    held.push({ ...run, queued: false, elapsedMs: now - startedAt });
  }
  const waiting = [...[...slots.asking()].map(([, asking]) => asking.entry), ...queue];
  for (const { owner, job, stage, long, demand, estimateMs, placed } of waiting) {
    if (held.length === LIMITS.heldTasksMax) break;
    if (placed === undefined) continue;
    const run = { match: 0, owner, job, stage, ...placed, long, demand, estimateMs };
    held.push({ ...run, queued: true, elapsedMs: 0 });
  }
  return held;
}

const NOTHING_HELD: readonly HeldRun[] = [];

/** The task runs at the worker, or has ended there without its owner's confirmation. */
export function hasHad(
  owner: Address,
  { job, task, attempt }: MessageOf<'bind' | 'run'>,
  slots: Slots,
  reports: Reports,
): boolean {
  return slots.indexOfTask(owner, job, task, attempt) >= 0 || reports.has(owner, job, task, attempt);
}

/** What a worker says of itself to a central that may know nothing of it. */
export function registrationOf(
  { name, slots, capacity, http, attributes }: WorkerConfig,
  draining: boolean,
  runs: readonly HeldRun[],
): MessageOf<'register'> {
  return {
    type: 'register',
    name,
    slots,
    capacity,
    draining,
    http,
    runs,
    attributes: attributes ?? [],
  };
}

/** What a worker holds of one owner's tasks: what runs, and what has ended without the owner's confirmation. */
function tasksHeldOf(
  owner: Address,
  slots: Slots,
  reports: Reports,
  now: Millis,
): MessageOf<'holding'>['tasks'] {
  const held: MessageOf<'holding'>['tasks'][number][] = [];
  for (const [, r] of slots.running()) {
    if (r.owner !== owner || r.orphaned) continue;
    held.push({ job: r.job, task: r.task, attempt: r.attempt, elapsedMs: now - r.startedAt });
  }
  reports.forEachTo(owner, ({ job, task, attempt, runMs }) =>
    held.push({ job, task, attempt, elapsedMs: runMs }),
  );
  return held;
}

/** Tells an owner all that is here of its tasks, and what has ended. */
export function handOver(
  owner: Address,
  census: number,
  slots: Slots,
  reports: Reports,
  env: Environment<never>,
  now: Millis,
): void {
  env.send(owner, { type: 'holding', tasks: tasksHeldOf(owner, slots, reports, now), census });
  reports.forEachTo(owner, (report) => env.send(owner, report));
}

/**
 * What earlier incarnations of an owner have here is the owner's now.
 *
 * @returns whether central has placed any of it
 */
export function readdress(
  owner: Address,
  formers: readonly Address[],
  slots: Slots,
  reports: Reports,
  now: Millis,
): boolean {
  let wasPlaced = false;
  for (const former of formers) reports.readdress(former, owner, now);
  for (const [slot, running] of slots.running()) {
    if (running.owner === owner || !formers.includes(running.owner)) continue;
    slots.readdress(slot, owner);
    wasPlaced ||= running.placedByCentral;
  }
  return wasPlaced;
}

/** Nobody would take the results of this owner's tasks that run here: they are to end. */
export function orphanTasksOf(owner: Address, slots: Slots, kill: (slot: number) => void): void {
  for (const [slot, running] of slots.running()) {
    if (running.owner !== owner) continue;
    slots.orphan(slot);
    kill(slot);
  }
}
