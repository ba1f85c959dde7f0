import { InputError } from '../errors.js';
import { endOfString, jsonExcess } from './json-excess.js';

/**
 * Parses JSON whose fields and numbers keep their values.
 *
 * @param source name of the text, and code and hint of the error for invalid JSON
 * @throws InputError
 */
export function parseExactJson(
  text: string,
  { code, name, hint }: { readonly code: string; readonly name: string; readonly hint: string },
): unknown {
  if (/^\s*$/.test(text)) throw new InputError(code, `${name}: it is empty`, hint);
  const excess = jsonExcess(text);
  if (excess !== undefined) throw new InputError(code, `${name}: ${excess}`, hint);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new InputError(code, `${name}: not JSON: ${(error as Error).message}`, hint, { cause: error });
  }
  const loss = jsonLoss(text, value);
  if (loss === undefined) return value;
  throw new InputError(code, `${name}: ${loss.message}`, loss.hint);
}

/** A part of JSON text that the parsed value lacks. */
interface JsonLoss {
  /** One line with the path of the field, the problem and the remedy. */
  readonly message: string;
  readonly hint: string;
}

/**
 * Returns the first field of valid JSON that parsing loses or changes: one that an object has twice, an integer
 * beyond 2^53 that loses digits, or a number beyond the range of doubles. undefined: there is none.
 *
 * @param value the parsed text
 */
export function jsonLoss(text: string, value: unknown): JsonLoss | undefined {
  // A number with fewer digits does not change, and without repeated fields the value has as many as the text.
  if (!/\d{16}|\d[eE]\+?\d{3}/.test(text) && fieldsIn(text) === fieldsOf(value)) return undefined;
  return findLoss(text);
}

function fieldsIn(text: string): number {
  let fields = 0;
  for (let at = text.indexOf(':'), quote = text.indexOf('"'); at >= 0; ) {
    if (quote >= 0 && quote < at) {
      const end = endOfString(text, quote) + 1;
      quote = text.indexOf('"', end);
      if (at < end) at = text.indexOf(':', end);
    } else {
      fields++;
      at = text.indexOf(':', at + 1);
    }
  }
  return fields;
}

function fieldsOf(value: unknown): number {
  let fields = 0;
  const left = [value];
  while (left.length > 0) {
    const each = left.pop();
    if (typeof each !== 'object' || each === null) continue;
    if (!Array.isArray(each)) fields += Object.keys(each).length;
    for (const inner of Object.values(each)) left.push(inner);
  }
  return fields;
}

/** An object or list around the current token. */
interface Around {
  /** Names of the fields so far; undefined: a list. */
  readonly names: Set<string> | undefined;
  /** Name or index of the current value. */
  at: string | number;
}

/** A quote that begins a string, a bracket, a comma, or a number. */
const TOKENS = /["{}[\],]|-?\d[\d.eE+-]*/g;

function findLoss(text: string): JsonLoss | undefined {
  const around: Around[] = [];
  /** A string is the name of a field after { or a comma in an object. */
  let isName = false;
  TOKENS.lastIndex = 0;
  for (let match = TOKENS.exec(text); match !== null; match = TOKENS.exec(text)) {
    const [token] = match;
    const inner = around.at(-1);
    if (token === '"') {
      const end = endOfString(text, match.index) + 1;
      TOKENS.lastIndex = end;
      if (!isName) continue;
      isName = false;
      const name = JSON.parse(text.slice(match.index, end)) as string;
      inner!.at = name;
      if (inner!.names!.has(name))
        return { message: `${pathOf(around)}: the field appears twice`, hint: 'remove one of them' };
      inner!.names!.add(name);
    } else if (token === '{' || token === '[') {
      const isObject = token === '{';
      around.push({ names: isObject ? new Set() : undefined, at: isObject ? '' : 0 });
      isName = isObject;
    } else if (token === '}' || token === ']') {
      around.pop();
      isName = false;
    } else if (token === ',') {
      isName = inner!.names !== undefined;
      if (!isName) inner!.at = (inner!.at as number) + 1;
    } else if (changes(token)) return changed(token, pathOf(around));
  }
  return undefined;
}

function changed(number: string, path: string): JsonLoss {
  const where = path === '' ? '' : `${path}: `;
  const value = Number(number);
  const shown = number.length > NUMBER_SHOWN ? `${number.slice(0, NUMBER_SHOWN)}…` : number;
  return Number.isFinite(value)
    ? {
        message: `${where}${shown} would become ${value}, because JavaScript numbers have 53 bits`,
        hint: 'write it as a string',
      }
    : { message: `${where}${shown} is too large for a number`, hint: 'write a number below 1e308' };
}

const NUMBER_SHOWN = 40;

function changes(number: string): boolean {
  const value = Number(number);
  if (!Number.isFinite(value)) return true;
  return /^-?\d+$/.test(number) && BigInt(number) !== BigInt(value);
}

/** Maximum number of characters of a path that are shown. */
const PATH_SHOWN = 200;

function pathOf(around: readonly Around[]): string {
  const path = around.reduce(
    (before, { at }) =>
      typeof at === 'number' ? `${before}[${at}]` : before === '' ? at : `${before}.${at}`,
    '',
  );
  return path.length > PATH_SHOWN ? `…${path.slice(-PATH_SHOWN)}` : path;
}
