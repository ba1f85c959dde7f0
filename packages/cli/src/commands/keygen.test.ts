import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runHere } from '../terminal.fixture.js';

let cwd = '';

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'goshawk-keygen-'));
});

afterEach(() => {
  rmSync(cwd, { recursive: true, force: true });
});

function goshawk(...argv: string[]) {
  return runHere(argv, { cwd, environment: { XDG_STATE_HOME: cwd } });
}

function read(role: string): { generations: { number: number; secret: unknown }[] } {
  return JSON.parse(readFileSync(join(cwd, 'keys', `${role}.key`), 'utf8'));
}

describe('goshawk keygen', () => {
  it('creates a private file for each role', async () => {
    const { exitCode, stdout } = await goshawk('keygen', 'keys', '--json');
    expect(exitCode).toBe(0);
    const made = JSON.parse(stdout) as { schema: string; files: { role: string; path: string }[] };
    expect(made).toMatchObject({ schema: 'goshawk.keygen/1', step: 'made' });
    expect(made.files.map(({ role }) => role)).toStrictEqual(['client', 'scheduler', 'central', 'worker']);
    for (const { path } of made.files) expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('never overwrites existing keys', async () => {
    await goshawk('keygen', 'keys');
    const before = read('worker');
    const again = await goshawk('keygen', 'keys');
    expect(again.exitCode).toBe(2);
    expect(again.stderr).toMatch(/^goshawk: keygen: keys already exist: .*; give another folder/);
    expect((await goshawk('keygen', 'keys', '--if-missing')).exitCode).toBe(0);
    expect(read('worker')).toStrictEqual(before);
  });

  it('rotates keys in three steps, and prints what to do after each', async () => {
    await goshawk('keygen', 'keys');
    const numbers: number[][] = [];
    const said: string[] = [];
    for (let step = 0; step < 3; step++) {
      said.push((await goshawk('keygen', 'keys', '--rotate')).stderr);
      numbers.push(read('central').generations.map(({ number }) => number));
    }
    expect(numbers).toStrictEqual([[1, 2], [2, 1], [2]]);
    expect(said.map((line) => /keygen --rotate again/.test(line))).toStrictEqual([true, true, false]);
  });

  it('reports in one line that its folder cannot be created', async () => {
    writeFileSync(join(cwd, 'file'), '');
    const { exitCode, stderr } = await goshawk('keygen', 'file/keys');
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(
      /^goshawk: E[A-Z]+: .*file.keys.*; check the path, its permissions, and the free space\n$/,
    );
  });

  it('fails to rotate missing keys', async () => {
    const { exitCode, stderr } = await goshawk('keygen', 'keys', '--rotate');
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^goshawk: cannot read the key file .*client\.key/);
    expect(existsSync(join(cwd, 'keys'))).toBe(false);
  });

  it('prints Kubernetes Secrets, each with the keys of one role', async () => {
    const { stdout } = await goshawk('keygen', 'keys', '--kubernetes', '--namespace', 'batch');
    const secrets = stdout
      .split('---\n')
      .filter((part) => part !== '')
      .map(
        (part) => JSON.parse(part) as { kind: string; metadata: object; stringData: Record<string, string> },
      );
    expect(secrets.map(({ stringData }) => Object.keys(stringData))).toStrictEqual([
      ['client.key'],
      ['scheduler.key'],
      ['central.key'],
      ['worker.key'],
      ['token'],
    ]);
    for (const { kind, metadata } of secrets) {
      expect(kind).toBe('Secret');
      expect(metadata).toMatchObject({ namespace: 'batch' });
    }
    expect(JSON.parse(secrets[3]!.stringData['worker.key']!)).toStrictEqual(read('worker'));
    expect(secrets[4]!.stringData.token).toMatch(/^[\w-]{43}$/);
    expect(statSync(join(cwd, 'keys', 'http.token')).mode & 0o777).toBe(0o600);
  });

  it('prints the same Secrets again for existing keys', async () => {
    const first = await goshawk('keygen', 'keys', '--if-missing', '--kubernetes');
    const again = await goshawk('keygen', 'keys', '--if-missing', '--kubernetes');
    expect(again.stdout).toBe(first.stdout);
  });
});

describe('a daemon', () => {
  it('does not start with keys that others may read', async () => {
    await goshawk('keygen', 'keys');
    writeFileSync(join(cwd, 'open.key'), readFileSync(join(cwd, 'keys', 'worker.key')), { mode: 0o644 });
    const { exitCode, stderr } = await goshawk('worker', '--keys', 'open.key', '--log-level', 'silent');
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^goshawk: other users can read or write .*open\.key \(mode 0644\); chmod 600/);
  });

  it('does not start with a token for HTTP that others may read, or that is too short', async () => {
    const http = ['central', '--http', '127.0.0.1:0', '--log-level', 'silent'];
    writeFileSync(join(cwd, 'token'), 'x'.repeat(32), { mode: 0o644 });
    const open = await goshawk(...http, '--http-token-file', 'token');
    expect(open).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/other users can read or write .*token/),
    });
    const short = await runHere(http, { cwd, environment: { GOSHAWK_HTTP_TOKEN: 'a' } });
    expect(short.stderr).toMatch(/^goshawk: GOSHAWK_HTTP_TOKEN does not contain a token of 16 to 512/);
    expect(short.exitCode).toBe(2);
  });

  it('does not start with the keys of another role', async () => {
    await goshawk('keygen', 'keys');
    const given = await goshawk('central', '--keys', 'keys/client.key', '--log-level', 'silent');
    expect(given.exitCode).toBe(2);
    expect(given.stderr).toMatch(
      /contains the keys of a client, but this is a central; give it central\.key/,
    );
  });

  it.each(['central', 'scheduler', 'worker'])(
    '%s does not listen beyond loopback without keys',
    async (role) => {
      const { exitCode, stderr } = await goshawk(role, '--bind', 'tcp://0.0.0.0:0', '--log-level', 'silent');
      expect(exitCode).toBe(2);
      expect(stderr).toMatch(
        /without keys anyone there could run commands here; create keys with `goshawk keygen`/,
      );
    },
  );
});
