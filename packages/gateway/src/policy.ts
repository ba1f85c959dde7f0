import type { Cluster, Counters } from '@goshawk/client';
import { isOfClients, type MessageType } from '@goshawk/core';

/** What the cluster schedules by, and what that costs: central and schedulers are asked what they have counted. */
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
    schema: 'goshawk.policy/1',
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

/** Of membership, which cost the same without any task. */
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
]);

/** By type: what central has sent and received, and of schedulers what is not between them and central. */
function messagesAt({
  central,
  totals,
}: {
  readonly central: Counters | undefined;
  readonly totals: { readonly schedulers: Counters };
}): Record<string, number> {
  const sum: Record<string, number> = {};
  const add = (counts: Counters): void => {
    for (const [type, count] of Object.entries(counts)) {
      const isPriced = !MEMBERSHIP.has(type) && !isOfClients(type);
      if (typeof count === 'number' && isPriced) sum[type] = (sum[type] ?? 0) + count;
    }
  };
  const messages = (of: Counters, way: 'sent' | 'received') => group(group(of, 'messages'), way);
  if (central !== undefined) {
    for (const way of ['sent', 'received'] as const) add(messages(central, way));
  }
  for (const way of ['sent', 'received'] as const) {
    for (const [type, count] of Object.entries(messages(totals.schedulers, way))) {
      // What both ends have counted is one message.
      const atCentral = group(group(central ?? {}, 'messages'), way === 'sent' ? 'received' : 'sent')[type];
      const both =
        typeof atCentral === 'number' && typeof count === 'number' ? Math.min(atCentral, count) : 0;
      if (typeof count === 'number') add({ [type]: count - both });
    }
  }
  return Object.fromEntries(Object.entries(sum).filter(([, count]) => count > 0));
}

function endedTasks({ tasksEnded }: Counters): number {
  const ended = typeof tasksEnded === 'object' ? tasksEnded : {};
  return ['short', 'long'].reduce((sum, kind) => {
    const { completed = 0, failed = 0 } = group(ended, kind) as Record<string, number>;
    return sum + completed + failed;
  }, 0);
}

function group(counters: Counters, name: string): Counters {
  const found = counters[name];
  return typeof found === 'object' ? found : {};
}
