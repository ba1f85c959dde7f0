import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Mailbox } from '@goshawk/transport';
import { recordingLogger } from '@goshawk/transport/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type RunningGoshawk, runGoshawk, startGoshawk } from './goshawk-process.fixture.js';
import { removeFolder } from './test-cluster.fixture.js';

let folder: string;
const started: RunningGoshawk[] = [];
const mailboxes: Mailbox[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-test-'));
});

afterEach(async () => {
  for (const mailbox of mailboxes.splice(0)) await mailbox.close(0);
  for (const one of started) one.kill('SIGKILL');
  await Promise.all(started.splice(0).map(({ finished }) => finished));
  await removeFolder(folder);
});

function start(name: string, ...args: string[]): RunningGoshawk {
  const data = args[0] === 'central' ? [] : ['--data-folder', join(folder, name)];
  const one = startGoshawk([...args, ...data, '--json']);
  started.push(one);
  return one;
}

async function endpointOf(one: RunningGoshawk): Promise<string> {
  return (JSON.parse(await one.firstLine) as { endpoint: string }).endpoint;
}

const central = () => endpointOf(start('central', 'central', '--bind', 'tcp://127.0.0.1:0'));

test('a daemon that advertises the address of another one fails with an error; the other one continues', async () => {
  const url = await central();
  const member = (role: string, name: string, ...args: string[]) =>
    start(name, role, '--central-url', url, '--name', name, '--bind', 'tcp://127.0.0.1:0', ...args);
  const first = { worker: member('worker', 'w1'), scheduler: member('scheduler', 's1') };
  await Promise.all([first.worker.says(/have joined/), endpointOf(first.scheduler)]);
  const job = startGoshawk(['submit', '--cluster', url, '--wait', '--json', '--', 'sleep', '5']);
  started.push(job);
  const copies = (['worker', 'scheduler'] as const).map(async (role) => {
    const endpoint = await endpointOf(first[role]);
    const second = await member(role, 'copy', '--advertise', endpoint).finished;
    expect(second.exitCode).toBe(2);
    expect(second.stderr).toMatch(
      /two processes claim tcp:\/\/127\.0\.0\.1:\d+: this process advertises that address/,
    );
    expect(first[role].stderr()).toMatch(new RegExp(`claims the address of this process, ${endpoint}`));
  });
  await Promise.all(copies);
  const { exitCode, stdout } = await job.finished;
  expect(exitCode).toBe(0);
  const { job: id } = JSON.parse(stdout.split('\n')[0]!) as { job: string };
  const { stdout: shown } = await runGoshawk(['job', id, '--cluster', url, '--json']);
  expect(JSON.parse(shown)).toMatchObject({ state: 'completed', attempts: [{ attempt: 1 }] });
});

test('central names both claimants if neither can detect the conflict', async () => {
  const url = await central();
  const claim = async (id: string): Promise<Mailbox> => {
    const advertise = 'tcp://192.0.2.1:7000';
    const logger = recordingLogger();
    const bind = 'tcp://127.0.0.1:0';
    const mailbox = await Mailbox.open({ bind, advertise, incarnation: `w.${id}`, logger });
    mailboxes.push(mailbox);
    return mailbox;
  };
  const both = [await claim('first'), await claim('second')];
  const speak = setInterval(() => {
    for (const one of both) one.send(0, one.directory.intern(`${url}!c.*/0`), [0]);
  }, 200);
  try {
    for (;;) {
      const workers = await runGoshawk(['workers', '--cluster', url, '--json']);
      const { warnings } = JSON.parse(workers.stdout) as { warnings: string[] };
      if (warnings.length === 0) continue;
      expect(warnings).toEqual([
        expect.stringMatching(
          /^two processes claim tcp:\/\/192\.0\.2\.1:7000: w\.\w+ and w\.\w+; stop one of them/,
        ),
      ]);
      expect(new Set(warnings[0]!.match(/w\.\w+/g))).toEqual(new Set(['w.first', 'w.second']));
      break;
    }
  } finally {
    clearInterval(speak);
  }
  const { stderr } = await runGoshawk(['workers', '--cluster', url]);
  expect(stderr).toMatch(/two processes claim tcp:\/\/192\.0\.2\.1:7000/);
});
