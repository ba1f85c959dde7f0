import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOptions } from './options.mjs';

const ROOT = join(import.meta.dirname, '..');
const DATA = join(ROOT, 'measurements/figures.json');

/*
 * The verdicts of docs/MEASUREMENTS.md, each with its command. Without --check, the figures run again, and the data gets
 * their verdicts. Results do not depend on the machine.
 */
const options = readOptions('npm run figures -- [--check] [--only ID] [--add "ID OPTIONS"]', {
  check: { type: 'boolean' },
  only: { type: 'string' },
  add: { type: 'string' },
});

const data = JSON.parse(readFileSync(DATA, 'utf8'));
const known = data.tables.map(({ title }) => /^`goshawk figure (.*)`/.exec(title)[1]);
const chosen =
  options.add !== undefined
    ? [options.add]
    : known.filter((each) => options.only === undefined || idOf(each) === options.only);
if (chosen.length === 0) {
  console.error(`there is no figure "${options.only}"; there are ${known.map(idOf).join(', ')}`);
  process.exit(2);
}

let wrong = 0;
for (const each of chosen) {
  const table = tableOf(each);
  const index = data.tables.findIndex(
    ({ title }) =>
      title.startsWith(`\`goshawk figure ${idOf(each)} `) ||
      title.startsWith(`\`goshawk figure ${idOf(each)}\``),
  );
  if (options.check) {
    const differences = differencesOf(data.tables[index].rows, table.rows);
    for (const line of differences) console.log(`${idOf(each)}: ${line}`);
    if (differences.length === 0) console.log(`${idOf(each)}: ${table.rows.length} claims as printed`);
    wrong += differences.length;
    continue;
  }
  if (index < 0) data.tables.push(table);
  else data.tables[index] = table;
  writeFileSync(DATA, format(data));
  console.log(table.title);
}
process.exitCode = wrong > 0 ? 1 : 0;

function idOf(words) {
  return words.split(' ')[0];
}

/** Runs a figure. @returns its claims with their verdicts */
function tableOf(words) {
  const args = [
    join(ROOT, 'packages/cli/bin/goshawk.js'),
    'figure',
    ...words.split(' '),
    '--json',
    '--quiet',
    '--out',
    mkdtempSync(join(tmpdir(), 'goshawk-figures-')),
  ];
  const output = execFileSync(process.execPath, args, {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { workload, paper, seeds, claims } = JSON.parse(output);
  const commit = execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], {
    cwd: ROOT,
    encoding: 'utf8',
  }).trim();
  const size = `${workload.jobs.toLocaleString('en-US')} jobs${paper.jobs === null ? '' : ` (the paper: ${paper.jobs.toLocaleString('en-US')})`}`;
  return {
    title: `\`goshawk figure ${words}\`: ${size}; ${seeds.length === 1 ? 'one seed' : `${seeds.length} seeds`}; ${new Date().toISOString().slice(0, 10)}, ${commit}`,
    columns: ['', 'claim', 'here', 'verdict'],
    rows: claims.map(({ section, text, ours, verdict }) => [section, text, ours, verdict]),
  };
}

function differencesOf(printed, found) {
  const keyOf = ([section, text]) => `${section} ${text}`;
  const before = new Map(printed.map((row) => [keyOf(row), row]));
  const now = new Map(found.map((row) => [keyOf(row), row]));
  return [...new Set([...before.keys(), ...now.keys()])].flatMap((key) => {
    const [was, is] = [before.get(key), now.get(key)].map((row) =>
      row === undefined ? 'not there' : row.slice(2).join(': '),
    );
    return was === is ? [] : [`${key}: printed ${was}; now ${is}`];
  });
}

function listOf(cells) {
  return `[${cells.map((cell) => JSON.stringify(cell)).join(', ')}]`;
}

/** One row per line. */
function format({ tables, ...rest }) {
  const rows = (table) => table.rows.map((row) => `        ${listOf(row)}`).join(',\n');
  const shown = tables.map(
    (table) =>
      `    {\n      "title": ${JSON.stringify(table.title)},\n      "columns": ${listOf(table.columns)},\n      "rows": [\n${rows(table)}\n      ]\n    }`,
  );
  return `${JSON.stringify(rest, null, 2).slice(0, -2)},\n  "tables": [\n${shown.join(',\n')}\n  ]\n}\n`;
}
