import type { Address } from '@goshawk/core';
import { expect, test } from 'vitest';
import { jobOf } from './job.fixture.js';
import { JobWatches } from './job-watches.js';

const [A, B] = [1, 2] as [Address, Address];
const one = jobOf({ tasks: [{ sleep: 1 }] }, { number: 1, acceptedAt: 0 });
const other = jobOf({ tasks: [{ sleep: 1 }] }, { number: 2, acceptedAt: 0 });

test('a watch ends when its client says so, when the job ends, and when the client falls silent', () => {
  const watches = new JobWatches();
  watches.renew(one, A, 1, false, 0);
  watches.renew(one, B, 1, false, 0);
  watches.renew(other, A, 1, false, 0);
  watches.forget(A, 1);
  expect(watches.isWatched(other)).toBe(false);
  expect(watches.take(one)).toMatchObject([{ client: B }]);
  expect(watches.isWatched(one)).toBe(false);
  watches.renew(one, B, 1, false, 0);
  expect(watches.alive(one, 1e9)).toStrictEqual([]);
  expect(watches.isWatched(one)).toBe(false);
});
