import { type Address, ONE_CPU } from '@goshawk/core';
import { ClusterBooks } from '@goshawk/policies';
import { expect, test } from 'vitest';
import { WaitingLists } from './waiting-lists.js';

const [OWNER, OTHER] = [1, 2] as [Address, Address];

function jobOf(books: ClusterBooks, owner: Address, number: number, waiting: number): void {
  const job = books.declare(owner, number, { arrivedAt: 0, tasks: waiting, isDeclared: waiting === 0 });
  books.setWaiting(books.stage(job, 0, { demand: ONE_CPU, tasks: waiting }), waiting, 0);
}

test('each owner gets a list of its jobs', () => {
  const books = new ClusterBooks();
  const lists = new WaitingLists(books, true);
  expect(lists.next(OWNER)).toBeUndefined();
  jobOf(books, OWNER, 7, 3);
  jobOf(books, OWNER, 8, 0);
  jobOf(books, OTHER, 9, 1);
  for (let round = 0; round < 2; round++) {
    expect(lists.next(OWNER)).toEqual([
      { job: 7, stage: 0, tasks: 3, declared: false },
      { job: 8, stage: 0, tasks: 0, declared: true },
    ]);
    expect(lists.next(OTHER)).toEqual([{ job: 9, stage: 0, tasks: 1, declared: false }]);
  }
});

test('lists omit jobs without waiting tasks if owners declare no jobs', () => {
  const books = new ClusterBooks();
  jobOf(books, OWNER, 7, 0);
  expect(new WaitingLists(books, false).next(OWNER)).toBeUndefined();
});

test('a long list comes in parts, although jobs arrive and leave meanwhile', () => {
  const books = new ClusterBooks();
  const lists = new WaitingLists(books, true);
  for (let number = 1; number <= 5_000; number++) jobOf(books, OWNER, number, 1);
  const listed: number[] = [];
  for (let part = 0; part < 3; part++) {
    listed.push(...lists.next(OWNER)!.map(({ job }) => job));
    if (part === 0) books.withdraw(books.job(OWNER, 4_000)!, 0);
    if (part === 0) jobOf(books, OWNER, 5_001, 1);
  }
  const all = Array.from({ length: 5_001 }, (_, at) => at + 1).filter((number) => number !== 4_000);
  expect(listed).toEqual(all);
});
