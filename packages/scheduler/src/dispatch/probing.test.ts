import { type Address, DEFAULT_POLICY, type Message, type PolicySettings } from '@goshawk/core';
import { expect, it } from 'vitest';
import { Members } from '../cluster/members.js';
import { jobOf } from '../job/job.fixture.js';
import { IdleHints } from '../state/idle-hints.js';
import type { SchedulerState } from '../state/state.js';
import { endProbing, ensureProbes, forgetProbes, probesUsed, repeatProbes } from './probing.js';

const WORKERS = 20;

/** The part of a scheduler's state that probing needs, with twenty workers. */
function stateOf(
  send: (to: Address, message: Message) => void,
  policy: Partial<PolicySettings> = {},
): SchedulerState {
  const members = new Members();
  members.apply({
    type: 'members',
    version: 1,
    since: 0,
    changed: Array.from({ length: WORKERS }, (_, index) => ({
      address: (index + 1) as Address,
      name: `w${index}`,
      slots: 1,
      capacity: {},
      partition: 'general',
      draining: false,
      row: index,
      attributes: [],
    })),
    left: [],
    owners: [],
    ownersVersion: 0,
    silentMs: undefined,
  });
  const settings = { ...DEFAULT_POLICY, ...policy };
  const cluster = { members, policy: settings, joinedPolicy: settings };
  const counters = { probesSent: 0, probesRecalled: 0 };
  const env = { random: () => 0.5, send };
  const books = { hints: new IdleHints(), probing: new Map(), probesByUser: new Map() };
  return { env, cluster, counters, ...books } as unknown as SchedulerState;
}

it('a huge batch limits its outstanding probes, and sends more as they are served', () => {
  const sent: Address[] = [];
  const s = stateOf((to) => sent.push(to));
  const job = jobOf({ tasks: { count: 500_000, run: { sleep: 1 } } });
  const stage = job.stages[0]!;
  job.release(stage, 0);
  ensureProbes(s, job, stage);
  expect(sent).toHaveLength(10_000);
  ensureProbes(s, job, stage);
  expect(sent).toHaveLength(10_000);
  for (let served = 1; served <= 100; served++) {
    job.waiting.takeNext(stage);
    probesUsed(stage, sent[served - 1]!, 1);
    ensureProbes(s, job, stage);
    expect(stage.probes.outstanding).toBe(10_000);
    expect(sent).toHaveLength(10_000 + served);
  }
});

it('many huge batches of a user that workers may seek too share few probes, and leave another user its own', () => {
  const sent: Address[] = [];
  const s = stateOf((to) => sent.push(to));
  const probe = (user: string, count: number) => {
    const job = jobOf(
      { user, tasks: { count, run: { sleep: 1 } } },
      { route: { by: 'matching', over: 'all' } },
    );
    job.release(job.stages[0]!, 0);
    const before = sent.length;
    ensureProbes(s, job, job.stages[0]!);
    return { batch: job.stages[0]!, probes: sent.length - before };
  };
  const mal = Array.from({ length: 200 }, () => probe('mal', 10_000));
  expect(mal.slice(0, 2).map(({ probes }) => probes)).toEqual([1_000, 20]);
  expect([sent.length, s.probesByUser.get('mal')]).toEqual([2_000, 2_000]);
  expect(probe('ann', 10).probes).toBe(20);
  for (const { batch } of mal) forgetProbes(s, batch);
  expect([...s.probesByUser]).toEqual([['ann', 20]]);
  expect(probe('mal', 10_000).probes).toBe(1_000);
});

it.each([
  ['without a hint, a second probe for each task', 0, 20],
  ['a hint comes beside the random probes', 1, 20],
  ['two hints save one of them', 4, 18],
  ['with a hint for each task, three for two tasks', 10, 15],
])('%s', (_title, hinted, random) => {
  const sent: Address[] = [];
  const s = stateOf((to) => sent.push(to), { probeDraw: 'independent' });
  s.hints.reset(true);
  const idle = Array.from({ length: hinted }, (_, index) => (index + 1) as Address);
  for (const worker of idle) s.hints.add(worker);
  const route = { by: 'seeking', over: 'all' } as const;
  const job = jobOf({ tasks: { count: 10, run: { sleep: 1 } } }, { route });
  job.release(job.stages[0]!, 0);
  ensureProbes(s, job, job.stages[0]!);
  expect(sent.slice(0, hinted).sort((a, b) => a - b)).toEqual(idle);
  expect(sent).toHaveLength(hinted + random);
  expect(job.stages[0]!.probes.outstanding).toBe(hinted + random);
});

it.each([
  ['are left where they are', false, 0],
  ['are taken back if more were sent where nothing was heard', true, WORKERS],
])('under lazy cancellation, probes of a fully bound batch %s', (_title, again, takenBack) => {
  const types: string[] = [];
  const s = stateOf((_, { type }) => types.push(type), { cancel: 'lazy', probeDraw: 'distinct' });
  const job = jobOf({ tasks: { count: 10, run: { sleep: 1 } } });
  const stage = job.stages[0]!;
  job.release(stage, 0);
  ensureProbes(s, job, stage);
  if (again) repeatProbes(s, job, stage);
  endProbing(s, job, stage);
  expect(types.filter((type) => type === 'cancelProbes')).toHaveLength(takenBack);
  // The next probes of the same batch are the first again.
  ensureProbes(s, job, stage);
  types.length = 0;
  endProbing(s, job, stage);
  expect(types).toEqual([]);
});
