import { LIMITS, nearest } from '@goshawk/core';

/** An invalid field of a case; other errors of a check are described by their file alone. */
export class FieldError extends TypeError {
  override name = 'FieldError';
}

/**
 * Types of a case's fields. A missing field, text instead of a number, or billions of tasks could otherwise make
 * a case run forever.
 */
export type FieldKind =
  | 'number'
  | 'amount'
  | 'positive'
  | 'count'
  | 'numbers'
  | 'amounts'
  | 'counts'
  | 'list'
  | 'object'
  | 'text'
  | 'share'
  | 'any';

/** Fields of an object; a question mark at the end of a name makes the field optional. */
export type Fields = Readonly<Record<string, FieldKind>>;

const COUNT_MAX = LIMITS.tasksPerJobMax;

const IS: Readonly<Record<FieldKind, (value: unknown) => boolean>> = {
  number: isNumber,
  amount: isAmount,
  positive: (value) => isNumber(value) && (value as number) > 0,
  count: isCount,
  numbers: (value) => Array.isArray(value) && value.every(isNumber),
  amounts: (value) => Array.isArray(value) && value.every(isAmount),
  counts: (value) => Array.isArray(value) && value.every(isCount),
  list: Array.isArray,
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  text: (value) => typeof value === 'string',
  share: isShare,
  any: () => true,
};

const WORDS: Readonly<Record<FieldKind, string>> = {
  number: 'a number',
  amount: 'a number, zero or more',
  positive: 'a number above zero',
  count: `a whole number from 0 to ${COUNT_MAX}`,
  numbers: 'a list of numbers',
  amounts: 'a list of numbers, zero or more',
  counts: `a list of whole numbers from 0 to ${COUNT_MAX}`,
  list: 'a list',
  object: 'an object',
  text: 'a text',
  share: 'a fraction of a server as text, such as "2/3" or "0.4"',
  any: 'anything',
};

/** @throws FieldError at the first field that is missing or of the wrong type */
export function checkKnown(value: unknown, fields: Fields, where: string): void {
  if (!IS.object(value)) throw new FieldError(`${where} is not an object`);
  for (const [key, kind] of Object.entries(fields)) {
    const name = key.replace('?', '');
    const field = (value as Readonly<Record<string, unknown>>)[name];
    if (field === undefined && key.endsWith('?')) continue;
    if (field === undefined) throw new FieldError(`${where} has no field '${name}'; it is ${WORDS[kind]}`);
    checkValue(field, kind, `${where}.${name}`);
  }
}

/** @throws FieldError at the first field that is missing, unknown or of the wrong type */
function checkFields(value: unknown, fields: Fields, where: string): void {
  if (!IS.object(value)) throw new FieldError(`${where} is not an object`);
  const known = Object.keys(fields).map((name) => name.replace('?', ''));
  for (const name of Object.keys(value as object)) {
    if (known.includes(name)) continue;
    const suggestion = nearest(name, known);
    throw new FieldError(
      `${where} has the unknown field '${name}'; ${suggestion === undefined ? `known fields are ${known.join(', ')}` : `did you mean '${suggestion}'?`}`,
    );
  }
  checkKnown(value, fields, where);
}

/** @throws FieldError for another type */
export function checkValue(value: unknown, kind: FieldKind, where: string): void {
  if (!IS[kind](value)) throw new FieldError(`${where} is ${JSON.stringify(value)}; it is ${WORDS[kind]}`);
}

/** Checks each element of a list. @param check `checkKnown` if elements may have further fields */
export function checkEach(list: unknown, fields: Fields, where: string, check = checkFields): void {
  checkValue(list, 'list', where);
  for (const [place, each] of (list as unknown[]).entries()) check(each, fields, `${where}[${place}]`);
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value);
}

function isAmount(value: unknown): boolean {
  return isNumber(value) && (value as number) >= 0;
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= COUNT_MAX;
}

function isShare(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  const [, above, below = '1'] = /^(\d+(?:\.\d+)?)(?:\/(\d+))?$/.exec(value) ?? [];
  const share = Number(above) / Number(below);
  return share > 0 && share <= 1;
}
