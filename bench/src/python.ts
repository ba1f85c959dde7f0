import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { percentile } from './bench-report.js';
import { type MeasuredTable, writeMeasurement } from './measurement.js';
import { note, readOptions } from './script.js';
import { startUp } from './up.js';

/**
 * Measures calls of Python functions through Goshawk, the standard library's process pool, Dask and Ray, in turn. Each has four processes.
 * Debian has no package of Ray: `--python` names the interpreter of a virtual environment that has it.
 */
const options = readOptions({ rounds: 5, python: '/usr/bin/python3', write: undefined });

const SCRIPT = fileURLToPath(new URL('../peers/python_calls.py', import.meta.url));
const PACKAGE = fileURLToPath(new URL('../../packages/python', import.meta.url));
const COLUMNS = {
  'one call p50, ms': 'oneMs',
  '100 calls with numpy, ms': 'numpyMs',
  '5,000 calls, ms': 'manyMs',
} as const;

type Measured = Readonly<Record<(typeof COLUMNS)[keyof typeof COLUMNS], number>>;
type Round = Readonly<Record<string, Measured>>;

const median = (numbers: readonly number[]): number => percentile(numbers, 0.5);
const rounded = (value: number): number => (value >= 100 ? Math.round(value) : Number(value.toPrecision(3)));

/** Returns the measurements of each round, by system; the first line has the versions. */
async function run(folder: string): Promise<{ versions: Readonly<Record<string, string>>; rounds: Round[] }> {
  await using up = await startUp(folder, ['--workers', '4', '--cpus', '1', '--dashboard']);
  const script = spawn(options.python, [SCRIPT, String(options.rounds)], {
    env: {
      ...process.env,
      GOSHAWK_CLUSTER: up.url,
      XDG_STATE_HOME: folder,
      PYTHONPATH: PACKAGE,
      PYTHONDONTWRITEBYTECODE: '1',
      RAY_USAGE_STATS_ENABLED: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(script, 'exit');
  const lines: unknown[] = [];
  for await (const line of createInterface({ input: script.stdout })) {
    note(`  ${line}`);
    lines.push(JSON.parse(line));
  }
  const [code] = await ended;
  if (code !== 0) throw new Error(`${SCRIPT} has failed`);
  const [versions, ...rounds] = lines;
  return { versions: versions as Record<string, string>, rounds: rounds as Round[] };
}

/** Ratios are medians of those within a round, because the machine's speed changes between rounds. */
function tableOf(names: readonly string[], rounds: readonly Round[]): MeasuredTable {
  const cells = (name: string, what: keyof Measured): number[] => [
    rounded(median(rounds.map((round) => round[name]![what]))),
    rounded(median(rounds.map((round) => round[name]![what] / round['process pool']![what]))),
  ];
  return {
    columns: ['', ...Object.keys(COLUMNS).flatMap((title) => [title, '÷ pool'])],
    rows: names.map((name) => [name, ...Object.values(COLUMNS).flatMap((what) => cells(name, what))]),
  };
}

const folder = mkdtempSync(join(tmpdir(), 'goshawk-python-'));
try {
  const { versions, rounds } = await run(folder);
  const table = tableOf(Object.keys(versions), rounds);
  console.log([table.columns, ...table.rows].map((row) => row.join('\t')).join('\n'));
  if (options.write !== undefined) {
    writeMeasurement(options.write, {
      group: 'Speed',
      title: 'Python calls',
      what:
        'Four processes each. One call: 30 calls of n * n, one after the other. 100 calls, each a product of two matrices of 200 by 200 numbers, and ' +
        `5,000 calls of n * n, with map and without chunks. Medians of ${rounds.length} interleaved rounds; ratios are medians of those within a round. ` +
        'Goshawk stores calls and results on disk; the others do not. ' +
        `${Object.entries(versions)
          .map(([name, version]) => `${name}: ${version}`)
          .join('; ')}.`,
      commands: [
        `npm run bench -- python ${process.argv.slice(2).join(' ').replace(options.python, 'PYTHON')}`,
      ],
      tables: [table],
    });
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
