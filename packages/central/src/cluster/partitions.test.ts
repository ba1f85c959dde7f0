import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { shortPartitionSize, WorkerLabels } from './partitions.js';

describe('the size of the short partition', () => {
  test.each([
    [0.17, 100, 17], // Google
    [0.09, 100, 9], // Cloudera
    [0.02, 100, 2], // Facebook, Yahoo
    [0.17, 2, 0],
    [0.17, 3, 1],
    [1, 10, 9],
    [1, 1, 0],
    [0.5, 0, 0],
  ])('%f of %i workers are %i', (fraction, workers, size) => {
    expect(shortPartitionSize(fraction, workers, 0)).toBe(size);
  });

  test('is within one worker of the fraction, and leaves a worker for long jobs', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 1, max: 10_000 }),
        (f, workers) => {
          const size = shortPartitionSize(f, workers, 0);
          expect(Math.abs(size - f * workers)).toBeLessThanOrEqual(1);
          expect(size).toBeLessThan(workers);
        },
      ),
    );
  });

  test('is at least one of two workers if short jobs need it', () => {
    expect([0, 1, 2, 50].map((workers) => shortPartitionSize(0, workers, 1))).toEqual([0, 0, 1, 1]);
  });
});

interface WorkerLabel {
  readonly short: boolean;
  readonly hasNoLongTasks: boolean;
}

const workers = fc.array(fc.record({ short: fc.boolean(), hasNoLongTasks: fc.boolean() }), { maxLength: 40 });

function apply(before: readonly WorkerLabel[], changes: readonly WorkerLabel[]): WorkerLabel[] {
  return before.map((worker) => (changes.includes(worker) ? { ...worker, short: !worker.short } : worker));
}

function relabelled(before: readonly WorkerLabel[], size: number): WorkerLabel[] {
  const labels = new WorkerLabels<WorkerLabel>();
  for (const worker of before) labels.set(worker, worker.short ? 'short' : 'general');
  return labels.newest(size - sizeOf(before), ({ hasNoLongTasks }) => !hasNoLongTasks);
}

const sizeOf = (labels: readonly WorkerLabel[]) => labels.filter(({ short }) => short).length;

describe('relabelling', () => {
  test('reaches its size once enough workers are free of long tasks, and is as close as possible before', () => {
    fc.assert(
      fc.property(workers, fc.nat(40), (before, wanted) => {
        const size = Math.min(wanted, before.length);
        const after = sizeOf(apply(before, relabelled(before, size)));
        const reachable = sizeOf(before) + before.filter((w) => !w.short && w.hasNoLongTasks).length;
        expect(after).toBe(Math.min(size, Math.max(reachable, 0)));
      }),
    );
  });

  test('never makes a worker short that has long tasks', () => {
    fc.assert(
      fc.property(workers, fc.nat(40), (before, size) => {
        for (const worker of relabelled(before, size))
          expect(worker.short || worker.hasNoLongTasks).toBe(true);
      }),
    );
  });

  test('changes as few labels as possible, all in one direction, and is then stable', () => {
    fc.assert(
      fc.property(workers, fc.nat(40), (before, size) => {
        const changes = relabelled(before, size);
        const after = apply(before, changes);
        expect(changes.length).toBe(Math.abs(sizeOf(after) - sizeOf(before)));
        expect(new Set(changes).size).toBe(changes.length);
        expect(relabelled(after, size)).toEqual([]);
      }),
    );
  });

  test('takes the newest workers', () => {
    const [first, second, busy, last] = [true, true, false, true].map((hasNoLongTasks) => ({
      short: false,
      hasNoLongTasks,
    }));
    const changes = relabelled([first!, second!, busy!, last!], 2);
    expect([changes.length, changes[0] === last, changes[1] === second]).toEqual([2, true, true]);
  });

  test('considers a busy worker again only after it has become free', () => {
    const labels = new WorkerLabels<number>();
    for (let worker = 0; worker < 1_000; worker++) labels.set(worker, 'general');
    const busy = new Set(Array.from({ length: 1_000 }, (_, worker) => worker));
    const considered: number[] = [];
    const newest = (growth: number) =>
      labels.newest(growth, (worker) => {
        considered.push(worker);
        return busy.has(worker);
      });
    expect(newest(3)).toEqual([]);
    expect(considered.splice(0)).toHaveLength(1_000);
    busy.delete(7);
    labels.freed(7);
    labels.delete(5);
    labels.freed(5);
    expect(newest(3)).toEqual([7]);
    expect(considered).toEqual([7]);
    labels.set(7, 'short');
    expect([newest(3), newest(-1)]).toEqual([[], [7]]);
  });
});
