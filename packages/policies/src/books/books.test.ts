import { type Address, LIMITS, ONE_CPU } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ClusterBooks } from './books.js';
import { BookedDraft } from './draft.js';
import type { BookedRun } from './entries.js';
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

describe('the books notice', () => {
  const CHANGES = ['queue', 'confirm', 'run'] as const;
  /** Sequences of changes of a run that agree with the books; any other last change contradicts them. */
  const LIVES = new Set(['', 'queue', 'confirm', 'run', 'queue confirm', 'queue run', 'queue confirm run']);

  test.each([...LIVES])('any change of a run that cannot follow these: %s', (life) => {
    for (const change of CHANGES) {
      const run = startedIn(cluster(1));
      const before = life.split(' ').filter((each) => each !== '') as (typeof CHANGES)[number][];
      for (const each of before) run.step(each);
      const isAllowed = LIVES.has([...before, change].join(' '));
      if (isAllowed) run.step(change);
      else expect(() => run.step(change)).toThrow(/^run 0 was \w+: \w+$/);
    }
  });

  test('a run that is undone twice, or after its end', () => {
    const books = cluster(1);
    const run = startedIn(books);
    books.end(run, 'done', 1);
    expect(() => books.undo(run)).toThrow(/undone, but not at worker/);
  });

  test('a run at a worker that its job does not have', () => {
    const books = cluster(1);
    const run = startedIn(books);
    run.stage.job.removeRun(run);
    expect(() => books.end(run, 'done', 1)).toThrow(/known false/);
  });

  test('more confirmed slots that end than there are', () => {
    const books = cluster(1);
    const run = startedIn(books);
    books.confirm(run);
    run.worker.confirmedSlots = 0;
    expect(() => books.end(run, 'done', 1)).toThrow(/-1 slots of worker/);
  });
});

function startedIn(books: ClusterBooks): BookedRun {
  const [worker] = books.workers;
  return books.start(jobOf(books, 1, 2), worker!, 0)!;
}

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
          for (const each of job.stages) {
            expect(running.get(each.id) ?? 0).toBe(each.running);
            if (what !== 1) expect(waiting.get(each.id) ?? 0).toBeGreaterThanOrEqual(each.waiting);
          }
      }
    }),
  );
});

describe('a loan', () => {
  /** A cluster of one worker with two CPUs, on which both tasks of job 1 run; one task of job 2 waits. */
  function fullCluster() {
    const books = cluster(1);
    const lending = jobOf(books, 1, 2);
    const borrowing = jobOf(books, 2, 1);
    const [worker] = books.workers;
    const draft = new BookedDraft(books, 1, 0);
    const [one, other] = [draft.start(lending, worker!)!, draft.start(lending, worker!)!];
    books.takeChanges();
    return { books, worker: worker!, borrowing, one: one as BookedRun, other: other as BookedRun };
  }

  function borrow({ books, worker, borrowing, one }: ReturnType<typeof fullCluster>, now: number): BookedRun {
    const run = new BookedDraft(books, 1, now).start(borrowing, worker, { lenders: [one], atMostMs: 1_000 });
    checkBooks(books);
    return run as BookedRun;
  }

  test('pauses the lender until the borrower ends, which does not count as its run time', () => {
    const full = fullCluster();
    const { books, one, worker } = full;
    const run = borrow(full, 10);
    expect([one.borrower, run.lenders, worker.free]).toEqual([run, [one], [0, 0]]);
    books.end(run, 'done', 30);
    checkBooks(books);
    expect([one.borrower, one.pausedMs(99), worker.free]).toEqual([undefined, 20, [0, 0]]);
    expect(books.takeChanges().map(({ kind }) => kind)).toContain('resumed');
    books.end(one, 'done', 50);
    expect(one.stage.job.attainedMs(50)).toBe(30 + 50);
  });

  test('ends with the lender, whose CPU the borrower keeps', () => {
    const full = fullCluster();
    const { books, one, worker } = full;
    const run = borrow(full, 10);
    books.end(one, 'done', 20);
    checkBooks(books);
    expect([run.lenders, worker.free]).toEqual([[], [0, 0]]);
    books.end(run, 'done', 30);
    expect(worker.free).toEqual([1, 1_000]);
  });

  test('of a task that never started leaves no pause', () => {
    const full = fullCluster();
    const run = borrow(full, 10);
    full.books.end(run, 'declined', 30);
    checkBooks(full.books);
    expect(full.one.pausedMs(40)).toBe(0);
  });

  test('is refused if a lender is paused, borrows, or runs elsewhere, or if the task does not fit', () => {
    const full = fullCluster();
    const { books, worker, borrowing, one, other } = full;
    const run = borrow(full, 10);
    books.setWaiting(borrowing, 1, 10);
    const draft = new BookedDraft(books, 1, 20);
    const start = (...lenders: BookedRun[]) => draft.start(borrowing, worker, { lenders, atMostMs: 1 });
    expect([start(one), start(run), start(other, other), start()]).toEqual(Array(4).fill(undefined));
    expect(draft.refused).toBe(4);
    expect(start(other)).toBeDefined();
    checkBooks(books);
  });

  test('any sequence of starts, loans, ends and resumptions keeps the books right', () => {
    const step = fc.record({
      kind: fc.constantFrom('start', 'lend', 'end', 'decline', 'resume'),
      at: fc.nat(50),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const books = cluster(2, 3);
        const stage = jobOf(books, 1, 1_000);
        const workers = [...books.workers];
        let now = 0;
        for (const { kind, at } of steps) {
          now += at;
          const worker = workers[at % 2]!;
          const run = worker.runs[at % Math.max(1, worker.runs.length)];
          const draft = new BookedDraft(books, 1, now);
          if (kind === 'start') draft.start(stage, worker);
          else if (kind === 'lend' && run) draft.start(stage, worker, { lenders: [run], atMostMs: 1 + at });
          else if (kind === 'end' && run) books.end(run, 'done', now);
          else if (kind === 'decline' && run) books.end(run, 'declined', now);
          else if (kind === 'resume' && run) books.resume(run, now);
          checkBooks(books);
          books.takeChanges();
        }
        for (const { runs } of workers) for (const run of [...runs]) books.end(run, 'done', now);
        checkBooks(books);
        for (const { paused, free } of workers) expect([paused, free]).toEqual([0, [3, 3_000]]);
      }),
      {
        // The lender takes back its CPU on a full worker.
        examples: [[[...'start start start lend resume'.split(' ').map((kind) => ({ kind, at: 0 }))]]],
      },
    );
  });
});
