import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestCluster } from '../test-cluster.fixture.js';

const PROGRAM = join(import.meta.dirname, '../../bin/goshawk.js');

let up: TestCluster;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  up = await TestCluster.start(['--workers', '2', '--cpus', '4', '--schedulers', '1']);
  mkdirSync(join(up.folder, 'bin'));
  const program = join(up.folder, 'bin', 'goshawk');
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  chmodSync(program, 0o755);
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('GOSHAWK_'));
  environment = {
    ...Object.fromEntries(inherited),
    XDG_STATE_HOME: up.folder,
    PATH: `${join(up.folder, 'bin')}:${process.env.PATH}`,
  };
});

afterAll(() => up.stop());

/** Runs a line of shell in the folder of the cluster, with `goshawk` in its PATH. */
function sh(line: string, more: { readonly input?: string; readonly env?: NodeJS.ProcessEnv } = {}) {
  const { status, stdout, stderr } = spawnSync('bash', ['-c', line], {
    cwd: up.folder,
    encoding: 'utf8',
    env: { ...environment, ...more.env },
    ...(more.input === undefined ? { stdio: ['ignore', 'pipe', 'pipe'] } : { input: more.input }),
  });
  return { status, stdout, stderr };
}

describe('goshawk run', () => {
  it('has exactly the output, folder and environment of the command', () => {
    expect(
      sh(`goshawk run -- sh -c 'printf %s "$FOO $PWD"; echo problem >&2'`, { env: { FOO: 'b\na r' } }),
    ).toEqual({
      status: 0,
      stdout: `b\na r ${up.folder}`,
      stderr: 'problem\n',
    });
  });

  it.each([
    ['sh -c "exit 7"', 7],
    ['sh -c "kill -TERM \\$\\$"', 143],
    ['sh -c "kill -KILL \\$\\$"', 137],
    ['no-such-command', 127],
    ['/etc/passwd', 126],
    ['true', 0],
  ])('-- %s exits with %d', (command, status) => {
    const { stdout, ...ended } = sh(`goshawk run -- ${command}`);
    expect(ended.status).toBe(status);
    expect(stdout).toBe('');
    expect(ended.stderr).toMatch(/^(goshawk: run: [^\n]*\n)?$/);
  });

  it.each([
    ['a pipe', 'printf "a\\0b\\377" | goshawk run -- od -An -tx1'],
    ['a file', 'printf "a\\0b\\377" > in.bin; goshawk run -- od -An -tx1 < in.bin'],
    ['a file that is named', 'printf "a\\0b\\377" > in.bin; goshawk run --stdin in.bin -- od -An -tx1'],
  ])('forwards stdin from %s', (_, line) => {
    expect(sh(line)).toEqual({ status: 0, stdout: ' 61 00 62 ff\n', stderr: '' });
  });

  it('reads the output of a program, and does not wait for a silent one', async () => {
    expect(sh('goshawk run -- cat', { input: 'from a program' }).stdout).toBe('from a program');
    const silent = spawn('goshawk', ['run', '--', 'echo', 'done'], { cwd: up.folder, env: environment });
    const [text] = await silent.stdout.setEncoding('utf8').toArray();
    expect(text).toBe('done\n');
    silent.stdin.end();
  });

  it('refuses endless stdin', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the shell
    expect(sh('yes | goshawk run -- head -n 1; echo ${PIPESTATUS[1]}')).toEqual({
      status: 0,
      stdout: '2\n',
      stderr: 'goshawk: cannot read stdin: it has more than 64 MiB\n',
    });
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s cancels the command: exit code %d', async (signal, exitCode) => {
    const running = up.run(['run', '--', 'sh', '-c', 'echo started; exec sleep 1000']);
    expect(await running.firstLine).toBe('started');
    running.kill(signal);
    expect(await running.finished).toMatchObject({ exitCode, stdout: 'started\n', stderr: '' });
    const { jobs } = JSON.parse((await up.goshawk(['jobs', '--all', '--json'])).stdout);
    expect(jobs.filter(({ state }: { state: string }) => state === 'running' || state === 'waiting')).toEqual(
      [],
    );
  });

  it('ends like the command when the reader of its output is gone', () => {
    expect(sh('goshawk run -- yes | head -n 2; echo $PIPESTATUS').stdout).toBe('y\ny\n141\n');
  });

  it('reports truncated output', () => {
    const { status, stderr } = sh('goshawk run -- head -c 3000000 /dev/zero > /dev/null');
    expect(stderr).toMatch(
      /goshawk: run: the command printed more than \d+ bytes to stdout, so its output was truncated; /,
    );
    expect(status).toBe(1);
  });

  it.each([
    ['run', 'run: write the command after --'],
    ['run job.json', 'run: "job.json" is not expected'],
    ['run --json -- true', 'run: --json is not supported'],
  ])('goshawk %s is a usage error', (line, problem) => {
    const { status, stdout, stderr } = sh(`goshawk ${line}`);
    expect(stderr).toContain(problem);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  });
});

describe('goshawk submit in a pipe', () => {
  it.each(['', '-q'])('%s prints only the id', (option) => {
    const { stdout, stderr } = sh(
      `id=$(goshawk submit ${option} -- echo hi); goshawk wait $id > /dev/null; goshawk logs $id`,
    );
    expect(stdout).toBe('hi\n');
    expect(stderr.includes('submitted')).toBe(option !== '-q');
  });

  it.each([
    ['--logs -- printf "a\\tb"', 'a\tb'],
    ['--logs --array 1-20 -- sh -c "echo {} a; sleep 0.0\\$((20 - {})); echo {} b"', numbered(20)],
    ['--logs --array 1-2 --prefix always --max-running 1 -- echo {}', 'task 0 | 1\ntask 1 | 2\n'],
    ['--results --module ./three.mjs', '3\n'],
  ])('%s: stdout has only the output, and stderr begins with the id', (options, output) => {
    writeFileSync(join(up.folder, 'three.mjs'), 'export default () => 3;\n');
    const { status, stdout, stderr } = sh(`goshawk submit ${options}`);
    expect(stdout).toBe(output);
    expect(stderr).toMatch(/^[a-z0-9]+-\d+\n/);
    expect(status).toBe(0);
  });
});

function numbered(count: number): string {
  return Array.from({ length: count }, (_, i) => `${i + 1} a\n${i + 1} b\n`).join('');
}

describe('programs that run commands', () => {
  it('make: recipes and $(shell) run on the cluster, with exit codes', () => {
    writeFileSync(
      join(up.folder, 'Makefile'),
      [
        'SHELL = goshawk',
        '.SHELLFLAGS = run --shell --',
        'NAMES := $(shell echo one two)',
        'all: $(NAMES:%=%.out)',
        '%.out: ; echo \'$* of $(NAMES)\' "$$GREETING" > $@',
        'fails: ; echo before; exit 5',
      ].join('\n'),
    );
    const { status, stderr } = sh('make -j2', { env: { GREETING: 'hello' } });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(readdirSync(up.folder).filter((name) => name.endsWith('.out'))).toEqual(['one.out', 'two.out']);
    expect(readFileSync(join(up.folder, 'two.out'), 'utf8')).toBe('two of one two hello\n');
    const failed = sh('make -s fails');
    expect(failed).toMatchObject({ status: 2, stdout: 'before\n' });
    expect(failed.stderr).toContain('Error 5');
  });

  it('xargs: arguments and exit codes', () => {
    const line = `printf '%s\\0' 'a b' "c'd" '' | xargs -0 -P3 -n1 goshawk run -- printf '<%s>\\n' | sort`;
    expect(sh(line).stdout).toBe("<>\n<a b>\n<c'd>\n");
    expect(sh('echo 1 2 | xargs -n1 goshawk run -- false').status).toBe(123);
  });

  const parallel =
    spawnSync('parallel', ['--version'], { encoding: 'utf8' }).stdout?.includes('GNU') === true;
  it.skipIf(!parallel)('GNU parallel: output in order, exit codes in the log (needs GNU parallel)', () => {
    const { status, stdout } = sh(
      `parallel -k -j4 --joblog log goshawk run -- sh -c "'echo {}; exit {}'" ::: 0 3`,
    );
    expect(stdout).toBe('0\n3\n');
    expect(status).toBe(1);
    const codes = readFileSync(join(up.folder, 'log'), 'utf8').trim().split('\n').slice(1);
    expect(codes.map((row) => row.split('\t')[6])).toEqual(['0', '3']);
  });

  it("Snakemake's --cluster-cancel: several ids, also of jobs that have ended", () => {
    const line = `
      one=$(goshawk submit --sleep 1h) two=$(goshawk submit --sleep 1h) three=$(goshawk submit -- true)
      goshawk wait $three; goshawk cancel $one $two $three; goshawk wait $one $two`;
    const { status, stdout } = sh(line);
    expect(stdout.match(/cancelled/g)?.length).toBeGreaterThanOrEqual(2);
    expect(status).toBe(1);
  });
});
