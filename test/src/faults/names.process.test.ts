import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Daemon, TestDaemons } from '@goshawk/cli/testing';
import { connect } from '@goshawk/client';
import { afterEach, beforeEach, expect, test } from 'vitest';

const HOST = 'central.test';

const daemons = new TestDaemons('names', { beforeEach, afterEach });
beforeEach(() => {
  writeFileSync(join(daemons.folder, 'resolver.mjs'), RESOLVER);
  setAddress('');
});

/** Loaded into each daemon before its code: the file `address` has the address of the name, and is empty if it has none. */
const RESOLVER = `
import { readFileSync } from 'node:fs';
import dns from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';
const system = dns.lookup;
dns.lookup = async (host, options) => {
  if (host !== '${HOST}') return system(host, options);
  const address = readFileSync(new URL('address', import.meta.url), 'utf8');
  if (address !== '') return [{ address, family: 4 }];
  throw Object.assign(new Error('getaddrinfo ENOTFOUND ' + host), { code: 'ENOTFOUND' });
};
syncBuiltinESMExports();
`;

function setAddress(address: string): void {
  const file = join(daemons.folder, 'address');
  writeFileSync(`${file}.new`, address);
  renameSync(`${file}.new`, file);
}

/** Environment and arguments of Node.js for a daemon. */
function named(): [NodeJS.ProcessEnv, string[]] {
  return [{}, ['--import', pathToFileURL(join(daemons.folder, 'resolver.mjs')).href]];
}

function startCentral(address: string, port: string): Promise<Daemon> {
  return daemons.start('central', ['central', '--bind', `tcp://${address}:${port}`], ...named());
}

const workersAt = async (url: string): Promise<number> => {
  await using client = await connect(url, { requestTimeoutMs: 5_000 });
  return (await client.describe()).workers.filter(({ state }) => state === 'active').length;
};

test('members find central when its name resolves again, also to another address, and lose no task', async () => {
  const first = await startCentral('127.0.0.2', '0');
  const port = new URL(first.endpoint).port;
  daemons.url = `tcp://${HOST}:${port}`;
  await daemons.startScheduler('s', [], ...named());
  await daemons.startWorker('w', ['--cpus', '2'], ...named());
  for (const name of ['s', 'w']) await expect.poll(() => daemons.logOf(name), WAIT_OPTIONS).toContain(HOST);

  setAddress('127.0.0.2');
  await expect.poll(() => workersAt(first.endpoint).catch(() => 0), WAIT_OPTIONS).toBe(1);
  await using client = await connect(first.endpoint, { requestTimeoutMs: 30_000, renewMs: 500 });
  const held = await client.submit({ tasks: [daemons.held] });
  await expect.poll(() => daemons.linesOf('lines'), WAIT_OPTIONS).toEqual(['0']);

  setAddress('');
  await first.kill();
  const second = await startCentral('127.0.0.3', port);
  setAddress('127.0.0.3');
  await expect.poll(() => workersAt(second.endpoint).catch(() => 0), WAIT_OPTIONS).toBe(1);
  await using next = await connect(second.endpoint, { requestTimeoutMs: 30_000, renewMs: 500 });
  const job = await next.submit({ tasks: [{ sleep: 1 }] });
  expect((await job.wait()).state).toBe('completed');
  daemons.letGo();
  expect(await next.job(held.id).wait()).toMatchObject({
    state: 'completed',
    attempts: { total: 1, lost: 0 },
  });
  expect(daemons.linesOf('lines')).toEqual(['0']);
});

const WAIT_OPTIONS = { timeout: 40_000, interval: 100 } as const;
