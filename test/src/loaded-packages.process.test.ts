import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

/** Daemons start from the compiled files, not from the bundle, whose chunks do not say which package they hold. */
const MAIN = resolve(import.meta.dirname, '../../packages/cli/dist/main.js');
const SPAWNER = resolve(import.meta.dirname, '../../packages/executors/dist/spawner.js');
/** Research packages, and packages that only some clusters use. */
const ON_DEMAND = /^(@goshawk\/(papers|simulator|report|traces|tracing|lab)|highs|@opentelemetry\/.*)$/;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'goshawk-loaded-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Starts a daemon, ends it once it is up, and returns the packages whose files it loaded, with its endpoint. */
async function run<T>(
  words: readonly string[],
  whileUp: (log: string) => T | Promise<T>,
): Promise<{ packages: string[]; result: T }> {
  const coverage = join(folder, `coverage-${words[0]}`);
  const child = spawn(process.execPath, [MAIN, ...words], {
    cwd: folder,
    env: { ...process.env, NODE_V8_COVERAGE: coverage },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  let log = '';
  const isUp = new Promise<void>((done, failed) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        log += text;
        // Workers and schedulers have joined; central is up.
        if (/"msg":"(central is up|\w+ ha(s|ve) joined)/.test(log)) done();
      });
    child.once('exit', (code) => failed(new Error(`exit code ${code}: ${log}`)));
  });
  await isUp;
  let result: T;
  try {
    result = await whileUp(log);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
  return { packages: packagesIn(coverage), result };
}

/** Packages of the scripts that V8 lists. */
function packagesIn(coverage: string): string[] {
  const urls = readdirSync(coverage).flatMap((file) => {
    const { result } = JSON.parse(readFileSync(join(coverage, file), 'utf8')) as {
      result: { url: string }[];
    };
    return result.map(({ url }) => url);
  });
  const names = urls.flatMap((url) => {
    const own = /\/packages\/(?:research\/)?([a-z]+)\/dist\//.exec(url)?.[1];
    const other = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
    return own === undefined ? (other ?? []) : `@goshawk/${own}`;
  });
  return [...new Set(names)].sort();
}

test('the spawner, whose forks take longer the larger it is, loads no third-party package', async () => {
  const coverage = join(folder, 'coverage');
  const settings = { recordFile: join(folder, 'record'), recordId: '1', graceMs: 1, folder };
  const spawner = spawn(process.execPath, [SPAWNER, JSON.stringify(settings)], {
    env: { ...process.env, NODE_V8_COVERAGE: coverage },
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  const link = spawner.stdio[3] as Socket;
  await once(link, 'data');
  link.end();
  expect(await once(spawner, 'exit')).toEqual([0, null]);
  expect(packagesIn(coverage)).toEqual(['@goshawk/core', '@goshawk/executors']);
});

const CENTRAL = ['central', '--bind', 'tcp://127.0.0.1:0', '--policy'] as const;

const own = (packages: readonly string[]) =>
  packages.filter((name) => name.startsWith('@goshawk/')).map((name) => name.slice('@goshawk/'.length));
const onDemand = (packages: readonly string[]) => packages.filter((name) => ON_DEMAND.test(name));

test('a cluster loads no research packages, no solver and no tracing', async () => {
  const { packages: central, result: others } = await run([...CENTRAL, 'goshawk'], async (log) => {
    const endpoint = /"endpoint":"([^"]+)"/.exec(log)![1]!;
    const joins = ['--central-url', endpoint];
    const worker = await run(['worker', ...joins], () => {});
    const scheduler = await run(['scheduler', ...joins, '--data-folder', join(folder, 's')], () => {});
    return { worker: worker.packages, scheduler: scheduler.packages };
  });
  const { worker, scheduler } = others;
  expect({ central: own(central), scheduler: own(scheduler), worker: own(worker) }).toEqual({
    central: [
      'central',
      'cli',
      'command',
      'core',
      'executors',
      'policies',
      'predictor',
      'runtime',
      'transport',
    ],
    scheduler: [
      'cli',
      'command',
      'core',
      'executors',
      'journal',
      'predictor',
      'runtime',
      'scheduler',
      'transport',
    ],
    worker: ['cli', 'command', 'core', 'executors', 'runtime', 'transport', 'worker'],
  });
  expect([central, scheduler, worker].flatMap(onDemand)).toEqual([]);
});

test.each([
  ['hawk', []],
  ['carbyne', ['@goshawk/papers']],
])('central of %s loads %j of them', async (policy, expected) => {
  const { packages } = await run([...CENTRAL, policy], () => {});
  expect(onDemand(packages)).toEqual(expected);
});

test.each([
  ['job', ['cli', 'command', 'core']],
  ['goshawk.up/1', ['cli', 'command', 'core']],
])('the schema of %s loads %j', (name, expected) => {
  const coverage = join(folder, 'coverage');
  const { stdout } = spawnSync(process.execPath, [MAIN, 'schema', name], {
    env: { ...process.env, NODE_V8_COVERAGE: coverage },
    encoding: 'utf8',
  });
  expect(JSON.parse(stdout)).toHaveProperty('$schema');
  expect(own(packagesIn(coverage))).toEqual(expected);
});
