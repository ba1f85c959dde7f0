import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runGoshawk, startGoshawk } from '@goshawk/cli/testing';
import type { FigureResult } from '@goshawk/papers/figures';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let cwd = '';
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'goshawk-figure-test-'));
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

describe('goshawk figure, interrupted', () => {
  it('leaves nothing and reports its progress', async () => {
    const running = startGoshawk(['figure', 'hawk-5', '--progress', 'plain'], {}, { cwd });
    await running.says(/hawk-5: 21 runs of/);
    running.kill('SIGINT');
    const { exitCode, stdout, stderr } = await running.finished;
    expect(stderr).toMatch(/^goshawk: interrupted: .* of 1,050,000 jobs simulated.*; nothing was written$/m);
    expect(stdout).toBe('');
    expect(exitCode).toBe(130);
    expect(await readdir(cwd)).toEqual([]);
  });

  it('keeps the figures that were finished', async () => {
    const args = [
      'figure',
      'hawk-8',
      'hawk-15',
      '--jobs',
      '600',
      '--workers',
      '300',
      '--json',
      '--progress',
      'plain',
    ];
    const running = startGoshawk(args, {}, { cwd });
    await running.says(/hawk-15: 7 runs of/);
    running.kill('SIGINT');
    const { exitCode, stdout, stderr } = await running.finished;
    expect(exitCode).toBe(130);
    expect(JSON.parse(stderr.trimEnd().split('\n').at(-1)!).message).toMatch(
      /hawk-15 was not written; hawk-8 was; the same command continues with the \d+ finished runs in /,
    );
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual(['hawk-8']);
    expect((await readdir(join(cwd, 'figures'))).filter((name) => name !== '.unfinished').sort()).toEqual(
      ['csv', 'html', 'json', 'pdf', 'runs.csv', 'svg', 'tex'].map((ending) => `hawk-8.${ending}`),
    );
  });
});

it('a figure continues after it was killed, and equals one without an interruption', async () => {
  const small = ['--jobs', '1000', '--workers', '600', '--parallel', '1'];
  const args = ['figure', 'hawk-15', ...small, '--json', '--progress', 'plain'];
  const kept = async () => {
    const files = await readdir(join(cwd, 'figures/.unfinished')).catch(() => []);
    return files.filter((file) => file.endsWith('.run'));
  };
  const running = startGoshawk(args, {}, { cwd });
  await expect.poll(async () => (await kept()).length, { interval: 5 }).toBeGreaterThan(0);
  running.kill('SIGKILL');
  await running.finished;
  const finished = (await kept()).length;
  expect(finished).toBeLessThan(8);
  const continued = await runGoshawk(args, {}, { cwd });
  expect(continued.stderr).toMatch(new RegExp(`hawk-15: ${finished} runs? of an interrupted command`));
  expect(await readdir(join(cwd, 'figures'))).not.toContain('.unfinished');
  const whole = await runGoshawk([...args, '--out', 'whole'], {}, { cwd });
  const numbersOf = (stdout: string) => {
    const { panels, claims, runs } = JSON.parse(stdout) as FigureResult;
    // Wall times differ.
    return {
      panels,
      claims,
      runs: runs.map(({ run: { runtimeSeconds, options } }) => [runtimeSeconds, options]),
    };
  };
  expect(numbersOf(continued.stdout)).toEqual(numbersOf(whole.stdout));
});

it('a figure from a file, with a policy from a file, is written for papers and for scripts', async () => {
  const example = join(import.meta.dirname, '../../../../../examples/figure.json');
  const { exitCode, stdout } = await runGoshawk(
    ['figure', example, '--seeds', '2', '--json', '--quiet'],
    {},
    { cwd },
  );
  expect(exitCode).toBe(0);
  const { claims, panels } = JSON.parse(stdout) as FigureResult;
  expect(claims.map(({ verdict }) => verdict)).toEqual(['holds', 'holds']);
  expect(panels.map(({ kind }) => kind)).toEqual(['lines', 'lines', 'distribution', 'bars']);
  const read = (ending: string) => readFile(join(cwd, `figures/figure.${ending}`), 'latin1');
  expect(await read('pdf')).toMatch(/^%PDF-1\.[\s\S]*%%EOF\s*$/);
  const tex = await read('tex');
  expect(tex.match(/\\nextgroupplot/g)).toHaveLength(panels.length);
  expect(tex).toContain('\\addlegendentry{shortest first}');
  const rows = (await read('csv')).trim().split('\n');
  expect(rows[0]).toContain('panel,series,axis,x,label,seed');
  expect(rows.some((row) => row.includes('"Short jobs, median",shortest first,load,0.7,0.7,2,'))).toBe(true);
});

it('a planned figure writes each run with the options of its policy', async () => {
  const one = ['--without', 'goshawk,point-perf,point-real,prio', '--jobs', '60', '--workers', '32'];
  const { exitCode, stdout } = await runGoshawk(
    ['figure', '3sigma-1', ...one, '--json', '--quiet'],
    {},
    { cwd },
  );
  expect(exitCode).toBe(0);
  const { trials } = JSON.parse(stdout) as FigureResult;
  expect(trials).toMatchObject([
    {
      variant: '3sigma-sched',
      seed: 1,
      workload: {
        name: expect.stringContaining('e2e:jobs=60,'),
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
      options: { policy: '3sigma-sched', nodes: 32, cycleMs: 10_000, afterDeadline: 'abandon' },
      results: { missed: expect.any(Number) },
    },
  ]);
  const [head, ...rows] = (await readFile(join(cwd, 'figures/3sigma-1.runs.csv'), 'utf8')).trim().split('\n');
  expect(rows).toHaveLength(1);
  expect(head).toContain('options.cycleMs');
});

it('results do not depend on the number of threads', async () => {
  const args = ['figure', 'hawk-5', '--jobs', '300', '--workers', '300', '--json', '--quiet'];
  const one = await runGoshawk([...args, '--parallel', '1'], {}, { cwd });
  const two = await runGoshawk([...args, '--parallel', '2'], {}, { cwd });
  const numbersOf = (stdout: string) => {
    const { panels, claims, axis } = JSON.parse(stdout) as FigureResult;
    return { panels, claims, axis };
  };
  expect(one.exitCode).toBe(0);
  expect(numbersOf(two.stdout)).toEqual(numbersOf(one.stdout));
});

it('a live figure compares live and simulated runs of the same jobs', async () => {
  const small = ['--workers', '10', '--jobs', '60', '--for', '1s'];
  const { exitCode, stdout, stderr } = await runGoshawk(
    ['figure', 'hawk-16', 'hawk-17', ...small, '--json', '--progress', 'none'],
    {},
    { cwd },
  );
  expect(stderr).not.toContain('goshawk:');
  expect(exitCode).toBe(0);
  const [short, long] = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as FigureResult);
  expect(short!.runs.map(({ x, variant }) => [x, variant]).slice(0, 5)).toEqual([
    [0.9, 'hawk, live'],
    [0.9, 'sparrow, live'],
    [0.9, 'hawk, simulated'],
    [0.9, 'sparrow, simulated'],
    [0.75, 'hawk, live'],
  ]);
  for (const { run } of short!.runs) {
    expect(run.jobs).toEqual({ submitted: 60, completed: 60, failed: 0 });
    expect(run.options).toMatchObject({ workers: 10, schedulers: 10, stealRetry: 'never', cancel: 'lazy' });
  }
  const [live, , simulated] = short!.runs.map(({ run }) => run);
  expect(simulated!.options.cutoff).toBe(live!.options.cutoff);
  expect(simulated!.tasks.submitted).toBe(live!.tasks.submitted);
  // Both figures show the same runs.
  expect(long!.runs).toEqual(short!.runs);
});
