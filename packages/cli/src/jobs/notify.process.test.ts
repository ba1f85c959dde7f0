import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signatureOf } from '@goshawk/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { childrenOf, isRunning, type RunningGoshawk, startGoshawk } from '../goshawk-process.fixture.js';
import { removeFolder, TestCluster } from '../test-cluster.fixture.js';

test('submit --notify posts a signed notification, and --notify-command runs for every job', async () => {
  const received: { signature: string; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const bytes of request) body += bytes;
    received.push({ signature: String(request.headers['x-goshawk-signature']), body });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-notify-'));
  const secret = join(folder, 'secret');
  writeFileSync(secret, 'of this test\n', { mode: 0o600 });
  const notified = join(folder, 'notified');
  const up = await TestCluster.start([
    ...['--workers', '1', '--schedulers', '1', '--notify-hosts', '127.0.0.1', '--notify-secret-file', secret],
    ...['--notify-command', `cat >> ${notified}`],
  ]);
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const failed = await up.goshawk([
      'submit',
      '--wait',
      '--notify',
      url,
      '--json',
      '--',
      'sh',
      '-c',
      'exit 3',
    ]);
    expect(failed.exitCode).toBe(1);
    const plain = await up.goshawk(['submit', '--sleep', '1ms', '--wait']);
    expect(plain.exitCode).toBe(0);
    await expect.poll(() => received.length).toBe(1);
    const [{ signature, body }] = received as [(typeof received)[0]];
    expect(JSON.parse(body)).toMatchObject({ schema: 'goshawk.notification/1', state: 'failed' });
    const time = Number(/^t=(\d+),/.exec(signature)![1]);
    expect(signature).toBe(signatureOf('of this test', time, body));
    const states = () => {
      try {
        const lines = readFileSync(notified, 'utf8').trimEnd().split('\n');
        return lines.map((line) => JSON.parse(line).state).sort();
      } catch {
        return [];
      }
    };
    await expect.poll(states).toEqual(['completed', 'failed']);
    const refused = await up.goshawk(['submit', '--sleep', '1ms', '--notify', 'https://elsewhere.example/']);
    expect(refused).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('the scheduler sends no notifications to elsewhere.example'),
    });
  } finally {
    await up.stop();
    server.close();
    await removeFolder(folder);
  }
});

test('submit --notify sends mail and runs commands where tasks run as the user of `up`', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-notify-'));
  // Stands in for the local mail system.
  mkdirSync(join(folder, 'bin'));
  writeFileSync(
    join(folder, 'bin/sendmail'),
    `#!/bin/sh\necho "$@" > ${folder}/args\ncat > ${folder}/mail\n`,
  );
  chmodSync(join(folder, 'bin/sendmail'), 0o755);
  const PATH = `${join(folder, 'bin')}:${process.env.PATH}`;
  const up = await TestCluster.start(['--workers', '1', '--schedulers', '1'], { PATH });
  const read = (file: string) => {
    try {
      return readFileSync(join(folder, file), 'utf8');
    } catch {
      return '';
    }
  };
  try {
    const submit = (to: string) =>
      up.goshawk(['submit', '--name', 'büro', '--sleep', '1ms', '--notify', to, '--wait']);
    expect((await submit(`command:echo "$GOSHAWK_JOB_STATE" > ${folder}/state`)).exitCode).toBe(0);
    await expect.poll(() => read('state')).toBe('completed\n');
    expect((await submit('mail:ann@example.org')).exitCode).toBe(0);
    await expect.poll(() => read('mail')).toMatch(/\}\n$/);
    expect(read('args')).toBe('-i -t\n');
    expect(read('mail')).toMatch(/^To: ann@example\.org\nSubject: Goshawk: b\?ro \(\w+-\d+\) completed\n/);
    expect(JSON.parse(read('mail').split('\n\n')[1]!)).toMatchObject({ name: 'büro', state: 'completed' });
  } finally {
    await up.stop();
    await removeFolder(folder);
  }
});

test('submit --notify command: is refused where the operator has not allowed it', async () => {
  const up = await TestCluster.start([
    '--workers',
    '1',
    '--schedulers',
    '1',
    '--notify-hosts',
    'mail:*@example.org',
  ]);
  try {
    const refused = await up.goshawk(['submit', '--sleep', '1ms', '--notify', 'command:true']);
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain('the scheduler sends no notifications to commands; its operator allows');
  } finally {
    await up.stop();
  }
});

test('a notification that could not be delivered is after everything was killed and started again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-notify-'));
  let up: RunningGoshawk | undefined;
  onTestFinished(async () => {
    up?.kill('SIGINT');
    await up?.finished;
    await removeFolder(folder);
  });
  const environment = { XDG_STATE_HOME: folder };
  const start = async (): Promise<void> => {
    const options = ['--workers', '1', '--schedulers', '1', '--data-folder', join(folder, 'data')];
    up = startGoshawk(['up', '--json', ...options], environment, { cwd: folder });
    await up.firstLine;
  };
  const read = (file: string): string => {
    try {
      return readFileSync(join(folder, file), 'utf8');
    } catch {
      return '';
    }
  };
  await start();
  const told = `cd ${folder}; echo try >> tries; [ -e open ] && echo $GOSHAWK_JOB_STATE > told`;
  const args = ['submit', '--sleep', '1ms', '--wait', '--notify', `command:${told}`];
  expect((await startGoshawk(args, environment, { cwd: folder }).finished).exitCode).toBe(0);
  await expect.poll(() => read('tries')).toMatch(/try/);
  const processes = [up!.pid, ...childrenOf(up!.pid).map(({ pid }) => pid)];
  for (const pid of processes) process.kill(pid, 'SIGKILL');
  await up!.finished;
  await expect.poll(() => processes.some(isRunning)).toBe(false);
  writeFileSync(join(folder, 'open'), '');
  await start();
  await expect.poll(() => read('told')).toBe('completed\n');
});
