import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Payload } from '@goshawk/core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { compiledFile } from './compiled.js';
import type { Outcome } from './contract.js';
import { Executors } from './executors.js';
import { Isolation, type IsolationOptions } from './isolation.js';
import { outcomeOf, record } from './recording.fixture.js';

const isRoot = process.getuid?.() === 0;
const has = (program: string) =>
  ['/usr/bin', '/usr/sbin', '/bin', '/sbin'].some((at) => existsSync(join(at, program)));
const missing = !isRoot
  ? 'only root makes accounts'
  : ['useradd', 'setpriv', 'bwrap'].find((name) => !has(name));
const [MALLORY, VICTIM, GROUP] = [`ghm${process.pid}`, `ghv${process.pid}`, `ghg${process.pid}`];
const WAIT = { timeout: 30_000 };
const PLAIN = { outputBytesMax: 1_000, hasStdin: false };

const WORK = `
  import { writeSync } from 'node:fs';
  import dependency from 'dependency';
  export const reports = ({ bytes: [a, b] }, { job, index }) => {
    console.log('out');
    console.error('err');
    return { uid: process.getuid(), home: process.env.HOME, sum: a + b, dependency, job, index };
  };
  export const nothing = () => {};
  export const throws = () => { throw new RangeError('too far'); };
  export const exits = () => process.exit(3);
  export const kills = () => process.kill(process.pid, 'SIGKILL');
  export const eats = () => { const all = []; for (;;) all.push({ all: [all.length] }); };
  export const large = () => 'x'.repeat(3000);
  export const cycle = () => { const a = {}; a.a = a; return a; };
  export const claims = (text) => { writeSync(3, text); process.kill(process.pid, 'SIGKILL'); };
  export const loops = () => { console.log('looping'); for (;;); };
  export const results = (_, context) => context.results('first');
  export const listens = (_, { signal }) => new Promise((resolve) => {
    signal.addEventListener('abort', () => { console.log('aborted'); resolve(); });
    console.log('listening');
    setInterval(() => {}, 1000);
  });
`;

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
    execFileSync('groupadd', [GROUP]);
    execFileSync('usermod', ['--append', '--groups', GROUP, VICTIM]);
    const project = join(homes[MALLORY]!, 'project');
    mkdirSync(join(project, 'src'), { recursive: true });
    mkdirSync(join(project, 'node_modules', 'dependency'), { recursive: true });
    writeFileSync(join(project, 'package.json'), '{}');
    writeFileSync(join(project, 'node_modules', 'dependency', 'package.json'), '{"main":"index.js"}');
    writeFileSync(join(project, 'node_modules', 'dependency', 'index.js'), "module.exports = 'found';");
    writeFileSync(join(project, 'src', 'work.mjs'), WORK);
    const secret = join(homes[VICTIM]!, 'secret');
    writeFileSync(secret, 'of the victim', { mode: 0o600 });
    const { uid, gid } = statSync(homes[VICTIM]!);
    chownSync(secret, uid, gid);
  });

  afterAll(async () => {
    for (const each of opened) await each.close();
    for (const name of [MALLORY, VICTIM]) execFileSync('userdel', [name]);
    execFileSync('groupdel', [GROUP]);
    rmSync(folder, { recursive: true });
  });

  const shared = new Map<string, Executors>();

  function executors(runAs: IsolationOptions['runAs']): Executors {
    const known = shared.get(runAs);
    if (known !== undefined) return known;
    const dataFolder = join(folder, 'data');
    const isolation = new Isolation({ runAs, hasKeys: true, hidden: [dataFolder] });
    const made = new Executors({
      dataFolder,
      isolation,
      graceMs: 60_000,
      moduleHeapMiBMax: 64,
      valueBytesMax: 2_000,
      environment: { PATH: process.env.PATH },
    });
    opened.push(made);
    shared.set(runAs, made);
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

    it('variables of the job have their values, under every name', async () => {
      const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'].filter(
        (name) => name !== 'A',
      );
      const names = [...letters, 'IFS', 'OLDPWD', 'PWD', 'PS1', 'x1', 'path', 'GOSHAWKS', '_a'];
      const env = Object.fromEntries(names.map((name, at) => [name, `value ${at} "$${name}"`]));
      const exec = ['/usr/bin/env', '-0'];
      for (const more of [{}, { stdout: 'out.txt', stderr: 'err.txt' }]) {
        const { outcome, sink } = await outcomeOf(
          executors(runAs),
          { exec, env, ...more },
          { user: MALLORY },
        );
        expect(outcome).toEqual({ kind: 'completed', exitCode: 0 });
        const written =
          'stdout' in more ? readFileSync(join(homes[MALLORY]!, 'out.txt'), 'utf8') : sink.text();
        const seen = new Map(written.split('\0').map((line) => line.split(/=(.*)/s, 2) as [string, string]));
        expect(Object.fromEntries(names.map((name) => [name, seen.get(name)]))).toEqual(env);
        expect([...seen.keys()].filter((name) => /^GOSHAWK_(ENV|OWN)/.test(name))).toEqual([]);
      }
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

    it('a command opens its input and output by the names in /dev', async () => {
      const payload = { ...sh('cat /dev/stdin > /dev/stdout; echo no > /dev/stderr'), stdin: 'in' };
      const { outcome, sink } = await outcomeOf(executors(runAs), payload, { user: MALLORY });
      expect([outcome.kind, sink.text(), sink.text('stderr')]).toEqual(['completed', 'in', 'no\n']);
    });

    it('a command has only the groups of its account, and no capabilities', async () => {
      const { sink } = await outcomeOf(
        executors(runAs),
        sh('id -G; grep -E "^Cap(Inh|Prm|Eff|Amb)" /proc/self/status'),
        {
          user: MALLORY,
        },
      );
      const [groups, ...capabilities] = sink.text().trim().split('\n');
      expect(groups).toBe(`${statSync(homes[MALLORY]!).gid}`);
      expect(capabilities.map((line) => line.split(/\s+/)[1])).toEqual(Array(4).fill('0'.repeat(16)));
    });

    it('a command has the further groups of its account', async () => {
      const { sink } = await outcomeOf(executors(runAs), sh('id -Gn'), { user: VICTIM });
      const names = execFileSync('id', ['-Gn', VICTIM], { encoding: 'utf8' });
      // A sandbox maps only the account and its primary group.
      if (runAs === 'user') expect(sink.text()).toBe(names);
      expect(names).toContain(GROUP);
    });

    it('a command cannot start in a folder that its account may not enter', async () => {
      const runs = executors(runAs);
      const open = join(homes[VICTIM]!, 'open');
      mkdirSync(open, { recursive: true, mode: 0o755 });
      for (const user of [MALLORY, VICTIM]) {
        const { outcome } = await outcomeOf(runs, { exec: ['ls'], cwd: open }, { user });
        expect([user, outcome.kind]).toEqual([user, user === VICTIM ? 'completed' : 'failed']);
      }
    });

    describe('a module', () => {
      const call = (name: string, input?: unknown) => ({
        module: join(homes[MALLORY]!, 'project', 'src', 'work.mjs'),
        export: name,
        input,
      });
      const run = (payload: Payload, options: object = {}) =>
        outcomeOf(executors(runAs), payload, { user: MALLORY, ...options });

      it('runs under the account of its user, with its input, packages and context', async () => {
        const { outcome, sink } = await run(call('reports', { bytes: Uint8Array.of(1, 2) }), {
          env: { GOSHAWK_JOB: 'a-1', GOSHAWK_TASK: '7' },
        });
        const { uid } = statSync(homes[MALLORY]!);
        const value = { uid, home: homes[MALLORY], sum: 3, dependency: 'found', job: 'a-1', index: 7 };
        expect(outcome).toEqual({ kind: 'completed', value });
        expect([sink.text('stdout'), sink.text('stderr')]).toEqual(['out\n', 'err\n']);
        expect(sink.calls).toEqual(['started', 'output', 'ended']);
      });

      it('may be named relative to its folder', async () => {
        const { outcome } = await run({
          ...call('nothing'),
          module: './src/work.mjs',
          cwd: join(homes[MALLORY]!, 'project'),
        });
        expect(outcome).toEqual({ kind: 'completed' });
      });

      it.each([
        ['throws', 'module-threw', /RangeError: too far/],
        ['exits', 'thread-failed', /exited with code: 3/],
        ['kills', 'thread-failed', /process ended unexpectedly/],
        ['eats', 'out-of-memory', /64 MiB/],
        ['large', 'result-too-large', /2000 bytes/],
        ['missing', 'no-such-export', /is missing/],
        ['cycle', 'result-not-serialisable', /contains itself/],
      ])('that %s fails with a reason', async (name, code, message) => {
        const { outcome } = await run(call(name));
        expect(outcome).toMatchObject({
          kind: 'failed',
          error: { code, message: expect.stringMatching(message) },
        });
      });

      it.each([
        [
          'an error of the worker',
          { kind: 'failed', error: { code: 'process-limit', message: 'x' } },
          'thread-failed',
        ],
        ['the end by the worker', { kind: 'killed', reason: 'preempted' }, 'thread-failed'],
        ['too large a value', { kind: 'completed', value: 'x'.repeat(10_000) }, 'result-too-large'],
        ['text', 'text', 'thread-failed'],
      ])('cannot claim %s', async (_, claim, code) => {
        const { outcome } = await run(call('claims', JSON.stringify(claim)));
        expect(outcome).toMatchObject({ kind: 'failed', error: { code } });
      });

      it('of another user, or the worker, cannot be read', async () => {
        const secret = join(homes[VICTIM]!, 'work.mjs');
        for (const path of [secret, join(folder, 'data', 'work.mjs')]) {
          writeFileSync(path, 'export default () => 1;', { mode: 0o600 });
          expect((await run({ module: path })).outcome).toMatchObject({ kind: 'failed' });
        }
      });

      it('is notified by its abort signal, and is killed if it ignores the signal', async () => {
        const runs = executors(runAs);
        const { run: listening, sink } = record(runs, call('listens'), { user: MALLORY });
        await expect.poll(() => sink.text(), WAIT).toBe('listening\n');
        listening.kill('cancelled');
        expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'cancelled' });
        expect(sink.text()).toBe('listening\naborted\n');
        const { run: looping, sink: other } = record(runs, call('loops'), { user: MALLORY });
        await expect.poll(() => other.text(), WAIT).toBe('looping\n');
        looping.kill('timeout');
        expect((await other.end).outcome).toEqual({ kind: 'killed', reason: 'timeout' });
      });

      it('reads the results of earlier stages', async () => {
        const exchanged = join(folder, `exchanged-${runAs}`);
        mkdirSync(exchanged, { mode: 0o700 });
        const inputs = join(exchanged, 'inputs.jsonl');
        writeFileSync(inputs, '{"stage":"first","value":5}\n', { mode: 0o600 });
        const { outcome } = await run(call('results'), {
          folder: exchanged,
          env: { GOSHAWK_INPUTS: inputs },
        });
        expect(outcome).toEqual({ kind: 'completed', value: [5] });
      });
    });
  });

  // Reason: the kernel lets only processes with all ids of the account into its file systems, such as sshfs.
  it('a command may start in a file system of its account, and waits for it alone', async (context) => {
    const mounted = join(homes[MALLORY]!, 'mounted');
    mkdirSync(mounted);
    const { uid, gid } = statSync(homes[MALLORY]!);
    chownSync(mounted, uid, gid);
    if (!existsSync('/dev/fuse')) return context.skip('there is no /dev/fuse');
    // No process answers for this one.
    const fuse = openSync('/dev/fuse', 'r+');
    const options = `fd=3,rootmode=40000,user_id=${uid},group_id=${gid}`;
    const mount = ['-i', '-t', 'fuse', '-o', options, 'none', mounted];
    if (spawnSync('mount', mount, { stdio: ['ignore', 'ignore', 'ignore', fuse] }).status !== 0) {
      closeSync(fuse);
      return context.skip('mount is not permitted');
    }
    const { sink } = record(executors('user'), { exec: ['true'], cwd: mounted }, { user: MALLORY });
    try {
      const { outcome } = await outcomeOf(executors('user'), { exec: ['true'] }, { user: VICTIM });
      expect(outcome.kind).toBe('completed');
      expect(sink.calls).toEqual(['started']);
    } finally {
      closeSync(fuse);
      execFileSync('umount', ['-l', mounted]);
    }
    await sink.end;
  });

  it('a sandbox shows the folders that a job lists, read-only, unless they are hidden or shared', async () => {
    const listed = [join(folder, 'shown'), join(folder, 'data'), '/home', '/proc/1'];
    mkdirSync(listed[0]!, { mode: 0o777 });
    chmodSync(listed[0]!, 0o777);
    writeFileSync(join(listed[0]!, 'file'), 'shown', { mode: 0o644 });
    const script = `cat ${listed[0]}/file; touch ${listed[0]}/mine; ls ${listed[1]}; ls /home`;
    const { sink } = await outcomeOf(
      executors('sandbox'),
      sh(script, { env: { GOSHAWK_FOLDERS: listed.join(':') } }),
      {
        user: MALLORY,
      },
    );
    expect(sink.text()).toBe('shown');
    expect(existsSync(join(listed[0]!, 'mine'))).toBe(false);
  });

  it('a sandbox is refused to a job that lists very many folders, which would hold up the worker', async () => {
    const env = { GOSHAWK_FOLDERS: Array.from({ length: 257 }, (_, index) => `/srv/${index}`).join(':') };
    const { outcome } = await outcomeOf(executors('sandbox'), sh('true', { env }), { user: MALLORY });
    const message = expect.stringContaining('at most 256');
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'bad-payload', message } });
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

  describe('a sandbox whose folder contains the folder of a worker', () => {
    let project = '';
    let made: Executors;
    let isolation: Isolation;

    beforeEach(() => {
      const { uid, gid } = statSync(homes[MALLORY]!);
      project = mkdtempSync(join(folder, 'project-'));
      for (const path of ['', 'run', 'run/deep', 'run/deep/data', 'src'].map((name) => join(project, name))) {
        mkdirSync(path, { recursive: true });
        chownSync(path, uid, gid);
        chmodSync(path, 0o755);
      }
      writeFileSync(join(project, 'run/deep/data/key'), 'the key');
      chmodSync(join(project, 'run/deep/data/key'), 0o644);
      const dataFolder = join(folder, 'data');
      isolation = new Isolation({
        runAs: 'sandbox',
        hasKeys: true,
        hidden: [join(project, 'run/deep/data')],
      });
      made = new Executors({ dataFolder, isolation, environment: { PATH: process.env.PATH } });
      opened.push(made);
    });

    const outputIn = async (cwd: string, script: string) => {
      const { outcome, sink } = await outcomeOf(made, sh(script, { cwd }), { user: MALLORY });
      return { outcome, text: sink.text('stdout') };
    };

    it('prevents tasks from renaming the folder and its parents', async () => {
      const { text } = await outputIn(
        project,
        'mv run/deep/data run/deep/x; mv run/deep run/x; mv run x; mv src lib; ls; find . -name key',
      );
      expect(text.trim().split('\n')).toEqual(['lib', 'run']);
      const later = await outputIn(project, 'touch run/mine run/deep/mine; find . -name key; ls run');
      expect(later.text.trim().split('\n')).toEqual(['deep', 'mine']);
    });

    it.each(['700', '750'])('runs where its account cannot enter a parent of mode %s', async (mode) => {
      chownSync(join(project, 'run'), 0, 0);
      chmodSync(join(project, 'run'), Number.parseInt(mode, 8));
      const { outcome, text } = await outputIn(project, 'ls; mv run x 2>/dev/null || find . -name key');
      expect(outcome).toMatchObject({ kind: 'completed' });
      expect(text).toBe('run\nsrc\n');
    });

    it('refuses tasks once the hidden folder has been moved', async () => {
      renameSync(join(project, 'run'), join(project, 'moved'));
      const { outcome } = await outputIn(project, 'cat moved/deep/data/key');
      expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'not-allowed' } });
    });

    it('hides the folder under all names of the mounted folder', async () => {
      const link = join(folder, 'link');
      symlinkSync(project, link);
      try {
        const payload = { cwd: homes[MALLORY]!, env: { GOSHAWK_FOLDERS: link } };
        const script = `ls ${link}; cat ${link}/run/deep/data/key`;
        const { sink } = await outcomeOf(made, sh(script, payload), { user: MALLORY });
        expect(sink.text('stdout')).toBe('run\nsrc\n');
        expect((await outputIn(link, script)).text).toBe('run\nsrc\n');
      } finally {
        rmSync(link);
      }
    });

    it('verifies a folder from inside, unless only root can replace it', () => {
      const isVerified = (cwd: string) => {
        const order = { command: '/bin/true', args: [], cwd, env: {}, ...PLAIN };
        const started = isolation.isolate(order, { user: MALLORY }, {});
        if ('kind' in started) throw new Error(started.error.message);
        const { dev, ino } = statSync(cwd);
        return started.args.some((each) => each.split('\n').includes(`${dev}:${ino}`));
      };
      const closed = mkdtempSync('/srv/goshawk-isolation-');
      chmodSync(closed, 0o755);
      try {
        const [inside, shared] = ['inside', 'shared'].map((name) => join(closed, name));
        for (const path of [inside!, shared!]) mkdirSync(path);
        chmodSync(shared!, 0o1777);
        mkdirSync(join(shared!, 'of-root'));
        mkdirSync(join(shared!, 'of-another'));
        const { uid, gid } = statSync(homes[MALLORY]!);
        chownSync(join(shared!, 'of-another'), uid, gid);
        chownSync(inside!, uid, gid);
        mkdirSync(join(inside!, 'below'));
        expect([inside!, join(shared!, 'of-root')].map(isVerified)).toEqual([false, false]);
        expect([join(shared!, 'of-another'), join(inside!, 'below')].map(isVerified)).toEqual([true, true]);
        chmodSync(shared!, 0o777);
        expect(isVerified(join(shared!, 'of-root'))).toBe(true);
      } finally {
        rmSync(closed, { recursive: true });
      }
    });

    it.each(['src', 'lib'])('does not run when %s was replaced by a link before it was mounted', (name) => {
      mkdirSync(join(project, 'lib'));
      const env = name === 'lib' ? { GOSHAWK_FOLDERS: join(project, 'lib') } : {};
      const args = [join(project, name, 'key')];
      const order = { command: '/bin/cat', args, cwd: join(project, 'src'), env, ...PLAIN };
      const started = isolation.isolate(order, { user: MALLORY }, {});
      if ('kind' in started) throw new Error(started.error.message);
      const { uid, gid } = statSync(homes[MALLORY]!);
      const secret = join(project, 'run/deep/data');
      renameSync(join(project, name), join(project, 'moved'));
      symlinkSync(secret, join(project, name));
      const filter = join(project, 'filter');
      writeFileSync(filter, Buffer.from(started.early ?? '', 'base64'));
      const { status, stdout, stderr } = spawnSync(started.command, started.args, {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe', openSync(filter, 'r')],
        env: started.env,
        uid,
        gid,
      });
      expect([status, stdout]).toEqual([126, '']);
      expect(stderr).toContain('was replaced while it was mounted');
    });
  });

  it.runIf(has('perl') && process.arch === 'x64')('a sandbox denies calls of administrators', async () => {
    const call = (number: number) =>
      `perl -e '$! = 0; syscall($ARGV[0] + 0, 0, 0, 0, 0, 0); print $! + 0, " "' ${number}`;
    const answers = async (...commands: string[]) =>
      (await outcomeOf(executors('sandbox'), sh(commands.join('; ')), { user: MALLORY })).sink.text('stdout');
    // mount, umount2, bpf, keyctl, add_key, perf_event_open, userfaultfd, kexec_load, init_module, setns, open_tree, quotactl
    const denied = [165, 166, 321, 250, 248, 298, 323, 246, 175, 308, 428, 179];
    expect((await answers(...denied.map(call))).trim().split(' ')).toEqual(denied.map(() => '1'));
    // io_uring_setup, clone3
    expect(await answers(call(425), call(435))).toBe('38 38 ');
    const status = 'grep ^Seccomp: /proc/self/status';
    const namespaces = ['user', 'mount', 'net', 'pid', 'ipc', 'uts'].map(
      (kind) => `unshare --user --${kind} true && echo ${kind}`,
    );
    expect(await answers(status, ...namespaces)).toBe('Seccomp:\t2\n');
  });

  const THREADS =
    'const { Worker } = require("worker_threads"); new Worker("console.log(1)", { eval: true })';
  const PYTHON =
    'import threading as t, subprocess as s; t.Thread(target=lambda: s.run(["echo", "1"])).start()';
  it.each([
    ['sh', 'x=$(echo 1 | cat); (sleep 0.01 & wait); echo $x'],
    ['node', `/usr/bin/node -e '${THREADS}'`],
    ['python3', `/usr/bin/python3 -c '${PYTHON}'`],
    ['cc', `cd /tmp; echo 'int puts(const char*); int main(){puts("1");}' > a.c && cc -o a a.c && ./a`],
    ['strace', 'strace -f -o /tmp/calls sh -c "echo 1"'],
  ])('a sandbox runs %s', async (program, script) => {
    if (!has(program)) return;
    const { sink } = await outcomeOf(executors('sandbox'), sh(script), { user: MALLORY });
    expect([sink.text('stdout'), sink.text('stderr')]).toEqual(['1\n', '']);
  });

  it('every file system of a sandbox that a task can write to has a size, and processes have a limit', async () => {
    const dataFolder = join(folder, 'data');
    const tmpBytes = 8 * 1024 * 1024;
    const isolation = new Isolation({ runAs: 'sandbox', hasKeys: true, hidden: [dataFolder], tmpBytes });
    const made = new Executors({ dataFolder, isolation, environment: { PATH: process.env.PATH } });
    opened.push(made);
    // Writes a file of 32 MiB to each mounted folder, and prints those where it fits.
    const exchanged = mkdtempSync(join(folder, 'inputs-'));
    const script = `
      cut -d' ' -f5 /proc/self/mountinfo | sort -u | while read at; do
        [ -d "$at" ] && head -c 33554432 /dev/zero 2>/dev/null >"$at/filled" && echo "$at"; rm -f "$at/filled"
      done 2>/dev/null
      sed -n 's/^Max processes *\\([0-9]*\\) .*/\\1/p' /proc/self/limits`;
    const { sink } = await outcomeOf(made, sh(script), { user: MALLORY, folder: exchanged });
    const home = homes[MALLORY]!;
    const lines = sink.text().trim().split('\n');
    expect(lines.slice(0, -1)).toEqual([home]);
    expect(Number(lines.at(-1))).toBeLessThanOrEqual(4_096);
  });

  describe('a command in a sandbox that returns a value', () => {
    /** Runs a script with an empty result folder of the worker, which no script may write to. */
    const returned = async (script: string, more: object = {}) => {
      const exchanged = mkdtempSync(join(folder, 'result-'));
      const env = { GOSHAWK_RESULT: join(exchanged, 'result.json') };
      const payload = sh(script, { returns: true, ...more });
      const ran = await outcomeOf(executors('sandbox'), payload, { user: MALLORY, folder: exchanged, env });
      expect(readdirSync(exchanged)).toEqual([]);
      return { outcome: ran.outcome, text: ran.sink.text('stdout'), errors: ran.sink.text('stderr') };
    };

    it.each<[string, string, object]>([
      [
        'JSON',
        `echo '{"n": [1, null]}' >$GOSHAWK_RESULT`,
        { kind: 'completed', exitCode: 0, value: { n: [1, null] } },
      ],
      [
        'through another file',
        'echo 1 >$GOSHAWK_RESULT.new; mv $GOSHAWK_RESULT.new $GOSHAWK_RESULT',
        { value: 1 },
      ],
      ['from another folder', 'cd /tmp; echo 1 >x; mv x $GOSHAWK_RESULT; export PATH=/nowhere', { value: 1 }],
      ['lines', `printf '%s\\n' '{' ' "a\\n": "-n"' '' '}' >$GOSHAWK_RESULT`, { value: { 'a\n': '-n' } }],
      ['a file that it closes', 'echo 1 >$GOSHAWK_RESULT; chmod 400 $GOSHAWK_RESULT', { value: 1 }],
      ...[4_094, 4_095, 4_096, 262_144].map((bytes): [string, string, object] => [
        `${bytes} bytes`,
        `printf '"%0${bytes - 2}d"' 1 >$GOSHAWK_RESULT`,
        { value: '1'.padStart(bytes - 2, '0') },
      ]),
      ['a byte order mark', "printf '\\357\\273\\2771' >$GOSHAWK_RESULT", { value: 1 }],
      ['nothing', ':', { kind: 'completed', exitCode: 0 }],
      ['nothing, and is killed', 'kill -9 $$', { kind: 'failed', exitCode: 137 }],
      [
        'while it signals all',
        'trap "" TERM INT; kill -TERM -1; kill -INT -1; echo 1 >$GOSHAWK_RESULT',
        { value: 1 },
      ],
    ])('may write %s', async (_, script, outcome) => {
      expect((await returned(script)).outcome).toMatchObject(outcome);
    });

    it.each([
      ['no JSON', 'echo { >$GOSHAWK_RESULT', 'result-not-serialisable', 'left no JSON in GOSHAWK_RESULT'],
      ['an empty file', ': >$GOSHAWK_RESULT', 'result-not-serialisable', 'left no JSON'],
      ['other bytes', "printf '\\377' >$GOSHAWK_RESULT", 'result-not-serialisable', 'not valid UTF-8'],
      ['a folder', 'mkdir $GOSHAWK_RESULT', 'result-not-serialisable', 'left no JSON'],
      ['a link', `echo 1 >/tmp/x; ln -s /tmp/x $GOSHAWK_RESULT`, 'result-not-serialisable', 'left no JSON'],
      ['a pipe', 'mkfifo $GOSHAWK_RESULT', 'result-not-serialisable', 'left no JSON'],
      ['too much', 'head -c 50000000 /dev/zero >$GOSHAWK_RESULT', 'result-too-large', 'takes 50000000 bytes'],
      ['an explanation', `echo '{"error": "why"}' >$GOSHAWK_RESULT; exit 3`, 'exit-code', 'why'],
      [
        'too much, and exits',
        'head -c 9999999 /dev/zero >$GOSHAWK_RESULT; exit 3',
        'exit-code',
        'exit code 3',
      ],
    ])('fails if it writes %s', async (_, script, code, message) => {
      const error = { code, message: expect.stringContaining(message) };
      expect((await returned(script)).outcome).toMatchObject({ kind: 'failed', error });
    });

    it('has its inputs, its exit code, output files, and the grace period of a killed command', async () => {
      const exchanged = mkdtempSync(join(folder, 'both-'));
      const env = {
        GOSHAWK_RESULT: join(exchanged, 'result.json'),
        GOSHAWK_INPUTS: join(exchanged, 'inputs.jsonl'),
      };
      writeFileSync(env.GOSHAWK_INPUTS, '[1]', { mode: 0o600 });
      const start = (script: string, more: object = {}) =>
        record(executors('sandbox'), sh(script, { returns: true, ...more }), {
          user: MALLORY,
          folder: exchanged,
          env,
        });
      const copying = start(
        'cat $GOSHAWK_INPUTS >$GOSHAWK_RESULT; cat; echo 2>$GOSHAWK_INPUTS || echo fixed',
        {
          stdin: 'in ',
          stdout: join(homes[MALLORY]!, 'returned.txt'),
        },
      );
      expect((await copying.sink.end).outcome).toEqual({ kind: 'completed', exitCode: 0, value: [1] });
      expect(readFileSync(join(homes[MALLORY]!, 'returned.txt'), 'utf8')).toBe('in fixed\n');
      const { run, sink } = start('trap "echo saved; exit 3" TERM; echo up; while :; do sleep 0.05; done');
      await expect.poll(() => sink.text(), WAIT).toBe('up\n');
      run.kill('cancelled');
      expect((await sink.end).outcome).toEqual({ kind: 'killed', reason: 'cancelled' });
      expect(sink.text()).toBe('up\nsaved\n');
      expect(readdirSync(exchanged)).toEqual(['inputs.jsonl']);
    });

    it('fills no disk of the worker: its folder has 64 MiB', async () => {
      const script = `cd "\${GOSHAWK_RESULT%/*}"; for i in 1 2 3; do
        head -c 60000000 /dev/zero >$i && echo written; done; cat * | wc -c`;
      const { outcome, text, errors } = await returned(script);
      const [written, bytes] = text.trim().split('\n');
      expect(written).toBe('written');
      expect(Number(bytes)).toBeGreaterThan(60_000_000);
      expect(Number(bytes)).toBeLessThanOrEqual(64 * 1024 * 1024);
      expect(errors).toContain('No space left on device');
      expect(outcome).toEqual({ kind: 'completed', exitCode: 0 });
    });
  });

  describe('a sandbox works in every layout of folders in which its account may enter its folder', () => {
    /** Runs commands in sandboxes, in a process of the given account, and prints the outcomes and the outputs. */
    const RUNNER = `
      import { Executors, Isolation } from ${JSON.stringify(pathToFileURL(compiledFile('./index.js', import.meta.url)).href)};
      const { hidden, dataFolder, tasks } = JSON.parse(process.argv[2]);
      const isolation = new Isolation({ runAs: 'sandbox', hasKeys: true, hidden });
      const executors = new Executors({ dataFolder, isolation });
      const ran = await Promise.all(tasks.map(({ cwd, user, script, env, result }) => new Promise((resolve) => {
        let output = '';
        const payload = { exec: ['sh', '-c', script], cwd, env };
        const returning = result && { folder: result, env: { GOSHAWK_RESULT: result + '/result.json' } };
        const order = { payload, env: {}, user, outputBytesMax: 10000, ...returning };
        const ended = (outcome) => resolve({ outcome, output });
        executors.start(order, { output: ({ bytes }) => { output += Buffer.from(bytes).toString(); }, ended });
      })));
      await executors.close();
      console.log(JSON.stringify(ran));`;

    interface Task {
      cwd: string;
      user?: string | undefined;
      script: string;
      env?: Record<string, string>;
      /** The folder for the result. */
      result?: string;
    }

    const run = (
      account: string | undefined,
      order: { hidden: string[]; dataFolder: string; tasks: Task[] },
    ): { outcome: Outcome; output: string }[] => {
      const runner = join(folder, 'runner.mjs');
      writeFileSync(runner, RUNNER);
      const as =
        account === undefined
          ? []
          : ['setpriv', `--reuid=${account}`, `--regid=${account}`, '--clear-groups'];
      const [program, ...args] = [...as, process.execPath, runner, JSON.stringify(order)];
      const environment = { PATH: process.env.PATH, ...(account !== undefined && { HOME: homes[account] }) };
      const { stdout, stderr } = spawnSync(program!, args, { env: environment, encoding: 'utf8', cwd: '/' });
      expect(stderr).toBe('');
      return JSON.parse(stdout);
    };

    const ROOT = undefined;
    /** The accounts of the worker and the task, the data folder as seen from the working folder, and the mode of the folder above. */
    const LAYOUTS = [ROOT, MALLORY].flatMap((worker) =>
      [MALLORY, undefined].flatMap((user) =>
        ['.goshawk', 'deep/below/.goshawk', '../.goshawk', 'link/.goshawk'].flatMap((at) =>
          [0o755, 0o700].map((mode) => ({ worker, user, at, mode })),
        ),
      ),
    );

    it.each(LAYOUTS.map((layout, index) => ({ ...layout, index })))(
      'worker of $worker, task of $user, data at $at, mode $mode',
      ({ worker, user, at, mode, index }) => {
        const outer = join(worker === ROOT ? folder : homes[worker]!, `layout-${index}`);
        const cwd = join(outer, 'work');
        mkdirSync(join(cwd, 'real'), { recursive: true });
        symlinkSync('real', join(cwd, 'link'));
        const dataFolder = join(cwd, at);
        mkdirSync(join(dataFolder, 'keys'), { recursive: true });
        writeFileSync(join(dataFolder, 'keys', 'worker.key'), 'the key');
        chmodSync(outer, mode);
        if (worker !== ROOT) execFileSync('chown', ['-R', worker, outer]);
        const hidden = [dataFolder, join(dataFolder, 'keys'), join(dataFolder, 'keys', 'worker.key')];
        const script = `cat ${join(dataFolder, 'keys', 'worker.key')} 2>/dev/null; pwd`;
        const [ran] = run(worker, { hidden, dataFolder, tasks: [{ cwd, user, script }] });
        const { outcome, output } = ran!;
        // A private folder of root is closed to the account of the task.
        if (worker === ROOT && mode === 0o700) {
          expect(outcome).toMatchObject({
            error: { code: 'permission-denied', message: expect.stringContaining('chmod o+x') },
          });
        } else {
          expect(output).toBe(`${cwd}\n`);
          expect(outcome).toEqual({ kind: 'completed', exitCode: 0 });
        }
      },
    );

    it('a task of a worker that is not root returns a value, and fills no disk', () => {
      const [dataFolder, result] = ['data', 'result'].map((name) => mkdtempSync(join(homes[MALLORY]!, name)));
      execFileSync('chown', [MALLORY, dataFolder!, result!]);
      const script =
        'head -c 99999999 /dev/zero >$GOSHAWK_RESULT.x || { rm $GOSHAWK_RESULT.x; echo 1 >$GOSHAWK_RESULT; }';
      const task = { cwd: '/', user: MALLORY, script, result: result! };
      const [ran] = run(MALLORY, { hidden: [dataFolder!], dataFolder: dataFolder!, tasks: [task] });
      expect(ran!.outcome).toEqual({ kind: 'completed', exitCode: 0, value: 1 });
      expect(ran!.output).toContain('No space left on device');
      expect(readdirSync(result!)).toEqual([]);
    });

    it('tasks of others at a worker that is not root cannot give away the rights of its account', () => {
      const at = join(homes[VICTIM]!, 'shared');
      const dataFolder = join(homes[MALLORY]!, 'rights-data');
      for (const path of [at, dataFolder]) mkdirSync(path);
      execFileSync('chown', [VICTIM, at]);
      execFileSync('chown', [MALLORY, dataFolder]);
      for (const path of [homes[VICTIM]!, at]) chmodSync(path, 0o777);
      const script =
        'cp /usr/bin/id mine; chmod 4755 mine; chmod 2755 mine; chmod 755 mine && stat -c %u:%a mine';
      const [ran] = run(MALLORY, {
        hidden: [dataFolder],
        dataFolder,
        tasks: [{ user: VICTIM, cwd: at, script }],
      });
      expect(ran!.output.match(/not permitted/g)).toHaveLength(2);
      expect(ran!.output).toContain(`${statSync(dataFolder).uid}:755`);
    });

    it('tasks of others at a worker that is not root use only folders that their own account could write to', () => {
      const owners = [MALLORY, VICTIM, 'root'];
      const cases = owners.flatMap((owner) => [
        ...[0o700, 0o755, 0o770, 0o775, 0o777].map((mode) => ({ owner, mode, above: 0o755 })),
        { owner, mode: 0o777, above: 0o700 },
      ]);
      const places = cases.map(({ owner, mode, above }, index) => {
        const outer = join(folder, `guests-${index}`);
        const at = join(outer, 'work');
        const link = join(folder, `guests-link-${index}`);
        mkdirSync(at, { recursive: true });
        writeFileSync(join(at, 'public'), 'public', { mode: 0o644 });
        writeFileSync(join(at, 'private'), 'private', { mode: 0o600 });
        symlinkSync(at, link);
        execFileSync('chown', [MALLORY, outer, join(at, 'private')]);
        execFileSync('chown', [`${owner}:${GROUP}`, at]);
        chmodSync(at, mode);
        chmodSync(outer, above);
        return { at, link };
      });
      const paths = places.map(({ at }) => at);
      const dataFolder = join(homes[MALLORY]!, 'guests-data');
      mkdirSync(dataFolder);
      execFileSync('chown', [MALLORY, dataFolder]);
      const users = [VICTIM, 'nobody-there'];
      const tasks: (Task & { paths: string[] })[] = users.flatMap((user) => [
        ...places.map(({ at, link }, index) => {
          const script = 'cat private && pwd -P; touch mine && pwd -P';
          return { user, cwd: index % 2 === 0 ? at : link, script, paths: [at] };
        }),
        {
          user,
          cwd: '/',
          script: `for at in ${paths.join(' ')}; do cat $at/private && echo $at; done`,
          env: { GOSHAWK_FOLDERS: paths.join(':') },
          paths,
        },
      ]);
      const own = { user: MALLORY, cwd: paths[0]!, script: 'cat private' };
      const ran = run(MALLORY, { hidden: [dataFolder], dataFolder, tasks: [...tasks, own] });
      expect(ran.at(-1)!.output).toBe('private');
      const pathsThat = (test: string, account: string, groups: string): string[] => {
        const check = ['sh', '-c', `for at; do [ ! ${test} "$at" ] || echo "$at"; done`, 'sh', ...paths];
        const switching = [`--reuid=${account}`, `--regid=${account}`, groups, ...check];
        return execFileSync('setpriv', switching, { encoding: 'utf8' }).trim().split('\n');
      };
      const enteredByWorker = pathsThat('-x', MALLORY, '--clear-groups');
      for (const user of users) {
        const [account, groups] = user === VICTIM ? [VICTIM, '--init-groups'] : ['65534', '--clear-groups'];
        const writable = pathsThat('-w', account, groups).filter((path) => enteredByWorker.includes(path));
        const seen = tasks.flatMap((task, index) => {
          const lines = task.user === user ? ran[index]!.output.replaceAll('private', '').split('\n') : [];
          return task.paths.filter((path) => lines.includes(path));
        });
        expect([...new Set(seen)].toSorted(), user).toEqual(writable.toSorted());
      }
    });
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
