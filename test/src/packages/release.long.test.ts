import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startCollector } from '../operations/collector.fixture.js';

/** Installs the output of `npm run release` as users do, and runs a first job with it. */

const ROOT = resolve(import.meta.dirname, '../../..');
const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  version: string;
};
/** Limits of the packages with their dependencies, as `npm install` leaves them. */
const COMMAND_BYTES_MAX = 100e6;
const SDK_BYTES_MAX = 32e6;
const QUIET = ['--prefer-offline', '--no-audit', '--no-fund'];

let folder: string;
let release: string;
/** The command as `npm install -g` leaves it. */
let command: string;

async function run(cwd: string, program: string, ...args: string[]): Promise<string> {
  const options = { cwd, env: environment(), maxBuffer: 2 ** 26 };
  return (await promisify(execFile)(program, args, options)).stdout;
}

/** The environment without the variables that npm sets for the project under test, and without settings. */
function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(npm_|GOSHAWK_)/i.test(name));
  return { ...Object.fromEntries(kept), XDG_STATE_HOME: join(folder, 'state') };
}

/** The bytes of all files in a folder. */
function bytesIn(path: string): number {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

async function emptyFolder(name: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(path, { recursive: true });
  return path;
}

/** A cluster of `goshawk up`; `program` is the command with preceding arguments. */
async function up(
  cwd: string,
  program: readonly string[],
  variables: NodeJS.ProcessEnv = {},
): Promise<{ cluster: string; child: ChildProcess }> {
  const [file, ...before] = program as [string, ...string[]];
  const args = [...before, 'up', '--json', '--no-secure', '--workers', '2', '--schedulers', '1'];
  const env = { ...environment(), ...variables };
  const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`goshawk up ended: ${code}`))),
  ])) as [string];
  return { cluster: (JSON.parse(line) as { cluster: string }).cluster, child };
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGINT');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

/** The `node` program of a version, from npm. */
async function nodeOf(version: string): Promise<string> {
  const args = ['--yes', '--package', `node@${version}`, '--', 'node', '-p', 'process.execPath'];
  return (await run(folder, 'npx', ...args)).trim();
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-release-'));
  release = join(folder, 'dist');
  await run(ROOT, process.execPath, 'scripts/release.mjs', '--out', release);
  const prefix = await emptyFolder('prefix');
  const cwd = await emptyFolder('elsewhere');
  const tarball = join(release, `goshawk-${VERSION}.tgz`);
  await run(cwd, 'npm', 'install', '--global', '--prefix', prefix, ...QUIET, tarball);
  command = join(prefix, 'bin/goshawk');
});

afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 }));

test('a release has correct checksums and a bill of materials', async () => {
  expect(readdirSync(release).length).toBeGreaterThanOrEqual(6);
  await run(release, 'sha256sum', '--check', '--strict', 'SHA256SUMS');
  const sbom = JSON.parse(readFileSync(join(release, `goshawk-${VERSION}.cdx.json`), 'utf8'));
  expect(sbom).toMatchObject({ bomFormat: 'CycloneDX' });
});

test('a release of one package keeps the others', async () => {
  const out = await emptyFolder('one');
  await writeFile(join(out, 'other.tgz'), 'kept');
  await run(ROOT, process.execPath, 'scripts/release.mjs', '--only', 'wheel', '--out', out);
  const found = readdirSync(out).toSorted();
  expect(found).toEqual(['SHA256SUMS', expect.stringMatching(/\.whl$/), 'other.tgz']);
  await run(out, 'sha256sum', '--check', '--strict', 'SHA256SUMS');
});

test.each(['20.19.0', '22', '24'])(
  'the command, installed from its tarball, runs a first job in an empty folder with Node %s',
  async (version) => {
    const program = [await nodeOf(version), command];
    const cwd = await emptyFolder(`node-${version}`);
    await writeFile(join(cwd, 'work.mjs'), 'export default ({ n }) => n * n\n');
    const { child } = await up(cwd, program);
    try {
      const submit = ['submit', '--module', './work.mjs', '--input', '{"n": 3}', '--results'];
      expect(await run(cwd, program[0]!, program[1]!, ...submit)).toBe('9\n');
    } finally {
      await stop(child);
    }
  },
);

test('the command is small, and npm finds all its dependencies', async () => {
  const prefix = join(folder, 'prefix');
  expect(bytesIn(prefix)).toBeLessThan(COMMAND_BYTES_MAX);
  await run(folder, 'npm', 'ls', '--global', '--prefix', prefix, '--all');
});

test('the installed command simulates, solves integer programs and draws charts', async () => {
  const workload = ['google-like:jobs=20,seed=1', '--workers', '200'];
  const policies = ['--policy', 'goshawk,3sigma-sched'];
  const args = ['simulate', ...workload, ...policies, '--report', 'report.html', '--json', '--quiet'];
  expect(JSON.parse(await run(folder, command, ...args))).toHaveProperty('schema');
  expect(readFileSync(join(folder, 'report.html'), 'utf8')).toContain('<path d=');
});

test('a policy in TypeScript compiles against the installed command', async () => {
  const project = await emptyFolder('policy');
  await mkdir(join(project, 'node_modules'));
  await symlink(join(folder, 'prefix/lib/node_modules/goshawk'), join(project, 'node_modules/goshawk'));
  await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  const policy = await readFile(join(ROOT, 'examples/longest-first.mts'), 'utf8');
  const compile = async (text: string) => {
    await writeFile(join(project, 'policy.mts'), text);
    const flags = ['--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023', '--types', ''];
    return run(project, join(ROOT, 'node_modules/typescript/bin/tsc'), ...flags, 'policy.mts');
  };
  await compile(policy);
  const simulated = ['simulate', 'google-like:jobs=20', '--workers', '200', '--policy', './policy.mjs'];
  expect(await run(project, command, ...simulated)).toContain('policy.mjs');
  const wrong = compile(policy.replace('draft.start(', 'draft.begin('));
  await expect(wrong).rejects.toMatchObject({ stdout: expect.stringContaining("'begin' does not exist") });
});

test('the installed command exports traces', async () => {
  const collector = await startCollector();
  const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50' };
  const { cluster, child } = await up(await emptyFolder('traced'), [command], variables);
  try {
    await run(folder, command, 'submit', '--cluster', cluster, '--sleep', '1ms', '--wait', '--quiet');
    const services = () => collector.spans.map(({ service }) => service);
    await expect.poll(services).toEqual(expect.arrayContaining(['goshawk-scheduler', 'goshawk-worker']));
  } finally {
    await stop(child);
    collector.close();
  }
});

test('the SDK is small, compiles in a strict TypeScript project, and submits', async () => {
  const project = await emptyFolder('project');
  await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  await run(project, 'npm', 'install', ...QUIET, join(release, `goshawk-client-${VERSION}.tgz`));
  expect(bytesIn(join(project, 'node_modules'))).toBeLessThan(SDK_BYTES_MAX);
  await run(project, 'npm', 'ls', '--all');

  await cp(join(import.meta.dirname, 'squares.mjs'), join(project, 'squares.mjs'));
  await cp(join(import.meta.dirname, 'submits-squares.mjs'), join(project, 'submits.mts'));
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const nodeTypes = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')];
  await run(project, compiler, '--strict', '--module', 'nodenext', ...nodeTypes, 'submits.mts');
  const { cluster, child } = await up(await emptyFolder('cluster'), [command]);
  try {
    const submitted = await run(project, process.execPath, 'submits.mjs', cluster);
    expect(JSON.parse(submitted)).toEqual([1, 4, 9]);
  } finally {
    await stop(child);
  }
});

test('the Debian package has the command, a unit for each role, and no dependency that it lacks', async () => {
  const deb = readdirSync(release).find((name) => name.endsWith('.deb'))!;
  const root = await emptyFolder('debian');
  await run(folder, 'dpkg-deb', '--extract', join(release, deb), root);
  const bin = join(root, 'usr/lib/goshawk/node_modules/@goshawk/cli/bin/goshawk.js');
  expect((await run(root, process.execPath, bin, '--version')).trim()).toBe(VERSION);
  expect(readdirSync(join(root, 'usr/lib/systemd/system')).sort()).toEqual(
    ['central', 'dashboard', 'scheduler', 'worker'].map((role) => `goshawk-${role}.service`),
  );
  const { child } = await up(await emptyFolder('debian-cluster'), [process.execPath, bin]);
  await stop(child);
});
