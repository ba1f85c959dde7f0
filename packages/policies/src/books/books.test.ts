import { type Address, LIMITS, ONE_CPU } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ClusterBooks } from './books.js';
import { BookedDraft } from './draft.js';
import { checkBooks } from './invariants.js';

const OWNER = 1 as Address;

function cluster(workers: number, slots = 2): ClusterBooks {
  const books = new ClusterBooks();
  for (let i = 0; i < workers; i++)
    books.setOpen(books.addWorker((10 + i) as Address, books.names.capacityOf(slots, {})), true);
  return books;
}

function jobOf(books: ClusterBooks, number: number, waiting: number) {
  const job = books.declare(OWNER, number, { arrivedAt: 0, tasks: waiting });
  const stage = books.stage(job, 0, { demand: ONE_CPU, tasks: waiting });
  books.setWaiting(stage, waiting, 0);
  return stage;
}

describe('a need that avoids workers', () => {
  test('lasts until the next need, which may no longer avoid them', () => {
    const books = cluster(2);
    const stage = jobOf(books, 1, 3);
    const [one, other] = books.workers;
    books.reconsider(stage, 0, [one!, other!]);
    expect([...stage.declinedBy!.keys()]).toEqual([one, other]);
    books.takeChanges();
    books.reconsider(stage, 1, [other!]);
    expect([...stage.declinedBy!.keys()]).toEqual([other]);
    expect(books.takeChanges()).toMatchObject([{ kind: 'freed', worker: one }]);
  });
});

describe('a draft', () => {
  test('starts what fits and refuses the rest, one by one', () => {
    const books = cluster(1);
    const stage = jobOf(books, 1, 3);
    const [worker] = books.workers;
    const draft = new BookedDraft(books, 1, 5);
    expect([1, 2, 3].map(() => draft.start(stage, worker!) !== undefined)).toEqual([true, true, false]);
    expect([stage.waiting, stage.running, worker!.free, draft.refused]).toEqual([1, 2, [0, 0], 1]);
  });

  test('starts a gang whole or not at all', () => {
    const books = cluster(2, 1);
    const stage = jobOf(books, 1, 3);
    const [one, other] = books.workers;
    const draft = new BookedDraft(books, 1, 5);
    const starts = [one!, other!, one!].map((worker) => ({ stage, worker }));
    expect(draft.gang(starts)).toBeUndefined();
    expect([stage.waiting, stage.running, books.runCount]).toEqual([3, 0, 0]);
    expect(draft.gang(starts.slice(0, 2))).toHaveLength(2);
    checkBooks(books);
  });
});

test('a job is over when none of its tasks waits or runs; a declared job when its owner withdraws it', () => {
  const books = cluster(1);
  const stage = jobOf(books, 1, 1);
  const declared = books.declare(OWNER, 2, { arrivedAt: 0, isDeclared: true });
  books.takeChanges();
  const run = books.start(stage, [...books.workers][0]!, 1)!;
  books.end(run, 'done', 9);
  expect(books.job(OWNER, 1)).toBeUndefined();
  expect(books.takeChanges().map(({ kind }) => kind)).toEqual(['ended', 'freed', 'gone']);
  books.withdraw(declared, 9);
  expect(books.takeChanges().map(({ kind }) => kind)).toEqual(['gone']);
});

test('a job that a returning owner declares again stays until it is withdrawn again', () => {
  const books = cluster(1);
  const declare = () => books.declare(OWNER, 1, { arrivedAt: 0, isDeclared: true });
  const stage = books.stage(declare(), 0, { demand: ONE_CPU });
  books.setWaiting(stage, 1, 0);
  const run = books.start(stage, [...books.workers][0]!, 1)!;
  books.confirm(run);
  books.withdraw(stage.job, 2);
  declare();
  books.end(run, 'done', 9);
  expect(books.job(OWNER, 1)).toBe(stage.job);
  books.withdraw(stage.job, 10);
  expect(books.job(OWNER, 1)).toBeUndefined();
});

test("a job's expected start and place are limited to what a message can carry", () => {
  const books = cluster(0);
  const { job } = jobOf(books, 1, 1);
  new BookedDraft(books, 1, 0).expect(job, 5, 'x'.repeat(9_000));
  expect(job.expected?.where).toHaveLength(LIMITS.lineLengthMax);
});

test('a gang that does not fit does not stop its tasks from waiting', () => {
  const books = cluster(1, 1);
  const stage = jobOf(books, 1, 2);
  const [worker] = books.workers;
  const draft = new BookedDraft(books, 1, 5);
  expect(
    draft.gang([
      { stage, worker: worker! },
      { stage, worker: worker! },
    ]),
  ).toBeUndefined();
  expect([stage.waitsSince, stage.waiting, worker!.free]).toEqual([0, 2, [1, 1_000]]);
});

test('a run that is found at a worker reduces its free resources exactly once', () => {
  const books = cluster(1, 3);
  const [worker] = books.workers;
  books.adoptRun(jobOf(books, 1, 0), worker!, 0);
  expect(worker!.free).toEqual([2, 2_000]);
});

test('a stage counts as changed when its pilots determine its run time', () => {
  const books = cluster(0);
  const stage = jobOf(books, 1, 1);
  const facts = { demand: ONE_CPU, estimateMs: 5 };
  books.stage(stage.job, 0, { ...facts, estimateFollows: true });
  books.takeChanges();
  books.stage(stage.job, 0, { ...facts, estimateFollows: false });
  expect(books.takeChanges()).toMatchObject([{ kind: 'waiting' }]);
});

test('a run that is found and ends in one turn is reported in that order', () => {
  const books = cluster(1);
  const stage = jobOf(books, 1, 1);
  books.takeChanges();
  books.end(books.adoptRun(stage, [...books.workers][0]!, 0)!, 'done', 5);
  expect(books.takeChanges().map(({ kind }) => kind)).toEqual(['shrank', 'found', 'ended', 'freed']);
});

test('ids are reused only after the policy has received the deletion', () => {
  const books = cluster(1);
  const first = jobOf(books, 1, 1);
  books.withdraw(first.job, 0);
  const second = jobOf(books, 2, 1);
  expect(second.job.id).not.toBe(first.job.id);
  books.takeChanges();
  expect(jobOf(books, 3, 1).job.id).toBe(first.job.id);
});

test('a policy that tracks the changes agrees with the books after any sequence of operations', () => {
  const step = fc.tuple(fc.nat(5), fc.nat(3), fc.nat(3));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const books = cluster(3);
      const waiting = new Map<number, number>();
      const running = new Map<number, number>();
      let now = 0;
      for (const [what, which, count] of steps) {
        now++;
        const address = (10 + which) as Address;
        const worker = books.worker(address);
        const stage = books.job(OWNER, which)?.stageAt(0);
        if (what === 0) jobOf(books, which, count);
        else if (what === 1 && stage !== undefined && worker !== undefined) {
          const run = books.start(stage, worker, now);
          if (run !== undefined) running.set(stage.id, (running.get(stage.id) ?? 0) + 1);
        } else if (what === 2 && worker !== undefined) {
          const [run] = worker.runs;
          if (run !== undefined) books.end(run, count === 0 ? 'declined' : 'done', now);
        } else if (what === 3 && worker !== undefined) books.setOpen(worker, count > 0);
        else if (what === 4 && worker !== undefined) books.removeWorker(worker, now);
        else if (what === 5 && stage !== undefined) books.withdraw(stage.job, now);
        checkBooks(books);
        for (const change of books.takeChanges()) {
          if (change.kind === 'ended')
            running.set(change.run.stage.id, running.get(change.run.stage.id)! - 1);
          if (change.kind === 'waiting') waiting.set(change.stage.id, change.stage.waiting);
          if (change.kind === 'gone') for (const { id } of change.job.stages) waiting.set(id, 0);
        }
        for (const job of books.jobs)
          for (const each of job.allStages) {
            expect(running.get(each.id) ?? 0).toBe(each.running);
            if (what !== 1) expect(waiting.get(each.id) ?? 0).toBeGreaterThanOrEqual(each.waiting);
          }
      }
    }),
  );
});
