import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PublishedChecks, runHere } from '@goshawk/cli/testing';
import { afterAll, beforeAll, expect, it, test, vi } from 'vitest';
import { laboratorySchemas } from './schemas.js';

// The first simulation loads the simulator and the charts.
vi.setConfig({ testTimeout: 120_000 });

const published = new PublishedChecks();
const cwd = mkdtempSync(join(tmpdir(), 'goshawk-lab-schemas-'));
afterAll(() => rmSync(cwd, { recursive: true }));

const HEADER = '{"schema":"goshawk.trace/1"}';
const PLAIN = { submitSeconds: 0, durationsSeconds: [5, 5], user: 'ann', name: 'etl', deadlineSeconds: 60 };
const STAGED = {
  submitSeconds: 3,
  weight: 2,
  stages: [
    { name: 'map', durationsSeconds: [4, 4], demand: { memory: 2 } },
    { name: 'reduce', after: ['map'], durationsSeconds: [30] },
  ],
};

beforeAll(() => {
  const write = (name: string, ...jobs: object[]) =>
    writeFileSync(join(cwd, name), [HEADER, ...jobs.map((job) => JSON.stringify(job)), ''].join('\n'));
  write('plain.jsonl', PLAIN, { ...PLAIN, submitSeconds: 2, durationsSeconds: [100] });
  write('staged.jsonl', STAGED, { ...STAGED, submitSeconds: 9 });
  const profile = {
    schema: 'goshawk.delays/1',
    workersPerProcess: 2,
    phases: [
      {
        fromMs: 0,
        messages: [{ type: 'steal', sameProcess: true, ms: [0.1, 0.2] }],
        sleepLateMs: [0.1],
        timerLateMs: [],
        submissionMs: [0.5],
        newsMs: [0.2],
      },
    ],
  };
  writeFileSync(join(cwd, 'delays.json'), JSON.stringify(profile));
  const rows = Array.from({ length: 20 }, (_, i) => {
    const time = (seconds: number) =>
      new Date(1_767_225_600_000 + seconds * 1_000).toISOString().slice(0, 19);
    return `${i}|COMPLETED|${time(25 * i)}|${time(50 * i)}|${time(50 * i + 100)}|100|1|4|4G`;
  });
  const columns = 'JobID|State|Submit|Start|End|ElapsedRaw|NNodes|NCPUS|ReqMem';
  writeFileSync(join(cwd, 'jobs.sacct'), [columns, ...rows, ''].join('\n'));
});

/** Commands resolve these workloads relative to the folder of the process, which tests share. */
const INPUTS = ['plain.jsonl', 'staged.jsonl', 'jobs.sacct', 'bad.jsonl'];

function runIn(argv: readonly string[]) {
  return runHere(
    argv.map((word) => (INPUTS.includes(word) ? join(cwd, word) : word)),
    { cwd },
  );
}

async function run(...argv: string[]): Promise<string> {
  const { stdout, stderr } = await runIn(argv);
  expect(stdout, stderr).not.toBe('');
  return stdout;
}

const SMALL = ['--workers', '4', '--parallel', '1'];

it.each<[schema: string, ...argv: string[]]>([
  ['goshawk.figures/1', 'figure', '--list'],
  ['goshawk.generators/1', 'trace', 'generate', '--list'],
  ['goshawk.trace-file/1', 'trace', 'generate', 'motivation', '--out', 'generated.tr'],
  ['goshawk.trace-file/1', 'trace', 'convert', 'staged.jsonl', '--out', 'converted.tr'],
  ['goshawk.trace-file/1', 'trace', 'sample', 'plain.jsonl', '--jobs', '1', '--out', 'sampled.jsonl'],
  ['goshawk.trace-stats/1', 'trace', 'stats', 'plain.jsonl', '--plot', '--cutoff', '2s'],
  ['goshawk.trace-stats/1', 'trace', 'stats', 'staged.jsonl'],
  ['goshawk.whatif/1', 'whatif', '--trace', 'jobs.sacct', ...SMALL],
  ['goshawk.comparison/1', 'simulate', 'plain.jsonl', ...SMALL, '--policy', 'hawk,sparrow', '--seeds', '2'],
  [
    'goshawk.comparison/1',
    'simulate',
    'plain.jsonl',
    ...SMALL,
    '--policy',
    '3sigma-sched',
    '--shadow',
    'history',
  ],
  [
    'goshawk.comparison/1',
    'simulate',
    'staged.jsonl',
    ...SMALL,
    '--resources',
    'memory=8',
    '--policy',
    'carbyne,drf',
  ],
  ['goshawk.figure/1', 'figure', 'hawk-5', '--jobs', '60', '--workers', '100', '--parallel', '1'],
  ['goshawk.figure/1', 'figure', 'carbyne-11', '--jobs', '5'],
  ['goshawk.figure/1', 'figure', 'packing-4b', '--jobs', '2000'],
  ['goshawk.figure/1', 'figure', 'slearn-error', '--jobs', '400'],
])('%s fits its schema: goshawk %s %s %s', async (schema, ...argv) => {
  const output = JSON.parse(await run(...argv, '--json')) as { schema: string };
  expect(output.schema).toBe(schema);
  await published.expectToFit(output);
});

it('each line of a trace that `trace convert` reads or writes fits its schema', async () => {
  for (const name of ['plain', 'staged']) {
    await runIn(['trace', 'convert', `${name}.jsonl`, '--out', `${name}2.jsonl`]);
    for (const file of [`${name}.jsonl`, `${name}2.jsonl`])
      for (const line of linesOf(file)) await published.expectToFit(line, 'goshawk.trace/1');
  }
});

it('each line of saved results fits its schema', async () => {
  await run('simulate', 'plain.jsonl', ...SMALL, '--policy', 'hawk', '--save-results', 'results.jsonl');
  const lines = linesOf('results.jsonl');
  expect(lines).toHaveLength(3);
  for (const line of lines) await published.expectToFit(line, 'goshawk.results/1');
});

it('the schema and `simulate` agree about measured delays', async () => {
  const delays = JSON.parse(readFileSync(join(cwd, 'delays.json'), 'utf8')) as { schema: string };
  await published.expectToFit(delays);
  const network = `measured:${join(cwd, 'delays.json')}`;
  await run('simulate', 'plain.jsonl', ...SMALL, '--policy', 'hawk', '--network-delay', network, '--json');
});

it.each<[string, object]>([
  ['an unknown field', { ...PLAIN, often: 1 }],
  ['both durations and stages', { ...PLAIN, ...STAGED }],
  ['neither', { submitSeconds: 1 }],
  ['a negative time', { ...PLAIN, submitSeconds: -1 }],
  ['an unknown priority', { ...PLAIN, priority: 'urgent' }],
  ['a stage without a name', { submitSeconds: 0, stages: [{ durationsSeconds: [1] }] }],
])('the schema and the reader of traces refuse %s', async (_, job) => {
  expect((await published.of('goshawk.trace/1'))(job)).toBe(false);
  writeFileSync(join(cwd, 'bad.jsonl'), `${HEADER}\n${JSON.stringify(job)}\n`);
  expect(await runIn(['trace', 'stats', 'bad.jsonl'])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('bad.jsonl:2: '),
  });
});

test('each schema of the laboratory is tested', () => {
  expect([...laboratorySchemas().keys()].filter((name) => !published.seen.has(name))).toEqual([]);
});

function linesOf(file: string): object[] {
  const lines = readFileSync(join(cwd, file), 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as object);
}
