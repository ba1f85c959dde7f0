import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestDaemons } from '../test-daemons.fixture.js';

const daemons = new TestDaemons('worker-test', { beforeEach, afterEach });

test('a terminated worker is listed as draining while its task runs, and then disappears', async () => {
  await daemons.startCentral();
  await daemons.startScheduler('s0');
  const worker = await daemons.startWorker('w0', ['--cpus', '2']);
  await using cluster = await daemons.connect();
  const job = await cluster.submit({ tasks: [daemons.held] });
  await expect.poll(() => daemons.linesOf('lines')).toEqual(['0']);
  worker.signal('SIGTERM');
  const listed = async () =>
    (await cluster.describe()).workers.map(({ name, state, busy }) => ({ name, state, busy }));
  await expect.poll(listed).toEqual([{ name: 'w0', state: 'draining', busy: 1 }]);
  // The loop takes longer than the worker's lease.
  const { leaseMs } = (await cluster.describe()).settings.timings;
  for (let part = 0; part < 15; part++) {
    await pause(leaseMs / 10);
    expect(await listed()).toEqual([{ name: 'w0', state: 'draining', busy: 1 }]);
  }
  daemons.letGo();
  expect(await job.wait()).toMatchObject({ state: 'completed', attempts: { total: 1, lost: 0 } });
  expect(await worker.ended).toBe(0);
  await expect.poll(listed).toEqual([]);
});
