// A cluster inside a vitest test: real processes, started before the first test and drained after the last one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect } from '@goshawk/client';
import { afterAll, beforeAll, expect, it } from 'vitest';

/** The command of this checkout; elsewhere use `goshawk` of the installed package. */
const GOSHAWK = fileURLToPath(new URL('../packages/cli/bin/goshawk.js', import.meta.url));
const PRIMES = fileURLToPath(new URL('primes.js', import.meta.url));

/** @type {string} */
let folder;
/** @type {import('node:child_process').ChildProcess} */
let up;
/** @type {import('@goshawk/client').Cluster} */
let cluster;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-example-'));
  const args = [GOSHAWK, 'up', '--json', '--workers', '4', '--schedulers', '1', '--data-folder', folder];
  up = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  // With --json, one line has the address after all processes have joined.
  const [line] = await once(/** @type {NodeJS.ReadableStream} */ (up.stdout), 'data');
  cluster = await connect(JSON.parse(`${line}`).cluster);
}, 120_000);

afterAll(async () => {
  await cluster?.close();
  up?.kill('SIGINT');
  if (up?.exitCode === null) await once(up, 'exit');
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
}, 120_000);

it('counts primes in the cluster', async () => {
  const job = await cluster.submit({
    tasks: [0, 100].map((from) => ({ module: PRIMES, export: 'count', input: { from, to: from + 100 } })),
  });
  expect(await job.result()).toEqual([25, 21]);
});
