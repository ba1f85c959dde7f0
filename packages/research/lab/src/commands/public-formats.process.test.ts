import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runGoshawk, runHere } from '@goshawk/cli/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../../../..');
const SAMPLES = join(ROOT, 'packages/research/traces/samples');

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'goshawk-public-formats-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A sample, its format in the independent program, the number of servers, and the CPUs of each. */
const CASES: readonly (readonly [sample: string, format: string, servers: string, cpus: string])[] = [
  ['alibaba/batch_task_2017.csv', 'alibaba2017', '2', '2'],
  ['slurm.sacct', 'sacct', '2', '32'],
  ['instance_events.csv', 'google2019', '1', '1'],
  ['philly.json', 'philly', '2', '2'],
  ['azure2019', 'azure2019', '1', '1'],
  ['jobs.sls', 'sls', '2', '2'],
  ['parallel.swf', 'swf', '4', '1'],
  ['workflow.json', 'wfcommons', '2', '2'],
  ['diamond.dax', 'dax', '1', '1'],
];

describe('run times under FIFO are those of an independent program', () => {
  it.each(CASES)('%s', async (sample, format, servers, cpus) => {
    const file = join(SAMPLES, sample);
    const program = join(ROOT, 'scripts/public-traces.py');
    const { stdout } = await run('python3', [program, file, format, servers, cpus]);
    const results = join(folder, `${format}.jsonl`);
    const size = ['--workers', servers, '--cpus', cpus, '--network-delay', '0ms', '--schedulers', '1'];
    const { exitCode, stderr } = await runHere([
      ...['simulate', file, '--policy', 'fifo-ff', ...size, '--parallel', '1', '--save-results', results],
    ]);
    expect(exitCode, stderr).toBe(0);
    const [, ...lines] = (await readFile(results, 'utf8')).trim().split('\n');
    const jobs = lines.map((line) => JSON.parse(line) as { job: number; runtimeSeconds: number });
    const times = jobs.sort((one, other) => one.job - other.job).map(({ runtimeSeconds }) => runtimeSeconds);
    const expected = stdout.trim().split('\n').map(Number);
    expect(times.length).toBe(expected.length);
    for (const [place, seconds] of expected.entries()) expect(times[place]).toBeCloseTo(seconds, 5);
  });
});

it('reads a published trace by its name, or says where to get it', async () => {
  const simulate = [
    'simulate',
    'hpc2n',
    '--workers',
    '4',
    '--policy',
    'fifo-ff',
    '--parallel',
    '1',
    '--json',
  ];
  const missing = await runGoshawk(simulate, {}, { cwd: folder });
  expect(missing.stderr).toContain('copy Alea/data-set/hpc2n.swf of https://github.com/aleasimulator/alea');
  expect(missing.exitCode).toBe(2);
  await cp(join(SAMPLES, 'parallel.swf'), join(folder, 'traces/hpc2n.swf'));
  const { exitCode, stdout, stderr } = await runGoshawk(simulate, {}, { cwd: folder });
  expect(exitCode, stderr).toBe(0);
  expect(JSON.parse(stdout).workload).toMatchObject({ name: 'hpc2n.swf', jobs: expect.any(Number) });
});
