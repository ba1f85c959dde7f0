import { type Address, LIMITS, parseUsers } from '@goshawk/core';
import { addPapers } from '@goshawk/papers';
import { type CentralPolicy, ClusterBooks, makePolicy, type StageFacts } from '@goshawk/policies';
import { expect, test } from 'vitest';
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
    const job = books.declare(900 as Address, number, { arrivedAt: 5, tasks: 4, user });
    books.setWaiting(books.stage(job, 0, { demand: books.names.demandOf({}), estimateMs: 1_000 }), 4, 5);
  }
  books.takeChanges();
  const context = { cutoffMs: 1_000, sizesAreGiven: true, reserve: 0, random: () => 0.5 };
  const line = new WaitingLine(books, makePolicy('gs', {}, context)).describe(undefined, 9);
  expect(line.unmatched).toBe(5);
  expect(line.limited).toEqual([
    {
      class: 'short',
      reason: 'user-limit',
      tasks: 3,
      example: '0',
      exampleAgeMs: 4,
      why: 'user ann has 1 running task of the 1 that --users allows at a time, counting tasks that go first',
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
