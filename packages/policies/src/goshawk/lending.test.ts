import { type ParentRun, parseUsers } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BookedRun } from '../books/entries.js';
import { checkBooks } from '../books/invariants.js';
import { type Need, PolicyBench } from '../testing.fixture.js';

/** A cutoff of 1 s; long tasks take 100 s, so that each may lend 5 s to short ones. */
function cluster(workers: number, settings: ConstructorParameters<typeof PolicyBench>[2] = {}): PolicyBench {
  return new PolicyBench('goshawk', workers, settings);
}

const long: Need = { long: true, estimateMs: 100_000, mayLend: true };

function pausedFor(bench: PolicyBench, job: number): number[] {
  return [...bench.books.job(900 as never, job)!.runs].flatMap(({ lenders }) =>
    lenders.map(({ stage }) => stage.job.number),
  );
}

describe('short tasks', () => {
  test('start at once on a full cluster, while long tasks pause', () => {
    const bench = cluster(4);
    bench.need(1, { ...long, tasks: 10 });
    expect(bench.count(1)).toBe(4);
    bench.now = 1_000;
    bench.need(2, { tasks: 2, estimateMs: 500 });
    expect([bench.count(2), pausedFor(bench, 2)]).toEqual([2, [1, 1]]);
    bench.now = 1_500;
    bench.end(2);
    // The CPU returns to its lender, not to the tasks of the first job that wait.
    expect([bench.count(1), pausedFor(bench, 2)]).toEqual([4, [1]]);
  });

  test('borrow at most 5% of the time of a long task', () => {
    const bench = cluster(1);
    bench.need(1, long);
    let started = 0;
    for (let job = 2; job < 30; job++) {
      bench.now += 1_000;
      bench.need(job, { estimateMs: 500 });
      if (bench.books.job(900 as never, job)!.running === 0) break;
      started++;
      bench.now += 500;
      bench.end(job);
    }
    expect(started).toBe(10);
  });

  test('borrow for less time than others did, which no task could still lend to', () => {
    const bench = cluster(1);
    bench.need(1, { estimateMs: 800 });
    bench.now = 800;
    bench.end(1);
    bench.need(2, { ...long, estimateMs: 10_000 });
    bench.now = 2_000;
    bench.need(3, { estimateMs: 300 });
    expect(bench.count(3)).toBe(1);
  });

  test.each<readonly [string, Need]>([
    ['short', { estimateMs: 500, mayLend: true }],
    ['a gang', { ...long, gang: true }],
    ['of a job that does not lend', { ...long, mayLend: false }],
  ])('never borrow from a task that is %s', (_, lender) => {
    const bench = cluster(1);
    bench.need(1, lender);
    bench.now = 1_000;
    bench.need(2, { estimateMs: 500 });
    expect(bench.count(2)).toBe(0);
  });

  test('need memory that is free: a paused task keeps its own', () => {
    const bench = cluster(1, { capacity: { cpu: 1, memory: 100 } });
    bench.need(1, { ...long, demand: { cpu: 1, memory: 60 } });
    bench.now = 1_000;
    bench.need(2, { estimateMs: 500, demand: { cpu: 1, memory: 60 } });
    bench.need(3, { estimateMs: 500, demand: { cpu: 1, memory: 40 } });
    expect([bench.count(2), bench.count(3)]).toEqual([0, 1]);
  });

  test.each([1, 31, 40, 200])(
    'borrow where they can, beside %d workers that lack what they need',
    (others) => {
      const gpu = { cpu: 1, gpu: 1 };
      const bench = cluster(others, { capacity: { cpu: 1 } });
      bench.join(others, 1, gpu);
      // The tasks that may lend for longest are where the short one cannot run.
      bench.need(1, { ...long, estimateMs: 200_000, tasks: others, demand: { cpu: 1 } });
      bench.need(2, { ...long, tasks: others, demand: { cpu: 1 } });
      expect(bench.count(1) + bench.count(2)).toBe(others + 1);
      bench.now = 1_000;
      bench.need(3, { estimateMs: 500, demand: gpu });
      for (let turns = 0; turns < others && bench.count(3) === 0; turns += 64) {
        bench.now += 1;
        bench.settle();
      }
      expect(bench.count(3)).toBe(1);
    },
  );

  test.each([1, 8, 20, 300])('borrow beside %d jobs that no pause helps', (others) => {
    const bench = cluster(2, { capacity: { cpu: 1, memory: 100 } });
    bench.need(1, { ...long, tasks: 4, demand: { cpu: 1, memory: 50 } });
    bench.now = 1_000;
    for (let job = 0; job < others; job++)
      bench.need(10 + job, { estimateMs: 500, demand: { cpu: 1, memory: 60 + (job % 41) } });
    bench.now = 2_000;
    bench.need(999, { estimateMs: 900, demand: { cpu: 1 } });
    for (let turns = 0; turns < others && bench.count(999) === 0; turns += 8) {
      bench.now += 1;
      bench.settle();
    }
    expect(bench.count(999)).toBe(1);
  });

  test('do not borrow if the cluster lends nothing', () => {
    const bench = cluster(1, { context: { lend: 'none' } });
    bench.need(1, long);
    bench.now = 1_000;
    bench.need(2, { estimateMs: 500 });
    expect(bench.count(2)).toBe(0);
  });
});

test('a short task that arrives just after the lenders have started borrows soon', () => {
  const bench = cluster(2);
  bench.need(1, { ...long, tasks: 2 });
  bench.now = 5;
  bench.need(2, { estimateMs: 500 });
  expect([bench.count(2), bench.againAt]).toEqual([0, 20]);
  bench.now = 20;
  bench.settle();
  expect(bench.count(2)).toBe(1);
});

describe('a worker whose tasks have outlived their loans', () => {
  /** Short tasks by their estimate that run on beside the long tasks of another user. */
  function sharing(workers: number): PolicyBench {
    const bench = cluster(workers);
    bench.need(1, { ...long, user: 'ann', tasks: workers });
    bench.now = 1_000;
    bench.need(2, { user: 'mal', tasks: workers, estimateMs: 500, mayLend: true });
    expect(pausedFor(bench, 2)).toHaveLength(workers);
    bench.now = 2_000;
    for (const run of [...bench.books.job(900 as never, 1)!.runs]) bench.books.resume(run, bench.now);
    bench.settle();
    return bench;
  }

  test.each([1, 2, 4])('still runs short tasks of others, at %d workers', (workers) => {
    const bench = sharing(workers);
    bench.now = 10_000;
    bench.need(3, { user: 'ben', estimateMs: 500 });
    expect(bench.count(3)).toBe(1);
    bench.now = 10_500;
    bench.end(3);
    expect(bench.busy).toBe(2 * workers);
  });

  test('still runs tasks of users below their share', () => {
    const bench = sharing(4);
    bench.now = 10_000;
    bench.need(3, { user: 'ben', estimateMs: 2_000, long: true });
    expect(bench.count(3)).toBe(1);
  });

  test('runs no further tasks of the same user', () => {
    const bench = sharing(4);
    bench.now = 10_000;
    bench.need(3, { user: 'mal', tasks: 4, estimateMs: 500 });
    expect(bench.count(3)).toBe(0);
  });
});

test('no task pauses for a pilot of its own job before it outlives the cutoff', () => {
  const bench = cluster(4);
  const unknown = { estimateMs: 0, jobTasks: 200, mayLend: true } as const;
  bench.need(1, { ...unknown, stage: 0, part: 'early', tasks: 195 });
  expect(bench.count(1)).toBe(4);
  bench.now = 900;
  bench.need(1, { ...unknown, stage: 1, part: 'pilots', tasks: 5 });
  expect([bench.count(1), pausedFor(bench, 1)]).toEqual([4, []]);
  bench.now = 1_100;
  bench.need(1, { ...unknown, stage: 1, part: 'pilots', tasks: 5 });
  expect(pausedFor(bench, 1)).toEqual([1, 1, 1, 1]);
});

test('a paused task does not count towards the limit of long tasks, even if its job changes meanwhile', () => {
  const bench = cluster(1);
  bench.need(1, long);
  bench.now = 1_000;
  bench.need(2, { estimateMs: 500 });
  expect(bench.policy.line!(bench.now).longRunning).toBe(0);
  bench.need(1, { ...long, tasks: 0, estimateMs: 90_000, priority: 'high' });
  expect(bench.policy.line!(bench.now).longRunning).toBe(0);
  bench.end(2);
  expect(bench.policy.line!(bench.now).longRunning).toBe(1);
});

describe('the reserve', () => {
  const reserve = { context: { reserve: 0.2 } };
  /** Long tasks that run on ten workers beside a reserve of two CPUs, after a short task with this need has ended. */
  function longAfter(short: Need, lender: Need, settings: ConstructorParameters<typeof PolicyBench>[2] = {}) {
    const bench = cluster(10, { ...settings, ...reserve });
    bench.need(1, short);
    bench.now = 500;
    bench.end(1);
    bench.need(2, { ...long, ...lender, tasks: 20 });
    return bench.count(2);
  }

  test.each<readonly [string, number, Need, Need]>([
    ['as long as each could borrow for', 10, { estimateMs: 500 }, {}],
    ['longer than any could borrow for', 8, { estimateMs: 900 }, { estimateMs: 15_000 }],
  ])('is %s: long tasks use %i of 10 CPUs', (_, used, short, lender) => {
    expect(longAfter(short, lender)).toBe(used);
  });

  test.each([
    [10, 40],
    [8, 70],
  ])(
    'shrinks only by CPUs with free memory beside them: long tasks use %i of 10 if each takes %i of 100 bytes',
    (used, memory) => {
      const capacity = { capacity: { cpu: 1, memory: 100 } };
      const short = { estimateMs: 500, demand: { cpu: 1, memory: 60 } };
      expect(longAfter(short, { demand: { cpu: 1, memory } }, capacity)).toBe(used);
    },
  );

  test('shrinks only by CPUs of tasks with at most as many as their borrowers', () => {
    const bench = cluster(10, { ...reserve, slots: 4, capacity: { cpu: 4 } });
    bench.need(1, { estimateMs: 500, demand: { cpu: 1 } });
    bench.now = 500;
    bench.end(1);
    bench.need(2, { ...long, tasks: 20, demand: { cpu: 4 } });
    expect(bench.count(2)).toBe(8);
  });

  test('does not grow because tasks have paused for other users', () => {
    const bench = cluster(10, { context: { reserve: 0.6 } });
    bench.need(1, { user: 'ann', tasks: 100, estimateMs: 100_000, long: true, mayLend: true });
    bench.now = 1_000;
    bench.need(2, { user: 'ben', tasks: 5, estimateMs: 50_000, long: true, mayLend: true });
    expect(pausedFor(bench, 2)).toEqual([1, 1, 1, 1, 1]);
    bench.now = 51_000;
    while (bench.count(2) > 0) bench.end(2);
    bench.end(1);
    expect(bench.count(1)).toBe(10);
  });
});

test('no CPU is kept for short tasks that could borrow one', () => {
  const bench = cluster(100, { context: { reserve: 0.2 } });
  bench.need(1, { ...long, mayLend: false, tasks: 30 });
  bench.need(2, { ...long, tasks: 100 });
  expect(bench.count(1) + bench.count(2)).toBe(100);
  const other = cluster(100, { context: { reserve: 0.2 } });
  other.need(1, { ...long, mayLend: false, tasks: 100 });
  expect(other.count(1)).toBe(80);
});

test.each(Array.from({ length: 32 }, (_, at) => at + 1))(
  'a job of %i tasks of unknown run time starts whole on as many idle CPUs, also after short jobs',
  (tasks) => {
    const bench = cluster(tasks, { context: { reserve: 'auto', cutoffMs: 10_000, sizesAreGiven: false } });
    for (let job = 10; job < 15; job++) {
      bench.need(job, { estimateMs: 1_000, mayLend: true });
      bench.now += 1_000;
      bench.end(job);
    }
    const pilots = Math.min(2, tasks);
    bench.report(1, {
      part: 'pilots',
      stage: 1,
      tasks: pilots,
      jobTasks: tasks,
      estimateMs: 0,
      mayLend: true,
    });
    bench.need(1, { part: 'early', tasks: tasks - pilots, jobTasks: tasks, estimateMs: 0, mayLend: true });
    expect(bench.count(1)).toBe(tasks);
  },
);

describe('users', () => {
  test('get their shares at once, and never take a CPU back and forth', () => {
    const bench = cluster(8);
    bench.need(1, { user: 'ann', tasks: 100, estimateMs: 900_000, long: true, mayLend: true });
    bench.now = 1_000;
    bench.need(2, { user: 'ben', tasks: 100, estimateMs: 900_000, long: true, mayLend: true });
    expect([bench.count(1), bench.count(2)]).toEqual([8, 4]);
    for (let at = 0; at < 5; at++) {
      bench.now += 1_000;
      bench.settle();
      expect(pausedFor(bench, 1)).toEqual([]);
      expect(pausedFor(bench, 2)).toEqual([1, 1, 1, 1]);
    }
  });

  test('do not pause tasks of others that end soon, compared with their own', () => {
    const bench = cluster(8);
    bench.need(1, { user: 'ann', tasks: 100, estimateMs: 500, mayLend: true });
    bench.now = 100;
    bench.need(2, { user: 'ben', tasks: 100, estimateMs: 900_000, long: true, mayLend: true });
    expect([bench.count(1), bench.count(2)]).toEqual([8, 0]);
  });

  test('do not borrow for less than a fifth of their time: enough tasks end by then', () => {
    const bench = cluster(8);
    const ann = { user: 'ann', long: true, mayLend: true };
    bench.need(1, { ...ann, tasks: 4, estimateMs: 100_000 });
    bench.need(3, { ...ann, tasks: 100, estimateMs: 500_000 });
    bench.now = 90_000;
    const ben = { user: 'ben', estimateMs: 60_000, long: true };
    bench.need(2, { ...ben, tasks: 4 });
    expect(bench.count(2)).toBe(0);
    bench.need(4, { ...ben, estimateMs: 40_000 });
    expect(pausedFor(bench, 4)).toEqual([3]);
  });

  test('do not search for lenders once for each of the many tasks that a worker has queued', () => {
    const bench = cluster(2);
    const ann = { user: 'ann', estimateMs: 900_000, long: true };
    bench.need(1, { ...ann, tasks: 2 });
    bench.need(3, { ...ann, tasks: 10, mayLend: true });
    const worker = bench.worker(0);
    for (let task = 100; task < 1_100; task++)
      bench.books.adoptQueued(bench.stage(3), worker, bench.now, { task, attempt: 1 } as never);
    bench.now = 1_000;
    let searches = 0;
    Object.defineProperty(worker.runs, Symbol.iterator, {
      value: () => {
        searches++;
        return worker.runs.values();
      },
    });
    bench.need(2, { user: 'ben', estimateMs: 900_000, long: true, mayLend: true });
    expect(bench.count(2)).toBe(0);
    expect(searches).toBeLessThan(50);
  });

  test('borrow by their weights', () => {
    const bench = cluster(8);
    bench.books.grant(parseUsers('{"ben":{"weight":3}}', 'users.json'));
    bench.need(1, { user: 'ann', tasks: 100, estimateMs: 900_000, long: true, mayLend: true });
    bench.now = 1_000;
    bench.need(2, { user: 'ben', tasks: 100, estimateMs: 900_000, long: true, mayLend: true });
    expect(bench.count(2)).toBe(6);
  });
});

test('a job near its deadline borrows only from tasks on workers that it prefers', () => {
  const bench = cluster(3, { context: { lend: 'all' } });
  const { books } = bench;
  books.setOpen(books.addWorker(3 as never, books.names.capacityOf(1, {}), { rack: 'near' }), true);
  const declare = books.declare.bind(books);
  books.declare = (owner, number, facts) =>
    declare(
      owner,
      number,
      number === 2 ? { ...facts, deadlineAt: 100_000, prefers: { rack: 'near' } } : facts,
    );
  bench.need(1, { ...long, tasks: 4, estimateMs: 900_000 });
  bench.need(2, { long: true, estimateMs: 50_000 });
  expect(bench.count(2)).toBe(0);
  bench.now = 49_500;
  bench.settle();
  expect([bench.count(2), pausedFor(bench, 2)]).toEqual([1, [1]]);
  expect(bench.runOf(2).worker.address).toBe(3);
});

describe('a job that a running task has submitted', () => {
  /** The run of a job, as its task names it. */
  function parentOf(bench: PolicyBench, job: number): ParentRun {
    const run = bench.runOf(job);
    run.match ||= ++run.worker.match;
    return { job: run.stage.job.name, task: 0, worker: run.worker.name, match: run.match };
  }

  test('runs on the CPUs of its parent if it fits nowhere, one task at a time, and the parent does not pause', () => {
    const bench = cluster(1);
    bench.need(1, { estimateMs: 100, mayLend: true });
    bench.now = 1_000;
    bench.need(2, { tasks: 3, estimateMs: 100, parent: parentOf(bench, 1) });
    for (let ended = 0; ended < 3; ended++) {
      const [run] = bench.books.job(900 as never, 2)!.runs;
      expect([bench.count(2), run!.isShared, run!.lenders]).toEqual([1, true, [bench.runOf(1)]]);
      bench.now += 100;
      bench.end(2);
    }
    expect(bench.runOf(1).pausedMs(bench.now)).toBe(0);
  });

  test('runs on the CPUs of its parent also if that follows a task of another job in a series', () => {
    const bench = cluster(1);
    bench.need(1, { estimateMs: 100, user: 'ann', mayLend: true });
    bench.now = 1_000;
    bench.need(3, { user: 'ann', parent: { ...parentOf(bench, 1), job: '2' } });
    expect(bench.count(3)).toBe(1);
  });

  test('may have children itself, and each end in any order leaves the books right', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 8 }), fc.array(fc.nat(), { maxLength: 10 }), (depth, ends) => {
        const bench = cluster(1, { capacity: { cpu: 1 } });
        const demand = { demand: { cpu: 1 } };
        bench.need(1, { ...demand, mayLend: true });
        for (let job = 2; job <= depth; job++) {
          bench.now += 1_000;
          bench.need(job, { ...demand, mayLend: true, parent: parentOf(bench, job - 1) });
          expect(bench.count(job)).toBe(1);
        }
        for (const end of ends) {
          bench.now += 100;
          if (bench.books.runCount > 0) bench.endAny(end);
          bench.policy.checkInvariants?.(bench.books);
          checkBooks(bench.books);
        }
        while (bench.books.runCount > 0) bench.endAny(0);
        expect(bench.worker(0).free[0]).toBe(1);
        bench.need(99, { ...demand });
        expect(bench.count(99)).toBe(1);
      }),
      { numRuns: 50 },
    );
  });

  test('never waits for ever: each tree of jobs whose tasks wait for their children completes', () => {
    const tree = fc.array(fc.record({ parent: fc.nat(), tasks: fc.integer({ min: 1, max: 3 }) }), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(
        tree,
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.nat(), { maxLength: 60 }),
        (jobs, cpus, draws) => {
          const bench = cluster(cpus);
          bench.need(1, { tasks: jobs[0]!.tasks, mayLend: true });
          const left = new Map([[1, jobs[0]!.tasks]]);
          const children = new Map<BookedRun, number>();
          let next = 1;
          let draw = 0;
          for (let steps = 0; steps < 500; steps++) {
            bench.now += 1_000;
            const runs = [...bench.books.workers].flatMap((worker) => worker.runs);
            if (runs.length === 0) break;
            const drawn = (draws[draw++ % Math.max(1, draws.length)] ?? 0) + steps;
            const submitter = runs.find((run) => !children.has(run));
            if (next < jobs.length && submitter !== undefined && drawn % 2 === 0) {
              const { tasks } = jobs[next++]!;
              const number = next;
              left.set(number, tasks);
              children.set(submitter, number);
              bench.need(number, { tasks, mayLend: true, parent: nameOf(submitter) });
              continue;
            }
            // A task ends once the job that it has submitted has.
            const free = runs.filter((run) => (left.get(children.get(run) ?? 0) ?? 0) === 0);
            expect(free.length).toBeGreaterThan(0);
            const run = free[drawn % free.length]!;
            const { number } = run.stage.job;
            left.set(number, left.get(number)! - 1);
            bench.books.end(run, 'done', bench.now);
            bench.settle();
            bench.policy.checkInvariants?.(bench.books);
          }
          expect([...left.values()].every((tasks) => tasks === 0)).toBe(true);
        },
      ),
      { numRuns: 50 },
    );
  });

  function nameOf(run: BookedRun): ParentRun {
    run.match ||= ++run.worker.match;
    return { job: run.stage.job.name, task: 0, worker: run.worker.name, match: run.match };
  }

  test.each<readonly [string, Need, (parent: ParentRun) => ParentRun]>([
    ['of another user', { user: 'ben' }, (parent) => parent],
    ['that has ended', { user: 'ann' }, (parent) => ({ ...parent, match: 77 })],
    ['of another job', { user: 'ann' }, (parent) => ({ ...parent, job: '3', match: 0 })],
    ['at another worker', { user: 'ann' }, (parent) => ({ ...parent, worker: 'w1' })],
  ])('cannot name a run %s', (_, child, change) => {
    const bench = cluster(1);
    bench.need(1, { user: 'ann', mayLend: true });
    bench.now = 1_000;
    const parent = change(parentOf(bench, 1));
    bench.need(2, { ...child, parent });
    expect(bench.count(2)).toBe(0);
    bench.need(4, { user: 'ann', parent: parentOf(bench, 1) });
    expect(bench.count(4)).toBe(1);
  });

  test.each<readonly [string, Need, Need, 'all' | 'none', string]>([
    ['a gang member', { gang: true }, {}, 'all', 'and is a member of a gang, which never lends CPUs'],
    ['not to lend', { mayLend: false }, {}, 'all', 'and lends no CPUs'],
    ['in a cluster without loans', {}, {}, 'none', 'and the cluster lends no CPUs'],
    [
      'the parent of a gang',
      {},
      { gang: true, tasks: 2, jobTasks: 2 },
      'all',
      'and a gang starts only on CPUs that are free',
    ],
  ])('says why it waits if the parent is %s', (_, of, child, lend, why) => {
    const bench = cluster(2, { context: { lend } });
    bench.need(1, { tasks: 2, mayLend: true, ...of });
    bench.now = 1_000;
    bench.need(2, { ...child, parent: parentOf(bench, 1) });
    expect(bench.count(2)).toBe(0);
    expect(bench.policy.explain?.(bench.stage(2), bench.books, bench.now)?.sentence).toContain(
      `its parent, task 0 of job 1, may wait for it, ${why}`,
    );
  });

  test('uses CPUs of its parent also while a loan has left the worker with too few', () => {
    const bench = cluster(1, { capacity: { cpu: 1 } });
    const demand = { demand: { cpu: 1 } };
    bench.need(1, { ...long, ...demand });
    bench.now = 1_000;
    bench.need(2, { ...demand, estimateMs: 500, mayLend: true });
    // The borrower has outlasted its loan, so both use the CPU.
    bench.books.resume(bench.runOf(1), bench.now);
    bench.need(3, { ...demand, parent: parentOf(bench, 2) });
    bench.need(4, { ...demand, parent: parentOf(bench, 1) });
    expect([bench.count(3), bench.count(4)]).toEqual([1, 1]);
    checkBooks(bench.books);
  });
});
