import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Executors } from './executors.js';
import { Isolation, type IsolationOptions } from './isolation.js';
import { outcomeOf, record } from './recording.fixture.js';

const isRoot = process.getuid?.() === 0;
const has = (program: string) =>
  ['/usr/bin', '/usr/sbin', '/bin', '/sbin'].some((at) => existsSync(join(at, program)));
const missing = !isRoot
  ? 'only root makes accounts'
  : ['useradd', 'setpriv', 'bwrap'].find((name) => !has(name));
const [MALLORY, VICTIM] = [`ghm${process.pid}`, `ghv${process.pid}`];

// Reason: accounts are made with useradd, and sandboxes with bwrap.
describe.skipIf(missing !== undefined)(`isolated tasks${missing ? ` (skipped: ${missing})` : ''}`, () => {
  let folder = '';
  let homes: Record<string, string> = {};
  const opened: Executors[] = [];

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'goshawk-isolation-'));
    chmodSync(folder, 0o755);
    mkdirSync(join(folder, 'data'), { mode: 0o700 });
    writeFileSync(join(folder, 'data', 'worker.key'), 'the key', { mode: 0o600 });
    for (const name of [MALLORY, VICTIM]) {
      const home = join(folder, name);
      execFileSync('useradd', ['--create-home', '--home-dir', home, '--shell', '/bin/sh', name]);
      chmodSync(home, 0o700);
      homes = { ...homes, [name]: home };
    }
    const secret = join(homes[VICTIM]!, 'secret');
    writeFileSync(secret, 'of the victim', { mode: 0o600 });
    const { uid, gid } = statSync(homes[VICTIM]!);
    chownSync(secret, uid, gid);
  });

  afterAll(async () => {
    for (const each of opened) await each.close();
    for (const name of [MALLORY, VICTIM]) execFileSync('userdel', [name]);
    rmSync(folder, { recursive: true });
  });

  function executors(runAs: IsolationOptions['runAs']): Executors {
    const dataFolder = join(folder, 'data');
    const isolation = new Isolation({ runAs, hasKeys: true, hidden: [dataFolder] });
    const made = new Executors({
      dataFolder,
      isolation,
      graceMs: 60_000,
      environment: { PATH: process.env.PATH },
    });
    opened.push(made);
    return made;
  }

  const sh = (script: string, more: object = {}) => ({ exec: [script], shell: true, ...more });

  describe.each(['user', 'sandbox'] as const)('run as %s', (runAs) => {
    it('a command runs under the account of its user, with its groups and home, and not as root', async () => {
      const { outcome, sink } = await outcomeOf(executors(runAs), sh('id -un; pwd; echo $HOME $A'), {
        user: MALLORY,
        env: { A: 'a b' },
      });
      const home = homes[MALLORY];
      expect([outcome, sink.text()]).toEqual([
        { kind: 'completed', exitCode: 0 },
        `${MALLORY}\n${home}\n${home} a b\n`,
      ]);
    });

    it.each([
      ['another user’s file', () => `cat ${homes[VICTIM]}/secret`],
      ['another user’s folder', () => `ls ${homes[VICTIM]}`],
      ['the worker’s key', () => `cat ${folder}/data/worker.key`],
      ['the worker’s folder', () => `ls ${folder}/data`],
      ['/etc/shadow', () => 'cat /etc/shadow'],
      ['the worker’s environment', () => `cat /proc/${process.pid}/environ`],
      ['the signals of the worker', () => `kill -0 ${process.pid}`],
      ['folders of the system', () => 'touch /usr/goshawk-test /etc/goshawk-test'],
      ['the rights of root', () => 'setpriv --reuid 0 true'],
    ])('a command cannot access %s', async (_, script) => {
      const { outcome, sink } = await outcomeOf(executors(runAs), sh(script()), { user: MALLORY });
      expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'exit-code' } });
      expect(sink.text()).toBe('');
    });

    it('variables of the job do not reach processes of root', async () => {
      const marker = join(folder, `loaded-${runAs}`);
      const env = { LD_PRELOAD: '/nonexistent/evil.so', LD_DEBUG: 'files', LD_DEBUG_OUTPUT: marker };
      await outcomeOf(executors(runAs), { exec: ['true'], env }, { user: MALLORY });
      expect(execFileSync('ls', [folder], { encoding: 'utf8' })).not.toContain(`loaded-${runAs}`);
    });

    it('a job gets no access to a system folder by naming it as its working folder', async () => {
      const victim = join(folder, `victim-${runAs}`);
      mkdirSync(victim, { mode: 0o755 });
      for (const name of ['GOSHAWK_RESULT', 'GOSHAWK_INPUTS']) {
        const payload = sh(`touch ${victim}/mine; true`, { env: { [name]: join(victim, 'x') } });
        const { outcome } = await outcomeOf(executors(runAs), payload, { user: MALLORY });
        expect(outcome).toMatchObject({ kind: 'completed' });
      }
      expect([statSync(victim).uid, existsSync(join(victim, 'mine'))]).toEqual([0, false]);
    });

    it('output files are written by the account of the user', async () => {
      const runs = executors(runAs);
      const payload = {
        exec: ['echo', 'hello'],
        cwd: homes[MALLORY]!,
        stdout: 'out/a.txt',
        stderr: 'out/a.txt',
      };
      expect((await outcomeOf(runs, payload, { user: MALLORY })).outcome.kind).toBe('completed');
      const written = join(homes[MALLORY]!, 'out/a.txt');
      expect(readFileSync(written, 'utf8')).toBe('hello\n');
      expect(statSync(written).uid).toBe(statSync(homes[MALLORY]!).uid);
      const stolen = { ...payload, stdout: join(homes[VICTIM]!, 'x'), stderr: '/dev/null' };
      await outcomeOf(runs, stolen, { user: MALLORY });
      expect(existsSync(join(homes[VICTIM]!, 'x'))).toBe(false);
    });

    it('a killed command has its grace period, and its exit code and stdin work as usual', async () => {
      const runs = executors(runAs);
      const { run, sink } = record(
        runs,
        sh('trap "echo saved; exit 3" TERM; echo up; while :; do sleep 0.05; done'),
        {
          user: MALLORY,
        },
      );
      await expect.poll(() => sink.text()).toBe('up\n');
      run.kill('cancelled');
      expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'cancelled' });
      expect(sink.text()).toBe('up\nsaved\n');
      const { outcome, sink: other } = await outcomeOf(
        runs,
        { ...sh('cat; exit 7'), stdin: 'x' },
        { user: MALLORY },
      );
      expect([outcome, other.text()]).toMatchObject([{ kind: 'failed', exitCode: 7 }, 'x']);
    });

    it('modules are refused in one line', async () => {
      const { outcome } = await outcomeOf(executors(runAs), { module: '/x.js' }, { user: MALLORY });
      expect(outcome).toMatchObject({
        error: { code: 'not-allowed', message: expect.stringMatching(/--run-as/) },
      });
    });
  });

  it.each(['root', 'daemon', '0', 'nobody-there', undefined])('user %s has no account', async (user) => {
    const { outcome } = await outcomeOf(
      executors('user'),
      { exec: ['id'] },
      user === undefined ? {} : { user },
    );
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'no-account' } });
  });

  it('a sandbox has a private /tmp and process list, and no folder of the worker', async () => {
    const runs = executors('sandbox');
    const { sink } = await outcomeOf(runs, sh('ls /tmp; echo /proc/[0-9]* | wc -w; ls /home 2>/dev/null'), {
      user: 'nobody-there',
    });
    const [processes, ...rest] = sink.text().trim().split('\n');
    expect(Number(processes)).toBeLessThan(6);
    expect(rest).toEqual([]);
    const { outcome } = await outcomeOf(runs, { exec: ['ls'], cwd: join(folder, 'data') }, { user: MALLORY });
    expect(outcome).toMatchObject({ error: { code: 'not-allowed' } });
  });

  it('a sandbox without a network reaches nothing but itself', async () => {
    const options = { runAs: 'sandbox', hasKeys: true, hidden: [], network: false } as const;
    const made = new Executors({
      dataFolder: join(folder, 'data'),
      isolation: new Isolation(options),
      graceMs: 60_000,
      environment: { PATH: process.env.PATH },
    });
    opened.push(made);
    const { outcome, sink } = await outcomeOf(made, sh('tail -n +3 /proc/net/dev | cut -d: -f1'), {
      user: MALLORY,
    });
    expect(outcome.kind).toBe('completed');
    expect(sink.text().trim()).toBe('lo');
    expect(() => new Isolation({ ...options, runAs: 'user' })).toThrow(
      /only a sandbox has a separate network/,
    );
  });

  it('without keys, a submitter cannot choose the account of a sandbox', async () => {
    const dataFolder = join(folder, 'data');
    const isolation = new Isolation({ runAs: 'sandbox', hasKeys: false, hidden: [dataFolder] });
    const runs = new Executors({ dataFolder, isolation, environment: { PATH: process.env.PATH } });
    opened.push(runs);
    const { sink } = await outcomeOf(runs, { exec: ['id', '-un'], cwd: '/' }, { user: VICTIM });
    expect(sink.text()).toBe('nobody\n');
  });

  it('accounts without keys are refused, because submitters could claim any name', () => {
    expect(() => new Isolation({ runAs: 'user', hasKeys: false, hidden: [] })).toThrow(/--keys|without keys/);
  });
});
