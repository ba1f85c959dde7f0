import type { Logger } from '@goshawk/transport';
import { expect, test } from 'vitest';
import { ClockWatch } from './clock-watch.js';

test('a clock step is logged once, and a slewed clock is not', () => {
  const lines: [object, string][] = [];
  const watch = new ClockWatch({ warn: (fields, line) => void lines.push([fields, line]) } as Logger, 5_000);
  for (const offsetMs of [5_000, 5_400, 4_700]) watch.check(offsetMs);
  expect(lines).toEqual([]);
  for (const offsetMs of [65_000, 65_000, 5_000]) watch.check(offsetMs);
  expect(lines).toEqual([
    [{ jumpMs: 60_000 }, 'the clock of this machine was set forward, or the machine was suspended'],
    [{ jumpMs: -60_000 }, 'the clock of this machine was set back'],
  ]);
});
