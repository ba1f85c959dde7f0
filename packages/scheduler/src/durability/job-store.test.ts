import { JOB_STATES, LIMITS } from '@goshawk/core';
import { describe, expect, it, test } from 'vitest';
import type { SchedulerConfig } from '../contract.js';
import { Hold } from '../job/hold.js';
import { jobOf } from '../job/job.fixture.js';
import type { Job } from '../job/job.js';
import { JobStore } from './job-store.js';
import { sharesOf } from './memory-shares.js';

class Bench {
  readonly forgotten: number[] = [];
  readonly store: JobStore;
  readonly journal: Map<number, Job> | undefined;
  now = 0;

  /** @param journal if given, ended jobs move to it */
  constructor(
    retention: Partial<Pick<SchedulerConfig, 'endedJobsMax' | 'endedJobsKeepMs'>> = {},
    jobsMax = 1e9,
    journal?: Map<number, Job>,
    endedMax = sharesOf(1e9).endedMax,
  ) {
    this.journal = journal;
    this.store = new JobStore({
      config: { tag: 's', endedJobsMax: 2, logBytesMax: 1_000, wallOffsetMs: 0, ...retention },
      lastJob: 0,
      shares: { ...sharesOf(1e9), jobsMax, endedMax },
      records: { recordsDeleted: (job) => this.forgotten.push(job) },
      random: () => 0.5,
      readJob: journal && (({ number }) => journal.get(number)),
    });
  }

  /** A job that ends immediately. */
  run(user?: string, key?: string, argument = 'x'): Job {
    const { number } = this.store.allocateId();
    const job = jobOf({ user, tasks: [{ exec: [argument] }] }, { number, key, acceptedAt: this.now });
    this.store.add(job);
    this.journal?.set(number, job);
    job.end(this.now);
    this.store.ended(job, this.now);
    return job;
  }

  get kept(): number[] {
    const jobs = [...this.store.endedNewestFirst(JOB_STATES)];
    return jobs.map(({ number }) => number).reverse();
  }
}

it('notices a job that is added twice, or ends twice', () => {
  const bench = new Bench();
  const job = bench.run();
  expect(() => bench.store.add(job)).toThrow(/becomes active, but is in memory/);
  expect(() => bench.store.ended(job, 1)).toThrow(/leaves the active jobs, but is none/);
});

it('counts the tasks that wait, without those of jobs on hold or after others', () => {
  const { store } = new Bench();
  const add = (spec: object, hold?: Hold): Job => {
    const job = jobOf(
      { tasks: { count: 3, run: { sleep: 1 } }, ...spec },
      { number: store.allocateId().number },
    );
    job.hold = hold;
    store.add(job);
    return job;
  };
  const plain = add({});
  const later = add({ after: ['s-9'] });
  const onHold = add({}, new Hold(true, undefined, 0));
  expect(store.waitingTaskCount).toBe(3);
  later.predecessorsEnded(1);
  expect(store.waitingTaskCount).toBe(6);
  onHold.hold!.update(false, undefined, 1);
  expect(store.waitingTaskCount).toBe(9);
  plain.hold = new Hold(true, undefined, 2);
  store.held(plain);
  expect(store.waitingTaskCount).toBe(6);
  store.withdraw(plain);
  store.withdraw(onHold);
  expect(store.waitingTaskCount).toBe(3);
});

describe('jobs that ended before this process', () => {
  /** Simulates a wall clock that was wrong then, or is wrong now. */
  function restored(): Bench {
    const bench = new Bench({ endedJobsKeepMs: 1_000 });
    const { number } = bench.store.allocateId();
    const job = jobOf({ tasks: [{ sleep: 1 }] }, { number, key: 'k', acceptedAt: -1e9 });
    job.end(-1e9);
    bench.store.restore(job);
    bench.store.sortEnded();
    return bench;
  }

  test('are kept for some minutes of its time, regardless of their age', () => {
    const bench = restored();
    bench.store.start(5);
    bench.store.evictOld(LIMITS.endedAgeMinMs);
    expect(bench.kept).toEqual([1]);
    bench.store.evictOld(LIMITS.endedAgeMinMs + 5);
    expect(bench.kept).toEqual([]);
  });
});

describe('too many jobs', () => {
  test('are kept for longer than any client waits, with their keys', () => {
    const bench = new Bench();
    for (let i = 0; i < 100; i++) bench.run('u', `k${i}`);
    bench.now = LIMITS.endedAgeMinMs;
    bench.store.evictOld(bench.now);
    expect(bench.kept).toHaveLength(100);
    expect(bench.store.byKey('k0', 'u')).toMatchObject({ number: 1 });
  });

  test('are then forgotten in order of their ends', () => {
    const bench = new Bench();
    for (let i = 0; i < 4; i++) bench.run('u', `k${i}`);
    bench.now = LIMITS.endedAgeMinMs + 1;
    bench.store.evictOld(bench.now);
    expect(bench.kept).toStrictEqual([3, 4]);
    expect(bench.forgotten).toStrictEqual([1, 2]);
    expect(bench.store.byKey('k0', 'u')).toBeUndefined();
  });

  test.each([
    ['in memory', undefined, 1e9],
    ['in the journal', new Map(), 20_000],
  ])('of one user leave the jobs of the others, %s', (_, journal, endedMax) => {
    const bench = new Bench({ endedJobsMax: 1_000 }, 1e9, journal, endedMax);
    const theirs = Array.from({ length: 100 }, (_, i) => bench.run(i % 2 === 0 ? 'ada' : 'bob').number);
    bench.now = LIMITS.endedAgeMinMs;
    const flood = Array.from({ length: 3_000 }, () => bench.run('eve').number);
    bench.now += 2 * LIMITS.endedAgeMinMs;
    for (let looks = 0; looks < 3; looks++) bench.store.evictOld(bench.now);
    expect(bench.store.count).toBe(1_000);
    expect(bench.forgotten).toStrictEqual(flood.slice(0, 2_100));
    for (const number of theirs) expect(bench.store.byId(`s-${number}`)).toMatchObject({ number });
  });

  test('of one user that have just ended do not push out the old jobs of others', () => {
    const bench = new Bench({ endedJobsMax: 100 });
    for (let i = 0; i < 50; i++) bench.run('ada');
    bench.now = LIMITS.endedAgeMinMs + 1;
    for (let i = 0; i < 3_000; i++) bench.run('eve');
    expect(bench.forgotten).toStrictEqual([]);
    // Two users with too many jobs each keep half of the limit.
    for (let i = 0; i < 60; i++) bench.run('ada');
    bench.now += LIMITS.endedAgeMinMs + 1;
    for (let looks = 0; looks < 4; looks++) bench.store.evictOld(bench.now);
    const users = bench.kept.map((number) => bench.store.byNumber(number)!.spec.user);
    expect(users.filter((user) => user === 'ada')).toHaveLength(50);
    expect(users.filter((user) => user === 'eve')).toHaveLength(50);
  });

  test('are forgotten in the same way after a restart, whatever the order of the records', () => {
    const bench = new Bench();
    const ends: [string, number][] = [...[5, 3, 4, 1].map((at): [string, number] => ['eve', at]), ['ada', 0]];
    for (const [user, at] of ends) {
      const { number } = bench.store.allocateId();
      const job = jobOf({ user, tasks: [{ sleep: 1 }] }, { number, acceptedAt: 0 });
      job.end(at);
      bench.store.restore(job);
    }
    bench.store.sortEnded();
    bench.store.start(10);
    bench.store.evictOld(11 + LIMITS.endedAgeMinMs);
    expect(bench.forgotten).toStrictEqual([4, 2, 3]);
    expect(bench.kept).toStrictEqual([5, 1]);
  });

  test('that were retried count once, by their last end', () => {
    const bench = new Bench({ endedJobsMax: 2 });
    const [first] = [bench.run('ada'), bench.run('ada'), bench.run('ada')];
    bench.store.reopen(first!, () => {});
    bench.store.ended(first!, 0);
    bench.now = LIMITS.endedAgeMinMs + 1;
    bench.store.evictOld(bench.now);
    expect(bench.kept).toStrictEqual([3, 1]);
  });
});

describe('under memory pressure', () => {
  const large = 'x'.repeat(10_000);

  test('only jobs of the user with the most memory are evicted', () => {
    const bench = new Bench({}, 200_000);
    const theirs = [bench.run('ada'), bench.run('bob')];
    for (let i = 0; i < 100; i++) bench.run('eve', undefined, large);
    expect(bench.kept.slice(0, 2)).toStrictEqual(theirs.map(({ number }) => number));
    expect(bench.kept.length).toBeLessThan(20);
    expect(bench.kept.at(-1)).toBe(102);
  });

  test('users with equal memory each lose jobs', () => {
    const bench = new Bench({}, 250_000);
    for (let i = 0; i < 100; i++) for (const user of ['ada', 'bob', 'eve']) bench.run(user, undefined, large);
    const users = bench.kept.map((number) => bench.store.byNumber(number)!.spec.user);
    for (const user of ['ada', 'bob', 'eve']) {
      expect(users.filter((of) => of === user).length).toBeGreaterThanOrEqual(3);
    }
  });

  test('keys and ends are kept as long as those of others', () => {
    const bench = new Bench({}, 100_000);
    for (let i = 0; i < 40; i++) bench.run('eve', `k${i}`, large);
    expect(bench.store.byKey('k0', 'eve')).toBeUndefined();
    expect(bench.store.tombstoneWithKey('k0', 'eve')).toMatchObject({ number: 1, state: 'completed' });
    expect(bench.store.isDeleted('s-1')).toBe(true);
    expect(bench.store.isDeleted('s-40')).toBe(false);
    expect(bench.store.isDeleted('s-41')).toBe(false);
    expect(bench.store.isDeleted('t-1')).toBe(false);
    expect(bench.forgotten).toStrictEqual([]);
    bench.store.evictOld(LIMITS.endedAgeMinMs + 1);
    expect(bench.store.tombstoneWithKey('k0', 'eve')).toBeUndefined();
    expect(bench.forgotten).toContain(1);
    expect(bench.store.isDeleted('s-1')).toBe(true);
  });

  test('keys are limited too: they count as memory that cannot be freed', () => {
    const bench = new Bench({}, 20_000);
    for (let i = 0; i < 1_000; i++) bench.run('eve', `k${i}`);
    expect(bench.store.activeBytes).toBeGreaterThan(100_000);
    bench.store.evictOld(LIMITS.endedAgeMinMs + 1);
    expect(bench.store.activeBytes).toBe(0);
  });
});

test('return values count as memory of their job, including the value that ends it', () => {
  const bench = new Bench({}, 100_000);
  const job = jobOf({ tasks: [{ sleep: 1 }] }, { number: bench.store.allocateId().number });
  bench.store.add(job);
  job.history.reports.setValue(0, 'x'.repeat(90_000));
  bench.store.updateBytes(job);
  expect(bench.store.activeBytes).toBeGreaterThan(90_000);
  job.end(0);
  bench.store.ended(job, 0);
  expect(bench.store.activeBytes).toBe(0);
  bench.run('eve', undefined, 'x'.repeat(20_000));
  expect(bench.kept).toStrictEqual([2]);
});

describe('ended jobs in a journal', () => {
  test('stay in memory only up to the last 32 MiB, however large the memory is', () => {
    const most = new Bench({}, 1e12, new Map(), sharesOf(64e9).endedMax);
    const jobs = 30_000;
    let largest = 0;
    for (let i = 0; i < jobs; i++) {
      const job = most.run('ada', `k${i}`);
      if (i % 100 === 0) largest = Math.max(largest, most.kept.length * job.bytes.total);
    }
    expect(largest).toBeGreaterThan(30 * 1024 ** 2);
    expect(largest).toBeLessThanOrEqual(32 * 1024 ** 2);
    expect(most.kept.at(-1)).toBe(jobs);
    expect(most.store.count).toBe(jobs);
    expect(most.store.tombstoneBytes).toBeLessThan(100 * jobs);
    for (const number of [1, 15_000, jobs]) {
      expect(most.store.byId(`s-${number}`)).toMatchObject({ number });
      expect(most.store.byKey(`k${number - 1}`, 'ada')).toMatchObject({ number });
    }
    expect(most.store.byKey('another', 'ada')).toBeUndefined();
  });

  test('use only a twentieth of a small memory', () => {
    expect(sharesOf(100e6).endedMax).toBe(5e6);
  });

  test('are forgotten a thousand at a time, oldest end first, and their keys become free', () => {
    const bench = new Bench({ endedJobsMax: 10 }, 1e9, new Map(), 100_000);
    for (let i = 1; i <= 5_000; i++) bench.run('ada', `k${i}`);
    bench.now = LIMITS.endedAgeMinMs + 1;
    bench.store.evictOld(bench.now);
    expect(bench.forgotten).toStrictEqual(Array.from({ length: 1_000 }, (_, i) => i + 1));
    expect([bench.store.byKey('k1', 'ada'), bench.store.tombstoneWithKey('k1', 'u')]).toEqual([
      undefined,
      undefined,
    ]);
    expect(bench.store.isDeleted('s-1')).toBe(true);
    expect(bench.store.byKey('k2000', 'ada')).toMatchObject({ number: 2_000 });
    let looks = 1;
    for (; bench.store.count > 10; looks++) bench.store.evictOld(bench.now);
    expect(looks).toBe(5);
    expect(bench.store.count).toBe(10);
    // The next submission with that key is a new job.
    const { number } = bench.run('ada', 'k1');
    expect(bench.store.byKey('k1', 'ada')).toMatchObject({ number });
  });

  test('with the same key of two users are distinct, in memory, in the journal and as tombstones', () => {
    for (const bench of [new Bench(), new Bench({}, 1e9, new Map(), 20_000), new Bench({}, 100_000)]) {
      const ada = bench.run('ada', 'k');
      const eve = bench.run('eve', 'k');
      const anonymous = bench.run(undefined, 'k');
      for (let i = 0; i < 100; i++) bench.run('bob', `k${i}`, 'x'.repeat(2_000));
      const numberOf = (user: string | undefined) =>
        (bench.store.byKey('k', user) ?? bench.store.tombstoneWithKey('k', user))?.number;
      expect([numberOf('ada'), numberOf('eve'), numberOf(undefined)]).toEqual(
        [ada, eve, anonymous].map(({ number }) => number),
      );
      expect(numberOf('bob')).toBeUndefined();
    }
  });

  test('that cannot be read keep their keys and ends', () => {
    const bench = new Bench({}, 1e9, new Map(), 20_000);
    for (let i = 1; i <= 100; i++) bench.run('ada', `k${i}`);
    bench.journal!.clear();
    expect(bench.store.byKey('k1', 'ada')).toBeUndefined();
    expect(bench.store.tombstoneWithKey('k1', 'ada')).toMatchObject({ number: 1, state: 'completed' });
    expect(bench.store.tombstoneWithKey('another', 'ada')).toBeUndefined();
    expect(bench.store.byKey('k100', 'ada')).toMatchObject({ number: 100 });
  });
});
