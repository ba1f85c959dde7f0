import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Finished, runGoshawk } from './goshawk-process.fixture.js';

/**
 * The tests check that misconfigured daemons print one line with the defect and the remedy, and set an exit
 * code.
 */

const folder = mkdtempSync(join(tmpdir(), 'goshawk-misconfiguration-test-'));
/** A separate folder, because another cluster may run in the folder of the tests. */
const UNSHARED_FOLDER = join(folder, 'own');
let file = '';

beforeAll(async () => {
  file = join(folder, 'file');
  await writeFile(file, 'not what it should be', { mode: 0o600 });
});

afterAll(() => rm(folder, { recursive: true }));

const ANY_PORT = ['--bind', 'tcp://127.0.0.1:0'];
const UNREACHABLE_CENTRAL = ['--central-url', 'tcp://127.0.0.1:1', ...ANY_PORT];

/** Expects a single line for people on stderr, besides the log. */
function expectOneLine({ exitCode, stdout, stderr }: Finished, pattern: RegExp): void {
  const words = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
  expect(words).toHaveLength(1);
  expect(words[0]).toMatch(/^goshawk: /);
  expect(words[0]).toMatch(pattern);
  expect(stdout).toBe('');
  expect(exitCode).toBe(2);
}

describe('a daemon exits with one line and code 2', () => {
  it.each<[what: string, args: string[], variables: NodeJS.ProcessEnv, line: RegExp]>([
    [
      'a variable of a wrong value',
      ['worker', ...UNREACHABLE_CENTRAL],
      { GOSHAWK_WORKER_CPUS: 'four' },
      /GOSHAWK_WORKER_CPUS: "four" is not a whole number/,
    ],
    ['a policy that there is not', ['central', ...ANY_PORT], { GOSHAWK_POLICY: 'hauk' }, /hauk/],
    [
      'a port above all ports',
      ['central', '--bind', 'tcp://127.0.0.1:99999'],
      {},
      /port 99999 is above 65535/,
    ],
    [
      'a port alone',
      ['central', '--bind', '7070'],
      {},
      /"7070" is not an endpoint: expected tcp:\/\/HOST:PORT/,
    ],
    [
      'a wrong port of central',
      ['scheduler', '--central-url', 'tcp://127.0.0.1:70700', ...ANY_PORT],
      {},
      /port 70700 is above 65535/,
    ],
    [
      'a port alone as central',
      ['worker', '--central-url', '7070', ...ANY_PORT],
      {},
      /"7070" is not an endpoint: expected tcp:\/\/HOST:PORT/,
    ],
    [
      'a folder that is no cgroup',
      ['worker', ...UNREACHABLE_CENTRAL, '--task-cgroup', '/tmp'],
      {},
      /--task-cgroup: \/tmp is not the folder of a cgroup \(version 2\); let systemd delegate one/,
    ],
    [
      'a wrong port for HTTP',
      ['central', ...ANY_PORT, '--http', '127.0.0.1:http'],
      {},
      /--http: "127.0.0.1:http" is not HOST:PORT/,
    ],
    [
      'an address of central that is none',
      ['worker', '--central-url', 'NaN', ...ANY_PORT],
      {},
      /--central-url: "NaN" is not an endpoint: expected tcp:\/\/HOST:PORT/,
    ],
    [
      'an advertised address that is none',
      ['worker', ...UNREACHABLE_CENTRAL, '--advertise', 'NaN'],
      {},
      /--advertise: "NaN" is not an endpoint: expected tcp:\/\/HOST:PORT/,
    ],
    [
      'a shadow estimator that there is not',
      ['up', '--shadow', 'NaN'],
      {},
      /--shadow: there is no estimator "NaN"/,
    ],
    [
      'keys of a page that are not there',
      ['dashboard', '--listen', '127.0.0.1:0', '--cluster', 'tcp://127.0.0.1:1', '--keys', '/tmp/nobody.key'],
      {},
      /\/tmp\/nobody\.key/,
    ],
    [
      'no number of CPUs for a worker',
      ['worker', '--cpus', 'none', ...UNREACHABLE_CENTRAL],
      {},
      /--cpus: "none" is not a whole number/,
    ],
    [
      'no number of CPUs for a cluster, in a variable',
      ['up'],
      { GOSHAWK_WORKER_CPUS: 'none' },
      /GOSHAWK_WORKER_CPUS: "none" is not a whole number/,
    ],
    [
      'fewer visible GPUs than the worker has',
      ['worker', '--gpus', '2', ...UNREACHABLE_CENTRAL],
      { CUDA_VISIBLE_DEVICES: '3' },
      /the worker has 2 GPUs, but CUDA_VISIBLE_DEVICES names 1; /,
    ],
    [
      'a file of users that is not there',
      ['up', '--users', '/tmp/nobody.json'],
      {},
      /--users: cannot read \/tmp\/nobody.json: there is no such file; pass a file of users/,
    ],
    [
      'shares that the policy does not give out',
      ['central', ...ANY_PORT, '--share-by', 'job'],
      {},
      /--share-by job: policy goshawk shares by user or none; use user or none/,
    ],
    [
      'shares under a policy without any',
      ['up', '--policy', 'hawk', '--share-by', 'user'],
      {},
      /--share-by user: policy hawk has no shares; policies with shares: goshawk, .*drf/,
    ],
    [
      'an address of another machine',
      ['central', '--bind', 'tcp://192.0.2.1:7070', '--insecure'],
      {},
      /192\.0\.2\.1:7070: the address is not one of this machine/,
    ],
    [
      'no keys beyond loopback',
      ['worker', '--bind', 'tcp://0.0.0.0:0'],
      {},
      /without keys anyone there could run commands here; create keys with `goshawk keygen`/,
    ],
    [
      'HTTP without a token beyond loopback',
      ['central', ...ANY_PORT, '--http', '0.0.0.0:0'],
      {},
      /set a token with GOSHAWK_HTTP_TOKEN/,
    ],
    [
      'HTTP of a local cluster without a token beyond loopback',
      ['up', '--quiet', '--workers', '1', '--http', '0.0.0.0:65000', '--data-folder', UNSHARED_FOLDER],
      {},
      /central cannot start: .*; set a token with GOSHAWK_HTTP_TOKEN/,
    ],
    [
      'HTTP of a local cluster at a port that nobody would know',
      ['up', '--workers', '1', '--http', '127.0.0.1:0', '--data-folder', UNSHARED_FOLDER],
      {},
      /--http 127.0.0.1:0 has no port; for example 127.0.0.1:9090/,
    ],
    [
      'a collector of traces that is not a URL',
      ['central', ...ANY_PORT],
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
      /OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" is not an http or https URL/,
    ],
  ])('for %s', async (_, args, variables, line) => {
    expectOneLine(await runGoshawk(args, variables), line);
  });

  it('for a missing or invalid key file', async () => {
    const missing = join(folder, 'central.key');
    expectOneLine(
      await runGoshawk(['central', ...ANY_PORT, '--keys', missing]),
      /cannot read the key file .*central\.key: .*`goshawk keygen` creates/,
    );
    expectOneLine(await runGoshawk(['central', ...ANY_PORT], { GOSHAWK_KEYS: file }), /file/);
  });

  it('for a missing token file', async () => {
    const args = [
      'central',
      ...ANY_PORT,
      '--http',
      '127.0.0.1:0',
      '--http-token-file',
      join(folder, 'token'),
    ];
    expectOneLine(await runGoshawk(args), /--http-token-file: cannot read .*token: there is no such file/);
  });

  it('for an invalid folder', async () => {
    const args = ['--data-folder', join(file, 'data'), ...UNREACHABLE_CENTRAL];
    expectOneLine(
      await runGoshawk(['scheduler', ...args]),
      /cannot use .* for a journal: .*; use another --data-folder/,
    );
    expectOneLine(
      await runGoshawk(['worker', ...args]),
      /cannot use .* for the records of tasks: .*; use another --data-folder/,
    );
  });

  it('for a damaged journal', async () => {
    const data = join(folder, 'damaged');
    await mkdir(join(data, 'journal'), { recursive: true });
    await writeFile(join(data, 'journal', 'jobs.mdb'), 'x'.repeat(100_000));
    expectOneLine(await runGoshawk(['scheduler', '--data-folder', data, ...UNREACHABLE_CENTRAL]), /journal/);
  });

  it('for a port in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    try {
      expectOneLine(
        await runGoshawk(['central', '--bind', `tcp://127.0.0.1:${port}`]),
        new RegExp(`${port}.*in use`),
      );
      expectOneLine(
        await runGoshawk(['central', ...ANY_PORT, '--http', `127.0.0.1:${port}`]),
        new RegExp(`${port}.*in use`),
      );
    } finally {
      other.close();
    }
  });
});
