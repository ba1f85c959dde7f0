import type { ClusterCounters, Counters } from '@goshawk/client';
import { MESSAGES, type MessageType } from '@goshawk/core';
import type { Messages, Steals } from '@goshawk/report';

/** What a run cost, from what everybody had counted before and after it. */
export interface Traffic {
  readonly messages: Messages;
  readonly steals: Steals;
  /** Who did not answer, or began to count anew since; what they did is not in here, or not all of it. */
  readonly incomplete: readonly string[];
}

export function trafficBetween(before: ClusterCounters, after: ClusterCounters): Traffic {
  const earlier = partiesOf(before);
  const byType: Record<string, number> = {};
  const steals = { attempts: 0, successes: 0, probesMoved: 0 };
  const incomplete = [...after.silent];
  for (const [party, counters] of partiesOf(after)) {
    const was = earlier.get(party) ?? {};
    if (countOf(was, 'messages', 'wakes') > countOf(counters, 'messages', 'wakes')) incomplete.push(party);
    for (const [type, sent] of Object.entries(group(counters, 'messages', 'sent'))) {
      if (isForClients(type)) continue;
      const more = since(sent, group(was, 'messages', 'sent')[type]);
      if (more > 0) byType[type] = (byType[type] ?? 0) + more;
    }
    steals.attempts += since(counters.stealAttempts, was.stealAttempts);
    steals.successes += since(counters.stealSuccesses, was.stealSuccesses);
    steals.probesMoved += since(counters.probesMoved, was.probesMoved);
  }
  const total = Object.values(byType).reduce((sum, count) => sum + count, 0);
  return { messages: { total, byType }, steals, incomplete };
}

function partiesOf({ central, schedulers, workers }: ClusterCounters): Map<string, Counters> {
  return new Map([
    ...(central === undefined ? [] : [['central', central] as const]),
    ...Object.entries(schedulers).map(([name, counters]) => [`scheduler ${name}`, counters] as const),
    ...Object.entries(workers).map(([name, counters]) => [`worker ${name}`, counters] as const),
  ]);
}

/** The answers to those who look are no cost of a policy. */
function isForClients(type: string): boolean {
  return Object.hasOwn(MESSAGES, type) && MESSAGES[type as MessageType].to.some((role) => role === 'client');
}

/** A party that was started again has counted from 0. */
function since(after: Count, before: Count): number {
  const now = typeof after === 'number' ? after : 0;
  const then = typeof before === 'number' ? before : 0;
  return now >= then ? now - then : now;
}

type Count = Counters[string] | undefined;

function group(counters: Counters, ...path: string[]): Counters {
  return path.reduce<Counters>((at, name) => {
    const next = at[name];
    return typeof next === 'object' ? next : {};
  }, counters);
}

function countOf(counters: Counters, within: string, name: string): number {
  const count = group(counters, within)[name];
  return typeof count === 'number' ? count : 0;
}
