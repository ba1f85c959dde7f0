import { createHash } from 'node:crypto';
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
    expect(again.stderr).toMatch(/^goshawk: keygen: keys already exist: .*; use another folder/);
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
      /^goshawk: cannot create the folder .*file.keys: a part of the path is not a folder; check the path, its permissions, and the free space\n$/,
    );
  });

  it('refuses a misspelled role instead of creating a folder of that name', async () => {
    const { exitCode, stderr } = await goshawk('keygen', 'worke', 'w7', 'keys');
    expect([exitCode, stderr]).toEqual([
      2,
      'goshawk: keygen: "w7" is not expected; see `goshawk keygen --help`\n',
    ]);
    expect(existsSync(join(cwd, 'worke'))).toBe(false);
    await goshawk('keygen', 'keys');
    const listed = await goshawk('keys', 'keys', 'w7');
    expect([listed.exitCode, listed.stderr]).toEqual([
      2,
      'goshawk: keys: "w7" is not expected; see `goshawk keys --help`\n',
    ]);
  });

  it('fails to rotate missing keys', async () => {
    const { exitCode, stderr } = await goshawk('keygen', 'keys', '--rotate');
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^goshawk: cannot read the key file .*client\.key/);
    expect(existsSync(join(cwd, 'keys'))).toBe(false);
  });

  it('prints Kubernetes Secrets, each with the keys of one role or component', async () => {
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
      ['client.node-drain.key'],
      ['client.autoscale.key'],
      ['token'],
      ['token'],
    ]);
    for (const { kind, metadata } of secrets) {
      expect(kind).toBe('Secret');
      expect(metadata).toMatchObject({ namespace: 'batch' });
    }
    expect(JSON.parse(secrets[3]!.stringData['worker.key']!)).toStrictEqual(read('worker'));
    const central = JSON.parse(secrets[2]!.stringData['central.key']!) as { clients: object[] };
    expect(central.clients).toMatchObject([
      { name: 'node-drain', rights: ['drain'] },
      { name: 'autoscale', rights: ['drain'] },
    ]);
    const { token } = secrets[6]!.stringData;
    expect(token).toMatch(/^[\w-]{43}$/);
    // Pods need only its hash.
    const hash = createHash('sha256').update(token!).digest('hex');
    expect(secrets[7]).toMatchObject({
      metadata: { name: 'goshawk-http-token-hash' },
      stringData: { token: `sha256:${hash}` },
    });
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

describe('keys of single processes', () => {
  const file = (name: string) => JSON.parse(readFileSync(join(cwd, 'keys', name), 'utf8'));

  it('are made, listed and revoked by name', async () => {
    await goshawk('keygen', 'keys');
    const worker = await goshawk('keygen', 'worker', 'w7', 'keys', '--json');
    expect(JSON.parse(worker.stdout)).toMatchObject({ step: 'worker', key: join(cwd, 'keys/worker.w7.key') });
    expect(statSync(join(cwd, 'keys/worker.w7.key')).mode & 0o777).toBe(0o600);
    await goshawk('keygen', 'scheduler', 's0', '--keys', 'keys');
    await goshawk('keygen', 'client', 'ci', 'keys', '--rights', 'submit', '--expires', '30d');
    await goshawk('keygen', 'worker', 'rack', 'keys', '--names', 'r[0-1],gpu-*');
    const { stdout } = await goshawk('keys', 'keys', '--json');
    const listed = JSON.parse(stdout) as { schema: string; total: number; keys: { name: string }[] };
    expect(listed).toMatchObject({ schema: 'goshawk.keys-list/1', total: 8 });
    const byName = Object.fromEntries(listed.keys.map((key) => [key.name, key]));
    expect(byName).toMatchObject({
      worker: { role: 'worker', shared: true, names: null },
      w7: { role: 'worker', shared: false, names: ['w7'], expiresAt: null },
      s0: { role: 'scheduler', names: ['s0'] },
      ci: { role: 'client', rights: ['submit'], names: null, expiresAt: expect.stringMatching(/^2/) },
      rack: { names: ['r0', 'r1', 'gpu-*'] },
    });
    expect((await goshawk('keys', 'keys')).stdout).toMatch(/^rack +worker +r0, r1, gpu-\* +never$/m);

    const admits = (holder: string): string[] =>
      file(holder).members.map((member: { name: string }) => member.name);
    const holders = ['central.key', 'scheduler.key', 'worker.key', 'scheduler.s0.key', 'worker.rack.key'];
    for (const holder of holders) expect(admits(holder), holder).toEqual(['w7', 's0', 'rack']);
    for (const holder of ['client.key', 'client.ci.key']) expect(admits(holder), holder).toEqual(['s0']);
    const revoked = await goshawk('keys', 'revoke', 'w7', 'keys');
    expect(revoked).toMatchObject({ exitCode: 0, stderr: expect.stringMatching(/the key of w7 is revoked/) });
    for (const holder of holders) expect(admits(holder), holder).toEqual(['s0', 'rack']);
    expect(existsSync(join(cwd, 'keys/worker.w7.key'))).toBe(false);
    expect((await goshawk('keygen', 'keys', '--revoke', 's0')).exitCode).toBe(0);
    for (const holder of ['client.key', 'worker.rack.key']) expect(admits(holder)).not.toContain('s0');
    const again = await goshawk('keys', 'revoke', 'w7', 'keys');
    expect(again.exitCode).toBe(2);
    expect(again.stderr).toMatch(/there is no key named w7; known keys: ci, rack, worker, scheduler, client/);
  });

  it('follow a rotation, and stay valid when the shared key of their role is replaced', async () => {
    await goshawk('keygen', 'keys');
    await goshawk('keygen', 'worker', 'w7', 'keys');
    const { secret } = file('worker.w7.key').generations[0];
    const shared = file('worker.key').generations[0].secret;
    await goshawk('keygen', 'keys', '--rotate');
    expect((await goshawk('keys', 'revoke', 'worker', 'keys')).exitCode).toBe(0);
    const [now, next] = file('worker.w7.key').generations;
    expect([now.secret, next.secret]).toEqual([secret, secret]);
    const replaced = file('worker.key').generations[0];
    expect(replaced.secret).not.toEqual(shared);
    expect(now.public).toEqual(replaced.public);
  });

  it.each([
    [['keygen', 'worker'], /worker needs a NAME/],
    [['keygen', 'worker', 'W7', 'keys'], /"W7" is not a valid key name/],
    [['keygen', 'worker', 'client', 'keys'], /"client" is not a valid key name/],
    [['keygen', 'central', 'c', 'keys'], /central has no individual keys, only central\.key/],
    [['keygen', 'scheduler', 'ci', 'keys'], /ci is already the name of a client key/],
    [
      ['keygen', 'worker', 'w7', 'keys', '--rights', 'submit'],
      /--rights applies only to the key of a client/,
    ],
    [
      ['keygen', 'client', 'x', 'keys', '--names', 'x'],
      /--names applies only to the key of a worker or scheduler/,
    ],
    [['keygen', 'keys', '--expires', '1d'], /--expires applies only to an individual key/],
    [['keygen', 'worker', 'w7', 'keys', '--expires', '1'], /--expires: "1" is not a duration/],
    [['keygen', 'worker', 'w7', 'keys', '--expires', '0s'], /a key cannot expire in "0s"/],
    [['keygen', 'worker', 'w7', 'keys', '--expires', '9999999d'], /a key cannot expire in "9999999d"/],
    [['keygen', 'worker', 'w7', 'keys', '--names', 'a,b\t*'], /--names: "b\\t\*": a name has no line breaks/],
    [['keygen', 'worker', 'w7', 'keys', '--names', 'w[2-1]'], /--names: "w\[2-1\]" ends before it begins/],
    [['keys', 'revoke'], /keys revoke needs the NAME/],
    [['keys', 'nowhere'], /cannot read the key file/],
  ])('%j is refused in one line', async (line, problem) => {
    await goshawk('keygen', 'keys');
    await goshawk('keygen', 'client', 'ci', 'keys');
    const { exitCode, stderr } = await goshawk(...line);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(problem);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
