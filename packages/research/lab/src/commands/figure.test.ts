import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunHere, runHere } from '@goshawk/cli/testing';
import { parseCsv } from '@goshawk/core';
import { type FigureResult, spreadOf } from '@goshawk/papers/figures';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

// The first test loads the simulator and the charts.
vi.setConfig({ testTimeout: 60_000 });

let cwd = '';
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'goshawk-figure-test-'));
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

const figure = (...args: string[]) => runHere(['figure', ...args, '--parallel', '1'], { cwd });

function resultsOf({ exitCode, stdout, stderr }: RunHere): FigureResult[] {
  expect(stderr).not.toContain('goshawk:');
  expect(exitCode).toBe(0);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as FigureResult);
}

/** These options run a few hundred jobs on a cluster that they fill. */
const TINY = ['--jobs', '300', '--workers', '300,600'];

describe('a simulated figure', () => {
  it('writes seven files and prints its numbers and verdicts', async () => {
    const { exitCode, stdout, stderr } = await figure('hawk-5', ...TINY, '--out', 'drawn/here');
    expect(exitCode).toBe(0);
    expect((await readdir(join(cwd, 'drawn/here'))).sort()).toEqual([
      'hawk-5.csv',
      'hawk-5.html',
      'hawk-5.json',
      'hawk-5.pdf',
      'hawk-5.runs.csv',
      'hawk-5.svg',
      'hawk-5.tex',
    ]);
    expect(stdout).toMatch(/^ {2}workers +300 +600$/m);
    expect(stdout).toMatch(/^ {2}short p50, hawk +\d+\.\d+ +\d+\.\d+$/m);
    expect(stdout).toMatch(/^hawk-5: \d+ of 17 claims holds?, /m);
    expect(stdout).not.toContain('of the slots busy');
    expect(stderr).toContain('hawk-5: 6 runs of google-like:jobs=300,');
    expect(stderr).toContain('hawk-5.svg, hawk-5.pdf, hawk-5.tex, hawk-5.html are in drawn/here');
    const page = await readFile(join(cwd, 'drawn/here/hawk-5.html'), 'utf8');
    expect(page).toContain('goshawk figure hawk-5 --jobs 300 --workers 300,600');
  });

  it('warns that policies differ less if too few jobs load its clusters', async () => {
    // Each cluster is full at its busiest moment.
    const { stdout } = await figure('hawk-5', '--jobs', '100', '--workers', '3000,4000');
    expect(stdout).toMatch(
      /^hawk-5: 100 jobs keep at most \d+% of the slots busy for half of the time, so tasks wait less .* use more --jobs/m,
    );
  });

  it('prints the same JSON as in its file', async () => {
    const [result] = resultsOf(await figure('hawk-5', ...TINY, '--json'));
    expect(JSON.parse(await readFile(join(cwd, 'figures/hawk-5.json'), 'utf8'))).toEqual(result);
    expect(result).toMatchObject({
      schema: 'goshawk.figure/1',
      id: 'hawk-5',
      mode: 'simulated',
      seeds: [1],
      workload: { name: 'google-like:jobs=300,load=0.9,workers=15000,seed=1', jobs: 300 },
    });
    expect(result!.axis.places.map(({ x }) => x)).toEqual([300, 600]);
    expect(result!.claims).toHaveLength(17);
  });

  it('runs the algorithm of the paper regardless of local settings', async () => {
    const environment = { GOSHAWK_STEAL_RETRY: 'backoff', GOSHAWK_CUTOFF: '5', GOSHAWK_STEAL_CAP: '3' };
    const run = await runHere(['figure', 'hawk-5', ...TINY, '--json', '--parallel', '1'], {
      cwd,
      environment,
    });
    for (const { run: each } of resultsOf(run)[0]!.runs) {
      expect(each.jobs).toEqual({ submitted: 300, completed: 300, failed: 0 });
      expect(each.options).toMatchObject({
        stealRetry: 'never',
        cancel: 'lazy',
        stealCap: 10,
        cutoff: 1129.532,
        shortPartition: each.policy === 'hawk' ? 0.17 : null,
        networkDelay: 0.0005,
      });
    }
  });

  it('compares individual jobs under both policies', async () => {
    const [result] = resultsOf(await figure('hawk-5', ...TINY, '--json'));
    for (const { paired } of result!.axis.places) {
      const { short } = paired!['hawk against sparrow']!;
      expect(short!.betterOrEqual).toBeGreaterThanOrEqual(short!.improved);
      expect(short!.improved).toBeGreaterThanOrEqual(short!.improvedByHalf);
    }
  });

  it('reports means and spreads over several seeds, which differ', async () => {
    const [result] = resultsOf(await figure('hawk-5', ...TINY, '--seeds', '2', '--json'));
    expect(result!.seeds).toEqual([1, 2]);
    expect(result!.runs).toHaveLength(12);
    const series = result!.panels[1]!.series[3]!;
    const { values } = series;
    const [least, greatest] = spreadOf(series)![0]!;
    expect(least).toBeLessThan(greatest);
    expect(values[0]).toBeGreaterThanOrEqual(least);
    expect(values[0]).toBeLessThanOrEqual(greatest);
  });

  it('varies only the setting of its axis', async () => {
    const [result] = resultsOf(await figure('hawk-15', '--jobs', '100', '--workers', '100', '--json'));
    const caps = result!.runs.map(({ run }) => run.options.stealCap);
    expect(caps).toEqual([1, 2, 5, 10, 25, 50, 100, 250]);
    const others = result!.runs.map(({ run: { options } }) => ({ ...options, stealCap: 0 }));
    expect(new Set(others.map((each) => JSON.stringify(each))).size).toBe(1);
  });

  it('disables one part of Hawk at a time', async () => {
    const [result] = resultsOf(await figure('hawk-7', '--jobs', '100', '--workers', '100', '--json'));
    const parts = result!.runs.map(({ variant, run: { options } }) => [
      variant,
      [options.central, options.partition, options.stealing],
    ]);
    expect(parts).toEqual([
      ['without', [false, true, true]],
      ['hawk', [true, true, true]],
      ['without', [true, false, true]],
      ['hawk', [true, true, true]],
      ['without', [true, true, false]],
      ['hawk', [true, true, true]],
    ]);
  });

  it('can use a trace', async () => {
    const lines = Array.from(
      { length: 50 },
      (_, i) => `${i} 2 ${i % 10 === 0 ? '2000 2000 2000' : '5 5 5'}\n`,
    );
    await writeFile(join(cwd, 'jobs.tr'), lines.join(''));
    const [result] = resultsOf(
      await figure('hawk-9', '--trace', join(cwd, 'jobs.tr'), '--workers', '10', '--json'),
    );
    expect(result!.workload).toMatchObject({ name: 'jobs.tr', jobs: 50, tasks: 100 });
  });
});

describe('a figure about learning', () => {
  /** Writes the jobs of two users whose run times never change. */
  async function writeTrace(): Promise<{ trace: string; features: string; history: string }> {
    const [trace, features, history] = ['jobs.tr', 'features.csv', 'history.csv'].map((name) =>
      join(cwd, name),
    );
    const seconds = (i: number) => (i % 2 === 0 ? 5 : 500);
    const jobs = Array.from({ length: 60 }, (_, i) => i);
    const tr = jobs.map((i) => `${10 * i} 3 ${seconds(i)} ${Array(3).fill(seconds(i)).join(' ')}\n`);
    await writeFile(trace!, tr.join(''));
    await writeFile(features!, `line,user\n${jobs.map((i) => `${i + 1},u${i % 2}\n`).join('')}`);
    const past = jobs.map((i) => `${10 * i},${10 * i},${10 * i + seconds(i)},u${i % 2}\n`);
    await writeFile(history!, `submit_s,start_s,end_s,user\n${past.join('')}`);
    return { trace: trace!, features: features!, history: history! };
  }

  it('learns from earlier jobs and writes seven files', async () => {
    const { trace, features, history } = await writeTrace();
    const args = ['--trace', trace, '--features', features, '--history', history];
    const [result] = resultsOf(await figure('slearn-error', ...args, '--seeds', '2', '--json'));
    expect(result).toMatchObject({
      id: 'slearn-error',
      mode: 'predicted',
      seeds: [1, 2],
      workers: null,
      runs: [],
    });
    const table = result!.panels.find(({ kind }) => kind === 'table')!;
    for (const { values } of table.series) for (const error of values) expect(error).toBeCloseTo(0, 6);
    expect((await readdir(join(cwd, 'figures'))).sort()).toEqual([
      'slearn-error.csv',
      'slearn-error.html',
      'slearn-error.json',
      'slearn-error.pdf',
      'slearn-error.runs.csv',
      'slearn-error.svg',
      'slearn-error.tex',
    ]);
  });

  it('starts estimators with earlier jobs and draws different jobs for each seed', async () => {
    const { trace, features, history } = await writeTrace();
    const args = ['--trace', trace, '--features', features, '--history', history, '--workers', '4'];
    const [result] = resultsOf(await figure('slearn-jct', ...args, '--seeds', '2', '--json'));
    expect(result).toMatchObject({ id: 'slearn-jct', mode: 'simulated', seeds: [1, 2], workers: 4 });
    expect(result!.runs.map(({ run }) => run.policy)).toEqual(new Array(18).fill('gs'));
    const rightQueues = result!.panels.find(({ title }) => title === 'Queues')!.series;
    // The history knows the users of these jobs, and pilots run as long as the other tasks.
    for (const { values } of rightQueues) expect(values).toEqual([1]);
  });

  it('uses the first half of the workload as its history by default', async () => {
    const { stderr, exitCode } = await figure('slearn-error', '--jobs', '400');
    expect(stderr).toMatch(/slearn-error: 1\d\d jobs to learn from, (1\d\d|200) jobs to draw from/);
    expect(exitCode).toBe(0);
  });
});

describe('the runs of a figure', () => {
  it.each([
    ['hawk-5', [...TINY, '--seeds', '2'], 12, 'options.stealCap', 'results.runtimeSeconds.short.p90'],
    ['carbyne-11', ['--jobs', '5', '--seeds', '2'], 12, 'options.altruism', 'results.makespanSeconds'],
    ['packing-4b', ['--jobs', '2000', '--seeds', '2'], 48, 'options.servers', 'results.peak'],
    ['slearn-error', ['--jobs', '400', '--seeds', '2'], 8, 'options.pastJobs', 'results.errors.p90'],
  ])(
    '%s: a row of CSV for each, with workload, seed, options and results',
    async (id, args, runs, ...columns) => {
      await figure(id, ...args, '--quiet');
      const text = await readFile(join(cwd, `figures/${id}.runs.csv`), 'utf8');
      const [names, ...rows] = parseCsv(text).map(({ cells }) => cells) as [string[], ...string[][]];
      for (const name of ['figure', 'x', 'variant', 'seed', 'workload.sha256', ...columns])
        expect(names).toContain(name);
      expect(rows).toHaveLength(runs);
      const seeds = rows.map((row) => row[names.indexOf('seed')]);
      expect(new Set(seeds)).toEqual(new Set(['1', '2']));
      for (const row of rows) expect(row[names.indexOf('workload.sha256')]).toMatch(/^[0-9a-f]{64}$/);
    },
  );
});

describe('several figures', () => {
  it('are selected by the name of their group and share common runs', async () => {
    const { exitCode, stdout, stderr } = await figure('hawk-8', 'hawk-9', 'hawk-8', ...TINY);
    expect(exitCode).toBe(0);
    expect(stderr).toContain('hawk-8: 6 runs of');
    expect(stderr).not.toContain('hawk-9: 6 runs of');
    expect(stdout).toMatch(/^2 figures: \d of 4 claims holds?/m);
    expect(await readdir(join(cwd, 'figures'))).toHaveLength(14);
  });

  it('print one line of JSON each', async () => {
    const small = ['--jobs', '60', '--workers', '400'];
    const results = resultsOf(await figure('hawk-6', ...small, '--json'));
    expect(results.map(({ id }) => id)).toEqual(['hawk-6-cloudera', 'hawk-6-facebook', 'hawk-6-yahoo']);
  });
});

describe('impossible figures', () => {
  it.each<[args: string[], line: string]>([
    [['hawk5'], 'unknown figure "hawk5"; did you mean hawk-5?'],
    [['eagle'], 'unknown figure "eagle"; `goshawk figure --list` lists them'],
    [[], 'figure needs ID…; `goshawk figure --list` lists them'],
    [
      ['hawk-5', '--workers', '10,x'],
      '--workers: "x" is not a whole number from 1 to 200000; for example --workers 10000,15000',
    ],
    [['hawk-7', '--workers', '10,20'], '--workers: hawk-7 has one cluster size; use one size'],
    [
      ['hawk-15', '--workers', '10,20'],
      '--workers: hawk-15 varies the maximum number of contacted workers; use one size',
    ],
    [
      ['carbyne-9', '--workers', '56'],
      '--workers: in carbyne-9, the cluster size determines the load; omit it',
    ],
    [
      ['hawk-5', '--trace', 'jobs.tr', '--jobs', '5'],
      '--jobs: the number of jobs of a trace is fixed; `goshawk trace sample --jobs N` makes a shorter one',
    ],
    [['motivation', '--trace', 'x'], '--trace: motivation uses a fixed synthetic workload; omit it'],
    [
      ['hawk-6', '--trace', 'x'],
      '--trace: hawk-6-cloudera and hawk-6-facebook use different workloads; choose one figure',
    ],
    [['hawk-5', '--trace', 'no/such.tr'], 'no/such.tr: no such file; check the path'],
    [['hawk-5', '--features', 'x'], '--features: hawk-5 makes no predictions; omit it'],
    [['slearn-error', '--workers', '5'], '--workers: slearn-error simulates no cluster; omit it'],
    [['hawk-5', '--jobs', '0'], '--jobs: 0 is out of range; it must be at least 1'],
    [['hawk-5', '--seeds', '0'], '--seeds: 0 is out of range; it must be from 1 to 1000'],
  ])('%j: %s', async (args, line) => {
    const { exitCode, stdout, stderr } = await figure(...args);
    expect(stderr).toBe(`goshawk: ${line}\n`);
    expect(stdout).toBe('');
    expect(exitCode).toBe(2);
    expect(await readdir(cwd)).toEqual([]);
  });

  it('an output folder that is a file is rejected before any run', async () => {
    await writeFile(join(cwd, 'taken'), '');
    const { exitCode, stderr } = await figure('hawk-5', '--out', 'taken/inside');
    expect(stderr).toBe(
      `goshawk: --out: ${join(cwd, 'taken')} is not a folder; use an existing folder or a new name\n`,
    );
    expect(exitCode).toBe(2);
  });

  it('anything in the place of an output file is kept and rejected before any run', async () => {
    await mkdir(join(cwd, 'figures/hawk-9.svg'), { recursive: true });
    const { exitCode, stderr } = await figure('hawk-8', 'hawk-9', ...TINY);
    const file = join(cwd, 'figures/hawk-9.svg');
    expect(stderr).toBe(`goshawk: --out: ${file} is not a regular file; use another folder\n`);
    expect(exitCode).toBe(2);
    expect(await readdir(join(cwd, 'figures'))).toEqual(['hawk-9.svg']);
  });
});

describe('--list', () => {
  it('names every figure without running any', async () => {
    const { exitCode, stdout } = await figure('--list');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^hawk-5 +Hawk §4\.2, Figure 5 +50,000 +506,460 .*Hawk against/m);
    expect(await readdir(cwd)).toEqual([]);
  });

  it('includes the claims of each figure in JSON', async () => {
    const { stdout } = await figure('--list', '--json');
    const list = JSON.parse(stdout);
    expect(list).toMatchObject({ schema: 'goshawk.figures/1', truncated: false, next: null });
    expect(list.total).toBe(list.figures.length);
    expect(list.figures[0]).toMatchObject({ id: 'motivation', paper: { name: 'Hawk' }, mode: 'simulated' });
    expect(list.figures[0].claims[0]).toEqual({
      section: '§2.3',
      text: 'Under Sparrow the median utilization is 86%',
    });
  });
});
