import { type Millis, present, Random, type Resources, sumOf, type UserGrant } from '@goshawk/core';
import { expect, test } from 'vitest';
import type { BookedRun } from '../books/entries.js';
import { PolicyBench } from '../testing.fixture.js';

/** A user whose tasks wait from some time on. */
interface Backlog {
  readonly weight?: number;
  /** Run times of its tasks, drawn at random. */
  readonly taskMs: readonly Millis[];
  readonly from?: Millis;
  readonly demand?: Resources;
}

/** A cluster that runs the tasks of users with backlogs in virtual time, and counts what each user gets. */
class SharedCluster {
  readonly bench: PolicyBench;
  readonly users: readonly Backlog[];
  /** Slots × ms, by user. */
  readonly received: number[];
  /** The longest time without a start, by user. */
  readonly gapMs: Millis[];
  readonly #random = Random.seeded('shares');
  readonly #startedAt: Millis[];
  readonly #ends = new Map<BookedRun, Millis>();

  constructor(slots: number, users: readonly Backlog[], capacity: Resources = { cpu: slots }) {
    this.bench = new PolicyBench('goshawk', 1, { slots, capacity });
    this.users = users;
    this.received = users.map(() => 0);
    this.gapMs = users.map(() => 0);
    this.#startedAt = users.map(({ from = 0 }) => from);
    const grants = users.map(({ weight = 1 }, user): [string, UserGrant] => [`u${user}`, { weight }]);
    this.bench.books.grant(new Map(grants));
  }

  runs(user: number): number {
    return this.bench.count(user + 1);
  }

  run(until: Millis): void {
    const { bench } = this;
    for (;;) {
      this.#arrive();
      this.#note();
      const arrivals = this.users.map(({ from = 0 }) => from).filter((from) => from > bench.now);
      const next = Math.min(...this.#ends.values(), ...arrivals, until);
      this.users.forEach((_, user) => {
        this.received[user]! += this.runs(user) * (next - bench.now);
      });
      bench.now = next;
      if (next === until) return;
      for (const [run, at] of this.#ends) {
        if (at > next) continue;
        this.#ends.delete(run);
        bench.books.end(run, 'done', next);
      }
    }
  }

  /** Runs until then. @returns the slot time that each user receives, as a multiple of its share */
  sharesUntil(until: Millis): number[] {
    const before = [...this.received];
    this.run(until);
    const got = this.received.map((ms, user) => ms - before[user]!);
    const weights = sumOf(this.users, ({ weight = 1 }) => weight);
    return got.map((ms, user) => ms / sumOf(got) / ((this.users[user]!.weight ?? 1) / weights));
  }

  #arrive(): void {
    this.users.forEach(({ from = 0, taskMs, demand }, user) => {
      if (from !== this.bench.now) return;
      const facts = { user: `u${user}`, tasks: 1_000_000, estimateMs: taskMs[0]! };
      this.bench.report(user + 1, { ...facts, ...present({ demand }) });
    });
    this.bench.settle();
  }

  /** Draws the ends of new runs. */
  #note(): void {
    const { now, books } = this.bench;
    for (const { runs } of books.workers)
      for (const run of runs) {
        if (this.#ends.has(run)) continue;
        const user = run.stage.job.number - 1;
        const { taskMs } = this.users[user]!;
        const spread = 0.9 + 0.2 * this.#random.next();
        this.#ends.set(run, now + spread * taskMs[Math.floor(this.#random.next() * taskMs.length)]!);
        this.gapMs[user] = Math.max(this.gapMs[user]!, now - this.#startedAt[user]!);
        this.#startedAt[user] = now;
      }
  }
}

function expectFair(shares: readonly number[], tolerance: number): void {
  for (const [user, share] of shares.entries())
    expect([user, Math.abs(share - 1) < tolerance ? 'fair' : share]).toEqual([user, 'fair']);
}

test('users get their shares on average, however long their tasks are', () => {
  const tasks = [[1_000], [1_500], [2_000], [200], [500, 3_000]];
  const cluster = new SharedCluster(
    20,
    [1, 2, 3, 1, 2].map((weight, user) => ({ weight, taskMs: tasks[user]! })),
  );
  cluster.run(10_000);
  expectFair(cluster.sharesUntil(160_000), 0.02);
});

test('more users than slots get their shares in turn', () => {
  const cluster = new SharedCluster(
    4,
    Array.from({ length: 12 }, (_, user) => ({ weight: 1 + (user % 2), taskMs: [100 + 50 * (user % 3)] })),
  );
  expectFair(cluster.sharesUntil(60_000), 0.05);
  expect(Math.max(...cluster.gapMs)).toBeLessThan(3_000);
});

test('a heavy user does not wait for each of many light ones', () => {
  const light = Array.from({ length: 9 }, () => ({ taskMs: [1_000] }));
  const cluster = new SharedCluster(4, [{ weight: 10, taskMs: [1_000] }, ...light]);
  expectFair(cluster.sharesUntil(300_000), 0.05);
});

test('a user of tasks that never end gets at most one more than its share', () => {
  const cluster = new SharedCluster(8, [{ taskMs: [1_000] }, { taskMs: [1e9], from: 10_000 }]);
  cluster.run(600_000);
  expect(Math.abs(cluster.runs(1) - 4)).toBeLessThanOrEqual(1);
  expect(cluster.gapMs[0]).toBeLessThan(2_000);
});

test('a user that arrives late gets its share at once, and no more later', () => {
  const cluster = new SharedCluster(8, [{ taskMs: [1_000] }, { taskMs: [1_000], from: 300_000 }]);
  cluster.run(302_000);
  expectFair(cluster.sharesUntil(312_000), 0.1);
});

test('a user whose tasks fitted nowhere for a long time does not keep others waiting for as long', () => {
  const gpu = { demand: { cpu: 1, gpu: 1 }, taskMs: [300_000] };
  const cluster = new SharedCluster(8, [{ taskMs: [1_000] }, gpu, gpu], { cpu: 8, gpu: 1 });
  cluster.run(900_000);
  cluster.bench.report(2, { user: 'u1', stage: 1, tasks: 1_000, estimateMs: 1_000 });
  const [first] = cluster.sharesUntil(960_000);
  expect(first).toBeGreaterThan(0.9);
});

test('a part of a GPU is charged as a whole one if the task selects its worker', () => {
  const bench = new PolicyBench('goshawk', 1, { slots: 16, capacity: { cpu: 8, gpu: 4 } });
  const whole = { tasks: 3, demand: { gpu: 1 } };
  bench.need(1, { user: 'mal', tasks: 3, demand: { cpu: 0.01, gpu: 0.01 }, requires: { zone: '!none' } });
  bench.need(2, { user: 'ann', ...whole });
  bench.need(3, { user: 'mal', ...whole });
  bench.need(4, { user: 'ann', ...whole });
  expect([1, 2, 3, 4].map((number) => bench.count(number))).toEqual([3, 3, 0, 0]);
  bench.end(2);
  expect([bench.count(3), bench.count(4)]).toEqual([0, 1]);
});
