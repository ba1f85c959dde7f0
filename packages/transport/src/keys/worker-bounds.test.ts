import fc from 'fast-check';
import { expect, test } from 'vitest';
import { boundsProblem, type WorkerClaims } from './worker-bounds.js';

const claims = (capacity: Record<string, number>): WorkerClaims => ({ attributes: [], capacity, slots: 1 });
const ringOf = (capacity: Record<string, number>) => ({
  members: new Map([['w', { bounds: { capacity } }]]),
  reserved: undefined,
});

test('a refused amount is shown so that it differs from the permitted one, however close they are', () => {
  const name = fc.constantFrom('cpu', 'memory', 'gpu', 'license');
  const amount = fc.oneof(
    fc.integer({ min: 1, max: 2 ** 45 }),
    fc.double({ min: 0.001, max: 64, noNaN: true }),
  );
  const more = fc.oneof(fc.constant(1), fc.constant(0.001), fc.integer({ min: 1, max: 2 ** 40 }));
  fc.assert(
    fc.property(name, amount, more, (of, most, by) => {
      fc.pre(most + by > most);
      const ring = ringOf({ cpu: 1, [of]: most });
      const problem = boundsProblem(ring, 'w', claims({ cpu: 1, [of]: most + by }))!;
      const [, permitted, refused] = /^its key permits at most (.*), not (.*)$/.exec(problem)!;
      expect(permitted).not.toBe(refused);
    }),
  );
});

test('amounts are rounded as usual where that is enough', () => {
  const ring = ringOf({ cpu: 1, memory: 2 ** 30 });
  expect(boundsProblem(ring, 'w', claims({ cpu: 1, memory: 2 ** 31 }))).toBe(
    'its key permits at most memory 1 GiB, not memory 2 GiB',
  );
  expect(boundsProblem(ring, 'w', claims({ cpu: 1, memory: 2 ** 30 + 1 }))).toBe(
    'its key permits at most memory 1073741824, not memory 1073741825',
  );
  expect(boundsProblem(ring, 'w', claims({ cpu: 1, memory: 2 ** 30 }))).toBe(undefined);
});
