import { spawn, spawnSync } from 'node:child_process';
import { chmod, cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { childrenOf, isRunning, type RunningGoshawk, startGoshawk } from './goshawk-process.fixture.js';
import { removeFolder } from './test-cluster.fixture.js';

const page = await readFile(new URL('../../../docs/COOKBOOK.md', import.meta.url), 'utf8');
const bin = fileURLToPath(new URL('../bin/goshawk.js', import.meta.url));

/** Debian's Python, because pandas is a package of Debian. */
const DEBIAN = '/usr/bin/python3';
const hasPandas = spawnSync(DEBIAN, ['-c', 'import pandas']).status === 0;

/** Returns the shell commands of a recipe, or its lines in another language, as the page has them. */
function recipe(heading: string, language = 'sh'): string {
  const [, rest] = page.split(`\n## ${heading}\n`);
  const [, commands] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(rest ?? '') ?? [];
  if (commands === undefined) throw new Error(`the page has no recipe "${heading}"`);
  return commands;
}

let folder: string;
let up: RunningGoshawk;

async function startUp(): Promise<void> {
  up = startGoshawk(
    ['up', '--json', '--workers', '4', '--cpus', '1', '--gpus', '1', '--data-folder', join(folder, 'data')],
    { XDG_STATE_HOME: folder },
    { cwd: folder },
  );
  await up.firstLine;
}

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs commands in a shell of the folder, where `goshawk` is the built command. */
function shell(commands: string): Promise<Ran> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('GOSHAWK_'));
  const PATH = `${folder}/bin:${process.env.PATH}`;
  const child = spawn('sh', ['-ec', commands], {
    cwd: folder,
    env: { ...Object.fromEntries(inherited), PATH, XDG_STATE_HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })));
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-cookbook-'));
  const script = async (path: string, lines: string): Promise<void> => {
    await writeFile(join(folder, path), `#!/bin/sh\n${lines}\n`);
    await chmod(join(folder, path), 0o755);
  };
  await shell('mkdir bin');
  await script('bin/goshawk', `exec "${process.execPath}" "${bin}" "$@"`);
  // Every twelfth seed fails until its input exists. `slow` keeps tasks running.
  await script(
    'sim.sh',
    `[ -e slow ] && sleep 1000
[ -e input ] || [ $(($1 % 12)) -ne 5 ] || { echo "no input for $1" >&2; exit 3; }
echo "ran $1" | tee -a "ran.txt"
[ -z "$GOSHAWK_RESULT" ] || echo "{\\"loss\\": 0.$1, \\"steps\\": $1}" > "$GOSHAWK_RESULT"`,
  );
  await cp(fileURLToPath(new URL('../../../examples/pipeline', import.meta.url)), folder, {
    recursive: true,
  });
  await startUp();
});

afterAll(async () => {
  up.kill('SIGINT');
  await up.finished;
  await removeFolder(folder);
});

/** Returns the rows of a CSV file as Python's reader, which pandas resembles, sees them. */
async function table(): Promise<Record<string, string>[]> {
  const { stdout } = await shell(
    `python3 -c 'import csv, json; print(json.dumps(list(csv.DictReader(open("fit.csv", newline="")))))'`,
  );
  return JSON.parse(stdout);
}

const linesRun = async (): Promise<number> =>
  (await readFile(join(folder, 'ran.txt'), 'utf8')).split('\n').length - 1;

describe('the cookbook', () => {
  it('runs a sweep of 200 commands, of which 17 fail, and writes a table', async () => {
    const swept = await shell(recipe('Sweep'));
    expect(swept.code).toBe(1);
    expect(swept.stderr).toMatch(/17 (?:tasks )?failed|183 of 200/);
    expect((await shell(recipe('Table of results'))).code).toBe(0);
    const rows = await table();
    expect(rows.map(({ seed }) => seed)).toEqual(Array.from({ length: 200 }, (_, at) => `${at + 1}`));
    const failed = rows.filter(({ state }) => state === 'failed');
    expect(failed.map(({ seed }) => Number(seed))).toEqual(
      Array.from({ length: 17 }, (_, at) => 12 * at + 5),
    );
    expect(failed[0]).toMatchObject({ exitCode: '3', loss: '', steps: '' });
    expect(rows[41]).toMatchObject({ seed: '42', loss: '0.42', steps: '42', command: './sim.sh 42' });
  });

  it.runIf(hasPandas)('reads the table in pandas', async () => {
    await writeFile(join(folder, 'table.py'), recipe('Table of results', 'python'));
    const { code, stdout, stderr } = await shell(`${DEBIAN} table.py`);
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/^completed +183\.0 +0\.\d+/m);
    expect(stdout).toMatch(/^failed +0\.0 +NaN/m);
  });

  it('retries only the failed tasks', async () => {
    await writeFile(join(folder, 'input'), '');
    const before = await linesRun();
    expect(await shell(recipe('Retry what failed'))).toMatchObject({ code: 0 });
    expect((await linesRun()) - before).toBe(17);
    await shell(recipe('Table of results'));
    expect((await table()).every(({ state, loss }) => state === 'completed' && Number(loss) > 0)).toBe(true);
  });

  it('runs two tasks for two new values', async () => {
    const before = await linesRun();
    const { code, stderr } = await shell(recipe('Run more values'));
    expect(stderr).toContain('200 of 202 tasks skipped (200 completed in earlier jobs named "fit"); 2 run');
    expect(code).toBe(0);
    expect((await linesRun()) - before).toBe(2);
    const again = await shell(recipe('Run more values'));
    expect(again).toMatchObject({ code: 0, stdout: '' });
    expect(again.stderr).toContain('nothing to run');
    expect(await linesRun()).toBe(before + 2);
  });

  it('cancels in the middle, and resumes the rest', async () => {
    const start =
      '--param seed=1:8:1 -- sh -c "[ {seed} -le 2 ] || [ -e input2 ] || sleep 1000; echo {seed}"';
    const id = (await shell(`goshawk submit --name half ${start}`)).stdout.trim();
    await until(async () => /2 completed/.test((await shell(`goshawk job ${id}`)).stdout));
    expect((await shell(recipe('Cancel'))).code).toBe(0);
    await writeFile(join(folder, 'input2'), '');
    const { code, stderr } = await shell(`goshawk submit --name half --resume --wait ${start}`);
    expect(stderr).toContain('2 of 8 tasks skipped (2 completed in earlier jobs named "half"); 6 run');
    expect(code).toBe(0);
  });

  it('continues after everything was killed', async () => {
    await writeFile(join(folder, 'slow'), '');
    const id = (await shell('goshawk submit --name crash --array 1-8 -- ./sim.sh {}')).stdout.trim();
    await until(async () => /[1-4] running/.test((await shell(`goshawk job ${id}`)).stdout));
    const processes = [up.pid, ...childrenOf(up.pid).map(({ pid }) => pid)];
    for (const pid of processes) process.kill(pid, 'SIGKILL');
    await up.finished;
    await until(async () => !processes.some(isRunning));
    await shell('rm slow');
    expect(recipe('Continue after a crash')).toBe('goshawk up --workers 4\n');
    await startUp();
    expect(await shell(`goshawk wait ${id}`)).toMatchObject({ code: 0 });
    expect(await shell('goshawk wait fit')).toMatchObject({ code: 0 });
  });

  it('reports the end of a job', async () => {
    const ended = join(folder, 'ended');
    expect((await shell(recipe('Notify').replace('/tmp/ended', ended))).code).toBe(0);
    await until(async () => /^sim.* completed\n$/.test(await readFile(ended, 'utf8').catch(() => '')));
  });

  it.each([
    ['Output', /ran 1\nran 2/],
    ['Chain', /./],
    ['Pipeline', /./],
    ['Gang', /rank 1 of 2 on .+/],
    ['GPU', /^0$/m],
    ['Deadline', /./],
  ])('%s', async (heading, output) => {
    const { code, stdout, stderr } = await shell(recipe(heading));
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(output);
  });
});

/** Polls until a condition holds; the time limit of the test ends it otherwise. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition()));
}
