import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runHere } from '@goshawk/cli/testing';
import { InputError } from '@goshawk/core';
import type { Comparison } from '@goshawk/report';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { networkOf } from './network.js';

const PHASE = {
  fromMs: 0,
  messages: [{ type: 'steal', sameProcess: false, ms: [0.1, 0.2] }],
  sleepLateMs: [30],
  timerLateMs: [],
  submissionMs: [],
  newsMs: [],
};
const PROFILE = { schema: 'goshawk.delays/1', workersPerProcess: 2, phases: [PHASE] };

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-network-test-'));
  await writeFile(join(folder, 'delays.json'), JSON.stringify(PROFILE));
  await writeFile(join(folder, 'jobs.tr'), '0 2 5 5 5\n');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('a measured network is read from a file beside the command', () => {
  expect(networkOf({ networkDelay: 'measured:delays.json' }, folder)).toEqual({
    kind: 'measured',
    profile: PROFILE,
  });
});

test('the error names a missing file', () => {
  const networkDelay = 'measured:none.json';
  expect(() => networkOf({ networkDelay }, folder)).toThrow(InputError);
  expect(() => networkOf({ networkDelay }, folder)).toThrow(
    '--network-delay: cannot read none.json: there is no',
  );
});

test.each([
  ['0.5ms', 0.0005],
  ['normal:0.5ms,0.1ms', 'normal:0.5ms,0.1ms'],
  ['measured:delays.json', 'measured:delays.json'],
])('simulate takes --network-delay %s, and says so in its options', async (text, said) => {
  const args = [
    'simulate',
    join(folder, 'jobs.tr'),
    '--workers',
    '4',
    '--parallel',
    '1',
    '--json',
    '--network-delay',
    text,
  ];
  const { exitCode, stdout, stderr } = await runHere(args, { cwd: folder });
  expect(stderr).not.toContain('goshawk.error');
  expect(exitCode).toBe(0);
  const [run] = (JSON.parse(stdout) as Comparison).runs;
  expect(run!.options.networkDelay).toBe(said);
  expect(run!.jobs.completed).toBe(1);
});

test('simulate rejects an unknown network with one line', async () => {
  const args = ['simulate', join(folder, 'jobs.tr'), '--network-delay', 'pigeon:1h'];
  const { exitCode, stderr } = await runHere(args, { cwd: folder });
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/^goshawk: --network-delay: there is no network "pigeon"[^\n]*\n$/);
});
