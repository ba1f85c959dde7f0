import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, test } from 'vitest';
import type { SleepEnded } from './channels.js';
import { SleepExecutor } from './sleep.js';

test('a channel publishes how late sleeps end, except killed ones', async () => {
  const slept: unknown[] = [];
  const take = (event: unknown) => void slept.push(event);
  subscribe('goshawk.sleep.ended', take);
  const executor = new SleepExecutor();
  const sleepFor = (sleep: number) =>
    new Promise<void>((resolve) => {
      const order = { payload: { sleep }, env: {}, outputBytesMax: 0 };
      const run = executor.start(order, { output() {}, ended: () => resolve() });
      if (sleep > 1_000) run.kill('cancelled');
    });
  await Promise.all([sleepFor(2), sleepFor(60_000)]);
  unsubscribe('goshawk.sleep.ended', take);
  expect(slept).toEqual([{ sleepMs: 2, lateMs: expect.any(Number) }]);
  expect((slept[0] as SleepEnded).lateMs).toBeGreaterThanOrEqual(0);
});
