import { CPU, PER_CPU, parseUsers, Random, type Resources, SLOT, sumOf } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import type { BookedRun, BookedWorker } from './books/entries.js';
import { Fragments } from './fragments.js';
import { PolicyBench } from './testing.fixture.js';

const USERS = ['ann', 'ben', 'mal'];
const CPUS = [0, 0.001, 0.01, 0.0625, 0.3, 0.5, 0.51, 0.999, 1, 1.001, 1.5, 2];

/** Requests that differ in what they block: whole CPUs, parts of all sizes, none, and other resources. */
function drawDemand(random: Random): Resources {
  const draw = (most: number): number => Math.floor(random.next() * most);
  const cpu = CPUS[draw(CPUS.length)]!;
  const memory = [0, 1, 50, 100][draw(4)]!;
  return { cpu, ...(memory > 0 || cpu === 0 ? { memory: Math.max(1, memory) } : {}) };
}

/** CPUs of a worker that no task with whole CPUs can use any more: too few whole CPUs, or too few places. */
function blockedAt({ capacity, free }: BookedWorker): number {
  const whole = Math.floor(capacity[CPU]! / PER_CPU) - Math.floor(free[CPU]! / PER_CPU);
  const perPlace = capacity[CPU]! / PER_CPU / capacity[SLOT]!;
  return Math.max(whole, (capacity[SLOT]! - free[SLOT]!) * perPlace);
}

function workersOf(bench: PolicyBench): BookedWorker[] {
  return [...bench.books.workers];
}

describe('the charges of users', () => {
  test.each([1, 2, 3, 4])('are at least the CPUs that their tasks block (seed %i)', (seed) => {
    const random = Random.seeded(`fragments ${seed}`);
    const cpu = 1 + (seed % 4);
    const bench = new PolicyBench('goshawk', 4, { slots: 16 * cpu, capacity: { cpu, memory: 400 } });
    // The same sums that shares and limits use, over what the books run.
    const fragments = new Fragments(1 / PER_CPU);
    const charged = new Map(USERS.map((user) => [user, 0]));
    const known = new Set<BookedRun>();
    const cpusOf = ({ stage, lent }: BookedRun): number =>
      ((stage.demand[CPU] ?? 0) - (lent[CPU] ?? 0)) / PER_CPU;
    const add = (user: string, amount: number) => void charged.set(user, charged.get(user)! + amount);
    for (let job = 1; job <= 60; job++) {
      bench.now += 100;
      const user = USERS[job % USERS.length]!;
      bench.need(job, {
        user,
        tasks: 1 + Math.floor(random.next() * 20),
        demand: drawDemand(random),
        long: true,
      });
      if (random.next() < 0.9)
        for (let ends = 0; ends < 8 && bench.busy > 0; ends++) bench.endAny(Math.floor(random.next() * 1e6));
      const runs = new Set(workersOf(bench).flatMap((worker) => worker.runs));
      for (const run of known) {
        if (runs.has(run) || !known.delete(run)) continue;
        add(run.stage.job.user, fragments.remove(run) - cpusOf(run));
      }
      for (const run of runs) {
        if (known.has(run)) continue;
        known.add(run);
        add(run.stage.job.user, cpusOf(run) + fragments.add(run, run.stage.job.user, cpusOf(run)));
      }
      const blocked = sumOf(workersOf(bench), blockedAt);
      expect(sumOf([...charged.values()], (amount) => amount)).toBeGreaterThanOrEqual(blocked - 1e-6);
      for (const each of USERS) {
        const alone = workersOf(bench).map((worker) => {
          const free = [...worker.capacity];
          for (const run of worker.runs)
            if (run.stage.job.user === each) {
              free[CPU]! -= run.stage.demand[CPU] ?? 0;
              free[SLOT]! -= 1;
            }
          return blockedAt({ capacity: worker.capacity, free } as BookedWorker);
        });
        // Mixed with whole CPUs, the rounding is that of the parts alone.
        expect(charged.get(each)!).toBeGreaterThanOrEqual(sumOf(alone, (amount) => amount) - 1e-6);
      }
    }
    for (const run of known) add(run.stage.job.user, fragments.remove(run) - cpusOf(run));
    for (const user of USERS) {
      expect(fragments.of(user)).toBe(0);
      expect(Math.abs(charged.get(user)!)).toBeLessThan(1e-6);
    }
  });
});

/** CPUs that the tasks of a user block. */
function blockedBy(bench: PolicyBench, user: string): number {
  return sumOf(workersOf(bench), (worker) => {
    const free = [...worker.capacity];
    for (const { stage } of worker.runs)
      if (stage.job.user === user) {
        free[CPU]! -= stage.demand[CPU] ?? 0;
        free[SLOT]! -= 1;
      }
    return blockedAt({ capacity: worker.capacity, free } as BookedWorker);
  });
}

describe('a limit of CPUs', () => {
  test.each(CPUS.filter((cpu) => cpu > 0))('holds for what tasks of %f CPUs block', (cpu) => {
    for (const cpus of [1, 2, 3]) {
      const bench = new PolicyBench('goshawk', 4, { slots: 16, capacity: { cpu: 1 } });
      const demand = { cpu: Math.min(1, cpu) };
      bench.books.grant(parseUsers(JSON.stringify({ mal: { cpus } }), 'users.json'));
      bench.need(1, { user: 'mal', tasks: 64, demand, long: true });
      for (let end = 0; end < 200; end++) {
        bench.now += 100;
        expect(blockedBy(bench, 'mal')).toBeLessThanOrEqual(cpus);
        if (bench.busy > 0) bench.endAny(end * 7);
      }
      expect(bench.count(1)).toBe(0);
    }
  });

  test.each([100, 60, 34, 1])('holds for tasks that also request %i of 100 units of memory', (memory) => {
    for (const cpu of [0.001, 0.3, 0.5]) {
      const bench = new PolicyBench('goshawk', 4, { slots: 16, capacity: { cpu: 1, memory: 100 } });
      bench.books.grant(parseUsers('{"mal": {"cpus": 1}}', 'users.json'));
      bench.need(1, { user: 'mal', tasks: 64, demand: { cpu, memory }, long: true });
      bench.need(2, { user: 'ann', tasks: 8, demand: { cpu: 1 }, long: true });
      for (let end = 0; end < 40; end++) {
        expect(blockedBy(bench, 'mal')).toBeLessThanOrEqual(1);
        expect(bench.count(1)).toBeGreaterThan(0);
        bench.now += 100;
        bench.endAny(end * 7);
      }
    }
  });

  test.each(Array.from({ length: 8 }, (_, seed) => seed + 1))('holds for gangs (seed %i)', (seed) => {
    const random = Random.seeded(`gangs ${seed}`);
    const draw = <T>(...from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;
    for (let round = 0; round < 25; round++) {
      const bench = new PolicyBench('goshawk', 0);
      for (let at = 0; at < 6; at++) {
        const cpu = draw(1, 1, 2, 4);
        bench.join(at, 16 * cpu, { cpu, memory: draw(100, 100, 200) });
      }
      const cpus = draw(1, 2, 4);
      bench.books.grant(parseUsers(JSON.stringify({ mal: { cpus } }), 'users.json'));
      const tasks = draw(2, 3, 4, 6);
      const memory = draw(0, 1, 20, 50, 60, 100);
      const demand = { cpu: draw(0.001, 0.25, 0.3, 0.5), ...(memory > 0 ? { memory } : {}) };
      for (const job of [1, 2]) bench.need(job, { user: 'mal', gang: true, tasks, demand, long: true });
      expect({ tasks, demand, cpus, blocked: Math.max(cpus, blockedBy(bench, 'mal')) }).toEqual({
        ...{ tasks, demand, cpus },
        blocked: cpus,
      });
      // It starts at least where each of its tasks may take a whole CPU.
      if (tasks <= cpus) expect(bench.count(1)).toBe(tasks);
    }
  });

  test('leaves whole workers to another user', () => {
    const bench = new PolicyBench('goshawk', 4, { slots: 16, capacity: { cpu: 1 } });
    bench.books.grant(parseUsers('{"mal": {"cpus": 1}}', 'users.json'));
    bench.need(1, { user: 'mal', tasks: 64, demand: { cpu: 0.001 }, long: true });
    bench.need(2, { user: 'ann', tasks: 8, demand: { cpu: 1 } });
    expect([bench.count(1), bench.count(2)]).toEqual([16, 3]);
  });
});

test('a user of tiny tasks lends whole CPUs to a user who has less than its share', () => {
  const bench = new PolicyBench('goshawk', 4, { slots: 16, capacity: { cpu: 1 } });
  bench.need(1, {
    user: 'mal',
    tasks: 64,
    demand: { cpu: 0.001 },
    estimateMs: 600_000,
    long: true,
    mayLend: true,
  });
  expect(bench.count(1)).toBe(64);
  bench.now = 60_000;
  bench.need(2, { user: 'ann', tasks: 8, demand: { cpu: 1 }, estimateMs: 5_000, long: true });
  expect(bench.count(2)).toBe(2);
});
