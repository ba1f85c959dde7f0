import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, test } from 'vitest';
import type { TimerFired } from '../driver/timers.js';
import { TimerQueue } from '../driver/timers.js';

test('a channel publishes how late timers of machines fire', async () => {
  const fired: unknown[] = [];
  const take = (event: unknown) => void fired.push(event);
  subscribe('goshawk.timer.fired', take);
  const timers = new TimerQueue(() => performance.now());
  await new Promise<void>((resolve) => {
    timers.forMachine(() => resolve()).set('steal', 0, performance.now() + 1);
  });
  unsubscribe('goshawk.timer.fired', take);
  expect(fired).toEqual([{ timer: 'steal', lateMs: expect.any(Number) }]);
  expect((fired[0] as TimerFired).lateMs).toBeGreaterThanOrEqual(0);
  timers.close();
});
