import type { Cluster } from '@goshawk/client';
import { type Counters, counterGroup, isOfClients, type MessageType, sumCounters } from '@goshawk/core';

/** Describes the scheduling policy and its costs, from the counters of central and the schedulers. */
export async function policyOf(cluster: Cluster, signal: AbortSignal) {
  const [view, counted, { central: line }] = await Promise.all([
    cluster.describe({ signal }),
    cluster.counters({ of: ({ kind }) => kind !== 'worker', signal }),
    cluster.waiting({ signal }),
  ]);
  const { policy, preset, estimator, cutoffMs, cutoffJobs, reserve } = view.settings.policy;
  const messages = messagesAt(counted);
  const tasks = endedTasks(counted.totals.schedulers);
  const all = Object.values(messages).reduce((sum, count) => sum + count, 0);
  return {
    schema: 'goshawk.policy/1' as const,
    policy,
    title: preset.title,
    estimator,
    cutoffSeconds: cutoffMs / 1_000,
    cutoffJobs,
    reserve,
    reserveNow: line === undefined || line.slots === 0 ? null : 1 - line.longLimit / line.slots,
    messagesPerTask: tasks === 0 ? null : all / tasks,
    messages,
  };
}

/** Membership messages. Their number does not depend on tasks. */
const MEMBERSHIP: ReadonlySet<string> = new Set<MessageType>([
  'register',
  'enlist',
  'welcome',
  'heartbeat',
  'heartbeatAck',
  'notRegistered',
  'leave',
  'resync',
  'peers',
  'members',
  'drain',
  'drained',
  'resume',
  'holding',
  'claim',
  'quarantine',
  'nameTaken',
  'takeOver',
  'superseded',
  'remember',
  'limits',
  'holdings',
  'notices',
  'noticesStored',
]);

/** Counts messages by type: those of central, and those of schedulers except with central. */
function messagesAt({
  central,
  totals,
}: {
  readonly central: Counters | undefined;
  readonly totals: { readonly schedulers: Counters };
}): Record<string, number> {
  const countedAt = (of: Counters, way: 'sent' | 'received') =>
    counterGroup(counterGroup(of, 'messages'), way) as Readonly<Record<string, number>>;
  // Sender and receiver both count a message; subtract what central counts, so that each counts once.
  const elsewhere = (way: 'sent' | 'received') => {
    const atCentral = countedAt(central ?? {}, way === 'sent' ? 'received' : 'sent');
    const counts = Object.entries(countedAt(totals.schedulers, way));
    return Object.fromEntries(
      counts.map(([type, count]) => [type, count - Math.min(atCentral[type] ?? 0, count)]),
    );
  };
  const all = sumCounters([
    countedAt(central ?? {}, 'sent'),
    countedAt(central ?? {}, 'received'),
    elsewhere('sent'),
    elsewhere('received'),
  ]) as Record<string, number>;
  return Object.fromEntries(
    Object.entries(all).filter(([type, count]) => count > 0 && !MEMBERSHIP.has(type) && !isOfClients(type)),
  );
}

function endedTasks(counters: Counters): number {
  return ['short', 'long'].reduce((sum, kind) => {
    const ended = counterGroup(counterGroup(counters, 'tasksEnded'), kind) as Record<string, number>;
    return sum + (ended.completed ?? 0) + (ended.failed ?? 0);
  }, 0);
}
