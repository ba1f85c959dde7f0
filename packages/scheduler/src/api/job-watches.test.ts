import { type Address, LIMITS } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jobOf } from '../job/job.fixture.js';
import { JobWatches } from './job-watches.js';

const [ada, ben] = [1, 2] as [Address, Address];
const job = (number: number) => jobOf({ tasks: [{ sleep: 1 }] }, { number });
const MOST = 1_000;
const requests = (watches: readonly { request: number }[]) => watches.map(({ request }) => request);

function renew(
  watches: JobWatches,
  of: ReturnType<typeof job>,
  client: Address,
  request: number,
  now: number,
  soon = false,
): boolean {
  return watches.renew(of, { client, request, detail: false, soon }, now);
}

describe('watchers of a job', () => {
  test('get updates until they unsubscribe, or until the job ends', () => {
    const watches = new JobWatches();
    const one = job(1);
    for (const request of [1, 2, 3]) renew(watches, one, ada, request, 0);
    watches.remove(ada, 2);
    watches.remove(ben, 1);
    expect(requests(watches.current(one, 1))).toEqual([1, 3]);
    expect(requests(watches.take(one))).toEqual([1, 3]);
    expect(watches.isWatched(one)).toBe(false);
    expect(watches.take(one)).toEqual([]);
  });

  test('are forgotten when they fall silent', () => {
    const watches = new JobWatches();
    const one = job(1);
    renew(watches, one, ada, 1, 0);
    renew(watches, one, ben, 1, 0);
    renew(watches, one, ben, 1, 59_000);
    expect(watches.current(one, 60_000)).toMatchObject([{ client: ben }]);
    expect(watches.current(one, 119_000)).toEqual([]);
    expect(watches.isWatched(one)).toBe(false);
  });

  test('may watch another with the same request, and no longer the first', () => {
    const watches = new JobWatches();
    renew(watches, job(1), ada, 1, 0);
    renew(watches, job(2), ada, 1, 0);
    expect(watches.isWatched(job(1))).toBe(false);
    watches.remove(ada, 1);
    expect(watches.isWatched(job(2))).toBe(false);
  });

  test('get updates soon or at intervals, per job', () => {
    const watches = new JobWatches();
    renew(watches, job(1), ada, 1, 0, true);
    renew(watches, job(2), ada, 2, 0);
    expect([watches.needsPromptUpdates(job(1)), watches.needsPromptUpdates(job(2))]).toEqual([true, false]);
    watches.remove(ada, 1);
    renew(watches, job(1), ada, 3, 0);
    expect(watches.needsPromptUpdates(job(1))).toBe(false);
  });

  test('are limited, and silent ones make room, including those of idle jobs', () => {
    const watches = new JobWatches();
    const one = job(1);
    const most = 0.75 * LIMITS.watchesMax;
    let taken = 0;
    for (let request = 0; request < most; request++) if (renew(watches, one, ada, request, 0)) taken++;
    expect(taken).toBe(most);
    expect(renew(watches, job(2), ben, 1, 1)).toBe(false);
    expect(renew(watches, one, ada, 7, 30_000)).toBe(true);
    expect(renew(watches, job(2), ben, 1, 60_000)).toBe(true);
    expect(requests(watches.current(one, 60_000))).toEqual([7]);
  });

  test('leave room for those with other keys, and cannot take that of others', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { minLength: 1, maxLength: 8 }), (order) => {
        const watches = new JobWatches(MOST);
        const one = job(1);
        const counts = new Map<number, number>();
        let request = 0;
        const watch = (key: number) =>
          watches.renew(
            one,
            { client: ada, key: `k${key}`, request: ++request, detail: false, soon: false },
            0,
          );
        // Each takes what it can, in turn.
        for (const key of order) {
          while (watch(key)) counts.set(key, (counts.get(key) ?? 0) + 1);
          if (!counts.has(key)) expect(counts.size).toBeGreaterThan(4);
        }
        const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
        expect(total).toBeLessThanOrEqual(MOST);
        expect(requests(watches.take(one))).toHaveLength(total);
        // Everything is free again.
        let taken = 0;
        while (taken <= MOST && watch(99)) taken++;
        expect(taken).toBe(0.75 * MOST);
      }),
    );
  });

  test('take the same time to renew and to drop, regardless of their number', () => {
    const watches = new JobWatches();
    const one = job(1);
    for (let request = 0; request < LIMITS.watchesMax; request++) renew(watches, one, ada, request, 0);
    for (let request = 0; request < LIMITS.watchesMax; request++) renew(watches, one, ada, request, 1);
    for (let request = 0; request < LIMITS.watchesMax; request++) watches.remove(ben, request);
    for (let request = 0; request < LIMITS.watchesMax; request++) watches.remove(ada, request);
    expect(watches.isWatched(one)).toBe(false);
  });
});
