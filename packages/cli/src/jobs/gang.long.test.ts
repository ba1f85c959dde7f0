import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestCluster } from '../test-cluster.fixture.js';

let up: TestCluster;

beforeAll(async () => {
  up = await TestCluster.start(['--workers', '2', '--schedulers', '1']);
});

afterAll(() => up.stop());

async function jobOf(id: string) {
  return JSON.parse((await up.goshawk(['job', id, '--json'])).stdout);
}

it('a gang that exceeds the cluster is rejected in one line', async () => {
  const { exitCode, stderr } = await up.goshawk(['submit', '--gang', '--tasks', '3', '--', 'true']);
  const why = 'the 3 tasks of the gang start together, and the cluster has room for 2 of them';
  // A cluster that has just started first waits for further workers, and says so.
  const note = `waiting for the cluster to accept the job: ${why}\n`;
  const said = stderr.startsWith(note) ? stderr.slice(note.length) : stderr;
  expect(said.trim()).toBe(`goshawk: ${why}; submit fewer tasks, or add workers`);
  expect(exitCode).toBe(2);
});

it('a gang restarts as a whole after a worker is killed; until then `why` shows what is missing', async () => {
  const worker = async () => {
    const folder = join(up.folder, `extra-${Math.random()}`);
    await mkdir(folder);
    return up.run([
      'worker',
      '--central-url',
      up.url,
      '--cpus',
      '1',
      '--name',
      'extra',
      '--data-folder',
      folder,
    ]);
  };
  const first = await worker();
  const workers = async () => JSON.parse((await up.goshawk(['workers', '--json'])).stdout).workers.length;
  await expect.poll(workers, { timeout: 60_000 }).toBe(3);
  const command = 'echo "$GOSHAWK_RANK of $GOSHAWK_RANKS"; [ $GOSHAWK_ATTEMPT -gt 1 ] || exec sleep 1000';
  const { stdout } = await up.goshawk(['submit', '--gang', '--tasks', '3', '--', 'sh', '-c', command]);
  const id = stdout.trim();
  await expect.poll(async () => (await jobOf(id)).tasks.running, { timeout: 60_000 }).toBe(3);
  first.kill('SIGKILL');
  await first.finished;
  await expect.poll(async () => (await jobOf(id)).tasks.waiting, { timeout: 60_000 }).toBe(3);
  const why = (await up.goshawk(['why', id])).stdout;
  expect(why).toContain('the 3 tasks of the gang start together, and the cluster has room for 2 of them');
  const second = await worker();
  const { exitCode } = await up.goshawk(['wait', id, '--wait-timeout', '60s']);
  expect(exitCode).toBe(0);
  const { attempts } = await jobOf(id);
  const ended = attempts.filter(({ attempt }: { attempt: number }) => attempt === 1);
  expect(ended).toHaveLength(3);
  const reasons = ended.map(({ message }: { message: string | null }) => message ?? '').sort();
  expect(reasons.at(-1)).toMatch(/^rank \d of its gang was lost with extra$/);
  expect(attempts.filter(({ attempt }: { attempt: number }) => attempt === 2)).toHaveLength(3);
  second.kill('SIGTERM');
  await second.finished;
});
