import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { registerLocalCluster } from '@goshawk/client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runHere } from '../terminal.fixture.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-log-'));
  const line = (second: number, fields: object) =>
    `${JSON.stringify({ level: 30, time: `2026-01-01T00:00:0${second}.000Z`, ...fields })}\n`;
  writeFileSync(
    join(folder, 's0.log'),
    line(1, { job: 't-1', event: 'job-accepted', msg: 'job accepted' }) +
      'no JSON\n{"cut":' +
      `\n${line(4, { job: 't-1', event: 'job-ended', msg: 'job completed' })}` +
      line(2, { job: 't-2', event: 'job-accepted', msg: 'job accepted' }),
  );
  writeFileSync(
    join(folder, 'central.log.1'),
    line(3, { event: 'worker-lost', worker: 'w1', jobs: ['t-1'], msg: 'worker w1 is lost' }),
  );
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('lines about a job are merged from all processes, in order of time', async () => {
  const { stdout, exitCode } = await runHere(['logs', '--daemons', '--folder', folder, 't-1']);
  expect(exitCode).toBe(0);
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.split('  ').slice(1, 3)),
  ).toEqual([
    ['s0', 'job accepted'],
    ['central', 'worker w1 is lost'],
    ['s0', 'job completed'],
  ]);
});

test('the logs of a local cluster are also found by its address', async () => {
  const dataFolder = join(folder, 'data');
  mkdirSync(join(dataFolder, 'logs'), { recursive: true });
  renameSync(join(folder, 's0.log'), join(dataFolder, 'logs/s0.log'));
  const environment = { XDG_STATE_HOME: join(folder, 'state') };
  const url = 'tcp://127.0.0.1:7070';
  registerLocalCluster({ url, pid: process.pid, dataFolder }, environment);
  const { stdout } = await runHere(['logs', '--daemons', '--cluster', url], { environment });
  expect(stdout).toContain('job accepted');
});

test('lines are filtered by event, as JSON', async () => {
  const { stdout } = await runHere([
    'logs',
    '--daemons',
    '--folder',
    folder,
    '--event',
    'worker-lost',
    '--json',
  ]);
  expect(JSON.parse(stdout)).toMatchObject({ worker: 'w1', jobs: ['t-1'] });
});
