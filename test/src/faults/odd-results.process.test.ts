import { fileURLToPath } from 'node:url';
import { TestDaemons } from '@goshawk/cli/testing';
import { LIMITS } from '@goshawk/core';
import { afterEach, beforeEach, expect, test } from 'vitest';

const UNUSUAL_RESULTS = fileURLToPath(new URL('../../dist/faults/odd-results.fixture.js', import.meta.url));

const daemons = new TestDaemons('odd-results', { beforeEach, afterEach });
beforeEach(async () => {
  await daemons.startCentralAndWorkers(1);
  await daemons.startScheduler('s');
});

test('a result that is too large or cannot be encoded fails its task, and the worker continues', async () => {
  await using client = await daemons.connect();
  const kinds = ['function', 'cycle', 'bigint', 'deep', 'large'];
  const job = await client.submit({
    tasks: [...kinds, 'fine'].map((input) => ({ module: UNUSUAL_RESULTS, input })),
  });
  const { failures, tasks, attempts } = await job.wait();
  expect(tasks).toMatchObject({ completed: 1, failed: kinds.length });
  expect(attempts).toEqual({ total: 6, failed: 5, lost: 0 });
  expect(failures.map(({ task, code, message }) => [kinds[task], code, message])).toEqual([
    ['function', 'result-not-serialisable', expect.stringMatching(/function/)],
    ['cycle', 'result-not-serialisable', expect.stringMatching(/contains itself/)],
    ['bigint', 'result-not-serialisable', expect.stringMatching(/BigInt/)],
    ['deep', 'result-not-serialisable', expect.stringMatching(/levels/)],
    ['large', 'result-too-large', expect.stringMatching(/more than \d+ bytes/)],
  ]);
  const { schedulers, workers } = await client.counters();
  expect(schedulers.s).toMatchObject({ staleReports: 0, messages: { refused: 0 } });
  expect(Object.values(workers)[0]).toMatchObject({ messages: { unsendable: 0 } });
  const next = await client.submit({ tasks: [{ module: UNUSUAL_RESULTS, input: 'fine' }] });
  expect(await next.result()).toEqual(['fine']);
});

test('output beyond the limit keeps its beginning and end, and the task completes', async () => {
  await using client = await daemons.connect();
  const job = await client.submit({
    tasks: [{ exec: ['sh', '-c', 'yes | head -c 3000000; echo last >&2'] }],
  });
  expect((await job.wait()).state).toBe('completed');
  const { stdout, stderr } = await job.output(0);
  expect(stdout.length + stderr.length).toBeLessThan(LIMITS.outputBytesMax + 1_000);
  const [head, ...tail] = Buffer.from(stdout)
    .toString()
    .split(/^goshawk: .*\n/m);
  expect([head!.startsWith('y\ny\n'), tail.at(-1)!.endsWith('y\ny\n')]).toEqual([true, true]);
  expect(Buffer.from(stderr).toString()).toBe('last\n');
});
