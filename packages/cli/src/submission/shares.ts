import { counted, InputError, LIMITS } from '@goshawk/core';
import { parseArray } from './array.js';

/** The individual part of a task. */
export interface Share {
  /** Origin for errors: `line 17 of names.txt`. */
  readonly where: string;
  /**
   * Value of `{}` and of the variable, or the reason why it cannot be text. Undefined with `--param` alone.
   */
  readonly text: TextOrProblem | undefined;
  /** Values of `{1}`, `{2}` and so on; only with `--colsep` or `--header`. */
  readonly columns: readonly string[];
  /** Values of `{name}`: columns of a header, and `--param`. */
  readonly named: Readonly<Record<string, string>>;
  /** Input of a module. */
  readonly input: unknown;
  readonly variable?: 'GOSHAWK_ARRAY_VALUE' | 'GOSHAWK_LINE';
  readonly stdin?: Uint8Array;
}

/** Values of one `--param`: of one name, or of all columns of a file. */
export interface ParamAxis {
  readonly names: readonly string[];
  readonly rows: readonly Readonly<Record<string, string>>[];
  /** The file; undefined for values of the command line. */
  readonly file?: string;
}

type TextOrProblem = { readonly text: string } | { readonly problem: string };

/**
 * Returns a share for each value of --array.
 *
 * @throws InputError
 */
export function arrayShares(text: string): Share[] {
  return parseArray(text).map((value) => ({
    where: `value ${value}`,
    text: { text: value },
    columns: [],
    named: {},
    input: Number(value),
    variable: 'GOSHAWK_ARRAY_VALUE',
  }));
}

/** Format of the columns of a line. */
export interface Columns {
  readonly colsep: string | undefined;
  /** Whether the first line has the column names. */
  readonly header: boolean;
}

/**
 * Returns a share for each line. Its text excludes the line ending, LF or CRLF, and a byte order mark at the
 * beginning of the file; its stdin is the line byte for byte.
 *
 * @param source name of the file, for errors
 * @throws InputError without lines, for more lines than a job may have tasks, or if columns do not match the
 * header
 */
export function lineShares(
  bytes: Uint8Array,
  source: string,
  { colsep, header }: Columns = { colsep: undefined, header: false },
): Share[] {
  const lines = splitLines(bytes);
  const where = (index: number): string => `line ${index + 1} of ${source}`;
  const texts = lines.map((line, index) => textOf(index === 0 ? withoutMark(line) : line));
  const cells = (index: number): string[] => {
    const text = texts[index]!;
    if ('problem' in text) throw bad(`${where(index)} ${text.problem}, so it cannot be split into columns`);
    return colsep === undefined ? [text.text] : text.text.split(colsep);
  };
  const first = header ? 1 : 0;
  if (lines.length <= first) {
    throw bad(`${source} has no lines${header ? ' after its header' : ''}`, 'a job needs at least one task');
  }
  checkCount(lines.length - first, `--each-line: ${source} has ${lines.length - first} lines`);
  const names = header ? checkNames(cells(0), source) : [];
  return lines.slice(first).map((stdin, place) => {
    const index = place + first;
    const text = texts[index]!;
    const share = { where: where(index), text, variable: 'GOSHAWK_LINE', stdin } as const;
    if (colsep === undefined && !header)
      return { ...share, columns: [], named: {}, input: 'text' in text ? text.text : undefined };
    const columns = cells(index);
    if (header && columns.length !== names.length)
      throw bad(
        `${where(index)} has ${counted(columns.length, 'column')}, and the header names ${names.length}`,
      );
    const named = Object.fromEntries(names.map((name, i) => [name, columns[i]!]));
    return { ...share, columns, named, input: header ? named : columns };
  });
}

/**
 * Returns each share with each combination of rows of the axes; the rows of the last one change fastest.
 *
 * @throws InputError for a name that a column has, or more tasks than a job may have
 */
export function combined(
  shares: readonly Share[] | undefined,
  axes: readonly ParamAxis[],
): Share[] | undefined {
  if (axes.length === 0) return shares && [...shares];
  const taken = new Set(Object.keys(shares?.[0]?.named ?? {}));
  let found: Share[] = [...(shares ?? [NOTHING])];
  for (const { names, rows } of axes) {
    const double = names.find((name) => taken.has(name));
    if (double !== undefined) throw bad(`--param ${double}: a column has this name`, '', '--param');
    for (const name of names) taken.add(name);
    checkCount(found.length * rows.length, `--param: there are ${found.length * rows.length} combinations`);
    found = found.flatMap((share) => rows.map((row) => ({ ...share, named: { ...share.named, ...row } })));
  }
  return found.map((share) => ({ ...share, input: inputOf(share) }));
}

const NOTHING: Share = { where: 'the job', text: undefined, columns: [], named: {}, input: undefined };

/** Returns the input of a module: an object with all names, and the value or line without a name. */
function inputOf({ columns, named, input }: Share): unknown {
  if (input === undefined) return named;
  if (Array.isArray(input)) return { columns, ...named };
  return typeof input === 'object' ? named : { value: input, ...named };
}

/** @throws InputError for an invalid name of a placeholder */
export function checkNames(
  names: readonly string[],
  source: string,
  option = '--each-line',
): readonly string[] {
  const isBad = (name: string, index: number): boolean =>
    name === '' || /^\d+$|[{}]/.test(name) || names.indexOf(name) !== index;
  const place = names.findIndex(isBad);
  if (place < 0) return names;
  throw bad(
    `${source}: ${JSON.stringify(names[place])} cannot be the name of column ${place + 1}`,
    'column names are unique, are not numbers, and contain no braces',
    option,
  );
}

function checkCount(tasks: number, problem: string): void {
  if (tasks <= LIMITS.tasksPerJobMax) return;
  throw new InputError(
    'bad-lines',
    `${problem}; a job has at most ${LIMITS.tasksPerJobMax} tasks`,
    'split it into several jobs',
  );
}

function bad(problem: string, hint = '', option = '--each-line'): InputError {
  return new InputError('bad-lines', problem.startsWith('--') ? problem : `${option}: ${problem}`, hint);
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/**
 * Returns the lines of a file with their newlines; the last one may have none. Concatenated, they are the
 * file byte for byte. The lines are views of `bytes`.
 */
export function splitLines(bytes: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let from = 0; from < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, from);
    const end = newline < 0 ? bytes.length : newline + 1;
    lines.push(bytes.subarray(from, end));
    from = end;
  }
  return lines;
}

/** Removes a byte order mark. A file with nothing else still has an empty line. */
function withoutMark(line: Uint8Array): Uint8Array {
  return line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? line.subarray(3) : line;
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reason why a line cannot be an argument or a variable. */
type NoText = 'is not valid UTF-8' | 'contains a NUL byte';

/** Returns the line without its LF or CRLF as text for a process, or the reason why it cannot be one. */
export function textOf(line: Uint8Array): { readonly text: string } | { readonly problem: NoText } {
  const hasNewline = line.at(-1) === NEWLINE;
  const end = line.length - (hasNewline ? (line.at(-2) === RETURN ? 2 : 1) : 0);
  try {
    const text = UTF_8.decode(line.subarray(0, end));
    return text.includes('\0') ? { problem: 'contains a NUL byte' } : { text };
  } catch {
    return { problem: 'is not valid UTF-8' };
  }
}
