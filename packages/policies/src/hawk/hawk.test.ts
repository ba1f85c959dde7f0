import type { Address } from '@goshawk/core';
import { expect, test } from 'vitest';
import { ClusterBooks } from '../books/books.js';
import { BookedDraft } from '../books/draft.js';
import { checkBooks } from '../books/invariants.js';
import { WaitingTimes } from './hawk.js';

const OWNER = 1 as Address;
const JOIN_MS = 1_000;

/** A new central with this policy, and the messages it sends. */
class Started {
  readonly books = new ClusterBooks();
  readonly policy = new WaitingTimes({
    cutoffMs: 10_000,
    sizesAreGiven: true,
    reserve: 0,
    joinMs: JOIN_MS,
    random: () => 0,
  });
  againAt = 0;

  join(address: number): void {
    this.books.setOpen(this.books.addWorker(address as Address, this.books.names.capacityOf(1, {})), true);
  }

  /** The owner requests placement of the tasks of a new job. */
  place(job: number, tasks: number, now: number): void {
    const booked = this.books.declare(OWNER, job, { arrivedAt: now, long: true });
    const stage = this.books.stage(booked, 0, { demand: [1], estimateMs: 100 });
    for (let task = 0; task < tasks; task++) this.books.nameWaiting(stage, { task, attempt: 1 }, now);
  }

  settle(now: number): void {
    this.policy.update(this.books.takeChanges(), now);
    const draft = new BookedDraft(this.books, 1, now);
    this.policy.plan(this.books, draft, now);
    this.againAt = draft.againAt;
    checkBooks(this.books);
    this.policy.checkInvariants();
  }

  /** Number of queued tasks at each worker. */
  get queued(): number[] {
    return [...this.books.workers].map(({ runs }) => runs.length);
  }
}

test('tasks that wait for a new central are shared among the returning workers, not given to the first', () => {
  const central = new Started();
  central.place(1, 40, 0);
  central.settle(0);
  for (let worker = 0; worker < 4; worker++) {
    central.join(10 + worker);
    central.settle(worker * 100);
  }
  expect([central.queued, central.againAt]).toEqual([[0, 0, 0, 0], JOIN_MS]);
  central.settle(JOIN_MS);
  expect(central.queued).toEqual([10, 10, 10, 10]);
});

test('a central of a new cluster places tasks immediately', () => {
  const central = new Started();
  central.join(10);
  central.settle(0);
  central.place(1, 3, 5);
  central.settle(5);
  expect(central.queued).toEqual([3]);
});
