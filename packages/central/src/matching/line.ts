import type { Address, CentralLine, Millis, NeedView } from '@goshawk/core';
import { isActive, type WorkerRecord } from '../registry.js';
import { type Need, type NeedKind, type Needs, overtakes } from './needs.js';

/** In which order kinds of needs are served, but for weights; short ones and small undecided ones are in one order. */
const RANK: Readonly<Record<NeedKind, number>> = { short: 0, small: 0, long: 1, large: 2 };

/**
 * What stands before each of some needs, as a free worker that has room for everything would serve them now. Looks at
 * every need once for each of them.
 *
 * @param overdue whether a need has waited so long that it comes before all others
 * @param longWeight by which long jobs come before short ones
 */
export function inLine(
  wanted: readonly Need[],
  lists: Readonly<Record<NeedKind, Needs>>,
  overdue: (need: Need) => boolean,
  longWeight: number,
  now: Millis,
): NeedView[] {
  const comesBefore = (one: Need, other: Need): boolean => {
    const [first, second] = [overdue(one), overdue(other)];
    if (first !== second) return first;
    if (first) return one.waitsSince < other.waitsSince;
    const ranks = RANK[one.kind] - RANK[other.kind];
    if (ranks === 0) {
      const keys = lists[one.kind].keyOf(one) - lists[other.kind].keyOf(other);
      return keys === 0 ? one.cameAt < other.cameAt : keys < 0;
    }
    if (one.kind === 'long' && ranks > 0) return overtakes(one, other, longWeight);
    if (other.kind === 'long' && ranks < 0) return !overtakes(other, one, longWeight);
    return ranks < 0;
  };
  return wanted.map((need) => {
    const jobs = new Set<string>();
    let tasks = 0;
    let workMs = 0;
    for (const list of Object.values(lists)) {
      for (const other of list) {
        if (other === need || other.tasks === 0 || !comesBefore(other, need)) continue;
        jobs.add(`${other.owner}/${other.job}`);
        tasks += other.tasks;
        workMs += other.tasks * other.estimateMs;
      }
    }
    const { stage, kind, demand, waitsSince, held } = need;
    return {
      stage,
      kind,
      tasks: need.tasks,
      demand,
      waitedMs: now - waitsSince,
      ahead: { jobs: jobs.size, tasks, workMs },
      kept: held.size,
    };
  });
}

/** Where central does not match, nobody stands in line there. */
export function noLine(workers: Iterable<WorkerRecord>, unmatched: number): CentralLine {
  let slots = 0;
  let freeSlots = 0;
  for (const worker of workers) {
    if (!isActive(worker)) continue;
    slots += worker.slots;
    freeSlots += Math.max(0, worker.slots - worker.busy);
  }
  return { needs: [], slots, freeSlots, longRunning: 0, longLimit: slots, unmatched };
}

/** The party that a client means, of those that have needs here. */
export function ownerNamed(
  owners: Iterable<Address>,
  name: string,
  nameOf: (address: Address) => string,
): Address | undefined {
  for (const owner of owners) if (nameOf(owner) === name) return owner;
  return undefined;
}
