import type { Logger } from '@goshawk/transport';
import { expect, test } from 'vitest';
import { ClockWatch } from './clock-watch.js';

test('a clock step is logged once, and a slewed clock is not', () => {
  const lines: [object, string][] = [];
  const watch = new ClockWatch(
    { warn: (fields, line) => void lines.push([fields, line]) } as Logger,
    5_000,
    0,
  );
  for (const offsetMs of [5_000, 5_400, 4_700]) watch.check(offsetMs, 0);
  expect(lines).toEqual([]);
  for (const offsetMs of [65_000, 65_000, 5_000]) watch.check(offsetMs, 0);
  expect(lines).toEqual([
    [{ jumpMs: 60_000 }, 'the clock of this machine was set forward, or the machine was suspended'],
    [{ jumpMs: -60_000 }, 'the clock of this machine was set back'],
  ]);
});

test('a process that was stopped logs for how long, and a slow one does not', () => {
  const lines: object[] = [];
  const watch = new ClockWatch(
    { warn: (fields: object) => void lines.push(fields) } as unknown as Logger,
    0,
    0,
  );
  for (const now of [5_000, 11_000, 17_900, 22_900]) watch.check(0, now);
  expect(lines).toEqual([]);
  for (const now of [57_900, 62_900]) watch.check(0, now);
  expect(lines).toEqual([{ lateMs: 30_000 }]);
});
