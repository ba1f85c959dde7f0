import { nearest } from '@goshawk/core';

/**
 * Types of a case's fields. A missing field, or text instead of a number, could otherwise make a case run
 * forever.
 */
export type FieldKind = 'number' | 'amount' | 'numbers' | 'list' | 'text' | 'any';

/** Fields of an object; a question mark at the end of a name makes the field optional. */
export type Fields = Readonly<Record<string, FieldKind>>;

const IS: Readonly<Record<FieldKind, (value: unknown) => boolean>> = {
  number: isNumber,
  amount: (value) => isNumber(value) && (value as number) >= 0,
  numbers: (value) => Array.isArray(value) && value.every(isNumber),
  list: Array.isArray,
  text: (value) => typeof value === 'string',
  any: () => true,
};

const WORDS: Readonly<Record<FieldKind, string>> = {
  number: 'a number',
  amount: 'a number, zero or more',
  numbers: 'a list of numbers',
  list: 'a list',
  text: 'a text',
  any: 'anything',
};

/** @throws TypeError at the first field that is missing, unknown or of the wrong type */
function checkFields(value: unknown, fields: Fields, where: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError(`${where} is not an object`);
  const known = Object.keys(fields).map((name) => name.replace('?', ''));
  for (const name of Object.keys(value)) {
    if (known.includes(name)) continue;
    const suggestion = nearest(name, known);
    throw new TypeError(
      `${where} has the unknown field '${name}'; ${suggestion === undefined ? `known fields are ${known.join(', ')}` : `did you mean '${suggestion}'?`}`,
    );
  }
  for (const [key, kind] of Object.entries(fields)) {
    const name = key.replace('?', '');
    const field = (value as Readonly<Record<string, unknown>>)[name];
    if (field === undefined && key.endsWith('?')) continue;
    if (field === undefined) throw new TypeError(`${where} has no field '${name}'; it is ${WORDS[kind]}`);
    if (!IS[kind](field))
      throw new TypeError(`${where}.${name} is ${JSON.stringify(field)}; it is ${WORDS[kind]}`);
  }
}

/** Checks each element of a list. */
export function checkEach(list: readonly unknown[], fields: Fields, where: string): void {
  for (const [place, each] of list.entries()) checkFields(each, fields, `${where}[${place}]`);
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value);
}
