import type { ClusterEvent } from '@goshawk/central';
import type { Logger } from '@goshawk/transport';
import { expect, test } from 'vitest';
import { clusterLog } from './cluster-log.js';

function bench(diagnose: (endpoint: string) => Promise<string>) {
  const lines: string[] = [];
  const explained: string[] = [];
  const kept: string[] = [];
  const tell = (_fields: object, message: string): void => void lines.push(message);
  const logger = { info: tell, warn: tell } as unknown as Logger;
  const log = clusterLog(
    logger,
    (worker, _address, why) => void explained.push(`${worker}: ${why}`),
    ({ kind, worker = '' }) => void kept.push(`${kind} ${worker}`),
    diagnose,
  );
  return { lines, explained, kept, log };
}

function lostWorker(worker: string, port: number): ClusterEvent {
  const address = `tcp://10.0.0.1:${port}!w.x/0`;
  return { kind: 'worker-lost', worker, address, cause: 'lease', silentMs: 5_200, jobs: ['ab-1'], tasks: 2 };
}

test('a lost worker is logged at once, and again with what its address shows', async () => {
  let diagnosed = (_why: string): void => {};
  const { lines, explained, log } = bench(
    (endpoint) =>
      new Promise((resolve) => {
        diagnosed = (why) => resolve(`${endpoint} ${why}`);
      }),
  );
  log(lostWorker('w1', 1));
  log({ kind: 'worker-joined', worker: 'w1', address: 'tcp://10.0.0.1:1!w.y/0', slots: 1 });
  const lost = 'worker w1 is lost with 2 tasks: it was silent for 5.2 s, so its lease expired';
  expect(lines).toEqual([lost, 'worker w1 joined']);
  diagnosed('refuses');
  await expect
    .poll(() => lines)
    .toEqual([lost, 'worker w1 joined', 'worker w1, just lost: tcp://10.0.0.1:1 refuses']);
  expect(explained).toEqual(['w1: tcp://10.0.0.1:1 refuses']);
});

test('many workers of one lost process cost one connection, and a storm a few', async () => {
  const asked: string[] = [];
  const { lines, explained, log } = bench(async (endpoint) => {
    asked.push(endpoint);
    return 'it hangs';
  });
  for (let i = 0; i < 10; i++) log(lostWorker(`w${i}`, 1));
  for (let i = 0; i < 100; i++) log(lostWorker(`v${i}`, 2 + i));
  await expect.poll(() => explained).toHaveLength(29);
  await expect.poll(() => lines).toHaveLength(40);
  expect(asked).toHaveLength(20);
});

test('a worker that was replaced is known to have ended', async () => {
  const { lines, log } = bench(() => Promise.reject(new Error('must not be asked')));
  log({ ...lostWorker('w1', 1), cause: 'replaced' } as ClusterEvent);
  expect(lines).toEqual(['worker w1 is lost with 2 tasks: another process replaced it']);
});

test('a scheduler that returns with another journal is reported with the jobs that it lacks', () => {
  const { lines, log } = bench(() => Promise.reject(new Error('must not be asked')));
  const joined = (scheduler: string, tag: string, adopted = false): ClusterEvent => ({
    kind: 'scheduler-joined',
    scheduler,
    tag,
    epoch: 1,
    address: 'tcp://10.0.0.1:1!s.x/0',
    adopted,
  });
  for (const event of [
    joined('s0', 'aaaaa'),
    joined('s1', 'bbbbb'),
    joined('s0', 'ccccc', true),
    joined('s0', 'aaaaa'),
  ])
    log(event);
  expect(lines.filter((line) => line.includes('another journal'))).toEqual([]);
  log(joined('s0', 'ddddd'));
  expect(lines.at(-1)).toMatch(/scheduler s0 joined with another journal: jobs aaaaa-\* are not in it/);
});

test.each([
  [[], [], /^no scheduler is missing$/],
  [['s0', 's1'], [], /^missing: s0, s1$/],
  [['s0', 's1'], ['s1'], /^missing: s0, s1; the jobs of s1 are not listed until they start again /],
  [['s0', 's1'], ['s0', 's1'], /^missing: s0, s1; their jobs are not listed until they start again /],
])('the jobs of missing schedulers %j are called unlisted only for %j', (schedulers, unlisted, line) => {
  const { lines, log } = bench(() => Promise.reject(new Error('must not be asked')));
  log({ kind: 'schedulers-missing', schedulers, unlisted });
  expect(lines).toEqual([expect.stringMatching(line)]);
});
