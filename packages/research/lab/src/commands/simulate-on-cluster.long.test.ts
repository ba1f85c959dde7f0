import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestCluster } from '@goshawk/cli/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let cluster: TestCluster;
let folder: string;
beforeAll(async () => {
  cluster = await TestCluster.start(['--workers', '2', '--schedulers', '1']);
  folder = await mkdtemp(join(tmpdir(), 'goshawk-on-'));
});
afterAll(async () => {
  await cluster.stop();
  await rm(folder, { recursive: true, force: true });
});

const SWEEP = ['simulate', 'google-like:jobs=200,seed=5', '--policy', 'hawk,sparrow', '--workers', '300'];

describe('goshawk simulate --on URL', () => {
  it('prints the same output as a local run, except for times, and leaves nothing behind', async () => {
    const simulate = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await cluster.goshawk([...SWEEP, '--quiet', '--json', ...args], {
        cwd: folder,
      });
      expect([exitCode, stderr]).toEqual([0, '']);
      return JSON.parse(stdout, (key, value) => (WALL.has(key) ? undefined : value));
    };
    expect(await simulate('--on', cluster.url)).toEqual(await simulate('--parallel', '1'));
    expect(await readdir(folder)).toEqual([]);
    const { stdout } = await cluster.goshawk(['jobs', '--json', '--all']);
    expect(stdout.match(/"name":\s*"simulation"/g)).toHaveLength(1);
  });

  it('rejects impossible runs with one line', async () => {
    const { exitCode, stderr } = await cluster.goshawk([...SWEEP, '--quiet', '--on', 'somewhere'], {
      cwd: folder,
    });
    expect([exitCode, stderr]).toEqual([
      2,
      'goshawk: --on: "somewhere" is not a URL; write tcp://HOST:PORT\n',
    ]);
  });
});

/** Fields that differ between two runs of the same simulation. */
const WALL = new Set(['wallSeconds', 'eventsPerSecond', 'peakRssBytes', 'planning']);
