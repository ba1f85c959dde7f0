import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { runHere } from '@goshawk/cli/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let cwd = '';
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'goshawk-trace-test-'));
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

describe('trace generate', () => {
  it('writes a file that trace stats reads', async () => {
    const made = await runHere(['trace', 'generate', 'motivation:jobs=40', '--out', 'm.tr', '--json'], {
      cwd,
    });
    expect(made.exitCode).toBe(0);
    const file = join(cwd, 'm.tr');
    expect(JSON.parse(made.stdout)).toEqual({
      schema: 'goshawk.trace-file/1',
      workload: 'motivation:jobs=40,interarrival=50,seed=1',
      file,
      jobs: 40,
    });
    const stats = await runHere([
      'trace',
      'stats',
      file,
      '--workers',
      '5000',
      '--workers',
      '15000',
      '--json',
    ]);
    expect(JSON.parse(stats.stdout)).toMatchObject({
      schema: 'goshawk.trace-stats/1',
      workload: 'm.tr',
      jobs: 40,
      tasks: 38 * 100 + 2 * 1_000,
      offeredLoad: [{ workers: 5_000 }, { workers: 15_000 }],
    });
    const words = await runHere(['trace', 'stats', file]);
    expect(words.stdout).toMatch(/^m\.tr\n40 jobs, 5,800 tasks/);
  });

  it('writes the same jobs to stdout or compressed', async () => {
    const { stdout, stderr } = await runHere(['trace', 'generate', 'poisson:jobs=5', '--out', '-'], { cwd });
    expect(stdout.trimEnd().split('\n')).toHaveLength(5);
    expect(stderr).toBe('');
    await runHere(['trace', 'generate', 'poisson:jobs=5', '--out', 'p.tr.gz'], { cwd });
    expect(gunzipSync(await readFile(join(cwd, 'p.tr.gz'))).toString()).toBe(stdout);
    expect(await readdir(cwd)).toEqual(['p.tr.gz']);
  });

  it('allows only one output on stdout', async () => {
    const { exitCode, stdout } = await runHere(['trace', 'generate', 'poisson', '--out', '-', '--json'], {
      cwd,
    });
    expect(exitCode).toBe(2);
    expect(stdout).toBe('');
  });

  it('lists the generators with their options', async () => {
    const { stdout } = await runHere(['trace', 'generate', '--list']);
    expect(stdout).toMatch(/^google-like: /m);
    expect(stdout).toMatch(/^ {4}seed=1 {2}\S/m);
    const { generators, total } = JSON.parse(
      (await runHere(['trace', 'generate', '--list', '--json'])).stdout,
    ) as { generators: { name: string }[]; total: number };
    expect(generators).toHaveLength(total);
    expect(generators.map(({ name }) => name)).toContain('prototype');
  });
});

it.each([
  [['trace'], 'trace needs one of: '],
  [['trace', 'generate', '--out', 'x.tr'], 'trace generate needs a generator; `--list` shows them'],
  [['trace', 'generate', 'poisson'], 'trace generate needs --out FILE'],
  [
    ['trace', 'generate', 'poison', '--out', '-'],
    "unknown generator 'poison'; known generators are google-like",
  ],
  [['trace', 'generate', 'poisson', '--out', 'no/x.tr'], 'no/x.tr: cannot be written'],
  [['trace', 'stats'], 'trace stats needs WORKLOAD'],
  [['trace', 'stats', 'poisson', '--workers', '0'], '--workers: "0" is not a whole number of 1 or more'],
])('%j is refused in one line', async (args, line) => {
  const { exitCode, stderr } = await runHere(args, { cwd });
  expect(stderr).toContain(line);
  expect(stderr).toMatch(/^goshawk: [^\n]*\n$/);
  expect(exitCode).toBe(2);
});
