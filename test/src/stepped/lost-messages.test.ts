import { COMPLETED, LIVE_TIMINGS, type MessageType, type PolicySettings, PRESETS } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { LossyCluster, type Lost } from './lossy-cluster.js';

/** Time in ms within which a lost message must be repaired. */
const REPAIR_MS = 2 * LIVE_TIMINGS.leaseMs;
/** Run time in ms of tasks that outlast the test. */
const LONG_MS = 600_000;

/** Jobs that run, wait, and change in each way while others wait. */
function play(policy: Partial<PolicySettings>, lost?: Lost): LossyCluster {
  const at = new LossyCluster(policy, lost);
  const tasks = (count: number, sleep = LONG_MS) => ({ tasks: { count, run: { sleep } }, estimate: sleep });
  at.run(1_000);
  at.submit('s1', { ...tasks(2), user: 'ann', weight: 2 });
  const ending = at.submit('s2', { ...tasks(3, 3_000), user: 'ben' });
  at.run(100);
  // These wait.
  const cancelled = at.submit('s1', tasks(3));
  const held = at.submit('s1', tasks(3));
  const resumed = at.submit('s2', tasks(2));
  const shrunk = at.submit('s2', tasks(4));
  const urgent = at.submit('s1', tasks(2, 2_000));
  const staged = at.submit('s2', {
    stages: [
      { name: 'one', ...tasks(2, 500) },
      { name: 'two', after: ['one'], ...tasks(2, 1_000) },
    ],
  });
  at.run(1_000);
  at.update(urgent, { priority: 'high' });
  at.update(staged, { priority: 'high' });
  at.update(held, { held: true });
  at.update(resumed, { held: true });
  at.run(100);
  at.cancel(cancelled);
  at.cancelTasks(shrunk, 1, 2);
  at.cancelTasks(ending, 2, 2);
  at.update(resumed, { held: false });
  at.run(10_000);
  return at;
}

const BY_CLASS = { cutoffMs: 1_000, reserve: 0, shortPartition: 0 };
const GOSHAWK = { policy: 'goshawk', preset: PRESETS.goshawk, ...BY_CLASS } as const;
const CENTRAL = { policy: 'central', preset: PRESETS.central, ...BY_CLASS } as const;
const SPLIT = { policy: 'split', preset: PRESETS.split, ...BY_CLASS, shortPartition: 0.5 } as const;
const HAWK = { policy: 'hawk', preset: PRESETS.hawk, ...BY_CLASS } as const;
/** Maximum number of messages of one type that are lost, one at a time. */
const PER_TYPE = 5;

/** Loses messages of this type, one in each run, and compares the views of all parties after each. */
function expectRepair(policy: Partial<PolicySettings>, type: MessageType, count: number): void {
  const step = Math.max(1, count / PER_TYPE);
  for (let nth = 0; nth < count; nth = Math.ceil(nth + step))
    expectAgreement({ type, nth }, play(policy, { type, nth }));
}

function expectAgreement(lost: Lost, at: LossyCluster): void {
  expect(at.isLost).toBe(true);
  at.run(REPAIR_MS);
  const { central, owners, atOwners, atWorkers } = at.views();
  at.cluster.close();
  expect({ ...lost, central, atWorkers }).toEqual({ ...lost, central: owners, atWorkers: atOwners });
}

describe('two leases after a message is lost, all parties agree', () => {
  const { counts } = play(GOSHAWK);
  test.each([...counts])('goshawk: %s', (type, count) => expectRepair(GOSHAWK, type, count), 60_000);

  describe.each([CENTRAL, SPLIT])('$policy', (policy) => {
    const { counts } = play(policy);
    // After these, the worker keeps a cancelled task in its queue until its turn, and so does central.
    counts.delete('placed');
    counts.delete('cancelTask');
    test.each([...counts])('%s', (type, count) => expectRepair(policy, type, count), 60_000);
  });

  // Probes in the queue of a worker can hide a lost message about a placed task until they are served.
  const inHawk = play(HAWK).counts;
  const ofOwners = ['place', 'withdraw'] as const;
  test.each(ofOwners)('hawk: %s', (type) => expectRepair(HAWK, type, inHawk.get(type)!), 60_000);
});

const tasksOf = (count: number, sleep: number) => ({ tasks: { count, run: { sleep } }, estimate: sleep });
const ANN = { user: 'ann', weight: 2 };
const BEN = { user: 'ben', weight: 3 };

/** Situations under the default policy, each on two workers with two slots. */
const SITUATIONS: Record<string, (at: LossyCluster) => void> = {
  'gangs start': (at) => {
    at.submit('s2', tasksOf(2, 1_000));
    at.submit('s1', { stages: [{ name: 'gang', gang: true, ...tasksOf(3, 2_000) }], ...ANN });
    at.submit('s2', { stages: [{ name: 'gang', gang: true, ...tasksOf(4, LONG_MS) }], ...BEN });
    at.run(10_000);
  },
  'a job with a deadline preempts another': (at) => {
    at.submit('s1', { ...tasksOf(4, 60_000), ...ANN, preemptible: true });
    at.run(1_000);
    at.submit('s2', { ...tasksOf(2, 2_000), ...BEN, deadline: 4_000 });
    at.run(8_000);
  },
  'short jobs borrow from long ones': (at) => {
    at.submit('s1', { ...tasksOf(4, 60_000), ...ANN });
    at.run(1_000);
    at.submit('s2', { ...tasksOf(2, 500), ...BEN });
    at.run(300);
    at.submit('s1', { ...tasksOf(2, 500), ...ANN });
    at.run(8_000);
  },
  'a job fails and is retried': (at) => {
    const failing = at.submit('s1', { ...tasksOf(2, LONG_MS), ...ANN, retries: 0 });
    at.submit('s2', { ...tasksOf(2, LONG_MS), ...BEN, retries: 3 });
    at.run(1_000);
    for (const worker of ['w1', 'w2'])
      for (const slot of [0, 1]) at.cluster.endTask(at.named(worker), slot, { ...COMPLETED, kind: 'failed' });
    at.run(3_000);
    at.retry(failing);
    at.run(2_000);
  },
  'jobs wait for jobs of another scheduler': (at) => {
    const first = at.submit('s1', { ...tasksOf(3, 2_000), ...ANN });
    const second = at.submit('s2', { ...tasksOf(2, 1_000), ...BEN, after: [first.id] });
    at.submit('s1', { ...tasksOf(2, LONG_MS), ...BEN, after: [second.id] });
    at.run(10_000);
  },
  'a worker drains and accepts tasks again': (at) => {
    at.submit('s1', { ...tasksOf(2, LONG_MS), ...ANN });
    at.submit('s2', { ...tasksOf(1, LONG_MS), ...BEN });
    at.run(1_000);
    for (const on of [true, false]) {
      for (const worker of ['w1', 'w2']) at.drain(worker, on);
      at.run(1_000);
    }
  },
  'central restarts': (at) => {
    at.submit('s1', { ...tasksOf(2, LONG_MS), ...ANN });
    const held = at.submit('s2', { ...tasksOf(1, LONG_MS), ...BEN });
    at.submit('s2', { ...tasksOf(3, LONG_MS), ...ANN });
    at.run(1_000);
    at.update(held, { held: true });
    at.run(1_000);
    at.cluster.kill(at.cluster.centralParty);
    at.run(2_000);
    at.cluster.addCentral('central/2');
    at.run(5_000);
  },
};

function playSituation(name: string, lost?: Lost): LossyCluster {
  const at = new LossyCluster(GOSHAWK, lost);
  at.run(1_000);
  SITUATIONS[name]!(at);
  return at;
}

test.each(Object.keys(SITUATIONS))(
  'two leases after a message is lost while %s, all parties agree',
  (name) => {
    for (const [type, count] of playSituation(name).counts) {
      const step = Math.max(1, count / PER_TYPE);
      for (let nth = 0; nth < count; nth = Math.ceil(nth + step))
        expectAgreement({ type, nth }, playSituation(name, { type, nth }));
    }
  },
  120_000,
);

/** Workers that an operator drains, and that stop although they run a task. */
function playDrains(lost?: Lost): LossyCluster {
  const at = new LossyCluster(GOSHAWK, lost, { workers: 3, slots: 1 });
  at.run(1_000);
  at.submit('s1', { tasks: { count: 3, run: { sleep: LONG_MS } }, estimate: LONG_MS });
  at.run(1_000);
  for (const worker of ['w1', 'w2']) at.drain(worker, true);
  const w3 = at.named('w3');
  at.cluster.step(w3, () => at.cluster.workerOf(w3).drain(at.cluster.now));
  at.run(1_000);
  at.drain('w1', false);
  at.run(1_000);
  return at;
}

describe('two leases after a message is lost, central knows which workers drain', () => {
  const { counts } = playDrains();
  test.each([...counts])(
    '%s',
    (type, count) => {
      for (let nth = 0; nth < count; nth++) {
        const at = playDrains({ type, nth });
        at.run(REPAIR_MS);
        const states = Object.entries(at.workerStates());
        at.cluster.close();
        const draining = states.flatMap(([worker, state]) => (state === 'active' ? [] : worker)).sort();
        expect({ nth, draining }).toEqual({ nth, draining: ['w2', 'w3'] });
      }
    },
    60_000,
  );
});

/** Interval in ms at which schedulers report completed jobs. */
const USAGE_REPORT_MS = 10_000;

/** Jobs from whose run times central learns a cutoff. */
function playLearning(lost?: Lost): LossyCluster {
  const at = new LossyCluster({ ...GOSHAWK, cutoffMs: 600_000, cutoffJobs: 0 }, lost, { slots: 20 });
  at.run(1_000);
  for (let job = 0; job < 120; job++) {
    const sleep = job % 10 === 0 ? 5_000 : 50;
    at.submit(job % 2 === 0 ? 's1' : 's2', { tasks: { count: 1, run: { sleep } }, estimate: sleep });
    at.run(50);
  }
  at.run(20_000);
  return at;
}

test('a lost welcome with a learned cutoff is repeated once more jobs have completed', () => {
  const parties = 4;
  const count = playLearning().counts.get('welcome')!;
  expect(count).toBeGreaterThan(parties);
  for (let nth = parties; nth < count; nth++) {
    const at = playLearning({ type: 'welcome', nth });
    expect(at.isLost).toBe(true);
    for (const name of ['s1', 's2'])
      at.submit(name, { tasks: { count: 1, run: { sleep: 50 } }, estimate: 50 });
    at.run(USAGE_REPORT_MS + REPAIR_MS);
    const cutoffs = ['s1', 's2'].map((name) => at.cluster.schedulerOf(at.named(name)).policy!.cutoffMs);
    at.cluster.close();
    expect(cutoffs[0]).toBeLessThan(600_000);
    expect(cutoffs[1]).toBe(cutoffs[0]);
  }
});
