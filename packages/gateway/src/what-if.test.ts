import type { Cluster } from '@goshawk/client';
import { expect, it } from 'vitest';
import { gatewayTo } from './gateway.fixture.js';
import { LIMITS } from './limits.js';
import { type Predict, Predictions } from './what-if.js';

const CLUSTER = {} as Cluster;
const ANSWER: Awaited<ReturnType<Predict>> = {
  schema: 'goshawk.job-whatif/1',
  job: 'a-1',
  now: { startSeconds: 100, endSeconds: null },
  changes: [{ change: { workers: 10, priority: null, policy: null }, startSeconds: 40, endSeconds: 60 }],
  assumptions: [],
};

it('passes one change per request to the simulator, and refuses unknown ones', async () => {
  const asked: unknown[] = [];
  const url = await gatewayTo(
    {},
    {
      predict: async (_, job, changes) => {
        asked.push([job, changes]);
        return ANSWER;
      },
    },
  );
  const response = await fetch(`${url}/v1/jobs/a-1/whatif?workers=10&priority=high`);
  expect(await response.json()).toEqual(ANSWER);
  expect(asked).toEqual([['a-1', [{ workers: 10, priority: 'high' }]]]);
  for (const query of ['workers=many', 'workers=100000', 'priority=urgent', 'color=red'])
    expect((await fetch(`${url}/v1/jobs/a-1/whatif?${query}`)).status).toBe(400);
});

it('says so if the simulator is not installed', async () => {
  const response = await fetch(`${await gatewayTo({})}/v1/jobs/a-1/whatif?workers=1`);
  expect(response.status).toBe(501);
  expect(await response.json()).toMatchObject({ code: 'no-laboratory' });
});

it('simulates one at a time, skips clients that have left, and refuses more than a few', async () => {
  let running = 0;
  let most = 0;
  const began: string[] = [];
  const ends: (() => void)[] = [];
  const predictions = new Predictions(async (_, job) => {
    began.push(job);
    most = Math.max(most, ++running);
    await new Promise<void>((resolve) => ends.push(resolve));
    running--;
    return ANSWER;
  });
  const gone = new AbortController();
  const ask = (job: string, signal = new AbortController().signal) =>
    predictions.ask(CLUSTER, job, [], signal);
  const first = ask('first');
  const left = ask('left', gone.signal);
  const others = Array.from({ length: LIMITS.predictionsWaitingMax - 1 }, (_, index) =>
    ask(`other-${index}`),
  );
  await expect(ask('refused')).rejects.toThrow('predictions are running or waiting');
  gone.abort();
  left.catch(() => {});
  await expect.poll(() => began).toEqual(['first']);
  for (let done = 0; done <= others.length; done++) {
    await expect.poll(() => ends.length).toBe(done + 1);
    ends[done]!();
  }
  await Promise.all([first, ...others]);
  await expect(left).rejects.toThrow();
  expect(began).not.toContain('left');
  expect(most).toBe(1);
});
