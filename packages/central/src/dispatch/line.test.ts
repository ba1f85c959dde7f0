import { type Address, LIMITS, parseUsers } from '@goshawk/core';
import { addPapers } from '@goshawk/papers';
import {
  BookedDraft,
  type CentralPolicy,
  ClusterBooks,
  makePolicy,
  type StageFacts,
} from '@goshawk/policies';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { WaitingLine } from './line.js';

addPapers();

test('the answer for a job with very many waiting stages is truncated', () => {
  const books = new ClusterBooks();
  const job = books.declare(900 as Address, 0, { arrivedAt: 0, tasks: 2_000 });
  for (let index = 0; index <= LIMITS.stagesPerJobMax; index++) {
    const stage = books.stage(job, index, { demand: books.names.demandOf({}), estimateMs: 1_000 });
    books.setWaiting(stage, 1, 0);
  }
  const context = { cutoffMs: 1_000, sizesAreGiven: true, reserve: 0, random: () => 0.5 };
  const line = new WaitingLine(books, makePolicy('gs', {}, context)).describe(job, 0);
  expect(line.needs).toHaveLength(LIMITS.stagesPerJobMax);
});

test('tasks that the limit of a user holds are reported with that limit, not as without a worker', () => {
  const books = new ClusterBooks();
  books.grant(parseUsers('{"ann":{"running":1}}', 'users.json'));
  for (const [number, user] of ['ann', 'ben'].entries()) {
    const job = books.declare(900 as Address, number, { arrivedAt: 5 + number, tasks: 4, user });
    books.setWaiting(books.stage(job, 0, { demand: books.names.demandOf({}), estimateMs: 1_000 }), 4, 5);
  }
  books.takeChanges();
  const context = { cutoffMs: 1_000, sizesAreGiven: true, reserve: 0, random: () => 0.5 };
  const line = new WaitingLine(books, makePolicy('gs', {}, context)).describe(undefined, 9);
  expect(line.unmatched).toBe(5);
  expect(line.limited).toEqual([
    { class: 'short', reason: 'matching', tasks: 5, example: '0', exampleAgeMs: 4 },
    {
      class: 'short',
      reason: 'user-limit',
      tasks: 3,
      example: '0',
      exampleAgeMs: 4,
      why: '--users allows user ann 1 running task at a time; tasks that run or start first take 1',
    },
  ]);
});

test('a task that no worker can run is ahead of no other', () => {
  const books = new ClusterBooks();
  const context = { cutoffMs: 1_000, sizesAreGiven: true, reserve: 0, random: () => 0.5 };
  const line = new WaitingLine(books, makePolicy('3sigma-sched', {}, context));
  const waits = (number: number, needs: Omit<StageFacts, 'estimateMs'>) => {
    const job = books.declare(900 as Address, number, { arrivedAt: number, tasks: 1 });
    books.setWaiting(books.stage(job, 0, { estimateMs: 1_000, ...needs }), 1, 0);
    return job;
  };
  waits(1, { demand: books.names.demandOf({ gpu: 1 }) });
  waits(2, { demand: books.names.demandOf({}), requires: { zone: 'eu' } });
  waits(3, { demand: books.names.demandOf({}) });
  const last = waits(4, { demand: books.names.demandOf({}) });
  expect(line.describe(last, 10).needs[0]!.ahead).toMatchObject({ jobs: 3 });
  books.setOpen(books.addWorker(1 as Address, books.names.capacityOf(1, {})), true);
  expect(line.describe(last, 10).needs[0]!.ahead).toMatchObject({ jobs: 1, tasks: 1 });
});

test('with very many jobs, the place in line is estimated from a sample', () => {
  const books = new ClusterBooks();
  let compared = 0;
  const line = new WaitingLine(books, {
    line: () => ({
      kindOf: () => 'short',
      comesBefore(one, other) {
        compared++;
        return one.job.arrivedAt < other.job.arrivedAt;
      },
      keptFor: () => 0,
      longRunning: 0,
      longLimit: 1,
    }),
  } as Partial<CentralPolicy> as CentralPolicy);
  const facts = { demand: books.names.demandOf({}), estimateMs: 1_000 };
  const jobs = Array.from({ length: 25_000 }, (_, number) => {
    const job = books.declare(900 as Address, number, { arrivedAt: number, tasks: 1 });
    books.setWaiting(books.stage(job, 0, facts), 1, 0);
    return job;
  });
  const aheadOf = (number: number) => line.describe(jobs[number], 0).needs[0]!.ahead;
  expect(aheadOf(20_000)).toMatchObject({
    jobs: expect.closeTo(20_000, -1),
    workMs: expect.closeTo(2e7, -4),
  });
  expect(compared).toBeLessThanOrEqual(10_000);
  expect(aheadOf(0)).toEqual({ jobs: 0, tasks: 0, workMs: 0 });
});

test('waits of jobs without an estimate are ignored once there are enough others', () => {
  const books = new ClusterBooks();
  books.setOpen(books.addWorker(1 as Address, books.names.capacityOf(1, {})), true);
  const context = { cutoffMs: 1_000, sizesAreGiven: false, reserve: 0, random: () => 0.5 };
  const line = new WaitingLine(books, makePolicy('gs', {}, context));
  const waits = (number: number, estimateFollows: boolean) => {
    const job = books.declare(900 as Address, number, { arrivedAt: number, tasks: 1, long: true });
    const stage = books.stage(job, 0, {
      demand: books.names.demandOf({}),
      estimateMs: 9_000,
      estimateFollows,
    });
    books.setWaiting(stage, 1, number);
    return stage;
  };
  let now = 0;
  const served = (number: number, follows: boolean, turns: number) => {
    const stage = waits(number, follows);
    // The budget grows with each turn.
    for (let turn = 0; turn < turns; turn++) line.sampleIfDue(now++);
    line.started(stage, now);
    books.withdraw(stage.job, now);
    books.takeChanges();
  };
  const expected = (number: number, follows: boolean) => {
    const { job } = waits(number, follows);
    const { starts } = line.describe(job, now).needs[0]!;
    books.withdraw(job, now);
    return starts?.p50;
  };
  for (let number = 0; number < 50; number++) served(number, true, 100);
  const toCome = expected(100, true);
  expect(toCome).toBeLessThan(100);
  expect(expected(101, false)).toBe(toCome);
  for (let number = 50; number < 90; number++) served(number, false, 400);
  expect(expected(102, true)).toBe(toCome);
  expect(expected(103, false)).toBeGreaterThan(100);
});

test('the overview explains each kind of waiting task, and visits no job', () => {
  const books = new ClusterBooks();
  let explained = 0;
  const line = new WaitingLine(books, {
    explain({ job, needs }) {
      explained++;
      const sentence = job.arrivedAt === 0 ? 'it has a reservation' : `no room for ${needs.demand}`;
      return { reason: 'resources', sentence };
    },
  } as Partial<CentralPolicy> as CentralPolicy);
  const demands = [{ memory: 1_000 }, { gpu: 1 }].map((demand) => books.names.demandOf(demand));
  for (let number = 0; number < 20_000; number++) {
    const job = books.declare(900 as Address, number, {
      // Arrivals are not in the order of the messages.
      arrivedAt: number === 500 ? 0 : 20_000 - number,
      tasks: 2,
      long: number % 2 === 1,
    });
    const stage = books.stage(job, 0, { demand: demands[number % 4 < 2 ? 0 : 1]!, estimateMs: 1_000 });
    books.setWaiting(stage, 2, 0);
  }
  books.takeChanges();
  const visits = vi.spyOn(books, 'everyJob');
  const { limited } = line.describe(undefined, 20_000);
  expect(visits).not.toHaveBeenCalled();
  expect(explained).toBe(8);
  const shown = limited!.map(({ class: of, tasks, example, exampleAgeMs, why }) => {
    return [of, tasks, example, exampleAgeMs, why];
  });
  expect(shown).toEqual([
    ['long', 10_000, '19997', 19_997, 'no room for 1,0,1000'],
    ['short', 10_000, '19998', 19_998, 'no room for 1,0,0,1000'],
    ['long', 10_000, '19999', 19_999, 'no room for 1,0,0,1000'],
    ['short', 9_998, '19996', 19_996, 'no room for 1,0,1000'],
    ['short', 2, '500', 20_000, 'it has a reservation'],
  ]);
});

test('of the tasks of a stage, the limit of a user explains only those that it holds', () => {
  const books = new ClusterBooks();
  books.grant(parseUsers('{"ann":{"running":1}}', 'users.json'));
  const job = books.declare(900 as Address, 0, { arrivedAt: 5, tasks: 4, user: 'ann' });
  books.setWaiting(books.stage(job, 0, { demand: books.names.demandOf({}), estimateMs: 1_000 }), 4, 5);
  books.takeChanges();
  const context = { cutoffMs: 1_000, sizesAreGiven: true, reserve: 0, random: () => 0.5 };
  const { needs } = new WaitingLine(books, makePolicy('gs', {}, context)).describe(job, 9);
  expect(needs.map(({ tasks, reason }) => [tasks, reason])).toEqual([
    [1, undefined],
    [3, 'user-limit'],
  ]);
});

test('users take turns: a user with a low share waits only for the tasks that others are still due', () => {
  const books = new ClusterBooks();
  books.grant(parseUsers('{"ann":{"weight":3}}', 'users.json'));
  for (let address = 1; address <= 8; address++)
    books.setOpen(books.addWorker(address as Address, books.names.capacityOf(1, {})), true);
  const context = {
    cutoffMs: 60_000,
    sizesAreGiven: true,
    reserve: 0,
    random: () => 0.5,
    lend: 'none' as const,
  };
  const policy = makePolicy('goshawk', {}, context);
  const line = new WaitingLine(books, policy);
  let number = 0;
  const submit = (user: string, tasks: number, estimateMs: number) => {
    const job = books.declare(900 as Address, number++, { arrivedAt: number, tasks, user });
    books.setWaiting(books.stage(job, 0, { demand: books.names.demandOf({}), estimateMs }), tasks, number);
    policy.update(books.takeChanges(), number);
    policy.plan(books, new BookedDraft(books, 1, number), number);
    policy.update(books.takeChanges(), number);
    return job;
  };
  submit('mallory', 8, 3_000);
  for (let many = 0; many < 20; many++) submit('mallory', 10, 3_000);
  const own = submit('ann', 40, 20_000);
  expect(line.describe(own, 50).needs[0]!.ahead).toEqual({ jobs: 0, tasks: 0, workMs: 0 });
  // Ann's weight is three times as large, so that for each of her tasks mallory gets a third of its time.
  const second = submit('ann', 90, 30_000);
  expect(line.describe(second, 50).needs[0]!.ahead).toEqual({
    jobs: 1 + 9,
    tasks: 40 + 89,
    workMs: 40 * 20_000 + 89 * 3_000,
  });
  // A user who has received nothing yet starts a task before those who have.
  submit('ben', 1, 1_000);
  const flood = submit('mallory', 1, 10);
  expect(line.describe(flood, 50).needs[0]!.ahead.tasks).toBeGreaterThanOrEqual(2);
});

test('with no free slot, a task is not expected to start before a running one ends', () => {
  const books = new ClusterBooks();
  for (const address of [1, 2])
    books.setOpen(books.addWorker(address as Address, books.names.capacityOf(1, {})), true);
  const context = { cutoffMs: 60_000, sizesAreGiven: true, reserve: 0, random: () => 0.5 };
  const policy = makePolicy('goshawk', {}, context);
  const submit = (number: number, tasks: number, estimateMs: number, now: number) => {
    const job = books.declare(900 as Address, number, { arrivedAt: now, tasks, user: 'ann' });
    books.setWaiting(books.stage(job, 0, { demand: books.names.demandOf({}), estimateMs }), tasks, now);
    policy.update(books.takeChanges(), now);
    policy.plan(books, new BookedDraft(books, 1, now), now);
    policy.update(books.takeChanges(), now);
    return job;
  };
  submit(1, 1, 40_000, 0);
  submit(2, 1, 50_000, 0);
  const first = submit(3, 1, 1_000, 5_000);
  const second = submit(4, 1, 2_000, 5_000);
  const line = new WaitingLine(books, policy);
  expect(line.describe(first, 10_000).needs[0]).toMatchObject({
    ahead: { jobs: 0 },
    expected: { inMs: 30_000 },
  });
  expect(line.describe(second, 10_000).needs[0]).toMatchObject({
    ahead: { jobs: 1 },
    expected: { inMs: 40_000 },
  });
  // The first task is overdue by 20 s.
  expect(line.describe(first, 60_000).needs[0]).toMatchObject({ expected: { inMs: 10_000 } });
});

test('a job with a deadline has a latest start, after which it can no longer meet the deadline', () => {
  const books = new ClusterBooks();
  const job = books.declare(900 as Address, 0, { arrivedAt: 0, tasks: 1, deadlineAt: 10_000 });
  const stage = books.stage(job, 0, { demand: books.names.demandOf({}), estimateMs: 2_000 });
  books.setWaiting(stage, 1, 0);
  const context = { cutoffMs: 1_000, sizesAreGiven: true, reserve: 0, random: () => 0.5 };
  const policy = makePolicy('goshawk', {}, context);
  policy.update(books.takeChanges(), 0);
  policy.plan(books, new BookedDraft(books, 1, 0), 0);
  const line = new WaitingLine(books, policy);
  const latestStart = (now: number) => line.describe(job, now).needs[0]!.latestStart;
  expect(latestStart(1_000)!.isTooLate).toBe(false);
  expect(latestStart(1_000)!.inMs).toBeGreaterThan(5_000);
  expect(latestStart(1_000)!.inMs).toBeLessThan(7_000);
  expect(latestStart(8_000)!.inMs).toBeLessThan(0);
  expect(latestStart(9_900)!.isTooLate).toBe(true);
});

test('free slots are never negative, whatever workers report about their runs', () => {
  const context = { cutoffMs: 1_000, sizesAreGiven: true, reserve: 0, random: () => 0.5 };
  const reports = fc.array(
    fc.record({
      slots: fc.integer({ min: 1, max: 8 }),
      runs: fc.nat(8),
      reported: fc.double({ min: 0, max: 8, noNaN: true }),
    }),
    { minLength: 1, maxLength: 6 },
  );
  fc.assert(
    fc.property(reports, (workers) => {
      const books = new ClusterBooks();
      const tasks = workers.reduce((sum, { runs }) => sum + runs, 0);
      const job = books.declare(900 as Address, 0, { arrivedAt: 0, tasks: tasks + 1 });
      const stage = books.stage(job, 0, { demand: books.names.demandOf({}), estimateMs: 1_000 });
      books.setWaiting(stage, tasks + 1, 0);
      const draft = new BookedDraft(books, 1, 0);
      for (const [index, { slots, runs, reported }] of workers.entries()) {
        const worker = books.addWorker(index as Address, books.names.capacityOf(slots, {}));
        books.setOpen(worker, true);
        for (let i = 0; i < Math.min(runs, slots); i++) draft.start(stage, worker);
        // A report from before the starts, or of tasks that these books do not know.
        worker.setFree([reported - Math.min(runs, slots)]);
      }
      const line = new WaitingLine(books, makePolicy('gs', {}, context)).describe(job, 1);
      // The schema of the answer refuses everything else.
      expect(Number.isInteger(line.freeSlots) && line.freeSlots >= 0).toBe(true);
    }),
  );
});
