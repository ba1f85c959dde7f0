import { cp, mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@goshawk/client';
import { openTap, type Tap } from '@goshawk/transport/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type RunningGoshawk, runGoshawk, startGoshawk } from './goshawk-process.fixture.js';
import { removeFolder } from './test-cluster.fixture.js';

let folder = '';
let environment: NodeJS.ProcessEnv = {};
const running: RunningGoshawk[] = [];
const relays: Tap[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-keys-test-'));
  environment = { XDG_STATE_HOME: folder };
  expect((await goshawk('keygen', 'keys')).exitCode).toBe(0);
  expect((await goshawk('keygen', 'others')).exitCode).toBe(0);
});

afterEach(async () => {
  for (const relay of relays.splice(0)) relay.close();
  for (const one of running.splice(0)) {
    one.kill('SIGKILL');
    await one.finished;
  }
  await removeFolder(folder);
});

function goshawk(...args: string[]) {
  return runGoshawk(args, environment, { cwd: folder });
}

/** @returns the process and its address */
async function daemon(...args: string[]): Promise<{ daemon: RunningGoshawk; endpoint: string }> {
  const started = startGoshawk([...args, '--json'], environment, { cwd: folder });
  running.push(started);
  const { endpoint } = JSON.parse(await started.firstLine) as { endpoint: string };
  return { daemon: started, endpoint };
}

/** Name that is too long to appear in ciphertext by chance. */
const WORKER = 'worker-of-these-tests';

const KEYS_BY_ROLE = { central: 'keys', scheduler: 'keys/scheduler.key', worker: 'keys' };

/** @param keys of each role */
async function cluster(
  keys = KEYS_BY_ROLE,
): Promise<{ central: RunningGoshawk; url: string; scheduler: string }> {
  const { daemon: central, endpoint: url } = await daemon(
    ...['central', '--bind', 'tcp://127.0.0.1:0', '--keys', keys.central],
  );
  const { endpoint: scheduler } = await daemon(
    ...['scheduler', '--central-url', url, '--keys', keys.scheduler],
  );
  const worker = ['worker', '--name', WORKER, '--cpus', '2', '--data-folder', 'w'];
  await daemon(...worker, '--central-url', url, '--keys', keys.worker);
  await vi.waitFor(
    async () => {
      const listed = await goshawk('workers', '--cluster', url, '--keys', keys.worker, '--json');
      expect(JSON.parse(listed.stdout)).toMatchObject({ total: 1 });
    },
    { timeout: 60_000 },
  );
  return { central, url, scheduler };
}

describe('a cluster with keys', () => {
  it('serves clients with a key, from a file or the environment, at central and at a scheduler', async () => {
    const { url, scheduler } = await cluster();
    const text = await readFile(join(folder, 'keys', 'client.key'), 'utf8');
    for (const [endpoint, more] of [
      [url, { GOSHAWK_KEYS: join(folder, 'keys', 'client.key') }],
      [scheduler, { GOSHAWK_KEY: text }],
    ] as const) {
      const args = ['submit', '--cluster', endpoint, '--wait', '--logs', '--', 'sh', '-c', 'env; echo done'];
      const { exitCode, stdout } = await runGoshawk(
        args,
        { ...environment, ...more, SECRET: 'x' },
        { cwd: folder },
      );
      expect(exitCode).toBe(0);
      expect(stdout).toMatch(/done/);
      expect(stdout).not.toMatch(/GOSHAWK_KEY|SECRET|"secret"/);
    }
  });

  it('rejects clients without a key, or with that of another cluster, and explains why', async () => {
    const { central, url } = await cluster();
    const keyless = await goshawk('jobs', '--cluster', url);
    expect(keyless.exitCode).toBe(3);
    expect(keyless.stderr).toMatch(
      /accepts only clients with a key; pass the cluster’s client\.key with --keys/,
    );
    const stranger = await goshawk('jobs', '--cluster', url, '--keys', 'others');
    expect(stranger.exitCode).toBe(3);
    expect(stranger.stderr).toMatch(/rejects this key/);
    await central.says(/rejected connections from outside this cluster/);
  });

  it('rejects workers with a client key, or with a key of another cluster', async () => {
    const { url } = await cluster();
    const refused = await goshawk('worker', '--central-url', url, '--keys', 'keys/client.key');
    expect(refused.exitCode).toBe(2);
    const { daemon: stranger } = await daemon(
      'worker',
      '--central-url',
      url,
      '--keys',
      'others',
      '--name',
      'stranger',
      '--data-folder',
      'x',
    );
    await stranger.says(/rejects this process’s key/);
    const listed = await goshawk('workers', '--cluster', url, '--keys', 'keys', '--json');
    expect(JSON.parse(listed.stdout)).toMatchObject({ total: 1, workers: [{ name: WORKER }] });
  });

  it('continues during a rotation of keys, with each process at a different step', async () => {
    for (const [before, after] of [
      ['keys', 'prepared'],
      ['prepared', 'switched'],
    ] as const) {
      await cp(join(folder, before), join(folder, after), { recursive: true });
      expect((await goshawk('keygen', after, '--rotate')).exitCode).toBe(0);
    }
    const { url } = await cluster({ central: 'prepared', scheduler: 'switched', worker: 'prepared' });
    for (const keys of ['prepared', 'switched']) {
      const { exitCode } = await goshawk('submit', '--cluster', url, '--keys', keys, '--wait', '--', 'true');
      expect(exitCode).toBe(0);
    }
  });

  it('encrypts all traffic', async () => {
    const { url } = await cluster();
    const relay = await openTap(url);
    relays.push(relay);
    const secret = 'launch-code-00000000';
    const args = ['--cluster', relay.endpoint, '--keys', 'keys'];
    const listed = await goshawk('workers', ...args, '--json');
    expect(JSON.parse(listed.stdout)).toMatchObject({ total: 1 });
    const done = await goshawk('submit', ...args, '--wait', '--logs', '--', 'printf', secret);
    expect(done.stdout).toMatch(secret);
    expect(relay.captured().length).toBeGreaterThan(1_000);
    for (const text of [secret, 'findSchedulers', 'printf', 'goshawk', WORKER]) {
      expect(relay.captured().includes(text), text).toBe(false);
    }
  });
});

describe('while a cluster runs', () => {
  it('a client gets a separate key with limited rights, which is invalid once revoked', async () => {
    const { url } = await cluster();
    const keygen = ['keygen', 'keys', '--client', 'ci', '--rights', 'submit,read-own'];
    expect((await goshawk(...keygen)).exitCode).toBe(0);
    const as = (keys: string, ...args: string[]) => goshawk(...args, '--cluster', url, '--keys', keys);
    const own = 'keys/client.ci.key';
    const submitted = () => as(own, 'submit', '--json', '--sleep', '1ms', '--wait');
    await vi.waitFor(async () => expect((await submitted()).exitCode).toBe(0), POLL_OPTIONS);
    const others = (await as('keys', 'submit', '--user', 'ann', '--sleep', '1h')).stdout.trim();

    expect((await as(own, 'jobs', '--all')).stdout).not.toContain(others);
    expect(
      JSON.parse((await as('keys', 'jobs', '--all', '--user', 'ci', '--json')).stdout).total,
    ).toBeGreaterThan(0);
    for (const refused of [
      ['cancel', others],
      ['job', others],
      ['drain', WORKER],
    ]) {
      const { exitCode, stderr } = await as(own, ...refused);
      expect(exitCode, stderr).toBe(2);
      expect(stderr).toMatch(/there is no job|does not permit \w+ing/);
    }

    // A plan needs no more rights, and simulates jobs that the key does not show.
    const plan = JSON.parse((await as(own, 'plan', '--json', '--sleep', '2s')).stdout);
    expect(plan.expectedEnd, plan.expectedEndUnknown).not.toBeNull();

    const top = await as(own, 'top');
    expect(top.stdout, top.stderr).toMatch(/jobs +\d+ active/);

    await cp(join(folder, own), join(folder, 'ci.key'));
    await using session = await connect(url, { keys: join(folder, 'ci.key') });
    const job = await session.submit({ tasks: [{ sleep: '1h' }] });
    const waiting = expect(job.wait()).rejects.toThrow(/rejects this key|no updates about/);
    expect((await goshawk('keygen', 'keys', '--revoke', 'ci')).exitCode).toBe(0);
    expect((await goshawk('keygen', 'keys', '--revoke', 'ci')).exitCode).toBe(2);
    await waiting;
    await expect(session.jobs()).rejects.toThrow(/rejects this key|no answer/);
    expect((await as('ci.key', 'jobs')).exitCode).toBe(3);
    expect((await as('keys', 'cancel', others, job.id)).exitCode).toBe(0);
    expect((await as('keys', 'submit', '--sleep', '1ms', '--wait')).exitCode).toBe(0);
  });

  it('keys are rotated in all steps without a restart, and the old ones become invalid', async () => {
    const { url } = await cluster();
    await cp(join(folder, 'keys', 'client.key'), join(folder, 'leaked.key'));
    const job = (await goshawk('submit', '--cluster', url, '--keys', 'keys', '--sleep', '1h')).stdout.trim();
    const submit = (keys: string) =>
      goshawk('submit', '--cluster', url, '--keys', keys, '--sleep', '1ms', '--wait');
    // The session stands for clients that run for days, such as the dashboard.
    await using session = await connect(url, { keys: join(folder, 'keys', 'client.key') });
    for (let step = 0; step < 3; step++) {
      expect((await goshawk('keygen', 'keys', '--rotate')).exitCode).toBe(0);
      await vi.waitFor(async () => expect((await submit('keys')).exitCode).toBe(0), POLL_OPTIONS);
      await vi.waitFor(async () => expect((await session.jobs()).silent).toEqual([]), POLL_OPTIONS);
    }
    await vi.waitFor(async () => expect((await submit('leaked.key')).exitCode).toBe(3), POLL_OPTIONS);
    const { stdout } = await goshawk('job', job, '--cluster', url, '--keys', 'keys', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      state: 'running',
      attempts: [{ attempt: 1, state: 'running' }],
    });
  });

  it('an invalid key file changes nothing, and is reported', async () => {
    const { central, url } = await cluster({ ...KEYS_BY_ROLE, central: 'keys/central.key' });
    await writeFile(join(folder, 'keys', 'central.key'), '{');
    await central.says(/the previous keys remain in use/);
    expect((await goshawk('workers', '--cluster', url, '--keys', 'keys')).exitCode).toBe(0);
  });
});

describe('a cluster in which each process has its own key', () => {
  const own = (file: string) => ['--keys', join('keys', file)];

  /** Starts central, a scheduler and two workers, each with only its own key file. */
  async function ownKeys(): Promise<string> {
    for (const process of ['scheduler s0', 'worker honest', 'worker leaky', 'client ann', 'client bob'])
      expect((await goshawk('keygen', ...process.split(' '), 'keys')).exitCode).toBe(0);
    const { endpoint: url } = await daemon('central', '--bind', 'tcp://127.0.0.1:0', ...own('central.key'));
    await daemon('scheduler', '--central-url', url, ...own('scheduler.s0.key'));
    for (const name of ['honest', 'leaky']) await worker(url, name, join('keys', `worker.${name}.key`));
    await vi.waitFor(async () => expect(await workers(url)).toEqual(['honest', 'leaky']), POLL_OPTIONS);
    return url;
  }

  function worker(url: string, name: string, keys: string, ...more: string[]) {
    const size = ['--cpus', '1', '--data-folder', `data-${name}`];
    const args = ['worker', '--central-url', url, ...size, '--keys', keys, ...more];
    return daemon(...args);
  }

  async function workers(url: string): Promise<string[]> {
    const listed = await goshawk('workers', '--cluster', url, ...own('client.key'), '--json');
    const { workers: all } = JSON.parse(listed.stdout) as { workers: { name: string }[] };
    return all.map(({ name }) => name).sort();
  }

  it('a leaked worker key is revoked and replaced while the tasks of honest workers keep running', async () => {
    const url = await ownKeys();
    const as = (command: string, ...args: string[]) =>
      goshawk(command, '--cluster', url, ...own('client.ann.key'), ...args);
    await writeFile(join(folder, 'go-on'), '');
    const command = ['sh', '-c', 'while [ -e go-on ]; do sleep 0.1; done'];
    const job = (await as('submit', '--cwd', folder, '--tasks', '2', '--', ...command)).stdout.trim();
    type Shown = { state: string; attempts: { worker: string; attempt: number; state: string }[] };
    const attempts = async () => (JSON.parse((await as('job', job, '--json')).stdout) as Shown).attempts;
    await vi.waitFor(async () => {
      const running = (await attempts()).filter(({ state }) => state === 'running');
      expect(running.map(({ worker: name }) => name).sort()).toEqual(['honest', 'leaky']);
    }, POLL_OPTIONS);
    await cp(join(folder, 'keys/worker.leaky.key'), join(folder, 'leaked.key'));

    expect((await goshawk('keys', 'revoke', 'leaky', 'keys')).exitCode).toBe(0);
    await vi.waitFor(async () => expect(await workers(url)).toEqual(['honest']), POLL_OPTIONS);
    const { daemon: thief } = await worker(url, 'thief', 'leaked.key', '--name', 'leaky');
    await thief.says(/rejects this process’s key/);
    expect(await workers(url)).toEqual(['honest']);
    expect((await attempts()).filter(({ worker: name }) => name === 'honest')).toMatchObject([
      { attempt: 1, state: 'running' },
    ]);

    // The worker that still runs reads its new key and joins again.
    expect((await goshawk('keygen', 'worker', 'leaky', 'keys')).exitCode).toBe(0);
    await vi.waitFor(async () => expect(await workers(url)).toEqual(['honest', 'leaky']), POLL_OPTIONS);
    await removeFolder(join(folder, 'go-on'));
    expect((await as('wait', job)).exitCode).toBe(0);
    const ends = (await attempts()).filter(
      ({ worker: name, state }) => name === 'honest' && state !== 'running',
    );
    expect(ends).toContainEqual(expect.objectContaining({ attempt: 1, state: 'completed' }));
  });

  it('a process with the key of another role or of another worker is rejected', async () => {
    const url = await ownKeys();
    const key = (file: string) => own(file);
    for (const [args, problem] of [
      [['worker', '--central-url', url, ...key('client.ann.key')], /contains the keys of a client/],
      [['scheduler', '--central-url', url, ...key('client.ann.key')], /contains the keys of a client/],
      [['scheduler', '--central-url', url, ...key('worker.leaky.key')], /contains the keys of a worker/],
      [
        ['submit', '--cluster', url, ...key('worker.leaky.key'), '--', 'true'],
        /contains the keys of a worker/,
      ],
      [
        ['submit', '--cluster', url, ...key('scheduler.s0.key'), '--', 'true'],
        /contains the keys of a schedul/,
      ],
      [
        ['worker', '--central-url', url, '--name', 'honest', ...key('worker.leaky.key')],
        /its key does not permit the name "honest"; its key permits leaky/,
      ],
      [
        ['worker', '--central-url', url, '--name', 'honest', ...key('worker.key')],
        /its key does not permit the name "honest"; use the key of that name/,
      ],
    ] as const) {
      const { exitCode, stderr } = await goshawk(...args);
      expect(stderr).toMatch(problem);
      expect(exitCode).toBe(2);
    }
  });
});

const POLL_OPTIONS = { timeout: 120_000, interval: 200 };

describe('goshawk up --secure', () => {
  it('creates keys that only its user can read', async () => {
    const up = startGoshawk(
      ['up', '--secure', '--workers', '1', '--schedulers', '1', '--data-folder', 'data', '--json'],
      environment,
      { cwd: folder },
    );
    running.push(up);
    const printed = JSON.parse(await up.firstLine) as { cluster: string; keys: string };
    expect(printed.keys).toBe(join(folder, 'data', 'keys'));
    expect((await stat(join(printed.keys, 'client.key'))).mode & 0o777).toBe(0o600);
    for (const where of [[], ['--cluster', printed.cluster]]) {
      expect((await goshawk('submit', ...where, '--sleep', '1ms', '--wait')).exitCode).toBe(0);
    }
    const rejected = await runGoshawk(['jobs', '--cluster', printed.cluster], {
      XDG_STATE_HOME: '/nonexistent',
    });
    expect(rejected.exitCode).toBe(3);
    expect(rejected.stderr).toMatch(/accepts only clients with a key/);
  });
});
