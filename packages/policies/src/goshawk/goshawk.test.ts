import { CPU, ONE_CPU, PER_CPU } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BookedDraft } from '../books/draft.js';
import { type BenchSettings, OWNER, PolicyBench, sharesOverNewWeights } from '../testing.fixture.js';

const SECOND = 1_000;

/** @param reserve as a fraction of all slots */
function cluster(workers: number, reserve: number | 'auto' = 0, settings: BenchSettings = {}): PolicyBench {
  return new PolicyBench('goshawk', workers, { ...settings, context: { cutoffMs: SECOND, reserve } });
}

/** Ends this many tasks one by one, and returns the jobs that received their slots. */
function serve(bench: PolicyBench, tasks: number): number[] {
  bench.take();
  for (let i = 0; i < tasks; i++) bench.endAny(0);
  return bench.take();
}

describe('the order of due times', () => {
  test('puts small jobs first, whatever their class', () => {
    const bench = cluster(1);
    bench.need(9, {});
    bench.need(1, { long: true, tasks: 2, estimateMs: 1_000 });
    bench.need(2, { tasks: 30, estimateMs: 100 });
    bench.need(3, { tasks: 1, estimateMs: 100 });
    expect(serve(bench, 4)).toEqual([3, 1, 1, 2]);
  });

  test('depends on the remaining work', () => {
    const bench = cluster(1);
    bench.need(1, { tasks: 10 });
    expect(serve(bench, 4)).toEqual([1, 1, 1, 1]);
    bench.need(2, { tasks: 6 });
    expect(serve(bench, 5)).toEqual([1, 1, 1, 1, 1]);
    expect(serve(bench, 6)).toEqual([2, 2, 2, 2, 2, 2]);
  });

  test('of equal jobs is the order in which their owners accepted them', () => {
    const bench = cluster(1);
    bench.now = 1_000;
    bench.need(9, {});
    bench.need(1, { tasks: 2 });
    bench.need(2, { tasks: 2, ageMs: 500 });
    expect(serve(bench, 4)).toEqual([2, 2, 1, 1]);
  });

  test('serves a large job no later than 100 times its work ÷ slots after its arrival, regardless of smaller ones', () => {
    for (const slots of [1, 2]) {
      const bench = cluster(slots);
      bench.need(0, { tasks: slots, estimateMs: 1 });
      bench.need(1, { long: true, tasks: 10, estimateMs: 1_000 });
      bench.take();
      const starts: number[] = [];
      for (let job = 2; job < 1_100; job++) {
        bench.now += SECOND;
        bench.need(job, { estimateMs: 100 * slots });
        bench.endAny(0);
        if (bench.take().includes(1)) starts.push(bench.now);
      }
      // A job that arrives now is due in 10 s; for equal due times the order of classes decides.
      expect(starts[0]).toBe((100 * 10 * SECOND) / slots - 9 * SECOND);
      expect(starts).toHaveLength(10);
    }
  });

  test('changes with the estimate', () => {
    const bench = cluster(1);
    bench.need(9, {});
    bench.need(1, { long: true, estimateMs: 5_000 });
    bench.need(2, { long: true, estimateMs: 6_000 });
    bench.need(1, { long: true, estimateMs: 7_000 });
    expect(serve(bench, 2)).toEqual([2, 1]);
  });

  test('depends on the current cluster size, even for jobs that arrived before its workers', () => {
    const bench = cluster(0);
    bench.need(1, { tasks: 10, estimateMs: 1_000 });
    for (let at = 0; at < 100; at++) bench.join(at);
    const setFree = (slots: number) => {
      for (const worker of bench.books.workers)
        bench.books.setFree(worker, bench.books.names.capacityOf(slots, {}));
      bench.settle();
    };
    // The slots are busy at first. The job is due at 10 s with a hundred slots, at 1,000 s with one.
    setFree(0);
    bench.now = 60 * SECOND;
    bench.need(2, { tasks: 95, estimateMs: 100 });
    setFree(1);
    expect([bench.count(1), bench.count(2)]).toEqual([10, 90]);
  });

  test('survives a time without workers, even if the class of a job changes meanwhile', () => {
    const bench = cluster(1, 0.1);
    bench.need(1, { tasks: 3, part: 'early' });
    bench.books.setOpen(bench.worker(0), false);
    bench.settle();
    bench.need(1, { tasks: 3, part: 'judged' });
    bench.end(1);
    bench.books.removeWorker(bench.worker(0), bench.now);
    bench.settle();
    bench.take();
    bench.join(1);
    bench.settle();
    expect(bench.take()).toEqual([1]);
  });

  test('is not recomputed for each arrival while there is no worker', () => {
    const bench = cluster(0);
    bench.need(1, {});
    const first = bench.stage(1);
    let looks = 0;
    Object.defineProperty(first, 'estimateMs', {
      get: () => {
        looks++;
        return 100;
      },
    });
    for (let job = 2; job < 100; job++) bench.need(job, {});
    expect(looks).toBe(0);
  });

  test('respects priority: of equal jobs the one with high priority goes first, regardless of arrival', () => {
    const bench = cluster(1);
    bench.need(9, {});
    bench.need(1, { estimateMs: 1_000, priority: 'low' });
    bench.need(2, { estimateMs: 1_000 });
    bench.need(3, { estimateMs: 1_000, priority: 'high' });
    expect(serve(bench, 3)).toEqual([3, 2, 1]);
  });

  test('does not starve jobs of low priority: those that arrive after its due time come later', () => {
    const bench = cluster(1);
    bench.need(9, {});
    bench.need(1, { estimateMs: 1_000, priority: 'low' });
    bench.now = 799 * SECOND - 12_500;
    bench.need(2, { estimateMs: 1_000, priority: 'high' });
    bench.now = 801 * SECOND - 12_500;
    bench.need(3, { estimateMs: 1_000, priority: 'high' });
    expect(serve(bench, 3)).toEqual([2, 1, 3]);
  });

  test('is what `line` reports', () => {
    const bench = cluster(1);
    bench.need(9, {});
    bench.need(1, { tasks: 3, estimateMs: 200 });
    bench.need(2, { long: true, tasks: 1, estimateMs: 5_000 });
    bench.need(3, { part: 'early', tasks: 5 });
    const line = bench.policy.line!(0);
    const [short, long, large] = [1, 2, 3].map((job) => bench.stage(job));
    expect([short!, long!, large!].map((stage) => line.kindOf(stage))).toEqual(['short', 'long', 'large']);
    expect(line.comesBefore(short!, long!)).toBe(true);
    expect(line.comesBefore(large!, long!)).toBe(false);
    expect(serve(bench, 9)).toEqual([1, 1, 1, 2, 3, 3, 3, 3, 3]);
  });

  test('has no position for jobs that arrived since the last plan', () => {
    const bench = cluster(1);
    bench.need(9, {});
    bench.need(1, { estimateMs: 200 });
    const job = bench.books.declare(OWNER, 2, { arrivedAt: 0 });
    const unreported = bench.books.stage(job, 0, { tasks: 1, demand: bench.stage(1).demand });
    bench.books.setWaiting(unreported, 1, 0);
    const line = bench.policy.line!(0);
    expect(line.comesBefore(bench.stage(1), unreported)).toBe(true);
    expect(line.comesBefore(unreported, bench.stage(1))).toBe(false);
  });

  test('takes a long job of unknown length to be longer than most', () => {
    const bench = cluster(2);
    // The known tasks take 2 s and 6 s, so an unknown long one may take 4 s and six standard deviations of 2 s.
    bench.need(1, { long: true, estimateMs: 2_000 });
    bench.need(2, { long: true, estimateMs: 6_000 });
    bench.need(3, { long: true, tasks: 3, estimateMs: 1_000, estimateFollows: true });
    bench.need(4, { long: true, tasks: 2, estimateMs: 9_000 });
    bench.take();
    bench.end(1);
    bench.end(2);
    expect(bench.take()).toEqual([4, 4]);
    bench.need(5, { long: true, tasks: 2, estimateMs: 9_000 });
    bench.need(3, { long: true, tasks: 3, estimateMs: 4_000 });
    bench.end(4);
    expect(bench.take()).toEqual([3]);
  });
});

describe('users', () => {
  const shared = (): PolicyBench => {
    const bench = cluster(8);
    const say = bench.books.declare.bind(bench.books);
    bench.books.declare = (owner, number, facts) =>
      say(owner, number, { ...facts, user: number < 1_000 ? 'ann' : 'bob' });
    return bench;
  };

  test('have equal shares, however many jobs each submits', () => {
    const bench = shared();
    for (let job = 1; job <= 50; job++) bench.report(job, { tasks: 4, estimateMs: 1_000 });
    bench.settle();
    bench.need(1_000, { tasks: 40, estimateMs: 10_000 });
    const byUser = (): number[] => {
      const counts = [0, 0];
      for (const { runs } of bench.books.workers)
        for (const { stage } of runs) counts[stage.job.user === 'ann' ? 0 : 1]!++;
      return counts;
    };
    expect(byUser()).toEqual([8, 0]);
    for (let end = 0; end < 40; end++) bench.endAny(end);
    expect(byUser()).toEqual([4, 4]);
  });

  test('have equal shares of room that is freed at once, however many different demands each has waiting', () => {
    const bench = new PolicyBench('goshawk', 1, { slots: 400, capacity: { cpu: 200 } });
    bench.need(1, { user: 'zoe', demand: { cpu: 200 } });
    for (let job = 0; job < 150; job++) {
      bench.report(1_000 + job, { user: 'ann', demand: { cpu: 1 + job / 1_000 } });
      bench.report(2_000 + job, { user: 'ben', demand: { cpu: 1.2 + job / 1_000 } });
    }
    bench.settle();
    expect(bench.busy).toBe(1);
    bench.end(1);
    const cpus = { ann: 0, ben: 0 };
    for (const { stage } of bench.worker(0).runs)
      cpus[stage.job.user as keyof typeof cpus] += stage.demand[bench.books.names.find('cpu')!]! / 1_000;
    expect(cpus.ann + cpus.ben).toBeGreaterThan(198);
    expect(Math.abs(cpus.ann - cpus.ben)).toBeLessThan(2.5);
  });

  test('have shares in proportion to their weights', () => {
    const bench = cluster(12);
    const say = bench.books.declare.bind(bench.books);
    bench.books.declare = (owner, number, facts) =>
      say(owner, number, { ...facts, user: `u${number}`, userWeight: 2 ** (number - 1) });
    for (const job of [1, 2, 3]) bench.report(job, { tasks: 100 });
    bench.settle();
    // 12 slots at 1 : 2 : 4.
    expect([1, 2, 3].map((job) => bench.count(job))).toEqual([2, 3, 7]);
    for (let end = 0; end < 30; end++) bench.endAny(end);
    expect([1, 2, 3].map((job) => bench.count(job))).toEqual([2, 3, 7]);
  });

  test('get new shares as soon as the operator changes their weights', () => {
    expect(sharesOverNewWeights(new PolicyBench('goshawk', 8))).toEqual([
      [2, 6],
      [6, 2],
    ]);
  });

  test('are charged for a run even if it was found before its owner reported its user', () => {
    const bench = cluster(4);
    const job = bench.books.declareAdopted(OWNER, 1, 0, false);
    const stage = bench.books.stage(job, 0, { demand: ONE_CPU });
    for (const at of [0, 1]) bench.books.adoptRun(stage, bench.worker(at), 0);
    bench.settle();
    bench.report(1, { tasks: 0, user: 'ann' });
    bench.settle();
    bench.report(2, { tasks: 4, user: 'ann' });
    bench.report(3, { tasks: 4, user: 'ben' });
    bench.settle();
    expect([bench.count(1), bench.count(2), bench.count(3)]).toEqual([2, 0, 2]);
  });

  test('have no shares if the policy does not share by user', () => {
    const bench = cluster(4, 0, { options: { shareBy: 'none' } });
    bench.report(1, { tasks: 8, user: 'ann', estimateMs: 10 });
    bench.report(2, { tasks: 8, user: 'ben', estimateMs: 1_000 });
    bench.settle();
    expect([bench.count(1), bench.count(2)]).toEqual([4, 0]);
    expect(bench.policy.shares!(bench.books)).toBeUndefined();
  });
});

describe('gangs', () => {
  test('take the room reserved for them as soon as all tasks fit, even if smaller jobs come first in the order', () => {
    const bench = cluster(4, 0, { capacity: { cpu: 1 } });
    bench.need(1, { tasks: 4, estimateMs: 10 * SECOND, demand: { cpu: 1 } });
    bench.need(2, { tasks: 4, gang: true, estimateMs: 8 * SECOND, demand: { cpu: 1 } });
    bench.now = 9 * SECOND;
    bench.need(3, { estimateMs: 2 * SECOND, demand: { cpu: 1 } });
    bench.take();
    for (let ends = 1; ends <= 4; ends++) {
      bench.now += 200;
      bench.end(1);
    }
    expect(bench.take()).toEqual([2, 2, 2, 2]);
  });

  test('get a reservation although another user has flooded the cluster with small jobs', () => {
    const bench = cluster(4, 0, { capacity: { cpu: 1 } });
    for (let job = 10; job < 200; job++)
      bench.report(job, { user: 'flood', estimateMs: 5 * SECOND, demand: { cpu: 1 } });
    bench.settle();
    bench.need(1, { user: 'modest', tasks: 4, gang: true, estimateMs: 5 * SECOND, demand: { cpu: 1 } });
    for (let end = 0; end < 20 && bench.count(1) === 0; end++) {
      bench.now += 1.25 * SECOND;
      bench.endAny(0);
    }
    expect(bench.count(1)).toBe(4);
  });

  test('get a reservation although many jobs of the same user always come after them in the order', () => {
    const bench = cluster(4, 0, { capacity: { cpu: 1 } });
    const small = { estimateMs: 5 * SECOND, demand: { cpu: 1 } };
    let job = 10;
    while (job < 200) bench.report(job++, small);
    bench.settle();
    bench.need(1, { tasks: 4, gang: true, estimateMs: SECOND, demand: { cpu: 1 } });
    // Idle room is worth a hundredth of the time: 5 s on one of four CPUs after 125 s.
    while (bench.count(1) === 0 && bench.now < 135 * SECOND) {
      bench.now += 1.25 * SECOND;
      bench.endAny(0);
      bench.need(job++, small);
    }
    expect(bench.count(1)).toBe(4);
  });

  const gangs = (workers: number): PolicyBench => {
    const bench = cluster(workers);
    const say = bench.books.stage.bind(bench.books);
    bench.books.stage = (job, index, facts) => say(job, index, { ...facts, gang: job.number < 10 });
    return bench;
  };

  test('start together or not at all, and two gangs never hold half the cluster each', () => {
    const bench = gangs(4);
    bench.report(1, { tasks: 3, estimateMs: 10_000 });
    bench.report(2, { tasks: 3, estimateMs: 20_000 });
    bench.settle();
    expect([bench.count(1), bench.count(2)]).toEqual([3, 0]);
    for (let end = 0; end < 2; end++) bench.end(1);
    expect(bench.count(2)).toBe(3);
  });

  test('have a reservation: small tasks do not delay them forever', () => {
    const bench = gangs(4);
    for (let job = 10; job < 14; job++) bench.need(job, { estimateMs: 10_000 });
    bench.need(1, { tasks: 4, estimateMs: 1_000 });
    let job = 14;
    for (; bench.count(1) === 0 && job < 60; job++) {
      bench.need(job, { estimateMs: 10_000 });
      bench.now += 2_500;
      bench.endAny(0);
    }
    expect(bench.count(1)).toBe(4);
    expect(job).toBeLessThan(30);
  });
});

describe('deadlines', () => {
  const urgent = (): PolicyBench => {
    const bench = cluster(4, 0, { slots: 1, capacity: { cpu: 1, gpu: 1 } });
    const say = bench.books.declare.bind(bench.books);
    bench.books.declare = (owner, number, facts) =>
      say(owner, number, {
        ...facts,
        preemptible: number >= 10,
        ...(number < 10 ? { deadlineAt: 100 * SECOND } : {}),
      });
    return bench;
  };

  test('put a job first at its latest start, and other jobs wait no longer than that', () => {
    const bench = urgent();
    bench.need(1, { tasks: 1, estimateMs: 50_000 });
    expect(bench.count(1)).toBe(1);
    for (let job = 10; job < 13; job++) bench.need(job, { estimateMs: 1_000_000 });
    bench.need(2, { tasks: 1, estimateMs: 50_000 });
    bench.need(13, { estimateMs: 10 });
    expect(bench.againAt).toBe(49 * SECOND);
    bench.now = 20 * SECOND;
    bench.end(1);
    expect([bench.count(2), bench.count(13)]).toEqual([0, 1]);
    bench.end(13);
    expect(bench.count(2)).toBe(1);
  });

  test('preempt the tasks that have run least, only at the latest start, and keep the free room for the job', () => {
    const bench = urgent();
    for (let job = 10; job < 14; job++) {
      bench.now += SECOND;
      bench.need(job, { estimateMs: 1_000_000 });
    }
    bench.need(1, { tasks: 2, estimateMs: 50_000 });
    const preempted = (): number[] =>
      [10, 11, 12, 13].filter((job) => [...bench.books.job(OWNER, job)!.runs].some((run) => run.isPreempted));
    expect(preempted()).toEqual([]);
    bench.now = 49 * SECOND;
    bench.settle();
    expect(preempted()).toEqual([12, 13]);
    bench.need(14, { estimateMs: 1 });
    bench.end(13, 'preempted');
    expect([bench.count(1), bench.count(14)]).toEqual([1, 0]);
    bench.end(12, 'preempted');
    expect([bench.count(1), bench.count(14)]).toEqual([2, 0]);
  });

  test.each([
    { job: 1, what: 'reserve a place for a job that would soon be late', taken: 0 },
    { job: 9, what: 'reserve nothing for a job that has time', taken: 1 },
    { job: 20, what: 'reserve nothing at once without one', taken: 1 },
  ])('$what', ({ job, taken }) => {
    const bench = urgent();
    bench.join(9, 4, { cpu: 4, gpu: 1, disk: 1 });
    for (let other = 10; other < 14; other++)
      bench.need(other, { estimateMs: (other - 9) * 10_000, demand: { cpu: 1, disk: 0.25 } });
    bench.need(job, { estimateMs: job === 9 ? 10_000 : 50_000, demand: { cpu: 4, disk: 1 } });
    bench.need(30, { estimateMs: 60_000, demand: { cpu: 1, disk: 0.25 } });
    bench.now = 9.9 * SECOND;
    bench.end(10);
    expect(bench.count(30)).toBe(taken);
    for (let other = 11; other < 14; other++) bench.end(other);
    expect(bench.count(job)).toBe(1 - taken);
  });

  test('preempt elsewhere if the worker of the preempted task leaves, and forget that worker', () => {
    const bench = urgent();
    for (let job = 10; job < 14; job++) bench.need(job, { estimateMs: 1_000_000 });
    bench.need(1, { estimateMs: 50_000 });
    bench.now = 49 * SECOND;
    bench.settle();
    const isPreempted = (job: number): boolean =>
      [...(bench.books.job(OWNER, job)?.runs ?? [])].some((run) => run.isPreempted);
    const preempted = (): number[] => [10, 11, 12, 13].filter(isPreempted);
    const [victim] = preempted();
    bench.lose(victim!);
    expect(preempted()).toHaveLength(1);
    bench.end(preempted()[0]!, 'preempted');
    expect(bench.count(1)).toBe(1);
    // The new worker reuses the id of the lost one.
    bench.join(9, 1, { cpu: 1 });
    bench.need(20, { estimateMs: 1_000 });
    expect(bench.count(20)).toBe(1);
    bench.need(21, { tasks: 2, gang: true, estimateMs: 1_000 });
    bench.end(20);
    bench.end(1);
    expect(bench.count(21)).toBe(2);
  });

  test('preempt nothing if that would not free enough of every resource', () => {
    const bench = urgent();
    for (let job = 10; job < 14; job++) bench.need(job, { estimateMs: 1_000_000 });
    bench.need(1, { tasks: 1, estimateMs: 50_000, demand: { gpu: 2 } });
    bench.now = 49 * SECOND;
    bench.settle();
    expect([...bench.books.workers].some(({ runs }) => runs.some((run) => run.isPreempted))).toBe(false);
  });

  test('do not preempt a task again before it has run for as long as it lost', () => {
    const bench = urgent();
    for (let job = 10; job < 14; job++) bench.need(job, { estimateMs: 1_000_000 });
    bench.need(1, { tasks: 4, estimateMs: 20_000 });
    bench.now = 79.6 * SECOND;
    bench.settle();
    for (let job = 10; job < 14; job++) bench.end(job, 'preempted');
    expect(bench.count(1)).toBe(4);
    for (let job = 10; job < 14; job++) bench.need(job, { estimateMs: 1_000_000 });
    for (let end = 0; end < 4; end++) bench.end(1);
    expect(bench.busy).toBe(4);
    bench.need(2, { tasks: 1, estimateMs: 10_000 });
    bench.now = 89.8 * SECOND;
    bench.settle();
    expect([...bench.books.workers].some(({ runs }) => runs.some((run) => run.isPreempted))).toBe(false);
  });
});

describe('the reserve', () => {
  test('keeps its share of the slots free of long tasks, on any workers', () => {
    const bench = cluster(10, 0.2);
    bench.need(1, { long: true, tasks: 20, estimateMs: 5_000 });
    expect(bench.count(1)).toBe(8);
    bench.need(2, { tasks: 2 });
    expect(bench.count(2)).toBe(2);
    bench.end(2);
    expect(bench.count(1)).toBe(8);
    bench.end(1);
    expect(bench.count(1)).toBe(8);
  });

  test('is a share of the open workers: long tasks on draining workers do not count', () => {
    const bench = cluster(10, 0.2);
    bench.need(1, { long: true, tasks: 8, estimateMs: 5_000 });
    const drained = bench.takePlaces().map(([, at]) => bench.worker(at));
    for (const worker of drained) bench.books.setOpen(worker, false);
    bench.need(2, { long: true, tasks: 5, estimateMs: 5_000 });
    expect(bench.count(2)).toBe(2);
    // The workers are open again with ten long tasks, and eight are allowed.
    for (const worker of drained) bench.books.setOpen(worker, true);
    bench.end(1);
    bench.end(1);
    expect(bench.count(2)).toBe(2);
    bench.end(1);
    expect(bench.count(2)).toBe(3);
  });

  test('counts a worker without CPUs by its slots, whether or not others have CPUs', () => {
    const bench = cluster(1, 0, { slots: 4 });
    expect(bench.policy.line!(0).longLimit).toBe(4);
    bench.join(9, 64, { cpu: 2 });
    bench.settle();
    expect(bench.policy.line!(0).longLimit).toBe(6);
    bench.need(1, { long: true, tasks: 10, estimateMs: 5_000 });
    expect(bench.policy.line!(0).longRunning).toBe(6);
  });

  describe.each([0.001, 0.5])('counts whole CPUs that long tasks of %f CPUs block', (cpu) => {
    // One at each worker, because of the memory.
    const parts = { long: true, tasks: 10, estimateMs: 60_000, demand: { cpu, memory: 60 } };
    const settings = { slots: 16, capacity: { cpu: 1, memory: 100 } };
    const blocked = (bench: PolicyBench): number =>
      [...bench.books.workers].filter(({ free }) => free[CPU]! < PER_CPU).length;

    test.each(['long', 'large'])('if these do not lend: of %s jobs', (kind) => {
      const bench = cluster(10, 0.2, settings);
      bench.need(1, kind === 'long' ? parts : { ...parts, long: false, part: 'early' });
      expect([bench.count(1), blocked(bench)]).toEqual([8, 8]);
      bench.need(2, { tasks: 2 });
      expect(bench.count(2)).toBe(2);
      while (bench.busy > 0) bench.endAny(0);
      expect(bench.policy.line!(0).longRunning).toBe(0);
    });

    test('if nothing lends', () => {
      const bench = new PolicyBench('goshawk', 10, { ...settings, context: { reserve: 0.2, lend: 'none' } });
      bench.need(1, { ...parts, mayLend: true });
      expect(bench.count(1)).toBe(8);
    });

    test('but not while they lend', () => {
      const bench = cluster(10, 0.2, settings);
      bench.need(1, { ...parts, tasks: 20, mayLend: true });
      expect(bench.count(1)).toBe(10);
      bench.now = SECOND;
      bench.need(2, { tasks: 10 });
      expect(bench.count(2)).toBe(10);
      // After 5% of their time, they lend to short tasks no more.
      bench.now += 4 * SECOND;
      while (bench.count(2) > 0) bench.end(2);
      expect(bench.policy.line!(bench.now)).toMatchObject({ longRunning: 10, lendable: 0 });
      for (const left of [9, 8]) {
        bench.end(1);
        expect(blocked(bench)).toBe(left);
      }
      bench.end(1);
      bench.now += SECOND;
      bench.need(3, { tasks: 2 });
      expect(bench.count(3)).toBe(2);
    });

    test('once for all tasks that share a CPU', () => {
      const bench = cluster(10, 0.2, { ...settings, capacity: { cpu: 1 } });
      bench.need(1, { ...parts, tasks: 1_000, demand: { cpu } });
      for (let end = 0; end < 100; end++) {
        expect([bench.count(1), blocked(bench)]).toEqual([8 * (cpu === 0.5 ? 2 : 16), 8]);
        expect(bench.policy.line!(0).longRunning).toBe(8);
        bench.endAny(7 * end);
      }
    });
  });

  test('does not let tasks with parts of CPUs, which need no more of them, keep long ones waiting for ever', () => {
    const bench = cluster(10, 0.2, { slots: 16, capacity: { cpu: 1 } });
    const long = { long: true, estimateMs: 60_000 };
    bench.need(1, { ...long, user: 'mal', tasks: 100_000, demand: { cpu: 0.1 } });
    expect(bench.count(1)).toBe(80);
    bench.need(2, { ...long, user: 'ann', tasks: 10 });
    for (let end = 0; end < 2_000 && bench.count(2) < 4; end++) bench.endAny(7 * end);
    expect(bench.count(2)).toBe(4);
  });

  test.each([0, 0.01, SECOND])(
    'of a cutoff of %d ms asks for plans that leave time for others',
    (cutoffMs) => {
      const bench = new PolicyBench('goshawk', 20, { context: { cutoffMs, reserve: 'auto' } });
      bench.books.shortWork(8 * cutoffMs);
      bench.need(1, { long: true, tasks: 30 });
      expect(bench.count(1)).toBe(cutoffMs === 0 ? 19 : 14);
      expect(bench.againAt).toBeGreaterThanOrEqual(10);
    },
  );

  test.each([0.17, 'auto'] as const)('of %s asks for no plan where time alone changes nothing', (reserve) => {
    const bench = cluster(100, reserve);
    bench.need(1, { long: true, tasks: 200 });
    expect(bench.count(1)).toBe(reserve === 'auto' ? 95 : 83);
    expect(bench.againAt).toBe(Number.POSITIVE_INFINITY);
  });

  test('follows the demand of short jobs, and shrinks as that decays', () => {
    const bench = cluster(100, 'auto');
    // 40 slots' work over the window of four cutoffs: the reserve is at its maximum, 30%.
    bench.need(1, { estimateMs: 40 * 4 * SECOND });
    bench.need(2, { long: true, tasks: 200, estimateMs: 5_000 });
    expect(bench.count(2)).toBe(70);
    expect(bench.againAt).toBe(10);
    // Six windows later only the twentieth for bursts is left.
    bench.now = 24 * SECOND;
    bench.settle();
    expect(bench.count(2)).toBe(95);
  });

  test('depends on the slots that short tasks take at other workers, too', () => {
    const bench = cluster(100, 'auto');
    bench.books.shortWork(5 * 4 * SECOND);
    bench.need(1, { long: true, tasks: 100 });
    expect(bench.count(1)).toBe(86);
  });
});

test('counts slots that a worker has filled on its own as slots of short tasks', () => {
  const limitWith = (free: number): number => {
    const bench = cluster(100, 'auto', { slots: 1 });
    for (let at = 0; at < 100; at++)
      bench.books.setFree(bench.worker(at), bench.books.names.capacityOf(at < free ? 1 : 0, {}));
    bench.settle();
    bench.now = 60 * SECOND;
    bench.settle();
    return bench.policy.line!(bench.now).longLimit;
  };
  expect(limitWith(100)).toBe(95);
  expect(limitWith(0)).toBe(70);
});

describe('sampled jobs', () => {
  const early = { part: 'early', estimateMs: 10 } as const;

  test('have their pilots served before all other tasks', () => {
    const bench = cluster(1);
    bench.need(9, {});
    bench.need(1, { estimateMs: 1 });
    bench.need(2, { part: 'pilots', tasks: 2, jobTasks: 50, estimateMs: 1e9 });
    expect(serve(bench, 3)).toEqual([2, 2, 1]);
  });

  test('run in the reserve immediately if they are small, before jobs known to be long', () => {
    const bench = cluster(100, 0.2);
    bench.need(1, { long: true, tasks: 200 });
    for (const job of [2, 3, 4, 5]) bench.need(job, { ...early, tasks: 6 });
    expect([1, 2, 3, 4, 5].map((job) => bench.count(job))).toEqual([80, 6, 6, 6, 2]);
    bench.take();
    // The small jobs have the whole reserve: slots that become free go to long tasks until one of the jobs is
    // classified.
    bench.end(1);
    expect(bench.take()).toEqual([1]);
    bench.need(2, { tasks: 0 });
    bench.end(1);
    expect(bench.take()).toEqual([5]);
  });

  test('also run outside the reserve if they are small and no other job needs the slots', () => {
    const bench = cluster(100, 0.2);
    for (let job = 1; job <= 10; job++) bench.need(job, { ...early, tasks: 6 });
    expect(bench.busy).toBe(60);
  });

  test('are small up to a third of the reserve', () => {
    const bench = cluster(100, 0.2);
    bench.need(1, { long: true, tasks: 200 });
    bench.need(2, { ...early, tasks: 7 });
    expect(bench.count(2)).toBe(0);
  });

  test('are small relative to the current cluster, even if they arrived before its workers', () => {
    const bench = cluster(0, 0.2);
    bench.need(1, { long: true, tasks: 200, estimateMs: 1 });
    bench.need(2, { ...early, tasks: 6, estimateMs: 1e6 });
    for (let at = 0; at < 100; at++) bench.join(at);
    bench.settle();
    expect([bench.count(1), bench.count(2)]).toEqual([80, 6]);
  });

  test('run where no other job can if they are large, and leave the reserve alone', () => {
    const bench = cluster(100, 0.2);
    bench.need(1, { ...early, tasks: 200 });
    expect(bench.count(1)).toBe(80);
    bench.need(2, { tasks: 30, estimateMs: 1e9 });
    expect(bench.count(2)).toBe(20);
    bench.take();
    bench.end(1);
    expect(bench.take()).toEqual([2]);
  });

  test('count together with their pilots', () => {
    const bench = cluster(20, 0.2);
    for (const job of [1, 2, 3]) {
      bench.report(job, { part: 'pilots', stage: 1, jobTasks: 9 });
      bench.need(job, { ...early, tasks: 8, jobTasks: 9 });
    }
    // Only the last pilot uses a slot of the reserve: all others were in use when it arrived.
    expect([1, 2, 3].map((job) => bench.count(job))).toEqual([9, 7, 1]);
    bench.need(4, { tasks: 4 });
    expect(bench.count(4)).toBe(3);
  });

  test('use every slot, pilots first', () => {
    const bench = cluster(12, 'auto');
    for (const job of [1, 2, 3]) {
      bench.report(job, { part: 'pilots', stage: 1, tasks: 3, jobTasks: 8 });
      bench.need(job, { ...early, tasks: 5, jobTasks: 8 });
    }
    expect(bench.busy).toBe(12);
    expect([1, 2, 3].map((job) => bench.count(job))).toEqual([8, 3, 1]);
  });

  test('count as long exactly once when they turn out to be long', () => {
    const bench = cluster(100, 0.02);
    bench.need(1, { ...early, tasks: 60 });
    expect(bench.count(1)).toBe(60);
    bench.need(1, { long: true, tasks: 60 });
    expect(bench.count(1)).toBe(98);
    expect(bench.policy.line!(0).longRunning).toBe(98);
    bench.need(1, { long: true, tasks: 30 });
    expect(bench.count(1)).toBe(98);
    bench.end(1);
    expect(bench.count(1)).toBe(98);
  });

  test('take any slot when they turn out to be short', () => {
    const bench = cluster(100, 0.02);
    bench.need(1, { ...early, tasks: 120 });
    expect(bench.count(1)).toBe(98);
    bench.need(1, { tasks: 22 });
    expect(bench.count(1)).toBe(100);
  });
});

describe('jobs that fit nowhere', () => {
  test('do not block those behind them', () => {
    const bench = cluster(0);
    bench.join(0, 1, { gpu: 1 });
    bench.join(1, 1);
    bench.need(9, { demand: { gpu: 1 } });
    bench.report(1, { long: true, demand: { gpu: 1 }, estimateMs: 1_000 });
    bench.report(2, { demand: { fpga: 1 }, estimateMs: 1 });
    bench.report(3, { long: true, estimateMs: 9_000 });
    bench.settle();
    expect(bench.takePlaces()).toEqual([
      [9, 0],
      [3, 1],
    ]);
  });

  test('have a reservation, so that small tasks do not take the room bit by bit', () => {
    const bench = cluster(1, 0, { slots: 4, capacity: { cpu: 4 } });
    for (let job = 1; job <= 4; job++) bench.need(job, { demand: { cpu: 1 } });
    bench.need(100, { demand: { cpu: 4 }, estimateMs: 1 });
    const busy: number[] = [];
    for (let job = 5; bench.count(100) === 0 && job < 60; job++) {
      bench.now += SECOND;
      bench.need(job, { demand: { cpu: 1 } });
      bench.endAny(0);
      busy.push(bench.busy);
    }
    // The first reservation was broken: tasks took four times as long as estimated.
    expect(busy).toEqual([4, 3, 2, 4, 4, 3, 2, 1, 1]);
    expect(bench.count(100)).toBe(1);
  });

  test('lose it after twice the promised wait, because tasks may hang, and have it again when they end', () => {
    const bench = cluster(1, 0, { slots: 8, capacity: { cpu: 8 } });
    bench.need(9, { tasks: 3, demand: { cpu: 1 }, estimateMs: 10 * SECOND });
    bench.need(1, { demand: { cpu: 8 }, estimateMs: SECOND });
    bench.now = 9 * SECOND;
    bench.need(2, { tasks: 3_000, demand: { cpu: 1 }, estimateMs: 6 * SECOND });
    expect([bench.count(1), bench.count(2)]).toEqual([0, 0]);
    expect(bench.againAt).toBe(20 * SECOND);
    bench.now = 20 * SECOND;
    bench.settle();
    expect([bench.count(1), bench.count(2)]).toEqual([0, 5]);
    for (; bench.now < 600 * SECOND; bench.now += SECOND) bench.settle();
    expect(bench.busy).toBe(8);
    for (let end = 0; end < 3; end++) bench.end(9);
    while (bench.count(1) === 0 && bench.now < 700 * SECOND) {
      bench.now += SECOND;
      bench.endAny(0);
    }
    expect(bench.count(1)).toBe(1);
  });

  test('leave room to others while a task of unknown run time, which has run for long, keeps them waiting', () => {
    const bench = cluster(1, 0, { slots: 4, capacity: { cpu: 4 } });
    bench.need(9, { part: 'pilots', jobTasks: 50, estimateMs: 0, demand: { cpu: 1 } });
    bench.need(1, { demand: { cpu: 4 }, estimateMs: SECOND });
    bench.now = 60 * SECOND;
    bench.need(2, { tasks: 3, demand: { cpu: 1 }, estimateMs: 10 * SECOND });
    expect([bench.count(1), bench.count(2)]).toEqual([0, 3]);
  });

  test('get a new reservation when its worker leaves, and lose it when the job ends', () => {
    const bench = cluster(2, 0, { slots: 2, capacity: { cpu: 2 } });
    bench.need(9, { tasks: 4, demand: { cpu: 1 }, estimateMs: 19_500 });
    bench.need(1, { demand: { cpu: 2 } });
    bench.need(2, { tasks: 100, demand: { cpu: 1 }, estimateMs: 10_000 });
    bench.take();
    bench.now = 20 * SECOND;
    bench.end(9, 'done', 0);
    expect(bench.policy.line!(bench.now).keptFor(bench.stage(1))).toBe(1);
    bench.books.removeWorker(bench.worker(0), bench.now);
    bench.end(9, 'done', 1);
    expect(bench.take()).toEqual([]);
    bench.withdraw(1);
    expect(bench.takePlaces()).toEqual([[2, 1]]);
  });

  test('let others run in the reserved place if they end earlier or leave enough room', () => {
    const bench = cluster(1, 0, { slots: 4, capacity: { cpu: 4, memory: 4 } });
    bench.need(9, { demand: { cpu: 2 }, estimateMs: 60_000 });
    bench.need(1, { demand: { cpu: 3 }, estimateMs: 100 });
    bench.now = 10 * SECOND;
    bench.report(2, { demand: { cpu: 2 }, estimateMs: 90_000 });
    bench.report(3, { demand: { cpu: 1 }, estimateMs: 90_000 });
    bench.report(4, { demand: { cpu: 1 }, estimateMs: 40_000 });
    bench.settle();
    expect([1, 2, 3, 4].map((job) => bench.count(job))).toEqual([0, 0, 1, 1]);
    bench.now = 60 * SECOND;
    bench.end(4);
    bench.end(9);
    expect([bench.count(1), bench.count(2)]).toEqual([1, 0]);
  });

  test('do not block resources that they do not lack: small tasks start beside tasks that wait for a GPU', () => {
    const bench = cluster(4, 0, { slots: 4, capacity: { cpu: 4, gpu: 1 } });
    bench.need(1, { tasks: 4, demand: { gpu: 1 }, estimateMs: 1_000_000 });
    bench.need(2, { tasks: 8, demand: { gpu: 1 }, estimateMs: 10_000 });
    for (let job = 3; job < 60; job++) {
      bench.now += 30 * SECOND;
      bench.need(job, { estimateMs: 1_000 });
      expect(bench.count(job)).toBe(1);
      bench.end(job);
    }
  });

  test('are skipped together with all jobs of equal needs, however many there are', () => {
    let draws = 0;
    const bench = new PolicyBench('goshawk', 0, {
      context: {
        random: () => {
          draws++;
          return 0;
        },
      },
    });
    bench.join(0, 4);
    for (let job = 1; job <= 1_000; job++) bench.report(job, { demand: { gpu: 1 } });
    bench.report(2_000, { tasks: 2, estimateMs: 1e6 });
    bench.settle();
    expect(bench.count(2_000)).toBe(2);
    expect(draws).toBeLessThan(100);
  });

  test('have no reservation while no more long tasks may run', () => {
    const bench = cluster(10, 0.2, { capacity: { cpu: 1 } });
    bench.need(1, { long: true, tasks: 20, demand: { cpu: 1 } });
    expect(bench.count(1)).toBe(8);
    bench.now = 60 * SECOND;
    bench.need(2, { tasks: 2 });
    expect(bench.count(2)).toBe(2);
  });
});

test('small tasks leave room for large ones: they go to the tightest fit', () => {
  const bench = cluster(8, 0, { slots: 4, capacity: { cpu: 4 } });
  for (let job = 1; job <= 8; job++) bench.need(job, { demand: { cpu: 1 } });
  expect(new Set(bench.takePlaces().map(([, at]) => at)).size).toBe(2);
});

test('a large worker keeps its rare room: small tasks go to small workers, even if those are idle', () => {
  const bench = cluster(0);
  bench.join(0, 32, { cpu: 32, memory: 256 });
  for (let at = 1; at <= 8; at++) bench.join(at, 4, { cpu: 4, memory: 8 });
  bench.settle();
  bench.need(1, { tasks: 3, demand: { cpu: 4, memory: 64 } });
  bench.take();
  for (let job = 2; job <= 9; job++) bench.need(job, { demand: { cpu: 1, memory: 2 } });
  expect(bench.takePlaces().map(([, at]) => at)).not.toContain(0);
  bench.need(10, { demand: { cpu: 4, memory: 64 } });
  expect(bench.take()).toEqual([10]);
});

test('a plan terminates even if every start is refused', () => {
  const bench = cluster(2);
  bench.report(1, { tasks: 3 });
  bench.report(2, { long: true, tasks: 3 });
  bench.policy.update(bench.books.takeChanges(), 0);
  const draft = new BookedDraft(bench.books, 1, 0);
  let asked = 0;
  draft.start = () => {
    if (++asked > 100) throw new Error('asked again and again');
    return undefined;
  };
  bench.policy.plan(bench.books, draft, 0);
  expect(asked).toBe(2);
});

test('no slot idles while a task that fits waits, and no start is refused', () => {
  const need = fc.record({
    kind: fc.constant('need' as const),
    job: fc.nat(12),
    tasks: fc.nat(6),
    long: fc.boolean(),
    part: fc.constantFrom('judged', 'thin', 'pilots', 'early'),
    estimateMs: fc.constantFrom(0, 1, 5_000, 1e6),
  });
  const other = fc.record({
    kind: fc.constantFrom('end' as const, 'declined' as const, 'open' as const, 'lost' as const),
    of: fc.nat(20),
  });
  fc.assert(
    fc.property(
      fc.array(fc.oneof(need, other), { maxLength: 80 }),
      fc.integer({ min: 1, max: 3 }),
      (steps, slots) => {
        const bench = cluster(4, 0, { slots });
        for (const action of steps) {
          bench.now += 10 * SECOND;
          const workers = [...bench.books.workers];
          const worker = workers[action.kind === 'need' ? 0 : action.of % workers.length];
          if (action.kind === 'need') bench.need(action.job, action);
          else if (action.kind === 'lost' && workers.length > 1) bench.books.removeWorker(worker!, bench.now);
          else if (action.kind === 'open') bench.books.setOpen(worker!, !worker!.open);
          else if (bench.busy > 0 && action.kind === 'end') bench.endAny(action.of);
          else {
            const [run] = worker!.runs;
            if (run !== undefined) bench.books.end(run, 'declined', bench.now);
          }
          // Owners repeat their needs, and may then be offered workers that they declined.
          bench.now += SECOND;
          for (const job of bench.books.jobs)
            for (const stage of job.stages) bench.books.reconsider(stage, bench.now);
          bench.settle();
          const isFree = [...bench.books.workers].some(({ open, free }) => open && free[0]! > 0);
          expect(isFree && bench.books.waitingTasks > 0).toBe(false);
          expect(bench.refused).toBe(0);
        }
      },
    ),
  );
});

test('a worker that the owner declined is not offered for the stage again immediately, but another is', () => {
  const bench = cluster(2, 0, { capacity: { cpu: 1 } });
  const say = bench.books.declare.bind(bench.books);
  bench.books.declare = (owner, number, facts) => say(owner, number, { ...facts, isDeclared: true });
  bench.need(1, { demand: { cpu: 1 } });
  const [[, first]] = bench.takePlaces() as [[number, number]];
  bench.books.end(bench.runOf(1), 'declined', bench.now);
  bench.need(1, { demand: { cpu: 1 } });
  expect(bench.takePlaces()).toEqual([[1, 1 - first]]);
  bench.books.end(bench.runOf(1), 'declined', bench.now);
  bench.need(1, { demand: { cpu: 1 } });
  expect(bench.takePlaces()).toEqual([]);
  // Another stage may use the worker, and the owner's need after next offers both again.
  bench.need(2, { demand: { cpu: 1 } });
  expect(bench.count(2)).toBe(1);
  bench.now += 5 * SECOND;
  bench.books.reconsider(bench.stage(1), bench.now);
  bench.settle();
  expect(bench.count(1)).toBe(1);
});

describe('why', () => {
  const why = (bench: PolicyBench, job: number) =>
    bench.policy.explain!(bench.stage(job), bench.books, bench.now)?.sentence;

  test('reports the number of long tasks and their limit: with fewer of them, the task starts', () => {
    const bench = cluster(10, 0.2);
    bench.need(1, { long: true, tasks: 9, estimateMs: 5_000 });
    expect(bench.count(1)).toBe(8);
    expect(why(bench, 1)).toBe('long tasks use 8 of at most 8 CPUs');
    bench.end(1);
    expect(bench.stage(1).waiting).toBe(0);
  });

  test('reports the CPUs of long tasks, not their number', () => {
    const bench = cluster(10, 0.2, { slots: 4, capacity: { cpu: 4 } });
    bench.need(1, { long: true, tasks: 20, demand: { cpu: 2 }, estimateMs: 5_000 });
    expect(bench.count(1)).toBe(16);
    expect(why(bench, 1)).toBe('long tasks use 32 of at most 32 CPUs');
  });

  test('names the job that the free room is reserved for: without that job, the task starts', () => {
    const bench = cluster(1, 0, { slots: 4, capacity: { cpu: 4 } });
    bench.need(9, { demand: { cpu: 2 }, estimateMs: 60_000 });
    bench.need(1, { demand: { cpu: 3 }, estimateMs: 100 });
    bench.now = 70 * SECOND;
    bench.need(2, { demand: { cpu: 2 }, estimateMs: 90_000 });
    expect(why(bench, 2)).toContain('reserved for job 1,');
    bench.withdraw(1);
    expect(bench.count(2)).toBe(1);
  });

  test('names the resource that is used up, and no other: with more of it, the task starts', () => {
    const bench = cluster(2, 0, { slots: 4, capacity: { cpu: 4, gpu: 1 } });
    bench.need(1, { tasks: 2, demand: { gpu: 1 }, estimateMs: 60_000 });
    bench.need(2, { demand: { gpu: 1 } });
    expect(why(bench, 2)).toBe('no worker has gpu 1 (at most 0) free');
    bench.end(1);
    expect(bench.count(2)).toBe(1);
  });

  test('reports how many tasks of a gang would fit', () => {
    const bench = cluster(2);
    const say = bench.books.stage.bind(bench.books);
    bench.books.stage = (job, index, facts) => say(job, index, { ...facts, gang: true });
    bench.need(1, { tasks: 1 });
    bench.need(2, { tasks: 2 });
    expect(why(bench, 2)).toBe('all 2 tasks of a gang start together, and 1 of them would fit now');
    bench.end(1);
    expect(bench.count(2)).toBe(2);
  });
});
