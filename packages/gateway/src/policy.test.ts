import type { Cluster } from '@goshawk/client';
import { expect, it } from 'vitest';
import { policyOf } from './policy.js';

it('counts messages about tasks once, and none about membership or clients', async () => {
  const central = {
    messages: {
      sent: { matched: 2, heartbeatAck: 9, cluster: 5, counters: 5 },
      received: { need: 2, pull: 4, heartbeat: 9, describeCluster: 5, findSchedulers: 1 },
    },
  };
  const schedulers = {
    messages: {
      sent: { need: 2, run: 3, confirm: 3, accepted: 4, jobSummary: 1, jobProgress: 4, jobEnded: 4 },
      received: { matched: 2, ended: 3, submit: 4, watchJob: 4, drainWorker: 1 },
    },
    tasksEnded: { short: { completed: 3 }, long: { failed: 1 } },
  };
  const policy = { policy: 'goshawk', preset: { title: 'matches' }, cutoffMs: 10_000 };
  const cluster = {
    describe: async () => ({ settings: { policy } }),
    counters: async () => ({ central, totals: { schedulers } }),
    waiting: async () => ({ central: { slots: 4, longLimit: 3 } }),
  };
  const shown = await policyOf(cluster as unknown as Cluster, AbortSignal.timeout(1_000));
  expect(shown).toMatchObject({
    messages: { matched: 2, need: 2, pull: 4, run: 3, confirm: 3, ended: 3 },
    messagesPerTask: 17 / 4,
    reserveNow: 0.25,
  });
  expect(Object.keys(shown.messages)).toHaveLength(6);
});
