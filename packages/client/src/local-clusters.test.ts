import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { latestLocalCluster, leaveWord, localClusterAt, takeWordBack } from './local-clusters.js';

const folder = mkdtempSync(join(tmpdir(), 'goshawk-word-'));
const environment = { XDG_STATE_HOME: folder };
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const first = { url: 'tcp://127.0.0.1:7070', keys: '/srv/keys', pid: process.pid };
const second = { url: 'tcp://127.0.0.1:7071', pid: process.ppid };

test('a cluster is found by its URL, and the last one without', () => {
  leaveWord(first, environment);
  leaveWord(second, environment);
  expect(latestLocalCluster(environment)).toEqual(second);
  expect(localClusterAt('tcp://127.0.0.1:7070', environment)).toEqual(first);
  expect(localClusterAt('tcp://10.0.0.1:7070, tcp://localhost:7070', environment)).toEqual(first);
  expect(localClusterAt('tcp://127.0.0.1:7072', environment)).toBeUndefined();
  takeWordBack(first, environment);
  expect(localClusterAt('tcp://127.0.0.1:7070', environment)).toBeUndefined();
  expect(latestLocalCluster(environment)).toEqual(second);
});

test('one whose process is gone is none', () => {
  const gone = { url: 'tcp://127.0.0.1:7073', pid: 2 ** 30 };
  leaveWord(gone, environment);
  expect(latestLocalCluster(environment)).toBeUndefined();
  expect(localClusterAt(gone.url, environment)).toBeUndefined();
});
