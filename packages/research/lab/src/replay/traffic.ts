import type { Cluster, ClusterCounters, ClusterView, Counters } from '@goshawk/client';
import { isOfClients, sumOf } from '@goshawk/core';
import type { PlanningTimes } from '@goshawk/policies';
import type { Messages, PlanningResults, Steals } from '@goshawk/report';
import { planningOf } from '@goshawk/report';

/** Counters of all processes since their start. */
export interface Reading {
  readonly counters: ClusterCounters;
  readonly view: Pick<ClusterView, 'workers' | 'schedulers'>;
}

/** Costs of a run: the difference of all counters. */
export interface Traffic {
  readonly messages: Messages;
  readonly steals: Steals;
  /** Processes that did not respond or restarted; their share is missing or incomplete. */
  readonly incomplete: readonly string[];
}

export async function readTraffic(cluster: Cluster, signal: AbortSignal): Promise<Reading> {
  const [counters, view] = await Promise.all([cluster.counters({ signal }), cluster.describe({ signal })]);
  return { counters, view };
}

export function trafficBetween(before: Reading, after: Reading): Traffic {
  const earlier = partiesOf(before.counters);
  const restarted = startedSince(before.view, after.view);
  const byType: Record<string, number> = {};
  const steals = { attempts: 0, successes: 0, probesMoved: 0 };
  for (const [party, counters] of partiesOf(after.counters)) {
    // A restarted process counts from 0.
    const was = restarted.includes(party) ? {} : (earlier.get(party) ?? {});
    for (const [type, sent] of Object.entries(group(counters, 'messages', 'sent'))) {
      if (isOfClients(type)) continue;
      const more = since(sent, group(was, 'messages', 'sent')[type]);
      if (more > 0) byType[type] = (byType[type] ?? 0) + more;
    }
    steals.attempts += since(counters.stealAttempts, was.stealAttempts);
    steals.successes += since(counters.stealSuccesses, was.stealSuccesses);
    steals.probesMoved += since(counters.probesMoved, was.probesMoved);
  }
  const total = sumOf(Object.values(byType));
  const seen = partiesOf(after.counters);
  // Central may have restarted and not know every process yet.
  const unseen = [...earlier.keys()].filter(
    (party) => !seen.has(party) && !after.counters.silent.includes(party),
  );
  return {
    messages: { total, byType },
    steals,
    incomplete: [...after.counters.silent, ...restarted, ...unseen],
  };
}

/**
 * Returns how central's policy planned meanwhile, or undefined if it does not plan. The planning times count
 * from central's start.
 */
export function planningBetween(
  { counters: before }: Reading,
  { counters: after }: Reading,
): PlanningResults | undefined {
  const was = group(before.central ?? {}, 'planning');
  const counts = Object.entries(group(after.central ?? {}, 'planning')).map(
    ([name, count]) => [name, since(count, was[name])] as const,
  );
  const times = group(after.central ?? {}, 'planningMs') as unknown as ReturnType<PlanningTimes['read']>;
  return planningOf(Object.fromEntries(counts), times?.cycle === undefined ? undefined : times);
}

/** Returns processes whose address changed, which means that they restarted. */
function startedSince(before: Reading['view'], after: Reading['view']): string[] {
  const addressesOf = ({ schedulers, workers }: Reading['view']) =>
    new Map([
      ...schedulers.map(({ name, address }) => [`scheduler ${name}`, address] as const),
      ...workers.map(({ name, address }) => [`worker ${name}`, address] as const),
    ]);
  const earlier = addressesOf(before);
  return [...addressesOf(after)]
    .filter(([party, address]) => earlier.has(party) && earlier.get(party) !== address)
    .map(([party]) => party);
}

function partiesOf({ central, schedulers, workers }: ClusterCounters): Map<string, Counters> {
  return new Map([
    ...(central === undefined ? [] : [['central', central] as const]),
    ...Object.entries(schedulers).map(([name, counters]) => [`scheduler ${name}`, counters] as const),
    ...Object.entries(workers).map(([name, counters]) => [`worker ${name}`, counters] as const),
  ]);
}

function since(after: Count, before: Count): number {
  const now = typeof after === 'number' ? after : 0;
  const then = typeof before === 'number' ? before : 0;
  // Central does not report its incarnation: a smaller count means that it restarted.
  return now >= then ? now - then : now;
}

type Count = Counters[string] | undefined;

function group(counters: Counters, ...path: string[]): Counters {
  return path.reduce<Counters>((at, name) => {
    const next = at[name];
    return typeof next === 'object' ? next : {};
  }, counters);
}
