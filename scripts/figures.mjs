import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOptions } from './options.mjs';

const ROOT = join(import.meta.dirname, '..');
const DATA = join(ROOT, 'measurements/figures.json');

/*
 * The verdicts of docs/PAPERS.md, each with its command. Without --check, the figures run again, and the data gets
 * their verdicts. Results do not depend on the machine.
 */
const options = readOptions('npm run figures -- [--check] [--only ID] [--add "ID OPTIONS"]', {
  check: false,
  only: undefined,
  add: undefined,
});

const data = JSON.parse(readFileSync(DATA, 'utf8'));
const table = { title: 'Each claim with its verdict', page: 'PAPERS.md#each-claim', ...data.tables[0] };
/** Rows by figure; the first one has the command, the size, the date and the commit. */
const printed = new Map();
for (const row of table.rows) {
  const command = /^`goshawk figure (.*)`/.exec(row[0])?.[1];
  if (command !== undefined) printed.set(idOf(command), { command, rows: [] });
  [...printed.values()].at(-1).rows.push(row);
}
const known = [...printed.keys()];
const chosen =
  options.add !== undefined
    ? [options.add]
    : known.filter((id) => (options.only ?? id) === id).map((id) => printed.get(id).command);
if (chosen.length === 0) {
  console.error(`there is no figure "${options.only}"; there are ${known.join(', ')}`);
  process.exit(2);
}

let wrong = 0;
for (const command of chosen) {
  const id = idOf(command);
  const rows = rowsOf(command);
  if (options.check) {
    const differences = differencesOf(printed.get(id).rows, rows);
    for (const line of differences) console.log(`${id}: ${line}`);
    if (differences.length === 0) console.log(`${id}: ${rows.length} claims as printed`);
    wrong += differences.length;
    continue;
  }
  printed.set(id, { command, rows });
  table.rows = [...printed.values()].flatMap((each) => each.rows);
  data.tables = [table, summaryOf(printed)];
  writeFileSync(DATA, format(data));
  console.log(rows[0][0]);
}
process.exitCode = wrong > 0 ? 1 : 0;

function idOf(words) {
  return words.split(' ')[0];
}

/** Runs a figure. @returns a row for each of its claims */
function rowsOf(command) {
  const bin = join(ROOT, 'packages/cli/bin/goshawk.js');
  const out = mkdtempSync(join(tmpdir(), 'goshawk-figures-'));
  const args = [bin, 'figure', ...command.split(' '), '--json', '--quiet', '--out', out];
  const stdio = ['ignore', 'pipe', 'inherit'];
  const output = execFileSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1 << 28, stdio });
  const { workload, paper, seeds, claims } = JSON.parse(output);
  const commit = execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], {
    cwd: ROOT,
    encoding: 'utf8',
  }).trim();
  const theirs = paper.jobs === null ? '' : ` (the paper: ${paper.jobs.toLocaleString('en-US')})`;
  const run = `${workload.jobs.toLocaleString('en-US')} jobs${theirs}, ${seeds.length === 1 ? 'one seed' : `${seeds.length} seeds`}`;
  const today = new Date().toISOString().slice(0, 10);
  return claims.map(({ section, text, ours, verdict }, index) => [
    index === 0 ? `\`goshawk figure ${command}\`: ${run}; ${today}, ${commit}` : '',
    section,
    text,
    ours,
    verdict,
  ]);
}

function differencesOf(before, found) {
  const keyOf = ([, section, text]) => `${section} ${text}`;
  const printedRows = new Map(before.map((row) => [keyOf(row), row]));
  const now = new Map(found.map((row) => [keyOf(row), row]));
  return [...new Set([...printedRows.keys(), ...now.keys()])].flatMap((key) => {
    const [was, is] = [printedRows.get(key), now.get(key)].map((row) =>
      row === undefined ? 'not there' : row.slice(3).join(': '),
    );
    return was === is ? [] : [`${key}: printed ${was}; now ${is}`];
  });
}

function listOf(cells) {
  return `[${cells.map((cell) => JSON.stringify(cell)).join(', ')}]`;
}

/** Claims of each paper by verdict; of figures that have not been measured, only their number. */
function summaryOf(measured) {
  const args = [join(ROOT, 'packages/cli/bin/goshawk.js'), 'figure', '--list', '--json'];
  const { figures } = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  const verdicts = ['holds', 'in direction', 'does not hold', 'not confirmed'];
  // Those of our own policy belong to no paper.
  const papers = [...new Set(figures.map(({ paper }) => paper.name))].filter((name) => name !== 'Goshawk');
  const rows = papers.map((name) => {
    const own = figures.filter(({ paper }) => paper.name === name);
    const found = own.flatMap(({ id }) => (measured.get(id)?.rows ?? []).map((row) => row[4]));
    const missing = own.filter(({ id }) => !measured.has(id));
    const claims = missing.reduce((sum, figure) => sum + figure.claims.length, 0);
    const ids = missing.map(({ id }) => id).join(', ');
    const counts = verdicts.map((verdict) => found.filter((each) => each === verdict).length);
    return [name, ...counts, claims === 0 ? '' : `${claims}: ${ids}`];
  });
  return {
    title: 'claims by paper',
    columns: ['paper', ...verdicts, 'not measured: claims of figures'],
    rows,
  };
}

/** One row per line. */
function format({ tables, ...rest }) {
  const texts = tables.map(({ columns, rows, ...names }) => {
    const lines = rows.map((row) => `        ${listOf(row)}`).join(',\n');
    const head = Object.entries(names)
      .map((name) => `      ${name.map((each) => JSON.stringify(each)).join(': ')},\n`)
      .join('');
    return `    {\n${head}      "columns": ${listOf(columns)},\n      "rows": [\n${lines}\n      ]\n    }`;
  });
  return `${JSON.stringify(rest, null, 2).slice(0, -2)},\n  "tables": [\n${texts.join(',\n')}\n  ]\n}\n`;
}
