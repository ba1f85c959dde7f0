import type { Logger } from '@goshawk/transport';
import { expect, test } from 'vitest';
import { ClockWatch } from './clock-watch.js';

test('a clock step is logged once, and a slewed clock is not', () => {
  const lines: [object, string][] = [];
  const watch = new ClockWatch(
    { warn: (fields, line) => void lines.push([fields, line]) } as Logger,
    5_000,
    0,
    0,
  );
  for (const offsetMs of [5_000, 5_400, 4_700]) watch.check(offsetMs, 0, 0);
  expect(lines).toEqual([]);
  for (const offsetMs of [65_000, 65_000, 5_000]) watch.check(offsetMs, 0, 0);
  expect(lines).toEqual([
    [{ jumpMs: 60_000 }, 'the clock of this machine was set forward, or the machine was suspended'],
    [{ jumpMs: -60_000 }, 'the clock of this machine was set back'],
  ]);
});

test('a process that was stopped or blocked logs for how long and why, and a slow one does not', () => {
  const lines: [object, string][] = [];
  const watch = new ClockWatch(
    { warn: (fields: object, line: string) => void lines.push([fields, line]) } as unknown as Logger,
    0,
    0,
    100,
  );
  for (const now of [1_000, 3_000, 5_900, 6_900]) watch.check(0, now, 100 + now / 2);
  expect(lines).toEqual([]);
  watch.check(0, 37_900, 4_500);
  watch.check(0, 43_300, 9_300);
  watch.check(0, 44_300, 10_000);
  expect(lines).toEqual([
    [{ lateMs: 30_000, cpuMs: 950 }, expect.stringMatching(/^this process did not run for a while/)],
    [{ lateMs: 4_400, cpuMs: 4_800 }, expect.stringMatching(/because its code, or that of a policy/)],
  ]);
});
