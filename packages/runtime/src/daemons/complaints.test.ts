import type { Logger } from '@goshawk/transport';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchCounts } from './complaints.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('a user at a share of a small limit is not said to have reached a large one', async () => {
  const refused: Record<string, number> = { 'user-jobs': 0 };
  const lines: string[] = [];
  const logger = { warn: (_: object, line: string) => void lines.push(line) } as unknown as Logger;
  const events: string[] = [];
  watchCounts(
    { logger, ended: new Promise(() => {}) },
    () => refused,
    () => [{ user: 'ann', jobs: 15, waiting: 13 }],
    undefined,
    (text) => events.push(text),
  );
  for (let round = 1; round <= 2; round++) {
    refused['user-jobs'] = 7 * round;
    await vi.advanceTimersByTimeAsync(10_000);
  }
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatch(
    /^refused 7 submissions .*what others leave of --active-jobs-max.*; ann has 15 active jobs/,
  );
  expect(events).toEqual([expect.stringContaining('what others leave of --active-jobs-max')]);
});
