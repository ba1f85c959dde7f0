import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InputError, UnreachableError } from '@goshawk/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connect } from './connect.js';
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
  folder = mkdtempSync(join(tmpdir(), 'goshawk-word-'));
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

test('a cluster is found by its URL', () => {
  const a = runs('a', 7070);
  runs('b', 7071, process.ppid);
  expect(localClusterAt('tcp://127.0.0.1:7070', environment)).toEqual(a);
  expect(localClusterAt('tcp://10.0.0.1:7070, tcp://localhost:7070', environment)).toEqual(a);
  expect(localClusterAt('tcp://127.0.0.1:7072', environment)).toBeUndefined();
  unregisterLocalCluster(a, environment);
  expect(localClusterAt('tcp://127.0.0.1:7070', environment)).toBeUndefined();
});

test('one whose process is gone is none', () => {
  const gone = runs('a', 7073, 2 ** 30);
  expect(localClusters(environment)).toEqual([]);
  expect(localClusterAt(gone.url, environment)).toBeUndefined();
});

test('one of an earlier boot is none, though its process number is taken again', () => {
  const { url } = runs('a', 7070);
  const file = join(folder, 'state/goshawk/clusters/tcp_127.0.0.1_7070.json');
  const registered = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...registered, boot: 'another' }));
  expect(localClusters(environment)).toEqual([]);
  expect(localClusterAt(url, environment)).toBeUndefined();
});

describe('where no cluster is named', () => {
  test('it is the one whose data folder is here, whichever was started last', () => {
    const a = runs('a', 7070);
    const b = runs('b', 7071);
    expect(from('a')).toEqual(a);
    expect(from('b')).toEqual(b);
    expect(from('b/.goshawk')).toEqual(b);
    symlinkSync(join(folder, 'a'), join(folder, 'link'));
    expect(from('link')).toEqual(a);
  });

  test('it is the only one that runs, and still is when a later one has ended', () => {
    const a = runs('a', 7070);
    const b = runs('b', 7071);
    unregisterLocalCluster(b, environment);
    expect(from('a')).toEqual(a);
    expect(from('c')).toEqual(a);
  });

  test('it has to be named where several run elsewhere', () => {
    const a = runs('a', 7070);
    const b = runs('b', 7071);
    expect(() => from('c')).toThrow(InputError);
    expect(() => from('c')).toThrow(
      `2 clusters run on this machine, none from this folder: ${a.url} (${a.dataFolder}), ${b.url} (${b.dataFolder})`,
    );
  });

  test('there may be none', () => {
    expect(() => from('a')).toThrow(UnreachableError);
    expect(() => from('a')).toThrow('no cluster is running here');
  });

  test('connect says the same', async () => {
    const { XDG_STATE_HOME, GOSHAWK_CLUSTER } = process.env;
    Object.assign(process.env, environment);
    delete process.env.GOSHAWK_CLUSTER;
    try {
      await expect(connect()).rejects.toThrow('no cluster is running here');
    } finally {
      if (XDG_STATE_HOME === undefined) delete process.env.XDG_STATE_HOME;
      else process.env.XDG_STATE_HOME = XDG_STATE_HOME;
      if (GOSHAWK_CLUSTER !== undefined) process.env.GOSHAWK_CLUSTER = GOSHAWK_CLUSTER;
    }
  });
});
