import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TestDaemons } from '@goshawk/cli/testing';
import { connect } from '@goshawk/client';
import {
  type DialOption,
  generateKeys,
  keyRing,
  randomName,
  SignedIdentification,
  writeKeyFolder,
} from '@goshawk/transport';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { Dealer } from 'zeromq';

const daemons = new TestDaemons('replayed', { beforeEach, afterEach });

const RECORDER = fileURLToPath(new URL('frame-recorder.fixture.cjs', import.meta.url));

interface Sent {
  readonly endpoint: string;
  readonly routingId: string;
  readonly frames: readonly string[];
}

test('frames of a worker that another process with a worker key sends again change no ended job, and start nothing twice', async () => {
  const keys = generateKeys();
  const folder = join(daemons.folder, 'keys');
  writeKeyFolder(folder, keys);
  const withKeys = ['--keys', folder];
  const central = await daemons.startCentral(withKeys);
  const scheduler = await daemons.startScheduler('s', withKeys);
  const file = join(daemons.folder, 'frames');
  const recording = [{ RECORD_FRAMES: file }, ['--require', RECORDER]] as const;
  await daemons.startWorker('w', ['--cpus', '2', ...withKeys], ...recording);
  await using client = await connect(daemons.url, { keys: join(folder, 'client.key'), renewMs: 500 });
  const append = { exec: ['sh', '-c', 'echo $GOSHAWK_JOB/$GOSHAWK_TASK >> lines'], cwd: daemons.folder };
  const completed = await client.submit({ tasks: { count: 6, run: append } });
  expect((await completed.wait()).state).toBe('completed');
  const failed = await client.submit({ retries: 1, tasks: [{ exec: ['false'] }] });
  expect((await failed.wait()).state).toBe('failed');
  const held = await client.submit({ tasks: { count: 4, run: daemons.held } });
  const ownLines = () => daemons.linesOf('lines').filter((line) => !line.includes('/'));
  await expect.poll(ownLines).toHaveLength(2);

  const jobs = async () =>
    Promise.all(
      [completed, failed, held].map(async (job) => {
        const { state, tasks, attempts } = await job.describe();
        return { state, tasks, attempts };
      }),
    );
  const before = await jobs();
  expect(existsSync(file)).toBe(true);
  const sent = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Sent);
  const roles = new Map([
    [central.endpoint, 'central'],
    [scheduler.endpoint, 'scheduler'],
  ] as const);
  const sentTo = (endpoint: string) => sent.filter((each) => each.endpoint === endpoint);
  const thief = `tcp://127.0.0.1:1!w.${randomName()}`;
  for (const [endpoint, role] of roles) {
    const replayed = sentTo(endpoint);
    expect(replayed.length).toBeGreaterThan(2);
    const identification = new SignedIdentification(
      thief,
      thief.split('!')[0]!,
      keyRing(keys.worker, 'test'),
    );
    const [{ routingId, curve }] = identification.dialOptionsFor({ endpoint, role }) as [DialOption];
    const socket = new Dealer({ routingId, ...curve });
    onTestFinished(() => socket.close());
    socket.connect(endpoint);
    for (let round = 0; round < 3; round++)
      for (const { frames } of replayed)
        await socket.send(frames.map((frame) => Buffer.from(frame, 'base64')));
    socket.close();
  }
  // A job that runs afterwards shows that the frames have been read.
  const next = await client.submit({ priority: 'high', tasks: { count: 3, run: append } });
  daemons.letGo();
  expect((await next.wait()).state).toBe('completed');
  expect(await held.wait()).toMatchObject({ state: 'completed', attempts: { failed: 0 } });
  expect((await jobs()).slice(0, 2)).toEqual(before.slice(0, 2));
  const line = (id: string) => (_: unknown, task: number) => `${id}/${task}`;
  expect(daemons.linesOf('lines')).toEqual(
    [
      ...['0', '1', '2', '3'],
      ...Array.from({ length: 6 }, line(completed.id)),
      ...Array.from({ length: 3 }, line(next.id)),
    ].sort(),
  );
  const { workers } = await client.describe();
  expect(workers).toMatchObject([{ name: 'w', state: 'active' }]);
  expect((await client.counters()).central).toMatchObject({ workersJoined: 1 });
});
