import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packageFolders } from '../../../scripts/packages.mjs';

/**
 * The packages as `npm pack` makes them, installed into empty projects: the client of a program, the command, and the
 * command with the laboratory. Their dependencies come from npm's cache, which `npm ci` fills.
 */

const ROOT = resolve(import.meta.dirname, '../../..');
const FOLDERS = packageFolders();
const PACKAGES = [...FOLDERS.keys()];
const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  version: string;
};
/** Each package with all our packages that it needs. */
const CLIENT = withNeeded('client');
const PRODUCT = withNeeded('cli');
const SIMULATION = ['simulate', 'google-like:jobs=20,seed=1', '--workers', '50', '--json', '--quiet'];
const QUIET = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
const MEBIBYTE = 2 ** 20;

function withNeeded(name: string, found = new Set<string>()): string[] {
  if (!found.has(name)) {
    found.add(name);
    const manifest = readFileSync(join(ROOT, FOLDERS.get(name)!, 'package.json'), 'utf8');
    const { dependencies = {} } = JSON.parse(manifest) as { dependencies?: Record<string, string> };
    for (const each of Object.keys(dependencies))
      if (each.startsWith('@goshawk/')) withNeeded(each.slice('@goshawk/'.length), found);
  }
  return [...found].sort();
}

let folder: string;

async function npm(cwd: string, ...args: string[]): Promise<void> {
  // Variables of the npm that runs the tests name its own project, so they are dropped.
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^npm_(config_local_prefix|package)/.test(name),
  );
  await promisify(execFile)('npm', args, {
    cwd,
    env: Object.fromEntries(inherited),
    maxBuffer: 64 * MEBIBYTE,
  });
}

function tarball(name: string): string {
  return join(folder, 'tarballs', `goshawk-${name}-${VERSION}.tgz`);
}

/** An empty project with these packages and their dependencies. */
async function install(project: string, names: readonly string[]): Promise<string> {
  const home = join(folder, project);
  await mkdir(home);
  await writeFile(join(home, 'package.json'), '{ "private": true, "type": "module" }');
  await npm(home, 'install', ...QUIET, '--prefix', home, ...names.map(tarball));
  return home;
}

async function goshawk(home: string, ...args: string[]): Promise<string> {
  const bin = join(home, 'node_modules/@goshawk/cli/bin/goshawk.js');
  return (await promisify(execFile)(process.execPath, [bin, ...args], { cwd: home })).stdout;
}

/** Names of all packages installed in a project, nested ones too. */
function installed(home: string): string[] {
  const lock = JSON.parse(readFileSync(join(home, 'node_modules/.package-lock.json'), 'utf8')) as {
    packages: Record<string, unknown>;
  };
  return Object.keys(lock.packages).map((path) => path.slice(path.lastIndexOf('node_modules/') + 13));
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-packages-'));
  await mkdir(join(folder, 'tarballs'));
  const workspaces = PACKAGES.flatMap((name) => ['-w', `@goshawk/${name}`]);
  await npm(ROOT, 'pack', '--silent', '--pack-destination', join(folder, 'tarballs'), ...workspaces);
});

afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 }));

describe('published packages', () => {
  test('ship no tests and nothing that only tests use', async () => {
    const home = join(folder, 'unpacked');
    for (const name of PACKAGES) {
      await mkdir(join(home, name), { recursive: true });
      await promisify(execFile)('tar', ['xzf', tarball(name), '-C', join(home, name)]);
    }
    const shipped = readdirSync(home, { recursive: true, encoding: 'utf8' });
    expect(shipped.filter((path) => path.endsWith('.js')).length).toBeGreaterThan(500);
    expect(shipped.filter((path) => /\.(test|fixture)\.|\.map$|golden|\/src\//.test(path))).toEqual([]);
  });

  test('the client needs core, transport and little else, and the command serves it', async () => {
    const program = await install('program', CLIENT);
    const names = installed(program);
    expect(CLIENT).toEqual(['client', 'core', 'transport']);
    expect(names.filter((name) => name.startsWith('@goshawk/')).sort()).toEqual(
      CLIENT.map((name) => `@goshawk/${name}`),
    );
    const heavy = /^(lmdb|@lmdb|@opentelemetry|pg|pino|highs|yargs)/;
    expect(names.filter((name) => heavy.test(name))).toEqual([]);

    const home = await install('command', PRODUCT);
    const bin = join(home, 'node_modules/@goshawk/cli/bin/goshawk.js');
    expect((await goshawk(home, '--version')).trim()).toBe(VERSION);

    const shape = ['--no-secure', '--workers', '2', '--schedulers', '1'];
    const args = ['up', '--json', ...shape, '--data-folder', join(home, 'data')];
    const up = spawn(process.execPath, [bin, ...args], {
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [line] = (await Promise.race([
        once(createInterface({ input: up.stdout }), 'line'),
        once(up, 'exit').then(([code]) => Promise.reject(new Error(`goshawk up ended: ${code}`))),
      ])) as [string];
      const { cluster } = JSON.parse(line) as { cluster: string };
      await cp(join(import.meta.dirname, 'squares.mjs'), join(program, 'squares.mjs'));
      await cp(join(import.meta.dirname, 'submits-squares.mjs'), join(program, 'submits-squares.mjs'));
      const submitted = await promisify(execFile)(process.execPath, ['submits-squares.mjs', cluster], {
        cwd: program,
      });
      expect(JSON.parse(submitted.stdout)).toEqual([1, 4, 9]);
    } finally {
      up.kill('SIGINT');
      if (up.exitCode === null && up.signalCode === null) await once(up, 'exit');
    }
  });

  test('the command works without the laboratory, reports it missing, and finds it once installed', async () => {
    const home = join(folder, 'command');
    // The simulator forecasts ends of jobs for central.
    const laboratory = ['lab', 'traces', 'report', 'papers', 'tracing'];
    expect(PRODUCT.filter((name) => laboratory.includes(name))).toEqual([]);
    expect(installed(home).filter((name) => /^(highs|@opentelemetry\/.*)$/.test(name))).toEqual([]);
    expect(await goshawk(home, '--help')).toContain('simulate');
    await expect(goshawk(home, ...SIMULATION)).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^.*"no-laboratory".*@goshawk\/lab.*not installed.*\n$/),
    });

    await npm(home, 'install', ...QUIET, '--prefix', home, ...PACKAGES.map(tarball));
    expect(JSON.parse(await goshawk(home, ...SIMULATION))).toHaveProperty('schema');
  });
});
