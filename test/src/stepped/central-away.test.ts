import { LIVE_TIMINGS, PRESETS, parseUsers } from '@goshawk/core';
import { expect, test } from 'vitest';
import { LossyCluster } from './lossy-cluster.js';

const { leaseMs } = LIVE_TIMINGS;
/** Run time in ms of tasks that outlast the test. */
const LONG_MS = 600_000;
const POLICY = { policy: 'goshawk', preset: PRESETS.goshawk, cutoffMs: 2 * LONG_MS, reserve: 0 } as const;
/** Their limits do not make tasks wait for central. */
const USERS = parseUsers(
  '{"ann": {"running": 3, "lapse": true}, "ben": {"running": 5, "lapse": true}}',
  'users.json',
);

const tasks = (count: number) => ({ tasks: { count, run: { sleep: LONG_MS } }, estimate: LONG_MS });

/** How central goes away and returns. */
const ABSENCES: Record<string, { leave(at: LossyCluster): void; back(at: LossyCluster): void }> = {
  'is restarted': {
    leave: (at) => {
      at.cluster.kill(at.cluster.centralParty);
      at.run(leaseMs - 1_500);
    },
    back: ({ cluster }) => void cluster.addCentral('central/2', USERS),
  },
  'is cut off': {
    leave: (at) => {
      at.cutOff = at.cluster.centralParty;
      at.run(leaseMs - 1_500);
    },
    back: (at) => {
      at.cutOff = undefined;
    },
  },
};

test.each(Object.keys(ABSENCES))(
  'limits count tasks that started while central was away, when it %s',
  (how) => {
    const { leave, back } = ABSENCES[how]!;
    const at = new LossyCluster(POLICY, undefined, { workers: 3, slots: 4, users: USERS });
    at.run(1_000);
    const before = at.submit('s1', { ...tasks(1), user: 'ann' });
    const held = at.submit('s2', { ...tasks(1), user: 'ben' });
    at.run(1_000);
    at.update(held, { held: true });
    at.run(1_000);
    leave(at);
    const during = at.submit('s1', { ...tasks(2), user: 'ann' });
    at.run(1_200);
    expect([before.runningCount, during.runningCount]).toEqual([1, 2]);
    back(at);
    at.run(2 * leaseMs);
    expect(at.views().central).toEqual(at.views().owners);
    expect(new Map(at.shares().jobs.map(({ id, user }) => [id, user]))).toEqual(
      new Map([
        [before.id, 'ann'],
        [during.id, 'ann'],
        [held.id, 'ben'],
      ]),
    );
    const more = at.submit('s2', { ...tasks(5), user: 'ann' });
    const others = at.submit('s1', { ...tasks(5), user: 'ben' });
    at.run(2 * leaseMs);
    expect([more.runningCount, others.runningCount]).toEqual([0, 4]);
    at.cluster.close();
  },
);
