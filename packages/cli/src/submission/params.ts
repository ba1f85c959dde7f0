import { decodeText, InputError, LIMITS, parseCsv, quoted } from '@goshawk/core';
import { checkNames, type ParamAxis } from './shares.js';

/**
 * Parses `--param`: `NAME=A,B`, `NAME=0.1:1:0.1`, or `@FILE`, a CSV file whose header names the columns.
 *
 * @param read reads a file
 * @throws InputError for an invalid list, range or file, or a repeated name
 */
export async function paramAxes(
  texts: readonly string[],
  read: (path: string, what: string) => Promise<Uint8Array>,
): Promise<ParamAxis[]> {
  const axes: ParamAxis[] = [];
  for (const text of texts)
    axes.push(text.startsWith('@') ? await fileAxis(text.slice(1), read) : listAxis(text));
  const names = axes.flatMap((axis) => axis.names);
  const double = names.find((name, at) => names.indexOf(name) !== at);
  if (double !== undefined)
    throw new InputError(
      'bad-option',
      `--param names ${double} twice`,
      'give all values of a name in one --param',
    );
  return axes;
}

function listAxis(text: string): ParamAxis {
  const equals = text.indexOf('=');
  const name = text.slice(0, equals).trim();
  const values = text.slice(equals + 1).split(',');
  if (equals <= 0 || name === '' || values.includes(''))
    throw new InputError(
      'bad-option',
      `--param: ${quoted(text)} is neither NAME=VALUES nor @FILE`,
      'for example rate=0.1,0.01 or rate=0.1:1:0.1, or @sweep.csv for a CSV file with a header',
    );
  checkNames([name], '--param', '--param');
  const rows = values.flatMap((value) => expandRange(name, value)).map((value) => ({ [name]: value }));
  return { names: [name], rows };
}

async function fileAxis(
  path: string,
  read: (path: string, what: string) => Promise<Uint8Array>,
): Promise<ParamAxis> {
  const name = path === '-' ? 'stdin' : path;
  const refuse = (problem: string, hint = ''): InputError =>
    new InputError('bad-lines', `--param: ${name}${problem}`, hint);
  const text = decodeText(await read(path, '--param'), name);
  let lines: ReturnType<typeof parseCsv>;
  try {
    lines = parseCsv(text);
  } catch (error) {
    throw refuse(`: ${(error as Error).message}`, 'quote cells with commas, and double quotes within them');
  }
  const [header, ...body] = lines;
  if (header === undefined || body.length === 0)
    throw refuse(
      ' has no rows after its header',
      'the first line names the columns, each other line is a task',
    );
  const names = header.cells.map((cell) => cell.trim());
  checkNames(names, name, '--param');
  const uneven = body.find(({ cells }) => cells.length !== names.length);
  if (uneven !== undefined)
    throw refuse(`: line ${uneven.line} has ${uneven.cells.length} cells, and the header ${names.length}`);
  const rows = body.map(({ cells }) => Object.fromEntries(names.map((column, at) => [column, cells[at]!])));
  return { names, rows, file: name };
}

const NUMBER = String.raw`[+-]?\d{1,15}(?:\.\d{1,12})?`;
const RANGE = new RegExp(`^(${NUMBER}):(${NUMBER}):(${NUMBER})$`);

/**
 * Returns the values of `START:END:STEP`, END included, with as many decimals as the most precise of the three; other text
 * is one value.
 *
 * @throws InputError if it has no values, or more than a job may have tasks
 */
function expandRange(name: string, text: string): string[] {
  const match = RANGE.exec(text);
  if (match === null) return [text];
  const parts = match.slice(1);
  const decimals = Math.max(...parts.map((part) => part.split('.')[1]?.length ?? 0));
  // Whole multiples of the last decimal, because sums of fractions are inexact.
  const [first, last, step] = parts.map((part) => scaled(part, decimals)) as [bigint, bigint, bigint];
  const refuse = (problem: string, hint: string): InputError =>
    new InputError('bad-option', `--param ${name}: ${text} ${problem}`, hint);
  if (step === 0n)
    throw refuse('has the step 0', 'values with colons are read from a file: --param @FILE.csv');
  if (step > 0n ? last < first : last > first)
    throw refuse(
      'never reaches its end',
      `write ${parts[0]}:${parts[1]}:${step > 0n ? '-' : ''}${parts[2]!.replace(/^[+-]/, '')}`,
    );
  const count = (last - first) / step + 1n;
  if (count > BigInt(LIMITS.tasksPerJobMax))
    throw refuse(
      `has ${count} values; a job has at most ${LIMITS.tasksPerJobMax} tasks`,
      'use a larger step',
    );
  return Array.from({ length: Number(count) }, (_, at) => unscaled(first + BigInt(at) * step, decimals));
}

function scaled(text: string, decimals: number): bigint {
  const [whole = '', fraction = ''] = text.replace(/^[+-]/, '').split('.');
  const value = BigInt(`${whole}${fraction.padEnd(decimals, '0')}`);
  return text.startsWith('-') ? -value : value;
}

function unscaled(value: bigint, decimals: number): string {
  const digits = `${value < 0n ? -value : value}`.padStart(decimals + 1, '0');
  const at = digits.length - decimals;
  return `${value < 0n ? '-' : ''}${digits.slice(0, at)}${decimals > 0 ? `.${digits.slice(at)}` : ''}`;
}
