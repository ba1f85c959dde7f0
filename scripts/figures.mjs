import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { counted } from '@goshawk/core';
import { FIGURES } from '@goshawk/papers/figures';
import { readOptions } from './options.mjs';

const ROOT = join(import.meta.dirname, '..');
const DATA = join(ROOT, 'measurements/figures.json');

const OUT = join(ROOT, '.goshawk/figures');

/*
 * The verdicts of docs/PAPERS.md, each with its command. Without --check, the figures run again, and the data gets
 * their verdicts. Results do not depend on the machine; those of timed figures do, and --check leaves them out. Figures
 * with equal options share runs, and a run that was interrupted continues.
 */
const options = readOptions('npm run figures -- [--check] [--only ID,ID] [--add "ID ID OPTIONS"]', {
  check: false,
  only: [''],
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
const unknown = options.only.find((id) => id !== '' && !printed.has(id));
if (unknown !== undefined) {
  console.error(`there is no figure "${unknown}"; there are ${known.join(', ')}`);
  process.exit(2);
}
const chosen =
  options.add === undefined
    ? known.filter((id) => options.only[0] === '' || options.only.includes(id))
    : idsOf(options.add);

/** Figures by their options. */
const groups = new Map();
for (const id of chosen) {
  if (options.check && isTimed(id)) {
    console.log(`${id}: wall times, not compared`);
    continue;
  }
  const given = optionsOf(options.add ?? printed.get(id).command);
  groups.set(given, [...(groups.get(given) ?? []), id]);
}

let wrong = 0;
for (const [given, ids] of groups) {
  for (const [id, rows] of rowsOf(ids, given)) {
    if (options.check) {
      const differences = differencesOf(printed.get(id).rows, rows);
      for (const line of differences) console.log(`${id}: ${line}`);
      if (differences.length === 0) console.log(`${id}: ${rows.length} claims as printed`);
      wrong += differences.length;
      continue;
    }
    printed.set(id, { command: `${id}${given}`, rows });
    console.log(rows[0][0]);
  }
  if (options.check) continue;
  table.rows = [...printed.values()].flatMap((each) => each.rows);
  data.tables = [table, summaryOf(printed)];
  writeFileSync(DATA, format(data));
}
process.exitCode = wrong > 0 ? 1 : 0;

function idOf(words) {
  return words.split(' ')[0];
}

function idsOf(words) {
  return words.split(' --')[0].split(' ');
}

/** Options of a command, with the blank before them. */
function optionsOf(words) {
  return words.slice(idsOf(words).join(' ').length);
}

function isTimed(id) {
  return FIGURES.find((figure) => figure.id === id).isTimed === true;
}

/** Runs figures. @returns by id, a row for each claim */
function rowsOf(ids, given) {
  const load = loadavg()[0].toFixed(1);
  const bin = join(ROOT, 'packages/cli/bin/goshawk.js');
  const words = given === '' ? [] : given.trim().split(' ');
  const args = [bin, 'figure', ...ids, ...words, '--quiet', '--out', OUT];
  execFileSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  return new Map(ids.map((id) => [id, rowsIn(id, given, load)]));
}

function rowsIn(id, given, load) {
  const { workload, paper, seeds, claims } = JSON.parse(readFileSync(join(OUT, `${id}.json`), 'utf8'));
  const commit = execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], {
    cwd: ROOT,
    encoding: 'utf8',
  }).trim();
  const theirs = paper.jobs === null ? '' : ` (the paper: ${paper.jobs.toLocaleString('en-US')})`;
  const run = `${workload.jobs.toLocaleString('en-US')} jobs${theirs}, ${seeds.length === 1 ? 'one seed' : `${seeds.length} seeds`}`;
  const today = new Date().toISOString().slice(0, 10);
  const machine = isTimed(id) ? `; ${counted(availableParallelism(), 'CPU')}, load ${load} before` : '';
  return claims.map(({ section, text, ours, verdict }, index) => [
    index === 0 ? `\`goshawk figure ${id}${given}\`: ${run}; ${today}, ${commit}${machine}` : '',
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
  const verdicts = ['holds', 'in direction', 'does not hold', 'not confirmed'];
  // Those of our own policy belong to no paper.
  const papers = [...new Set(FIGURES.map(({ paper }) => paper.name))].filter((name) => name !== 'Goshawk');
  const rows = papers.map((name) => {
    const own = FIGURES.filter(({ paper }) => paper.name === name);
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
