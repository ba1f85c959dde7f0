import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestCluster } from './test-cluster.fixture.js';

/** The tests run the examples of examples/integrations/README.md for which tools are installed. */

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const GOSHAWK = join(ROOT, 'packages/cli/bin/goshawk.js');
const INTEGRATIONS = join(ROOT, 'examples/integrations');
const PROFILE = join(INTEGRATIONS, 'snakemake');
/** Interpreters to look for packages in; Debian's packages are those of /usr/bin/python3. */
const PYTHONS = [process.env.PYTHON ?? 'python3', '/usr/bin/python3'];

let cluster: TestCluster;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  cluster = await TestCluster.start([
    ...['--workers', '2', '--cpus', '4', '--schedulers', '1', '--cutoff', '10', '--dashboard'],
  ]);
  const bin = join(cluster.folder, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'goshawk'), `#!/bin/sh\nexec "${process.execPath}" "${GOSHAWK}" "$@"\n`);
  await chmod(join(bin, 'goshawk'), 0o755);
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('GOSHAWK_'));
  environment = {
    ...Object.fromEntries(kept),
    PATH: `${bin}:${process.env.PATH}`,
    GOSHAWK_CLUSTER: cluster.url,
    PYTHONPATH: `${join(ROOT, 'packages/python')}:${INTEGRATIONS}`,
    XDG_STATE_HOME: cluster.folder,
    XDG_CACHE_HOME: cluster.folder,
  };
});
afterAll(() => cluster.stop());

/** Creates an empty folder, since a retry must not find files of the first try. */
function folderOf(name: string): Promise<string> {
  return mkdtemp(join(cluster.folder, `${name}-`));
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(cwd: string, file: string, args: readonly string[], more = {}): Promise<Ended> {
  try {
    const done = await promisify(execFile)(file, args, { cwd, env: { ...environment, ...more } });
    return { code: 0, ...done };
  } catch (error) {
    return error as Ended;
  }
}

function has(command: string, args: readonly string[], pattern: RegExp): boolean {
  const { stdout, error } = spawnSync(command, args, { encoding: 'utf8' });
  return error === undefined && pattern.test(stdout);
}

describe.runIf(has('snakemake', ['--version'], /^7\./))('Snakemake', () => {
  const rules = `
rule all:
    input: expand("out/{n}.sum", n=range(12))
rule make:
    output: "out/{n}.txt"
    threads: 2
    resources: mem_mb=10
    shell: "sleep 0.2; echo {wildcards.n} > {output}"
rule sum:
    input: "out/{n}.txt"
    output: "out/{n}.sum"
    shell: "test {wildcards.n} != {config[broken]} && cat {input} > {output}"
`;
  const args = ['--profile', PROFILE, '--jobs', '8', '--latency-wait', '1'];

  it('runs a workflow, reports a failing rule, and resumes after a fix', async () => {
    const cwd = await folderOf('snakemake');
    await writeFile(join(cwd, 'Snakefile'), rules);
    const first = await run(cwd, 'snakemake', [...args, '--keep-going', '--config', 'broken=5']);
    expect(first.code, first.stderr).toBe(1);
    expect((await readdir(join(cwd, 'out'))).filter((name) => name.endsWith('.sum')).length).toBe(11);
    const again = await run(cwd, 'snakemake', [...args, '--config', 'broken=none']);
    expect(again.code, again.stderr).toBe(0);
    expect(await readFile(join(cwd, 'out/5.sum'), 'utf8')).toBe('5\n');
  });

  it('cancels its jobs on Ctrl-C, and starts again', async () => {
    const cwd = await folderOf('interrupted');
    const slow =
      'rule slow:\n    output: "slow.txt"\n    shell: "touch started; sleep {config[s]}; echo x >> {output}"\n';
    await writeFile(join(cwd, 'Snakefile'), slow);
    const child = spawn('snakemake', [...args, '--config', 's=3600'], {
      cwd,
      env: environment,
      stdio: 'ignore',
    });
    await expect.poll(() => readdir(cwd), { timeout: 60_000 }).toContain('started');
    child.kill('SIGINT');
    if (child.exitCode === null) await once(child, 'exit');
    // A cancelled job is running until its worker has reported the end of its tasks.
    const running = async () => (await run(cwd, 'goshawk', ['jobs', '--state', 'running', '--json'])).stdout;
    await expect
      .poll(async () => JSON.parse(await running()), { timeout: 60_000 })
      .toMatchObject({ jobs: [] });
    const again = await run(cwd, 'snakemake', [...args, '--rerun-incomplete', '--config', 's=0']);
    expect(again.code, again.stderr).toBe(0);
    expect(await readFile(join(cwd, 'slow.txt'), 'utf8')).toBe('x\n');
  });
});

describe('goshawk-status', () => {
  const status = (id: string, more = {}) => run(cluster.folder, join(PROFILE, 'goshawk-status'), [id], more);

  it('prints states for Snakemake, and `running` while the cluster does not respond', async () => {
    const submit = async (...args: string[]) =>
      (await run(cluster.folder, 'goshawk', ['submit', ...args])).stdout.trim();
    const done = await submit('--', 'true');
    const failed = await submit('--', 'false');
    const held = await submit('--hold', '--', 'true');
    await run(cluster.folder, 'goshawk', ['wait', done, failed]);
    expect((await status(done)).stdout).toBe('success\n');
    expect((await status(failed)).stdout).toBe('failed\n');
    expect((await status(held)).stdout).toBe('running\n');
    await run(cluster.folder, join(PROFILE, 'goshawk-cancel'), [held, done]);
    expect((await status(held)).stdout).toBe('failed\n');
    expect((await status(`${held.split('-')[0]}-999999`)).stdout).toBe('failed\n');
    const away = { GOSHAWK_CLUSTER: 'tcp://127.0.0.1:9' };
    expect((await status(done, away)).stdout).toBe('running\n');
  });
});

it('make runs recipes and $(shell …) on the cluster, and stops at a failure', async () => {
  const cwd = await folderOf('make');
  const makefile = `SHELL = goshawk
.SHELLFLAGS = run --shell --
NAME := $(shell echo a name)
all: one two
one two:
\t@echo $(NAME) > $@ && test -n "$$GOSHAWK_TASK"
broken:
\t@exit 5
`;
  await writeFile(join(cwd, 'Makefile'), makefile);
  const all = await run(cwd, 'make', ['-j', '2', 'all']);
  expect(all.code, all.stderr).toBe(0);
  expect(await readFile(join(cwd, 'two'), 'utf8')).toBe('a name\n');
  const broken = await run(cwd, 'make', ['broken']);
  expect(broken.code).toBe(2);
  expect(broken.stderr).toContain('Error 5');
});

it('xargs has the exit codes of its commands', async () => {
  const cwd = await folderOf('xargs');
  const line = 'seq 6 | xargs -P 3 -I N goshawk run --shell -- "echo N; test N != 4"; echo code $?';
  const { stdout } = await run(cwd, 'sh', ['-c', line]);
  expect(stdout.trim().split('\n').sort()).toEqual(['1', '2', '3', '4', '5', '6', 'code 123']);
});

describe.runIf(has('parallel', ['--version'], /GNU parallel/))('GNU parallel', () => {
  it('keeps order and exit codes', async () => {
    const cwd = await folderOf('parallel');
    const line =
      'seq 6 | parallel -j 3 --keep-order --joblog log goshawk run --shell -- \'"echo {}; exit {}"\'; cut -f 7 log | sort';
    const { stdout } = await run(cwd, 'sh', ['-c', line]);
    expect(stdout.trim().split('\n')).toEqual([...'123456', ...'123456', 'Exitval']);
  });
});

/** Returns the first interpreter that has a package. */
function pythonWith(name: string): string | undefined {
  return PYTHONS.find((python) => has(python, ['-c', `import ${name}; print("here")`], /^here$/m));
}

/** Runs the Python example under a heading of the README, with lines before and after it, and returns what it prints. */
async function runExample(name: string, python: string, before: string, after = ''): Promise<string> {
  const cwd = await folderOf(name);
  const example = await codeOf(name, 'python');
  await writeFile(join(cwd, 'script.py'), `${before}\n${example}\n${after}\n`);
  const { stdout, stderr } = await run(cwd, python, ['script.py']);
  return stdout === '' ? stderr : stdout;
}

async function codeOf(heading: string, language: string): Promise<string> {
  const readme = await readFile(join(INTEGRATIONS, 'README.md'), 'utf8');
  const section = readme.slice(readme.indexOf(`**${heading}`));
  return section.split(`\`\`\`${language}\n`)[1]!.split('```')[0]!;
}

const joblib = pythonWith('joblib');
describe.runIf(joblib !== undefined)('joblib', () => {
  it('runs on the cluster, and raises exceptions of calls', async () => {
    const failing = `
    try:
        Parallel()(delayed(abs)(n) for n in (4, "x", 9))
    except TypeError as error:
        print("TypeError", error)`;
    expect(await runExample('joblib', joblib!, '', failing)).toBe(
      `[1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880]\nTypeError bad operand type for abs(): 'str'\n`,
    );
  });
});

const dask = pythonWith('distributed');
describe.runIf(dask !== undefined)('Dask', () => {
  it('computes on the cluster, and raises exceptions of tasks', async () => {
    const failing = `
    try:
        dask.delayed(abs)("x").compute()
    except TypeError as error:
        print("TypeError", error)`;
    expect(await runExample('Dask', dask!, '', failing)).toBe(
      "409114\nTypeError bad operand type for abs(): 'str'\n",
    );
  });

  it('has workers that are tasks of a job', async () => {
    const cwd = await folderOf('dask-workers');
    const [, submit] = (await codeOf('Dask', 'sh')).trim().split('\n');
    const script = `import shlex, subprocess, sys
from math import factorial
from distributed import Client, LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=0, dashboard_address=None) as own, Client(own) as client:
        words = shlex.split(sys.argv[1].replace("tcp://head:8786", own.scheduler_address).replace("--tasks 20", "--tasks 2"))
        at = words.index("dask")
        words[at : at + 2] = [sys.executable, "-m", "distributed.cli.dask_worker"]
        job = subprocess.check_output(words, text=True).strip()
        client.wait_for_workers(2)
        print(sum(client.gather(client.map(factorial, range(6)))))
        subprocess.run(["goshawk", "cancel", job], check=True, stdout=subprocess.DEVNULL)
`;
    await writeFile(join(cwd, 'script.py'), script);
    const { stdout, stderr } = await run(cwd, dask!, ['script.py', submit!]);
    expect(stdout, stderr).toBe('154\n');
  });
});

it('Nextflow: processes run on the cluster, in their folder, with their exit codes', async () => {
  const cwd = await folderOf('nextflow');
  const [, list] = /process\.shell = \[(.*)\]/.exec(await codeOf('Nextflow', 'groovy'))!;
  const shell = list!.split(',').map((word) => word.trim().replaceAll("'", ''));
  // Nextflow writes the script of a process into its folder, and starts it with the shell and the path.
  const start = async (script: string) => {
    const file = join(cwd, '.command.sh');
    await writeFile(file, `#!${shell.join(' ')}\n${script}\n`);
    const [program, ...args] = shell as [string, ...string[]];
    return run(cwd, program, [...args, file], { NXF_TASK: 'sample 1' });
  };
  const ended = await start('echo "$NXF_TASK" > out.txt; test -n "$GOSHAWK_TASK"; echo out; echo err >&2');
  expect(ended).toMatchObject({ code: 0, stdout: 'out\n', stderr: 'err\n' });
  expect(await readFile(join(cwd, 'out.txt'), 'utf8')).toBe('sample 1\n');
  expect(await start('exit 140')).toMatchObject({ code: 140 });
  expect(await start('echo $unset')).toMatchObject({ code: 1 });
});

it('a chain that cron starts twice, without an environment, runs once', async () => {
  const cwd = await folderOf('cron');
  const script = `id=$(goshawk submit --key build-1 -- sh -c 'echo build >> ran')
goshawk submit --key report-1 --after-ok "$id" -- sh -c 'echo report >> ran'`;
  const { PATH, GOSHAWK_CLUSTER } = environment;
  const line = ['-i', `PATH=${PATH}`, `GOSHAWK_CLUSTER=${GOSHAWK_CLUSTER}`, 'sh', '-c', script];
  const first = await run(cwd, 'env', line);
  const second = await run(cwd, 'env', line);
  expect(second.stdout).toBe(first.stdout);
  await run(cwd, 'goshawk', ['wait', first.stdout.trim()]);
  expect(await readFile(join(cwd, 'ran'), 'utf8')).toBe('build\nreport\n');
});
