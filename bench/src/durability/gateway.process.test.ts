import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Daemon, startDaemon } from '../daemons.js';
import { Cluster } from './cluster.js';

let folder: string;
let cluster: Cluster;
const daemons: Daemon[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-gateway-'));
  cluster = await Cluster.start(folder);
});
afterEach(async () => {
  for (const daemon of daemons.splice(0)) await daemon.kill();
  await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function started(name: string, args: readonly string[], logs: string): Promise<Daemon> {
  const daemon = await startDaemon(name, args, logs);
  daemons.push(daemon);
  return daemon;
}

const gatewayFor = (logs: string): Promise<Daemon> =>
  started('gateway', ['dashboard', '--listen', '127.0.0.1:0', '--cluster', cluster.url], logs);

async function ask(
  { endpoint }: Daemon,
  path: string,
  job?: object,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(job) };
  const response = await fetch(new URL(path, endpoint), job === undefined ? {} : post);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const REQUESTS = 100_000;

/** Sends them by connections that read nothing, each until it is cut. @returns how many were cut */
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

test('a client that sends 100,000 requests and reads no answer is cut, and others are served meanwhile', async () => {
  await cluster.startScheduler('s');
  const gateway = await gatewayFor(join(folder, 'logs'));
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
