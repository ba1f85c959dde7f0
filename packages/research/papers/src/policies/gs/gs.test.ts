import type { RunEnd } from '@goshawk/policies';
import { type BenchSettings, type Need, PolicyBench } from '@goshawk/policies/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addPapers } from '../../index.js';

addPapers();

const SECOND = 1_000;

/** Each event takes a millisecond; sizes are in seconds. */
class Bench extends PolicyBench {
  constructor(workers: number, settings: BenchSettings = {}) {
    super('gs', workers, settings);
  }

  /** @param seconds estimated run time of each of its tasks */
  wants(job: number, tasks: number, seconds: number, need: Need = {}): void {
    this.now++;
    this.need(job, { tasks, estimateMs: seconds * SECOND, ...need });
  }

  override end(job: number, how: RunEnd = 'done'): void {
    this.now++;
    super.end(job, how);
  }
}

describe('queues', () => {
  test('are chosen by the estimated size of the whole job, and the smallest is served first', () => {
    const bench = new Bench(1);
    bench.wants(9, 1, 1);
    bench.wants(1, 10, 2_000); // 20,000 s: third queue
    bench.wants(2, 10, 200); // 2,000 s: second queue
    bench.wants(3, 10, 20); // 200 s: first queue
    bench.take();
    bench.end(9);
    bench.end(3);
    expect(bench.take()[0]).toBe(3);
  });

  test('are served in order of arrival', () => {
    const bench = new Bench(1);
    bench.wants(9, 1, 1);
    for (const job of [3, 1, 2]) bench.wants(job, 2, 10);
    bench.take();
    for (const job of [9, 3, 3, 1, 1, 2]) bench.end(job);
    expect(bench.take()).toEqual([3, 3, 1, 1, 2, 2]);
  });

  test('use the order of arrival at the owner, regardless of who reports first', () => {
    const bench = new Bench(1);
    bench.wants(9, 1, 1);
    bench.wants(1, 1, 10);
    bench.wants(2, 1, 10, { ageMs: 500 });
    bench.take();
    bench.end(9);
    expect(bench.take()).toEqual([2]);
  });

  test('change when the size of a job becomes known', () => {
    const bench = new Bench(1);
    bench.wants(9, 1, 1);
    bench.wants(1, 10, 0, { part: 'pilots', jobTasks: 10 });
    bench.wants(1, 10, 200_000, { jobTasks: 10 });
    bench.wants(2, 10, 200);
    bench.take();
    bench.end(9);
    expect(bench.take()).toEqual([2]);
  });
});

describe('shares', () => {
  test('give loaded queues slots by their weights, at least one each', () => {
    const bench = new Bench(200);
    bench.wants(9, 200, 0);
    for (const [job, seconds] of [0.5, 5, 50, 500].entries()) bench.wants(job + 1, 1_000, seconds);
    for (let i = 0; i < 200; i++) bench.end(9);
    const held = [1, 2, 3, 4].map((job) => bench.count(job));
    expect(held.reduce((sum, each) => sum + each)).toBe(200);
    // The weights give 180, 18, 1.8 and 0.18 of 200 slots; every loaded queue gets at least one.
    expect(held[0]).toBeGreaterThanOrEqual(178);
    expect(held[1]).toBeGreaterThanOrEqual(17);
    expect(held[1]).toBeLessThanOrEqual(19);
    expect(held.slice(2)).toEqual([2, 1]);
  });

  test('give what a queue does not need to the others', () => {
    const bench = new Bench(100);
    bench.wants(1, 5, 1);
    bench.wants(2, 1_000, 1_000);
    expect([bench.count(1), bench.count(2)]).toEqual([5, 95]);
  });

  test('with fewer slots than loaded queues serve the first queue first, and each in turn', () => {
    const bench = new Bench(1);
    bench.wants(9, 1, 0);
    for (const [job, seconds] of [1, 100, 10_000].entries()) bench.wants(job + 1, 100, seconds);
    bench.take();
    bench.end(9);
    const started: number[] = bench.take();
    for (let i = 1; i < 60; i++) {
      bench.end(started.at(-1)!);
      started.push(...bench.take());
    }
    expect(started.slice(0, 8)).toEqual(new Array(8).fill(1));
    const count = (job: number) => started.filter((each) => each === job).length;
    expect([1, 2, 3].map(count)).toEqual([50, 5, 5]);
  });

  test('serve a job of any size while smaller ones keep arriving', () => {
    const bench = new Bench(4);
    bench.wants(1_000, 4, 1e8);
    for (let i = 0; i < 4; i++) bench.end(1_000);
    bench.take();
    for (let job = 1; job <= 8; job++) bench.wants(job, 1, 1);
    bench.wants(2_000, 1, 1e8);
    let at = 1;
    while (bench.count(2_000) === 0 && at < 100) {
      bench.wants(8 + at, 1, 1);
      bench.endAny(0);
      at++;
    }
    expect(at).toBeLessThan(3);
  });
});

describe('a slot goes to the next job', () => {
  test('when its owner has no more tasks for it', () => {
    const bench = new Bench(1);
    bench.wants(1, 1, 1);
    bench.wants(2, 1, 1);
    expect(bench.take()).toEqual([1]);
    bench.end(1, 'declined');
    expect(bench.take()).toEqual([2]);
  });

  test('of a queue whose task was lost with its worker are counted without that task', () => {
    const bench = new Bench(11);
    bench.wants(9, 11, 0);
    bench.wants(1, 1_000, 0.5);
    bench.wants(2, 1_000, 5);
    for (let i = 0; i < 11; i++) bench.end(9);
    expect([bench.count(1), bench.count(2)]).toEqual([10, 1]);
    bench.lose(2);
    bench.end(1);
    expect([bench.count(1), bench.count(2)]).toEqual([9, 1]);
  });
});

describe('sampling', () => {
  test('puts jobs with few tasks first, and pilots in the second queue', () => {
    const bench = new Bench(1);
    bench.wants(9, 1, 1);
    bench.wants(1, 5, 100_000);
    bench.wants(2, 1, 0, { part: 'pilots', jobTasks: 30 });
    bench.wants(3, 1, 1e9, { part: 'thin' });
    bench.take();
    bench.end(9);
    bench.end(3);
    expect(bench.take()).toEqual([3, 2]);
  });

  test('runs the other tasks of a sampled job only if nothing else waits, in order of arrival', () => {
    const bench = new Bench(3);
    bench.wants(1, 9, 0, { part: 'early', jobTasks: 10 });
    expect(bench.take()).toEqual([1, 1, 1]);
    bench.wants(2, 9, 0, { part: 'early', jobTasks: 10 });
    bench.wants(3, 1, 1e9);
    bench.end(1);
    bench.end(1);
    expect(bench.take()).toEqual([3, 1]);
  });
});

describe('without sizes', () => {
  test('by arrival: serves jobs in order of arrival, however large', () => {
    const bench = new Bench(1, { options: { by: 'arrival' } });
    bench.wants(1, 3, 1e9);
    bench.wants(2, 1, 1);
    for (const job of [1, 1, 1]) bench.end(job);
    expect(bench.take()).toEqual([1, 1, 1, 2]);
  });

  test('by service: serves a job with less attained service first', () => {
    const bench = new Bench(1, { options: { by: 'service' } });
    bench.wants(1, 3, 0);
    bench.now += 2_000 * SECOND;
    bench.wants(2, 3, 0);
    bench.end(1);
    bench.end(2);
    expect(bench.take()).toEqual([1, 2, 2]);
  });
});

describe('idle slots', () => {
  const part = fc.constantFrom('judged', 'thin', 'pilots', 'early');
  const size = fc.constantFrom(0, 1, 1_000, 1e6);
  const step = fc.oneof(
    fc.record({ kind: fc.constant('need' as const), tasks: fc.integer({ min: 1, max: 6 }), part, size }),
    fc.record({ kind: fc.constant('end' as const), of: fc.nat(20) }),
  );

  test.each(['size', 'service', 'arrival'])('there are none while a task waits (by %s)', (by) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 3 }), (steps, slots) => {
        const bench = new Bench(3, { slots, options: { by } });
        let job = 0;
        for (const action of steps) {
          bench.now += 100 * SECOND;
          if (action.kind === 'need') {
            bench.wants(++job, action.tasks, action.size, { part: action.part });
          } else if (bench.busy > 0) bench.endAny(action.of);
          expect(bench.books.waitingTasks > 0 && bench.busy < 3 * slots).toBe(false);
        }
        while (bench.busy > 0) bench.endAny(0);
        expect(bench.books.waitingTasks).toBe(0);
        expect(bench.refused).toBe(0);
      }),
    );
  });
});

test('a task with a large demand is not overtaken forever by small ones', () => {
  const bench = new Bench(6, { slots: 4, capacity: { memory: 4 } });
  for (let job = 1; job <= 24; job++) bench.wants(job, 1, 1, { demand: { memory: 1 } });
  bench.wants(1_000, 1, 1, { demand: { memory: 4 } });
  let job = 24;
  for (; bench.count(1_000) === 0 && job < 300; job++) {
    bench.wants(job + 1, 1, 1, { demand: { memory: 1 } });
    bench.now += SECOND;
    bench.endAny(5 * job);
  }
  // After 20 cutoffs one of the six workers is reserved for it, and is free when its four tasks have ended.
  expect(job).toBeLessThan(150);
});
