import { expect, test } from 'vitest';
import { completeLimits, DEFAULT_LIMITS } from './limits.js';

test('omitted limits have their defaults', () => {
  expect(completeLimits()).toStrictEqual(DEFAULT_LIMITS);
  expect(completeLimits({ idleMs: 5 }).idleMs).toBe(5);
});

test.each([
  [{ highWaterMark: 0 }, 'mailbox limit highWaterMark must be a whole number above 0, not 0'],
  [{ idleMs: Number.NaN }, 'mailbox limit idleMs must be a whole number above 0, not NaN'],
  [{ frameBytesMax: 1_000 }, 'mailbox limit frameBytesTarget (65536) must not exceed frameBytesMax (1000)'],
  [
    { reconnectIntervalMs: 3_000 },
    'mailbox limit reconnectIntervalMs (3000) must not exceed reconnectIntervalMaxMs',
  ],
])('%j is refused', (given, message) => {
  expect(() => completeLimits(given)).toThrow(message);
});
