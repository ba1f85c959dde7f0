import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DaemonIsUp } from '@goshawk/command/cluster';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RunningGoshawk, runGoshawk, startGoshawk } from './goshawk-process.fixture.js';

let folder = '';
const started: RunningGoshawk[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-full-log-'));
});
afterEach(async () => {
  for (const daemon of started.splice(0)) {
    daemon.kill('SIGKILL');
    await daemon.finished;
  }
  rmSync(folder, { recursive: true, force: true });
});

function daemon(...args: string[]): RunningGoshawk {
  const running = startGoshawk([...args, '--json', '--log-level', 'debug'], {}, { stderrTo: '/dev/full' });
  started.push(running);
  return running;
}

async function endpointOf(running: RunningGoshawk): Promise<string> {
  return (JSON.parse(await running.firstLine) as DaemonIsUp).endpoint;
}

/** Sends data that is not the Goshawk protocol, which the daemon logs. */
function stranger(endpoint: string): Promise<void> {
  const { hostname, port } = new URL(endpoint);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.end('GET / HTTP/1.0\r\n\r\n'));
    socket.on('error', () => {}).on('close', () => resolve());
    socket.resume();
  });
}

describe.runIf(process.platform === 'linux')('daemons whose log cannot be written', () => {
  it('work, handle foreign connections, and drain', async () => {
    const central = daemon('central', '--bind', 'tcp://127.0.0.1:0');
    const url = await endpointOf(central);
    const scheduler = daemon('scheduler', '--central-url', url, '--name', 's0', '--data-folder', folder);
    const worker = daemon('worker', '--central-url', url, '--cpus', '2', '--data-folder', join(folder, 'w'));
    await stranger(await endpointOf(scheduler));
    await stranger(await endpointOf(worker));
    const submit = ['submit', '--cluster', url, '--key', 'k', '--tasks', '20', '--sleep', '50ms'];
    const id = (await runGoshawk(submit)).stdout.trim();
    worker.kill('SIGTERM');
    expect(await worker.finished).toMatchObject({ exitCode: 0 });
    const successor = daemon('worker', '--central-url', url, '--data-folder', join(folder, 'w'));
    expect(await runGoshawk(['wait', id, '--cluster', url])).toMatchObject({ exitCode: 0 });
    for (const running of [successor, scheduler, central]) {
      running.kill('SIGTERM');
      expect(await running.finished).toMatchObject({ exitCode: 0 });
    }
  });
});
