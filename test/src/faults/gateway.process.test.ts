import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Daemon, Daemons, TestDaemons } from '@goshawk/cli/testing';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { mayMount } from './mounts.fixture.js';

const MIB = 1024 * 1024;
const PATIENCE = { timeout: 60_000, interval: 200 };

const daemons = new TestDaemons('gateway', { beforeEach, afterEach });
beforeEach(() => daemons.startCentralAndWorkers());
afterEach(() => {
  if (existsSync(disk())) execFileSync('umount', ['-l', disk()], { stdio: 'ignore' });
});

const disk = (): string => join(daemons.folder, 'disk');
const filler = (): string => join(disk(), 'filler');

const gatewayOf = (some: Daemons): Promise<Daemon> =>
  some.start('gateway', ['dashboard', '--listen', '127.0.0.1:0', '--cluster', daemons.url]);

/** Leaves this much free space on the disk, or what remains. */
function fillUpTo(mebibytesFree: number): void {
  const { bavail, bsize } = statfsSync(disk());
  appendFileSync(filler(), Buffer.alloc(Math.max(0, Math.floor(bavail * bsize - mebibytesFree * MIB))));
}

async function ask(
  { endpoint }: Daemon,
  path: string,
  job?: object,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(job) };
  const response = await fetch(new URL(path, endpoint), job === undefined ? {} : post);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test.skipIf(!mayMount())(
  'with a full disk, the gateway serves pages and refuses jobs with the reason, until there is room again',
  async () => {
    mkdirSync(disk());
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=220m', 'tmpfs', disk()]);
    const onDisk = new Daemons(disk(), daemons.url);
    onTestFinished(() => onDisk.stop());
    await onDisk.startScheduler('s');
    const gateway = await gatewayOf(onDisk);
    const job = { tasks: [{ sleep: 1 }] };
    const { body: old } = await ask(gateway, '/v1/jobs', { tasks: [daemons.held] });
    fillUpTo(0);
    await vi.waitFor(
      async () =>
        expect(await ask(gateway, '/v1/jobs', job)).toMatchObject({
          status: 503,
          body: { schema: 'goshawk.error/1', code: 'journal-full' },
        }),
      PATIENCE,
    );
    fillUpTo(0);
    daemons.letGo();
    expect(await ask(gateway, '/v1/jobs?all=true')).toMatchObject({ status: 200 });
    expect(await ask(gateway, `/v1/jobs/${old.job}`)).toMatchObject({ status: 200, body: { id: old.job } });
    rmSync(filler());
    const next = await vi.waitFor(async () => {
      const answer = await ask(gateway, '/v1/jobs', job);
      expect(answer.status).toBe(200);
      return answer.body.job;
    }, PATIENCE);
    for (const id of [old.job, next]) {
      expect((await ask(gateway, `/v1/jobs/${id}?wait=60`)).body).toMatchObject({ state: 'completed' });
    }
  },
);

const REQUESTS = 100_000;

/** Sends requests over connections that never read, each until it is cut. @returns the number of cut connections */
async function flood(port: number): Promise<number> {
  const piece = Buffer.from('GET /v1/jobs?all=true HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(1_000));
  let cut = 0;
  for (let left = REQUESTS; left > 0; ) {
    const socket = connect(port, '127.0.0.1').pause();
    const gone = new Promise<boolean>((resolve) =>
      socket.on('error', () => {}).on('close', () => resolve(true)),
    );
    for (let isCut = false; !isCut && left > 0; left -= 1_000) {
      const sent = new Promise<boolean>((resolve) => socket.write(piece, () => resolve(false)));
      isCut = await Promise.race([gone, sent]);
    }
    if (left <= 0) await gone;
    cut++;
  }
  return cut;
}

test('a client that sends 100,000 requests and reads no answer is disconnected, and others are served meanwhile', async () => {
  await daemons.startScheduler('s');
  const gateway = await gatewayOf(daemons);
  let isOver = false;
  const flooding = flood(Number(new URL(gateway.endpoint).port)).finally(() => {
    isOver = true;
  });
  const answers: unknown[] = [];
  do {
    const { body } = await ask(gateway, '/v1/jobs', { tasks: [{ sleep: 1 }] });
    answers.push((await ask(gateway, `/v1/jobs/${body.job}?wait=60`)).body.state);
  } while (!isOver);
  expect(new Set(answers)).toEqual(new Set(['completed']));
  expect(await flooding).toBeGreaterThan(0);
  const status = readFileSync(`/proc/${gateway.pid}/status`, 'utf8');
  expect(Number(/VmRSS:\s+(\d+)/.exec(status)![1])).toBeLessThan(512 * 1024);
});
