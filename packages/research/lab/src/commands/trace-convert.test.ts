import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { runHere } from '@goshawk/cli/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const JSONL = `{"schema":"goshawk.trace/1"}
{"submitSeconds":10,"name":"first","user":"ann","durationsSeconds":[1,2,3]}
{"submitSeconds":5,"durationsSeconds":[4]}
`;

let cwd = '';
let source = '';
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'goshawk-convert-test-'));
  source = join(cwd, 'in.jsonl');
  await writeFile(source, JSONL);
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

describe('trace convert', () => {
  it('writes the other format in order of submission and reports losses', async () => {
    const { exitCode, stdout, stderr } = await runHere(['trace', 'convert', source, '--out', 'out.tr'], {
      cwd,
    });
    expect(exitCode).toBe(0);
    expect(await readFile(join(cwd, 'out.tr'), 'utf8')).toBe('5 1 4 4\n10 3 2 1 2 3\n');
    expect(stdout).toBe('');
    expect(stderr).toBe(
      [
        'in.jsonl: 2 jobs, 4 tasks in out.tr',
        '1  jobs whose name cannot be written to .tr: omitted',
        '1  jobs whose user cannot be written to .tr: omitted',
        '',
      ].join('\n'),
    );
  });

  it('reports them in JSON', async () => {
    const { stdout, stderr } = await runHere(['trace', 'convert', source, '--out', 'out.tr.gz', '--json'], {
      cwd,
    });
    expect(JSON.parse(stdout)).toMatchObject({
      schema: 'goshawk.trace-file/1',
      workload: 'in.jsonl',
      file: join(cwd, 'out.tr.gz'),
      format: 'tr',
      jobs: 2,
      tasks: 4,
      tallied: [
        { code: 'lost-name', count: 1 },
        { code: 'lost-user', count: 1 },
      ],
    });
    expect(stderr).toBe('');
    expect(gunzipSync(await readFile(join(cwd, 'out.tr.gz'))).toString()).toMatch(/^5 1 4 4\n/);
  });

  it('writes facts of a side file about the jobs of a .tr file', async () => {
    const [trace, features] = [join(cwd, 'in.tr'), join(cwd, 'features.csv')];
    await writeFile(trace, '5 1 4 4\n10 1 2 2\n');
    await writeFile(features, 'line,user,logical_job_name\n2,ann,nightly\n');
    const { exitCode } = await runHere(
      ['trace', 'convert', trace, '--features', features, '--out', 'out.jsonl'],
      { cwd },
    );
    expect(exitCode).toBe(0);
    const [, bare, dressed] = (await readFile(join(cwd, 'out.jsonl'), 'utf8')).split('\n');
    expect(bare).not.toContain('user');
    expect(JSON.parse(dressed!)).toMatchObject({ submitSeconds: 10, user: 'ann', logicalName: 'nightly' });
  });

  it('writes to stdout in the requested format', async () => {
    const { stdout } = await runHere(
      ['trace', 'convert', source, '--out', '-', '--format', 'jsonl', '--quiet'],
      {
        cwd,
      },
    );
    expect(stdout).toBe(
      JSONL.split('\n').with(1, JSONL.split('\n')[2]!).with(2, JSONL.split('\n')[1]!).join('\n'),
    );
  });
});

describe('trace sample', () => {
  it('writes the requested part and counts the rest', async () => {
    const { stdout } = await runHere(
      [
        'trace',
        'sample',
        source,
        '--from',
        '6s',
        '--until',
        '11s',
        '--tasks-max',
        '2',
        '--out',
        'o.tr',
        '--json',
      ],
      { cwd },
    );
    expect(JSON.parse(stdout)).toMatchObject({ jobs: 1, tasks: 2 });
    expect(await readFile(join(cwd, 'o.tr'), 'utf8')).toMatch(/^4 2 [\d.]+ \d \d\n$/);
  });

  it('draws the same jobs for the same seed', async () => {
    const draw = (seed: string) =>
      runHere(['trace', 'sample', 'poisson', '--jobs', '9', '--seed', seed, '--out', '-', '--format', 'tr'], {
        cwd,
      });
    const { stdout } = await draw('3');
    expect(stdout.trimEnd().split('\n')).toHaveLength(9);
    expect((await draw('3')).stdout).toBe(stdout);
    expect((await draw('4')).stdout).not.toBe(stdout);
  });
});

describe('trace stats', () => {
  it('draws the distributions of the jobs', async () => {
    const { stdout } = await runHere(['trace', 'stats', source, '--plot'], { cwd });
    expect(stdout).toMatch(/^in\.jsonl\n2 jobs, 4 tasks/);
    expect(stdout).toMatch(/\ntasks per job\n 100% │/);
    const { cdfs } = JSON.parse(
      (await runHere(['trace', 'stats', source, '--plot', '--json'], { cwd })).stdout,
    );
    expect(cdfs.tasksPerJob).toHaveLength(101);
  });

  it('reports omissions from the official tables', async () => {
    const row = (time: number, job: number, event: number) => `${time}000000,,${job},${event},u,0,n,l`;
    const task = (time: number, job: number, event: number) => `${time}000000,,${job},0,,${event},u,0,0,,,,0`;
    await writeFile(join(cwd, 'job_events.csv'), [row(0, 1, 0), row(10, 2, 0), row(15, 2, 4), ''].join('\n'));
    await writeFile(
      join(cwd, 'task_events.csv'),
      [task(10, 2, 0), task(11, 2, 1), task(15, 2, 4), ''].join('\n'),
    );
    const { stdout } = await runHere(['trace', 'stats', cwd], { cwd });
    expect(stdout).toContain('\non reading\n1  jobs submitted before the trace began (time 0): omitted\n');
    expect(JSON.parse((await runHere(['trace', 'stats', cwd, '--json'], { cwd })).stdout)).toMatchObject({
      jobs: 1,
      tallied: [{ code: 'jobs-before-trace', count: 1 }],
    });
  });
});

it.each([
  [['trace', 'convert'], 'trace convert needs WORKLOAD'],
  [['trace', 'convert', 'poisson'], 'trace convert needs --out FILE; `--out -` is stdout'],
  [['trace', 'convert', 'poisson', '--out', '-'], '--out - needs --format; for example --format jsonl'],
  [['trace', 'convert', 'poisson', '--out', '-', '--json', '--format', 'tr'], 'both use stdout'],
  [['trace', 'convert', 'poisson', '--out', 'x.csv'], 'x.csv: the file name does not identify the format'],
  [['trace', 'convert', 'poisson', '--out', 'x', '--format', 'google2011'], 'is not one of tr, jsonl'],
  [['trace', 'convert', 'missing.tr', '--out', 'x.tr'], 'missing.tr: no such file'],
  [['trace', 'sample', 'poisson', '--out', 'x.tr'], 'trace sample needs one of'],
  [['trace', 'sample', 'poisson', '--jobs', '0', '--out', 'x.tr'], '--jobs: 0 is out of range'],
  [
    ['trace', 'sample', 'poisson', '--from', '2s', '--until', '1s', '--out', 'x.tr'],
    'the window from 2 s to 1 s',
  ],
])('%j is refused in one line, and leaves nothing', async (args, line) => {
  const { exitCode, stderr, stdout } = await runHere(args, { cwd });
  expect(stderr.replace(/\n$/, '')).not.toContain('\n');
  expect(stderr).toContain(line);
  expect(stdout).toBe('');
  expect(exitCode).toBe(2);
  expect(await readdir(cwd)).toEqual(['in.jsonl']);
});
