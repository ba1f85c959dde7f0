import type { Logger } from '@goshawk/transport';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { whenJoined } from './process.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function joining(ended = new Promise<void>(() => {})) {
  const warnings: unknown[] = [];
  const logger = { warn: (of: object, line: string) => void warnings.push([of, line]) } as Logger;
  const state = { isJoined: false };
  const joined = whenJoined(() => state.isJoined, ended, { central: 'tcp://c:7070', logger });
  return { warnings, state, joined };
}

test('a process without an answer from central reports this once', async () => {
  const { warnings, state, joined } = joining();
  vi.advanceTimersByTime(1_000);
  expect(warnings).toEqual([]);
  vi.advanceTimersByTime(60_000);
  expect(warnings).toEqual([[{ central: 'tcp://c:7070' }, expect.stringContaining('--central-url')]]);
  state.isJoined = true;
  vi.advanceTimersByTime(100);
  await joined;
});

test('a process that joins soon, or exits, reports nothing', async () => {
  const soon = joining();
  soon.state.isJoined = true;
  const ending = joining(Promise.resolve());
  await vi.advanceTimersByTimeAsync(60_000);
  await soon.joined;
  expect([soon.warnings, ending.warnings]).toEqual([[], []]);
});
