import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runHere } from '@goshawk/cli/testing';
import type { Comparison } from '@goshawk/report';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'goshawk-compare-'));
const file = (name: string) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true }));

async function simulate(name: string, ...args: string[]): Promise<void> {
  const { stdout } = await runHere(['simulate', ...args, '--workers', '100', '--parallel', '1', '--json']);
  writeFileSync(file(name), stdout);
}

beforeAll(async () => {
  await simulate('a.json', 'poisson:jobs=100', '--policy', 'hawk,sparrow');
  await simulate('b.json', 'poisson:jobs=100', '--policy', 'hawk', '--no-stealing');
  await simulate('c.json', 'poisson:jobs=101', '--policy', 'hawk');
  writeFileSync(file('d.json'), '{"schema": "goshawk.config/1"}');
  writeFileSync(file('e.json'), '{"schema": "goshawk.comparison/1", "workload": {}, "runs": [{}]}');
  mkdirSync(file('other'));
  copyFileSync(file('a.json'), file('other/a.json'));
});

it('puts the runs of several files into one table, page and CSV', async () => {
  const files = [file('a.json'), file('b.json')];
  const report = file('both.html');
  const { exitCode, stdout } = await runHere(['compare', ...files, '--report', report]);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^hawk \(stealing=true\) against hawk \(stealing=false\):/m);
  expect(readFileSync(report, 'utf8')).toContain('hawk (stealing=false)');
  const json = JSON.parse((await runHere(['compare', ...files, '--json'])).stdout) as Comparison;
  expect(json.runs.map(({ policy }) => policy)).toEqual([
    'hawk (stealing=true)',
    'sparrow',
    'hawk (stealing=false)',
  ]);
  const csv = (await runHere(['compare', ...files, '--csv'])).stdout.trim().split('\n');
  expect(csv).toHaveLength(4);
  expect(csv[0]).toMatch(/^policy,seed,options\./);
});

it.each(['svg', 'pdf'])(
  'draws its charts as one figure with a table of their values: .%s',
  async (ending) => {
    const figure = file(`drawn/both.${ending}`);
    const { exitCode, stderr } = await runHere([
      'compare',
      file('a.json'),
      file('b.json'),
      '--figure',
      figure,
    ]);
    expect(exitCode).toBe(0);
    expect(stderr).toContain(`the figure is in ${figure}, its values in ${file('drawn/both.csv')}`);
    expect(readFileSync(figure, 'latin1')).toMatch(ending === 'svg' ? /^<svg .*<title>hawk/s : /^%PDF-1/);
    expect(readFileSync(file('drawn/both.csv'), 'utf8')).toMatch(
      /^chart,series,x,y\n(.*\n)*parts-short,\w+,hawk \(stealing=true\),[\d.]+$/m,
    );
  },
);

it('draws each chart as SVG, with its values as CSV, in a folder', async () => {
  const drawn = `${file('each')}/`;
  const { exitCode, stderr } = await runHere(['compare', file('a.json'), file('b.json'), '--figure', drawn]);
  expect(exitCode).toBe(0);
  expect(stderr).toContain(`each chart is in ${drawn}, with its values`);
  const names = readdirSync(drawn);
  const ids = names.filter((name) => name.endsWith('.svg')).map((name) => name.slice(0, -4));
  expect(names.sort()).toEqual(ids.flatMap((id) => [`${id}.csv`, `${id}.svg`]).sort());
  expect(ids).toContain('parts-short');
  for (const id of ids) {
    expect(readFileSync(join(drawn, `${id}.svg`), 'utf8')).toMatch(/^<svg .*<title/s);
    expect(readFileSync(join(drawn, `${id}.csv`), 'utf8')).toMatch(/^series,x,y\n.*,.*,.*\n/);
  }
});

it.each<[figure: string, line: string]>([
  ['both.png', 'is neither .svg nor .pdf'],
  ['.svg', 'is neither .svg nor .pdf'],
  ['a.json/both.svg', 'is not a folder'],
])('refuses --figure %s before it reads anything', async (figure, line) => {
  const refused = await runHere(['compare', 'none.json', '--figure', figure], { cwd: folder });
  expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(line) });
});

it('reads files with a byte order mark, as some editors write them', async () => {
  writeFileSync(file('bom.json'), `\ufeff${readFileSync(file('a.json'), 'utf8')}\r\n`);
  expect((await runHere(['compare', file('bom.json')])).exitCode).toBe(0);
});

it('distinguishes files of the same name by their folders', async () => {
  const { exitCode, stdout } = await runHere(['compare', 'a.json', 'other/a.json'], { cwd: folder });
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^hawk \(a\.json\) against hawk \(other\/a\.json\):/m);
});

it.each<[names: string[], line: RegExp]>([
  [['a.json', 'c.json'], /^goshawk: compare: c ran poisson.*compare runs of one workload\n$/],
  [['d.json'], /^goshawk: compare: \S+d\.json is not a comparison; create one with `goshawk simulate/],
  [['e.json'], /^goshawk: compare: \S+e\.json is not a comparison; create one with `goshawk simulate/],
  [
    ['none.json'],
    /^goshawk: compare: cannot read \S+none\.json: there is no such file; check the path; `goshawk simulate --json` prints/,
  ],
  [['a.json', '--csv', '--json'], /--csv and --json cannot be used together/],
])('refuses %j', async (names, line) => {
  const words = names.map((name) => (name.startsWith('--') ? name : file(name)));
  const { exitCode, stderr } = await runHere(['compare', ...words]);
  expect(stderr).toMatch(line);
  expect(exitCode).toBe(2);
});

it('keeps the intervals of the simulation instead of showing ranges over seeds', async () => {
  await simulate('seeds.json', 'poisson:jobs=100', '--policy', 'hawk,sparrow', '--seeds', '2');
  const before = JSON.parse(readFileSync(file('seeds.json'), 'utf8')) as Comparison;
  const { stdout } = await runHere(['compare', file('seeds.json'), '--json']);
  const after = JSON.parse(stdout) as Comparison;
  expect(before.ratios[0]!.interval).toBeDefined();
  expect(after.ratios[0]!.interval).toEqual(before.ratios[0]!.interval);
  expect(after.intervals).toEqual(before.intervals);
  const table = (await runHere(['compare', file('seeds.json'), file('b.json')])).stdout;
  expect(table).toContain('95% confidence intervals from a paired bootstrap over jobs and seeds');
});

describe('policies of different files, with the times of their jobs', () => {
  beforeAll(async () => {
    const load = ['google-like:jobs=400', '--policy'];
    await simulate('fast.json', ...load, 'hawk', '--save-results', file('fast.jsonl'));
    await simulate('same.json', ...load, 'hawk', '--save-results', file('same.jsonl'));
    await simulate('slow.json', ...load, 'eagle', '--save-results', file('slow.jsonl'));
    await simulate('both.json', ...load, 'hawk,eagle,capacity');
  });

  it('differ if they do, by intervals as of one command', async () => {
    const { stdout, stderr } = await runHere(['compare', file('fast.json'), file('slow.json')]);
    expect(stdout).toContain('95% confidence intervals from a paired bootstrap over jobs');
    expect(stdout).toMatch(/short p50 \d\.\d+× \(/);
    expect(stdout).not.toMatch(/no difference shown$/m);
    expect(stderr.trim()).toBe('');
    const { stdout: json } = await runHere(['compare', file('fast.json'), file('slow.json'), '--json']);
    const both = JSON.parse(readFileSync(file('both.json'), 'utf8')) as Comparison;
    expect((JSON.parse(json) as Comparison).ratios).toEqual(both.ratios.slice(0, 1));
  });

  it('do not differ if they are the same', async () => {
    const { stdout } = await runHere(['compare', file('fast.json'), file('same.json')]);
    expect(stdout).toMatch(/^hawk \(fast\) against hawk \(same\):.*\n(.*\n)? {2}no difference shown$/m);
  });

  it('are not tested without the times, which is said', async () => {
    const { stdout, stderr } = await runHere(['compare', file('both.json'), file('fast.json')]);
    expect(stdout).toMatch(/^hawk \(both\) against hawk \(fast\):.*\n(below|policy)/m);
    expect(stderr).toContain(`differences are not tested without the times of jobs`);
    expect(stderr).toContain(file('both.jsonl'));
  });

  it('are refused with the times of other runs', async () => {
    copyFileSync(file('fast.json'), file('wrong.json'));
    copyFileSync(file('slow.jsonl'), file('wrong.jsonl'));
    writeFileSync(
      file('wrong.jsonl'),
      readFileSync(file('wrong.jsonl'), 'utf8').replaceAll('"seed":1', '"seed":2'),
    );
    const { exitCode, stderr } = await runHere(['compare', file('wrong.json')]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(
      /^goshawk: compare: \S+wrong\.jsonl does not have the jobs of \S+wrong\.json; move it away/,
    );
  });
});
