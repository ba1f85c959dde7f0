import type { PolicySettings } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Bench, OWNER, record, worker } from './matcher-bench.fixture.js';

describe('a need', () => {
  test('takes idle workers, each once, and waits for the rest', () => {
    const bench = new Bench({}, 3);
    bench.need(1, { tasks: 5 });
    expect(bench.taken().sort()).toEqual(['1@0', '1@1', '1@2']);
    expect(bench.matcher.waitingTasks).toBe(2);
    bench.pull(1, { heard: [1] });
    expect(bench.taken()).toEqual(['1@1']);
  });

  test('told again counts the workers that are on their way to its owner', () => {
    const bench = new Bench({}, 2);
    bench.need(1, { tasks: 5 });
    bench.need(1, { tasks: 5, matches: 0 });
    expect(bench.matcher.waitingTasks).toBe(3);
    bench.need(1, { tasks: 4, matches: 2 });
    expect(bench.matcher.waitingTasks).toBe(4);
  });

  test('told again with another estimate takes the place that it gives', () => {
    for (const longOrder of ['remaining', 'size', 'mean'] as const) {
      const bench = new Bench({ longOrder });
      bench.need(1, { long: true, tasks: 2, estimateMs: 5_000 });
      bench.need(2, { long: true, tasks: 2, estimateMs: 6_000 });
      bench.need(1, { long: true, tasks: 2, estimateMs: 7_000 });
      bench.matcher.setOpen(record(0, 1), true);
      bench.pull(0);
      expect(bench.taken()).toEqual(['2@0']);
    }
  });

  test('of as much work as others has its turn when it came, however many have come and gone', () => {
    const bench = new Bench({}, 1);
    for (let job = 1; job <= 3; job++) bench.need(job);
    for (let job = 4; job <= 9; job++) {
      bench.pull(0, { heard: [job - 3] });
      bench.need(job);
    }
    expect(bench.taken()).toEqual([1, 2, 3, 4, 5, 6, 7].map((job) => `${job}@0`));
  });

  test('of nobody is forgotten', () => {
    const bench = new Bench();
    bench.need(1, { tasks: 5 });
    bench.need(1, { tasks: 0 });
    bench.matcher.setOpen(record(0, 1), true);
    bench.pull(0);
    expect(bench.taken()).toEqual([]);
  });

  test('goes with its job, or its owner', () => {
    const bench = new Bench();
    bench.need(1, { tasks: 2 });
    bench.need(2, { tasks: 2 });
    bench.matcher.withdraw(OWNER, 1, 0);
    expect(bench.matcher.waitingTasks).toBe(2);
    bench.matcher.removeOwner(OWNER, 0);
    expect(bench.matcher.waitingTasks).toBe(0);
  });
});

describe('a free worker', () => {
  const orders = {
    size: [2, 1, 3],
    mean: [3, 1, 2],
    tasks: [2, 1, 3],
    fifo: [1, 2, 3],
  } as const;
  for (const [order, expected] of Object.entries(orders)) {
    test(`serves short jobs by ${order}`, () => {
      const bench = new Bench({ shortOrder: order as PolicySettings['shortOrder'] });
      bench.need(1, { tasks: 2, estimateMs: 200 });
      bench.need(2, { tasks: 1, estimateMs: 300 });
      bench.need(3, { tasks: 9, estimateMs: 100 });
      bench.matcher.setOpen(record(0, 1), true);
      const served: number[] = [];
      for (let i = 1; i <= 12; i++) {
        bench.pull(0, { heard: i === 1 ? [] : [i - 1] });
        served.push(Number(bench.taken()[0]!.split('@')[0]));
      }
      expect([...new Set(served)]).toEqual(expected);
    });
  }

  test('serves the long job of least remaining work, and only when no short one waits', () => {
    const bench = new Bench();
    bench.need(1, { long: true, tasks: 3, estimateMs: 5_000 });
    bench.need(2, { long: true, tasks: 2, estimateMs: 6_000 });
    bench.need(3, { tasks: 1 });
    for (let i = 0; i < 4; i++) {
      bench.matcher.setOpen(record(i, 1), true);
      bench.pull(i);
    }
    expect(bench.taken()).toEqual(['3@0', '2@1', '2@2', '1@3']);
  });

  test('serves a long job of which nobody knows how long it is as if it were as long as any', () => {
    const bench = new Bench({ longDoubt: 3 });
    // Jobs of 2 s and 6 s have been here: it may take 4 s and three times 2 s.
    bench.need(1, { long: true, tasks: 0, estimateMs: 2_000 });
    bench.need(2, { long: true, tasks: 0, estimateMs: 6_000 });
    bench.need(3, { long: true, tasks: 3, estimateMs: 1_000, estimateFollows: true });
    bench.need(4, { long: true, tasks: 2, estimateMs: 9_000 });
    const serveNext = (at: number): string[] => {
      bench.matcher.setOpen(record(at, 1), true);
      bench.pull(at);
      return bench.taken();
    };
    expect(serveNext(0)).toEqual(['4@0']);
    // Told again, it is still believed to be what it was; its pilots have it served first.
    bench.need(3, { long: true, tasks: 3, estimateMs: 1_000, estimateFollows: true });
    expect(serveNext(1)).toEqual(['4@1']);
    bench.need(5, { long: true, tasks: 2, estimateMs: 9_000 });
    bench.need(3, { long: true, tasks: 3, estimateMs: 4_000 });
    expect(serveNext(2)).toEqual(['3@2']);
  });

  test('that its owner has no use for serves the next', () => {
    const bench = new Bench({}, 1);
    bench.need(1);
    bench.need(2);
    expect(bench.taken()).toEqual(['1@0']);
    bench.matcher.unused({ type: 'unused', worker: worker(0), match: 1 }, 0);
    expect(bench.taken()).toEqual(['2@0']);
    bench.matcher.unused({ type: 'unused', worker: worker(0), match: 1 }, 0);
    expect(bench.taken()).toEqual([]);
  });

  test('of several slots is matched once for each that is free', () => {
    const bench = new Bench({}, 1, 4);
    bench.need(1, { tasks: 10 });
    expect(bench.taken()).toHaveLength(4);
    bench.pull(0, { heard: [1, 2, 3, 4], free: 2 });
    expect(bench.taken()).toHaveLength(2);
    // Said before the two matches were heard of: nothing new is free.
    bench.pull(0, { heard: [1, 2, 3, 4], free: 2 });
    expect(bench.taken()).toHaveLength(0);
  });

  test('that drains or is gone gets nothing', () => {
    const bench = new Bench({}, 2);
    bench.matcher.setOpen(record(0, 1), false);
    bench.matcher.removeWorker(worker(1));
    bench.need(1, { tasks: 2 });
    expect(bench.taken()).toEqual([]);
    bench.matcher.checkInvariants();
  });
});

describe('the reserve', () => {
  test('keeps long tasks from its share of the slots, whichever workers they are', () => {
    const bench = new Bench({ reserve: 0.2 }, 10);
    bench.need(1, { long: true, tasks: 20, estimateMs: 5_000 });
    expect(bench.taken()).toHaveLength(8);
    bench.need(2, { tasks: 2 });
    expect(bench.taken()).toHaveLength(2);
  });

  test('follows what short jobs needed, and gives way as that is forgotten', () => {
    const bench = new Bench({ reserve: 'auto' }, 100);
    // 40 slots' work over the window of four cutoffs: the reserve is at its most, 30%.
    bench.need(1, { tasks: 1, estimateMs: 40 * 4_000 });
    bench.need(2, { long: true, tasks: 200, estimateMs: 5_000 });
    expect(bench.taken()).toHaveLength(71);
    // Six windows later nothing of it is left but the least reserve of 2%.
    bench.now = 24_000;
    expect(bench.timerAt).toBeDefined();
    bench.matcher.wake(bench.now);
    expect(bench.taken()).toHaveLength(28);
  });
});

describe('the weight of long jobs', () => {
  /** Jobs in the order in which one worker that becomes free again and again is given to them. */
  const order = (policy: Partial<PolicySettings>): string => {
    const bench = new Bench(policy, 1);
    bench.need(9);
    bench.need(1, { long: true, tasks: 2, estimateMs: 1_000 });
    bench.need(2, { tasks: 2, estimateMs: 200 });
    bench.need(3, { tasks: 1, estimateMs: 100 });
    bench.taken();
    for (const heard of [1, 2, 3, 4, 5]) bench.pull(0, { heard: [heard] });
    return bench
      .taken()
      .map((at) => at.split('@')[0])
      .join(' ');
  };

  test('lets one come before a short one that has more than its part of that work to do', () => {
    expect(order({ longWeight: 0 })).toBe('3 2 2 1 1');
    expect(order({ longWeight: 8 })).toBe('3 1 1 2 2');
    // Twice 1,000 ms are not less than five times twice 200 ms.
    expect(order({ longWeight: 5 })).toBe('3 2 2 1 1');
    expect(order({ longWeight: 5.1 })).toBe('3 1 1 2 2');
  });

  test('leaves the reserve to short ones, however large they are', () => {
    const bench = new Bench({ longWeight: 8, reserve: 0.2 }, 10);
    bench.need(1, { long: true, tasks: 20, estimateMs: 1_000 });
    const [ofLong] = bench.taken();
    bench.need(2, { tasks: 20, estimateMs: 900 });
    const [ofShort] = bench.taken();
    // Where a short task has ended the next one is short, since as many long ones run as may.
    const end = (at: string | undefined) => bench.pull(Number(at!.split('@')[1]), { heard: [1] });
    end(ofShort);
    expect(bench.taken()).toEqual([ofShort]);
    end(ofLong);
    expect(bench.taken()).toEqual([ofLong]);
  });
});

describe('what is lost', () => {
  test('a match that the worker has not heard of is asked after, once in a while', () => {
    const bench = new Bench({}, 1, 1, 2_000);
    bench.need(7);
    bench.sent.length = 0;
    expect(bench.matcher.isDoubtful(worker(0), 0, 1_000)).toBe(false);
    expect(bench.matcher.isDoubtful(worker(0), 0, 2_000)).toBe(true);
    bench.now = 2_000;
    bench.pull(0);
    bench.pull(0);
    expect(bench.sent).toEqual([
      { to: OWNER, message: { type: 'unheard', job: 7, worker: worker(0), match: 1 } },
    ]);
  });

  test('a worker that is busy with less than was believed is doubtful', () => {
    const bench = new Bench({}, 0, 1, 2_000);
    bench.matcher.setOpen(record(0, 1), true);
    expect(bench.matcher.isDoubtful(worker(0), 1, 0)).toBe(false);
    expect(bench.matcher.isDoubtful(worker(0), 0, 0)).toBe(true);
  });

  test('a need that is told again long after does not count on what never came', () => {
    const bench = new Bench({}, 1, 1, 2_000);
    bench.need(1, { tasks: 2 });
    bench.now = 5_000;
    bench.need(1, { tasks: 2, matches: 0 });
    expect(bench.matcher.waitingTasks).toBe(2);
  });
});

test('whatever happens, no slot is matched twice and none is left while a task waits', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('need' as const), tasks: fc.nat(4), long: fc.boolean() }),
    fc.record({
      kind: fc.constantFrom('arrive' as const, 'end' as const, 'unused' as const),
      of: fc.nat(100),
    }),
  );
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 200, size: 'max' }),
      fc.integer({ min: 1, max: 3 }),
      (steps, slots) => {
        const workers = 4;
        const bench = new Bench({}, workers, slots);
        type Match = { at: number; match: number };
        /** Matches whose worker has not heard of them, and those that run. */
        const onTheWay: Match[] = [];
        const running: Match[] = [];
        const heard: number[][] = Array.from({ length: workers }, () => []);
        const take = (from: Match[], of: number) => from.splice(of % Math.max(1, from.length), 1)[0];
        const busy = (at: number) => [...onTheWay, ...running].filter((match) => match.at === at).length;
        for (const [index, action] of steps.entries()) {
          bench.now = index;
          if (action.kind === 'need') {
            bench.need(index, { tasks: action.tasks, long: action.long });
          } else if (action.kind === 'arrive') {
            const match = take(onTheWay, action.of);
            if (match !== undefined) {
              running.push(match);
              heard[match.at]!.push(match.match);
            }
          } else if (action.kind === 'end') {
            const match = take(running, action.of);
            if (match !== undefined) {
              const free = slots - running.filter(({ at }) => at === match.at).length;
              bench.pull(match.at, { heard: heard[match.at]!.slice(-slots), free });
            }
          } else {
            const match = take(onTheWay, action.of);
            if (match !== undefined) {
              bench.matcher.unused({ type: 'unused', worker: worker(match.at), match: match.match }, index);
            }
          }
          for (const { message } of bench.sent.splice(0)) {
            if (message.type !== 'matched') continue;
            for (const { worker: at, match } of message.workers) onTheWay.push({ at, match });
          }
          bench.matcher.checkInvariants();
          for (let at = 0; at < workers; at++) expect(busy(at)).toBeLessThanOrEqual(slots);
          if (bench.matcher.waitingTasks > 0) expect(onTheWay.length + running.length).toBe(workers * slots);
        }
      },
    ),
  );
});

describe('jobs whose pilots have not told', () => {
  const undecided = { part: 'early' as const, estimateMs: 10 };
  /** Of 1,000 slots 980 are for long tasks, unless it is said. */
  const bench = (workers: number, policy: Partial<PolicySettings> = {}) => {
    return new Bench({ reserve: 0.02, estimator: 'pilot', ...policy }, workers);
  };

  test('the small ones run at once, in the reserve, before what is known to be long', () => {
    const one = bench(1_000);
    one.need(1, { long: true, tasks: 2_000 });
    expect(one.taken()).toHaveLength(980);
    for (const job of [2, 3, 4, 5]) one.need(job, { ...undecided, tasks: 6 });
    expect(one.taken()).toHaveLength(20);
    // Now they have all of it; what becomes free is for long tasks until one of them is decided upon.
    one.pull(0, { heard: [1] });
    expect(one.taken()).toEqual(['1@0']);
    one.need(2, { tasks: 0 });
    one.pull(0, { heard: [2] });
    expect(one.taken()).toEqual(['5@0']);
  });

  test('the small ones run beside the reserve as well, where nobody else needs the slots', () => {
    const one = bench(1_000);
    for (let job = 1; job <= 50; job++) one.need(job, { ...undecided, tasks: 6 });
    expect(one.taken()).toHaveLength(300);
  });

  test('one of more than a third of the reserve is no small one', () => {
    const one = bench(1_000);
    one.need(1, { long: true, tasks: 2_000 });
    expect(one.taken()).toHaveLength(980);
    one.need(2, { ...undecided, tasks: 7 });
    expect(one.taken()).toEqual([]);
  });

  test('the large ones run where nothing else does, and leave the reserve', () => {
    const one = bench(1_000);
    one.need(1, { ...undecided, tasks: 2_000 });
    expect(one.taken()).toHaveLength(980);
    one.need(2, { tasks: 30 });
    expect(one.taken()).toHaveLength(20);
    // A slot that is free goes to what is known to be short.
    one.pull(0, { heard: [1] });
    expect(one.taken()).toEqual(['2@0']);
  });

  test('what turned out to be long counts as such, though its workers have not said so yet', () => {
    const one = bench(100);
    one.need(1, { ...undecided, tasks: 60 });
    const workers = one.taken().map((taken) => Number(taken.split('@')[1]));
    expect(workers).toHaveLength(60);
    one.need(1, { long: true, tasks: 60, matches: 60 });
    expect(one.taken()).toHaveLength(38);
    for (const index of workers) one.pull(index, { heard: [1], free: 0, long: 1 });
    one.now = one.timerAt!;
    one.matcher.wake(one.now);
    expect(one.taken()).toEqual([]);
    one.pull(workers[0]!, { heard: [1], free: 1, long: 0 });
    expect(one.taken()).toEqual([`1@${workers[0]}`]);
  });

  test('what turned out to be long counts once, however often its owner says so', () => {
    const one = bench(100);
    one.need(1, { ...undecided, tasks: 60 });
    expect(one.taken()).toHaveLength(60);
    one.need(1, { long: true, tasks: 0, matches: 60 });
    one.need(1, { long: true, tasks: 10, matches: 60 });
    expect(one.taken()).toHaveLength(10);
    one.need(1, { long: true, tasks: 30, matches: 70 });
    expect(one.taken()).toHaveLength(28);
  });

  test('what turned out to be short takes any slot', () => {
    const one = bench(100);
    one.need(1, { ...undecided, tasks: 120 });
    expect(one.taken()).toHaveLength(98);
    one.need(1, { tasks: 22, matches: 98 });
    expect(one.taken()).toHaveLength(2);
  });

  test('their owner is gone: they count no more', () => {
    const one = bench(100);
    one.need(1, { ...undecided, tasks: 98 });
    one.taken();
    one.matcher.removeOwner(OWNER, 0);
    for (let i = 0; i < 100; i++) one.pull(i, { heard: [1] });
    one.need(2, { ...undecided, tasks: 98 });
    expect(one.taken()).toHaveLength(98);
  });

  test('the reserve follows from what short tasks took', () => {
    const one = bench(100, { reserve: 'auto' });
    one.pull(0, { shortMs: 5 * 4_000 });
    one.need(1, { long: true, tasks: 100 });
    expect(one.taken()).toHaveLength(86);
  });
});

describe('the line', () => {
  const ahead = (bench: Bench, job: number) =>
    bench.matcher
      .line({ type: 'explainNeed', request: 1, owner: String(OWNER), job }, bench.now)
      ?.needs.map((need) => need.ahead);

  test('is the order in which needs are served: short ones by their work, then long ones', () => {
    const bench = new Bench({}, 1);
    bench.need(9, { tasks: 1 });
    bench.need(1, { tasks: 3, estimateMs: 200 });
    bench.need(2, { tasks: 2, estimateMs: 100 });
    bench.need(3, { tasks: 1, estimateMs: 5_000, long: true });
    expect(ahead(bench, 2)).toEqual([{ jobs: 0, tasks: 0, workMs: 0 }]);
    expect(ahead(bench, 1)).toEqual([{ jobs: 1, tasks: 2, workMs: 200 }]);
    expect(ahead(bench, 3)).toEqual([{ jobs: 2, tasks: 5, workMs: 800 }]);
    expect(bench.matcher.line({ type: 'explainWaiting', request: 1 }, 0)).toMatchObject({
      needs: [],
      slots: 1,
      freeSlots: 0,
      unmatched: 6,
    });
    bench.taken();
    // Which is what happens.
    for (const heard of [1, 2, 3, 4, 5, 6]) bench.pull(0, { heard: [heard] });
    expect(bench.taken()).toEqual(['2@0', '2@0', '1@0', '1@0', '1@0', '3@0']);
  });

  test('has long jobs before short ones, by their weight', () => {
    const bench = new Bench({ longWeight: 8 }, 0);
    bench.need(1, { tasks: 2, estimateMs: 200 });
    bench.need(2, { tasks: 1, estimateMs: 100 });
    bench.need(3, { tasks: 2, estimateMs: 1_000, long: true });
    expect(ahead(bench, 1)).toEqual([{ jobs: 2, tasks: 3, workMs: 2_100 }]);
    expect(ahead(bench, 2)).toEqual([{ jobs: 0, tasks: 0, workMs: 0 }]);
    expect(ahead(bench, 3)).toEqual([{ jobs: 1, tasks: 1, workMs: 100 }]);
  });

  test('begins with who has waited longer than anyone should', () => {
    const bench = new Bench({ patience: 1 }, 0);
    bench.need(1, { tasks: 1, estimateMs: 100, long: true });
    bench.now = 2_000;
    bench.need(2, { tasks: 1, estimateMs: 1 });
    expect(ahead(bench, 1)).toEqual([{ jobs: 0, tasks: 0, workMs: 0 }]);
    expect(ahead(bench, 2)).toEqual([{ jobs: 1, tasks: 1, workMs: 100 }]);
  });

  test('has no place for a job that is not known', () => {
    const bench = new Bench({}, 0);
    bench.need(1);
    expect(ahead(bench, 2)).toEqual([]);
    expect(
      bench.matcher.line({ type: 'explainNeed', request: 1, owner: 'nobody', job: 1 }, 0)?.needs,
    ).toEqual([]);
  });
});
