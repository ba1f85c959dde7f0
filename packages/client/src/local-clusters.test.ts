import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InputError, UnreachableError } from '@goshawk/core';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { connect } from './connect.js';
import { acceptingScheduler, FAST, FakeCluster } from './fake-cluster.fixture.js';
import {
  findLocalCluster,
  localClusterAt,
  localClusters,
  registerLocalCluster,
  unregisterLocalCluster,
} from './local-clusters.js';

let folder = '';
let environment = {};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk word-'));
  environment = { XDG_STATE_HOME: join(folder, 'state') };
  for (const name of ['a', 'b', 'c']) mkdirSync(join(folder, name, '.goshawk'), { recursive: true });
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function runs(name: string, port: number, pid = process.pid) {
  const cluster = {
    url: `tcp://127.0.0.1:${port}`,
    keys: '/srv/keys',
    pid,
    dataFolder: join(folder, name, '.goshawk'),
    startedAt: port,
  };
  registerLocalCluster(cluster, environment);
  return cluster;
}

const from = (name: string) => findLocalCluster(environment, join(folder, name));

test('folders that cannot be entered are not searched', () => {
  const a = runs('a', 7070);
  symlinkSync('loop', join(folder, 'a', 'loop'));
  symlinkSync('/proc/1/cwd', join(folder, 'a', 'forbidden'));
  symlinkSync('/dev/null', join(folder, 'a', 'device'));
  expect(from('a')).toEqual(a);
  // Other clusters of the user may run.
  expect(localClusters({}, join(folder, 'a'))).toContainEqual(a);
});

test('a cluster is found by its URL', () => {
  const a = runs('a', 7070);
  runs('b', 7071, process.ppid);
  expect(localClusterAt('tcp://127.0.0.1:7070', environment, folder)).toEqual(a);
  expect(localClusterAt('tcp://10.0.0.1:7070, tcp://localhost:7070', environment, folder)).toEqual(a);
  expect(localClusterAt('tcp://127.0.0.1:7072', environment, folder)).toBeUndefined();
  unregisterLocalCluster(a, environment);
  expect(localClusterAt('tcp://127.0.0.1:7070', environment, folder)).toBeUndefined();
});

test('a cluster is found by its folder, with its keys, for any XDG_STATE_HOME', () => {
  const a = runs('a', 7070);
  const other = { XDG_STATE_HOME: join(folder, 'other') };
  expect(localClusters(other)).toEqual([]);
  for (const here of [join(folder, 'a'), join(folder, 'a', '.goshawk')]) {
    expect(findLocalCluster(other, here)).toEqual(a);
    expect(localClusters(other, here)).toEqual([a]);
    expect(localClusterAt(a.url, other, here)).toEqual(a);
    expect(localClusters(environment, here)).toEqual([a]);
  }
  unregisterLocalCluster(a, other);
  expect(() => findLocalCluster(other, join(folder, 'a'))).toThrow('no cluster is running on this machine');
});

test('a cluster whose data folder was renamed while it runs is found there, with its keys', () => {
  const a = { ...runs('a', 7070), keys: join(folder, 'a/.goshawk/keys') };
  registerLocalCluster(a, environment);
  runs('b', 7071);
  renameSync(join(folder, 'a'), join(folder, 'moved'));
  const dataFolder = join(folder, 'moved/.goshawk');
  const moved = { ...a, dataFolder, keys: join(dataFolder, 'keys') };
  expect(from('moved')).toEqual(moved);
  expect(localClusterAt(a.url, environment, join(folder, 'moved'))).toEqual(moved);
  expect(localClusterAt(a.url, environment, join(folder, 'b'))).toEqual(a);
});

test.runIf(process.platform === 'linux')(
  'a cluster whose folder was renamed while it runs is found from every folder',
  () => {
    const up = spawn('sleep', ['60'], { cwd: join(folder, 'a') });
    try {
      const a = { ...runs('a', 7070, up.pid), keys: join(folder, 'a/.goshawk/keys') };
      registerLocalCluster(a, environment);
      renameSync(join(folder, 'a'), join(folder, 'moved'));
      const dataFolder = join(folder, 'moved/.goshawk');
      const moved = { ...a, dataFolder, keys: join(dataFolder, 'keys') };
      expect(from('b')).toEqual(moved);
      expect(localClusterAt(a.url, environment, join(folder, 'b'))).toEqual(moved);
      renameSync(dataFolder, join(folder, 'moved/other'));
      expect(from('b')).toMatchObject({ keys: join(folder, 'moved/other/keys') });
    } finally {
      up.kill();
    }
  },
);

test('a cluster without its process does not exist', () => {
  const gone = runs('a', 7073, 2 ** 30);
  expect(localClusters(environment)).toEqual([]);
  expect(localClusterAt(gone.url, environment, folder)).toBeUndefined();
});

test('a cluster whose process has ended does not exist, even if its pid is reused', () => {
  const { url } = runs('a', 7070);
  const file = join(folder, 'state/goshawk/clusters/tcp_127.0.0.1_7070.json');
  const registered = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...registered, birth: 'another' }));
  expect(localClusters(environment)).toEqual([]);
  expect(localClusterAt(url, environment, folder)).toBeUndefined();
});

test('the record of a killed cluster is removed once another one runs in its folder', () => {
  runs('a', 7070);
  const b = runs('b', 7071);
  const a = runs('a', 7072);
  expect(localClusters(environment)).toEqual([b, a]);
});

describe('without a named cluster', () => {
  test('the one whose data folder is here is used, whichever was started last', () => {
    const a = runs('a', 7070);
    const b = runs('b', 7071);
    expect(from('a')).toEqual(a);
    expect(from('b')).toEqual(b);
    expect(from('b/.goshawk')).toEqual(b);
    symlinkSync(join(folder, 'a'), join(folder, 'link'));
    expect(from('link')).toEqual(a);
  });

  test('the only running one is used, even after a later one has ended', () => {
    const a = runs('a', 7070);
    const b = runs('b', 7071);
    unregisterLocalCluster(b, environment);
    expect(from('a')).toEqual(a);
    expect(from('c')).toEqual(a);
  });

  test('a name is required if several run elsewhere', () => {
    const a = runs('a', 7070);
    const b = runs('b', 7071);
    expect(() => from('c')).toThrow(InputError);
    expect(() => from('c')).toThrow(
      `2 clusters run on this machine, none from this folder: ${a.url} (${a.dataFolder}), ${b.url} (${b.dataFolder})`,
    );
  });

  test('none may be running', () => {
    expect(() => from('a')).toThrow(UnreachableError);
    expect(() => from('a')).toThrow('no cluster is running on this machine');
  });

  test('connect chooses in the same way', async () => {
    const { XDG_STATE_HOME, GOSHAWK_CLUSTER } = process.env;
    Object.assign(process.env, environment);
    delete process.env.GOSHAWK_CLUSTER;
    try {
      await expect(connect()).rejects.toThrow('no cluster is running on this machine');
    } finally {
      if (XDG_STATE_HOME === undefined) delete process.env.XDG_STATE_HOME;
      else process.env.XDG_STATE_HOME = XDG_STATE_HOME;
      if (GOSHAWK_CLUSTER !== undefined) process.env.GOSHAWK_CLUSTER = GOSHAWK_CLUSTER;
    }
  });
});

describe('a local cluster that', () => {
  beforeEach(() => vi.stubEnv('XDG_STATE_HOME', join(folder, 'state')));
  afterEach(() => vi.unstubAllEnvs());

  async function silent() {
    const fake = await FakeCluster.start(1, () => () => {});
    const local = { ...runs('a', 7070), keys: undefined, url: fake.central.endpoint };
    registerLocalCluster(local, environment);
    return { fake, local };
  }

  test('has exited fails current and later requests, long before their timeout', async () => {
    const { fake, local } = await silent();
    await using _ = fake;
    await using cluster = await fake.connect({ ...FAST, requestTimeoutMs: 600_000, pollTimeoutMs: 100 });
    const waits = cluster.job('t0-1').wait();
    const asks = cluster.job('t0-1').describe();
    await fake.schedulers[0]!.waitFor('describeJob');
    unregisterLocalCluster(local, environment);
    const gone = {
      code: 'unreachable',
      message: `the cluster at ${local.url} is down: its \`goshawk up\` process ${process.pid} has exited`,
      hint: `\`goshawk up --data-folder '${local.dataFolder}'\` resumes its jobs`,
    };
    await Promise.all([
      expect(waits).rejects.toMatchObject(gone),
      expect(asks).rejects.toMatchObject(gone),
      expect(cluster.job('t0-1').describe()).rejects.toMatchObject(gone),
    ]);
  });

  test('is restarted at its address is waited for', async () => {
    const { fake, local } = await silent();
    await using _ = fake;
    await using cluster = await fake.connect(FAST);
    const end = cluster.job('t0-1').wait();
    await fake.schedulers[0]!.waitFor('watchJob');
    unregisterLocalCluster(local, environment);
    await fake.schedulers[0]!.waitFor('watchJob', 3);
    registerLocalCluster(local, environment);
    fake.schedulers[0]!.script = acceptingScheduler('t0');
    expect((await end).state).toBe('completed');
  });
});

test.runIf(process.getuid?.() === 0)('a user without an account and HOME finds no cluster', () => {
  const file = new URL('../dist/local-clusters.js', import.meta.url).href;
  const program = `import(${JSON.stringify(file)}).then((it) => console.log(it.localClusters({}).length))`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], {
    uid: 54_321,
    gid: 54_321,
    env: {},
    encoding: 'utf8',
  });
  expect({ stdout, stderr }).toEqual({ stdout: '0\n', stderr: '' });
});

const STRANGER = 54_322;

// Reason: only root can create files and processes of several users.
describe.runIf(process.getuid?.() === 0)('root in a folder that all users can write to', () => {
  beforeEach(() => {
    for (const name of ['a', 'b']) chmodSync(join(folder, name), 0o1777);
  });

  const inData = (name: string) => join(folder, name, '.goshawk/cluster.json');

  test.each([
    ['the record', (name: string) => chownSync(inData(name), STRANGER, STRANGER)],
    ['the data folder', (name: string) => chownSync(join(folder, name, '.goshawk'), STRANGER, STRANGER)],
    ['a record that all can write to', (name: string) => chmodSync(inData(name), 0o666)],
    [
      'a data folder that all can write to',
      (name: string) => chmodSync(join(folder, name, '.goshawk'), 0o777),
    ],
    ['a folder above that is not sticky', (name: string) => chmodSync(join(folder, name), 0o777)],
    [
      'a link to the data folder',
      (name: string) => {
        renameSync(join(folder, name, '.goshawk'), join(folder, name, 'moved'));
        symlinkSync('moved', join(folder, name, '.goshawk'));
        lchownSync(join(folder, name, '.goshawk'), STRANGER, STRANGER);
        lchownSync(join(folder, name, 'moved'), STRANGER, STRANGER);
      },
    ],
  ])('uses no cluster if another user has %s', (_, taken) => {
    const a = runs('a', 7070);
    const other = { XDG_STATE_HOME: join(folder, 'other') };
    expect(findLocalCluster(other, join(folder, 'a'))).toEqual(a);
    taken('a');
    expect(localClusters(other, join(folder, 'a'))).toEqual([]);
    expect(localClusterAt(a.url, other, join(folder, 'a'))).toBeUndefined();
    expect(() => findLocalCluster(other, join(folder, 'a'))).toThrow(
      /no cluster is running on this machine; .*cluster.json is ignored because (.* belongs to another user|other users can write to )/,
    );
  });

  test('uses no cluster whose process is of another user', () => {
    const theirs = spawn('sleep', ['60'], { uid: STRANGER, gid: STRANGER });
    try {
      runs('a', 7070, theirs.pid);
      expect(localClusters(environment, join(folder, 'a'))).toEqual([]);
    } finally {
      theirs.kill();
    }
  });

  test('neither reads nor writes records in the state home of another user', () => {
    const a = runs('a', 7070);
    expect(localClusters(environment)).toEqual([a]);
    chownSync(join(folder, 'state'), STRANGER, STRANGER);
    expect(localClusters(environment)).toEqual([]);
    const records = join(folder, 'state/goshawk/clusters');
    symlinkSync(join(folder, 'stolen'), join(records, 'tcp_127.0.0.1_7071.json'));
    expect(() => runs('b', 7071)).toThrow(/state belongs to another user/);
    expect(readdirSync(folder)).not.toContain('stolen');
  });
});
