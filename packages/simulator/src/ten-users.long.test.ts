import { parseJobSpec, sumOf, type UserGrant, type UserGrants } from '@goshawk/core';
import { expect, test } from 'vitest';
import { endsOf, settingsOf } from './simulation.fixture.js';
import { type SimulatedEnd, type SimulatedJob, Simulation } from './simulation.js';

/** Shares are measured between these times (ms), in which all users with a backlog have tasks waiting. */
const [FROM, UNTIL] = [60_000, 260_000];
const WORKERS = 40;
const CPUS = 2;

/** Users whose tasks always wait, with their weights. */
const BACKLOGS: Readonly<Record<string, number>> = { wide: 1, double: 2, triple: 3, flood: 1, long: 1 };
/** Limits that keep other users below their shares. */
const GRANTS: UserGrants = new Map<string, UserGrant>([
  ...Object.entries(BACKLOGS).map(([user, weight]) => [user, { weight }] as [string, UserGrant]),
  ['tasks', { weight: 4, limits: { running: 3 } }],
  ['cores', { weight: 4, limits: { cpus: 4 } }],
  ['memory', { weight: 4, limits: { memory: 2 * 2 ** 30 } }],
]);

function submission(
  user: string,
  submitMs: number,
  count: number,
  sleep: number,
  more: object = {},
): SimulatedJob {
  return {
    submitMs,
    spec: parseJobSpec({ user, estimate: sleep, tasks: { count, run: { sleep } }, ...more }),
  };
}

/** Jobs of two users who need little, all over the time. */
function modest(): SimulatedJob[] {
  return Array.from({ length: 42 }, (_, i) => [
    submission('modest', 5_000 + i * 6_000, 1, 500),
    submission('frugal', 7_000 + i * 6_000, 2, 1_000),
  ]).flat();
}

function greedy(): SimulatedJob[] {
  return [
    submission('wide', 0, 1_400, 2_000),
    submission('double', 0, 2_800, 2_000),
    submission('triple', 0, 4_200, 2_000),
    ...Array.from({ length: 1_000 }, (_, i) => submission('flood', i * 10, 2, 1_500)),
    ...Array.from({ length: 20 }, (_, i) => submission('long', i, 8, 20_000)),
    submission('tasks', 0, 900, 1_000),
    submission('cores', 0, 320, 2_000, { demand: { cpu: 2 } }),
    submission('memory', 0, 600, 1_000, { demand: { cpu: 1, memory: '1GiB' } }),
  ];
}

async function run(jobs: readonly SimulatedJob[], workers = WORKERS): Promise<SimulatedEnd[]> {
  const simulation = new Simulation({
    workers,
    slots: CPUS,
    capacity: { cpu: CPUS, memory: 8 * 2 ** 30 },
    schedulers: 2,
    users: GRANTS,
    settings: settingsOf('goshawk'),
    seed: 1,
    network: { kind: 'constant', delayMs: 0.5 },
  });
  const sorted = jobs.toSorted((one, other) => one.submitMs - other.submitMs);
  return endsOf(simulation, sorted);
}

/** Seconds × CPUs of the user between two times. */
function used(ends: readonly SimulatedEnd[], user: string): number {
  let ms = 0;
  for (const { job, startsMs, runsMs } of ends) {
    if (job.spec.user !== user) continue;
    const cpus = job.spec.stages[0]!.demand.cpu ?? 1;
    startsMs.forEach((start, task) => {
      if (start >= 0)
        ms += cpus * Math.max(0, Math.min(UNTIL, start + runsMs[task]!) - Math.max(FROM, start));
    });
  }
  return ms / 1_000;
}

/** The longest time from submission to the first start, by user. */
function waits(ends: readonly SimulatedEnd[], user: string): number {
  return Math.max(
    ...ends
      .filter(({ job }) => job.spec.user === user)
      .map(({ job, startsMs }) => Math.max(...startsMs) - job.submitMs),
  );
}

test('ten users with limits and backlogs get their shares, and modest ones do not wait for them', async () => {
  const alone = await run(modest());
  const ends = await run([...modest(), ...greedy()]);
  const seconds = (UNTIL - FROM) / 1_000;
  const byUser = Object.fromEntries(
    [...GRANTS.keys(), 'modest', 'frugal'].map((user) => [user, used(ends, user) / seconds]),
  );
  const total = sumOf(Object.keys(BACKLOGS), (user) => byUser[user]!);
  const weights = sumOf(Object.values(BACKLOGS));
  for (const [user, weight] of Object.entries(BACKLOGS)) {
    const share = byUser[user]! / total / (weight / weights);
    expect([user, Math.abs(share - 1) < 0.05 ? 'fair' : share]).toEqual([user, 'fair']);
  }
  // Unused CPUs would also make shares fair.
  expect(sumOf(Object.values(byUser))).toBeGreaterThan(0.97 * WORKERS * CPUS);
  expect(byUser.tasks).toBeLessThanOrEqual(3);
  expect(byUser.cores).toBeLessThanOrEqual(4);
  expect(byUser.memory).toBeLessThanOrEqual(2);
  for (const user of ['modest', 'frugal']) expect(waits(ends, user) - waits(alone, user)).toBeLessThan(2_000);
});

test('users get their shares of a cluster that is too small to divide by their weights', async () => {
  const workers = 4;
  const weights = { wide: 1, double: 2, triple: 3, flood: 1 };
  const ends = await run(
    [
      submission('wide', 0, 300, 2_000),
      submission('double', 0, 300, 3_000),
      submission('triple', 0, 300, 4_000),
      ...Array.from({ length: 2_000 }, (_, i) => submission('flood', i * 10, 1, 200)),
    ],
    workers,
  );
  const fair = (workers * CPUS) / sumOf(Object.values(weights));
  for (const [user, weight] of Object.entries(weights)) {
    const share = used(ends, user) / ((UNTIL - FROM) / 1_000) / fair / weight;
    expect([user, Math.abs(share - 1) < 0.05 ? 'fair' : share]).toEqual([user, 'fair']);
  }
});
