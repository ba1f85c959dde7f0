import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../../measurements');

/** Order on the page. */
const GROUPS = ['Policies', 'Speed', 'Faults', 'Operations', 'Papers'] as const;

interface Table {
  readonly title?: string;
  /** Place in another document that has the table. */
  readonly page?: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (number | string)[])[];
}

/** One file of `measurements/`. */
interface Measurement {
  readonly group: (typeof GROUPS)[number];
  readonly title: string;
  /** The compared quantity, with units. */
  readonly what: string;
  readonly commands: readonly string[];
  readonly machine: string;
  /** YYYY-MM-DD. */
  readonly date: string;
  /** Of the code that was measured, which repeats the result. */
  readonly commit: string;
  readonly notes?: readonly string[];
  readonly tables: readonly Table[];
}

const REQUIRED = ['group', 'title', 'what', 'commands', 'machine', 'date', 'commit', 'tables'];

/** @returns all measurements, by the name of their file without `.json` */
export function readMeasurements(): Map<string, Measurement> {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  return new Map(
    names.sort().map((name) => {
      const value = JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as Measurement;
      const wrong = problemOf(value);
      if (wrong !== undefined) throw new Error(`measurements/${name}: ${wrong}`);
      return [name.replace(/\.json$/, ''), value];
    }),
  );
}

function problemOf(value: Measurement): string | undefined {
  const keys = Object.keys(value);
  const missing = REQUIRED.find((key) => !keys.includes(key));
  if (missing !== undefined) return `"${missing}" is missing`;
  const unknown = keys.find((key) => !REQUIRED.includes(key) && key !== 'notes');
  if (unknown !== undefined) return `"${unknown}" is no field of a measurement`;
  if (!GROUPS.includes(value.group)) return `"group" is one of ${GROUPS.join(', ')}`;
  if (value.commands.length === 0) return '"commands" is empty';
  if (!/^\d{4}-\d\d-\d\d$/.test(value.date)) return '"date" is YYYY-MM-DD';
  if (!/^[0-9a-f]{7,40}$/.test(value.commit)) return '"commit" is a hash: commit before you measure';
  const ragged = value.tables.find(({ columns, rows }) => rows.some((row) => row.length !== columns.length));
  return ragged === undefined
    ? undefined
    : `a row of "${ragged.title ?? ragged.columns[0]}" has other columns`;
}

/** `docs/MEASUREMENTS.md`. */
export function measurementsPage(measurements: ReadonlyMap<string, Measurement>): string {
  const groups = GROUPS.map((group) => [...measurements].filter(([, each]) => each.group === group));
  return [
    '# Measurements',
    '',
    'Generated from `measurements/*.json`. Do not edit: change the data, then',
    '`UPDATE_GOLDEN=1 npx vitest run --project unit test/src/measurements`.',
    '',
    'The commit of a section repeats its numbers with the command. Compare ratios, not machines. Traces in',
    '`../shared/traces` are not part of the repository.',
    '',
    ...groups.flatMap((members, index) => [
      `- ${GROUPS[index]}: ${members.map(([, { title }]) => `[${title}](#${anchorOf(title)})`).join(', ')}`,
    ]),
    '',
    ...groups.flatMap((members, index) => [
      `## ${GROUPS[index]}`,
      '',
      ...members.flatMap(([name, each]) => section(name, each)),
    ]),
  ]
    .join('\n')
    .replace(/\n+$/, '\n');
}

/**
 * Returns a document with its tables of measurements updated from the data.
 *
 * @param text contains `<!-- measured NAME N -->`, for the Nth table of `NAME.json`, and `<!-- end -->` around each
 * table
 */
export function withMeasured(text: string, measurements: ReadonlyMap<string, Measurement>): string {
  return text.replace(
    /(<!-- measured ([a-z0-9-]+) (\d+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, begin: string, name: string, index: string, end: string) => {
      const table = measurements.get(name)?.tables[Number(index)];
      if (table === undefined) throw new Error(`there is no table ${index} in measurements/${name}.json`);
      return `${begin}\n${rowsOf(table).join('\n')}\n\n${end}`;
    },
  );
}

function section(name: string, measurement: Measurement): string[] {
  const { title, what, commands, tables, notes = [] } = measurement;
  return [
    `### ${title}`,
    '',
    `${what}`,
    '',
    '```sh',
    ...commands,
    '```',
    '',
    `${provenance(measurement)} Data: \`measurements/${name}.json\`.`,
    '',
    ...tables.flatMap(({ title, page, ...table }) => [
      ...(title === undefined ? [] : [page === undefined ? `**${title}**` : `[${title}](${page})`, '']),
      ...(page === undefined ? [...rowsOf(table), ''] : []),
    ]),
    ...(notes.length === 0 ? [] : [...notes.map((note) => `- ${note}`), '']),
  ];
}

function provenance({ machine, date, commit }: Measurement): string {
  return `${machine}; ${date}; commit ${commit}.`.replace(/^./, (first) => first.toUpperCase());
}

function rowsOf({ columns, rows }: Table): string[] {
  return [
    line(columns),
    `|${columns.map(() => '---').join('|')}|`,
    ...rows.map((row) => line(row.map((each) => (typeof each === 'number' ? formatted(each) : each)))),
  ];
}

function line(cells: readonly string[]): string {
  return `| ${cells.map((each) => each.replaceAll('|', '\\|')).join(' | ')} |`;
}

function formatted(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 6 });
}

function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
