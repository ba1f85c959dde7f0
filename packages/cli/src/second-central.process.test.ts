import { afterEach, expect, test } from 'vitest';
import { type RunningGoshawk, startGoshawk } from './goshawk-process.fixture.js';

const started: RunningGoshawk[] = [];
afterEach(async () => {
  for (const one of started) one.kill('SIGKILL');
  await Promise.all(started.splice(0).map(({ finished }) => finished));
});

function start(...args: string[]): RunningGoshawk {
  const one = startGoshawk([...args, '--json']);
  started.push(one);
  return one;
}

/** Starts a central at a different IP address behind the same host name; port 0 selects a free port. */
const central = (host: string, port: number) =>
  start('central', '--bind', `tcp://${host}:${port}`, '--advertise', `tcp://localhost:${port}`);

/** Returns the port of a running central. */
async function portOf(one: RunningGoshawk): Promise<number> {
  const { endpoint } = JSON.parse(await one.firstLine) as { endpoint: string };
  return Number(endpoint.split(':').at(-1));
}

async function follow(port: number): Promise<RunningGoshawk> {
  const worker = start('worker', '--central-url', `tcp://localhost:${port}`, '--name', `w${started.length}`);
  await worker.says(/have joined the cluster/);
  return worker;
}

test('a second central behind the same name exits with a clear message, and the first continues', async () => {
  const first = central('127.0.0.1', 0);
  const port = await portOf(first);
  await follow(port);
  const { exitCode, stderr } = await central('127.0.0.2', port).finished;
  expect(exitCode).not.toBe(0);
  expect(stderr).toMatch(
    /another central runs this cluster: tcp:\/\/localhost:\d+!c\..*stop this one, or use it|stop this one, or use it.*another central runs this cluster/,
  );
  await follow(port);
  expect(first.stderr()).not.toMatch(/second-central/);
});

test('a second central at the same port exits with a clear message', async () => {
  const port = await portOf(central('127.0.0.1', 0));
  const { exitCode, stderr } = await central('127.0.0.1', port).finished;
  expect(exitCode).not.toBe(0);
  expect(stderr).toMatch(/in use/);
});

test('daemons follow a restarted central at once', async () => {
  const first = central('127.0.0.1', 0);
  const port = await portOf(first);
  await follow(port);
  first.kill('SIGKILL');
  await first.finished;
  const second = central('127.0.0.1', port);
  await second.firstLine;
  await follow(port);
  expect(second.stderr()).not.toMatch(/second-central/);
});
