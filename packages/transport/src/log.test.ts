import { afterEach, expect, test, vi } from 'vitest';
import { ThrottledLog } from './log.js';

afterEach(() => {
  vi.useRealTimers();
});

test('one line per peer and cause in an interval, with the number of suppressed ones', () => {
  vi.useFakeTimers();
  const lines: object[] = [];
  const logger = { debug() {}, error() {}, warn: (fields: object) => lines.push(fields) };
  const log = new ThrottledLog(logger, 1_000);
  for (let i = 0; i < 5; i++) log.warn('a', 'malformed', 'message');
  log.warn('b', 'malformed', 'message');
  log.warn('a', 'overflow', 'message');
  vi.advanceTimersByTime(1_000);
  log.warn('a', 'malformed', 'message');
  expect(lines).toStrictEqual([
    { peer: 'a', cause: 'malformed', heldBack: 0 },
    { peer: 'b', cause: 'malformed', heldBack: 0 },
    { peer: 'a', cause: 'overflow', heldBack: 0 },
    { peer: 'a', cause: 'malformed', heldBack: 4 },
  ]);
});

test('peers that invent names do not exhaust memory', () => {
  const log = new ThrottledLog({ debug() {}, error() {}, warn() {} }, 1_000);
  for (let i = 0; i < 5_000; i++) log.warn(`peer ${i}`, 'malformed', 'message');
  expect(log.size).toBeLessThanOrEqual(1_000);
});
