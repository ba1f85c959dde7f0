import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { registerLocalCluster } from '@goshawk/client';
import { expect, it, onTestFinished } from 'vitest';
import { runHere } from '../terminal.fixture.js';

it('marks the cluster that commands in this folder use, which a variable overrides', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'goshawk-clusters-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const environment = { XDG_STATE_HOME: join(folder, 'state') };
  for (const port of [7070, 7071]) {
    const dataFolder = join(folder, `${port}`, '.goshawk');
    mkdirSync(dataFolder, { recursive: true });
    registerLocalCluster(
      {
        url: `tcp://127.0.0.1:${port}`,
        keys: undefined,
        pid: process.pid,
        dataFolder,
        startedAt: port,
      },
      environment,
    );
  }
  const marked = async (here: string, more: Record<string, string> = {}): Promise<string[]> => {
    const { stdout } = await runHere(['clusters'], {
      environment: { ...environment, ...more },
      cwd: join(folder, here),
    });
    return stdout.split('\n').filter((line) => line.includes('this folder'));
  };
  expect(await marked('')).toEqual([]);
  expect(await marked('7070')).toEqual([expect.stringContaining('127.0.0.1:7070')]);
  const set = { GOSHAWK_CLUSTER: 'tcp://localhost:7071' };
  expect(await marked('7070', set)).toEqual([expect.stringContaining('127.0.0.1:7071')]);
  expect(await marked('7070', { GOSHAWK_CLUSTER: 'tcp://10.0.0.1:7070' })).toEqual([]);
});
