import type { Cluster } from '@goshawk/client';
import { UnreachableError } from '@goshawk/core';
import { expect, test } from 'vitest';
import type { Link } from './link.js';
import { ClusterWatch } from './watch.js';

test('while central does not answer, the answers of schedulers are shown soon after they arrive', async () => {
  const silence = new UnreachableError('unreachable', 'no answer from central', '');
  let asked = 0;
  let held = 1;
  const unanswered = () => (asked === 1 ? Promise.reject(silence) : new Promise(() => {}));
  const cluster = {
    describe: () => {
      asked++;
      return unanswered();
    },
    waiting: async () => ({
      waiting: [{ class: 'short', reason: 'held', tasks: held, example: 'j-1', exampleAgeMs: 0 }],
      silent: [],
      central: undefined,
    }),
    counters: unanswered,
    jobs: async () => ({ jobs: [], total: 0 }),
    shares: unanswered,
    events: unanswered,
    history: unanswered,
  } as unknown as Cluster;
  const watch = new ClusterWatch({ cluster: async () => cluster } as unknown as Link, 'here');
  watch.pollFaster();
  watch.start();
  const shown = () => watch.overview.waiting?.[0]?.tasks;
  await expect.poll(shown).toBe(1);
  held = 2;
  await expect.poll(shown, { timeout: 10_000 }).toBe(2);
  held = 3;
  await expect.poll(shown, { timeout: 10_000 }).toBe(3);
  expect(watch.overview.reachable).toBe(false);
  expect(watch.overview.attention[0]!.what).toBe('no answer from central');
  // One request at a time waits for central.
  expect(asked).toBe(2);
  await watch.close();
});
