import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { wireFormat } from './wire-format.js';

const golden = new URL('./wire-format.golden.txt', import.meta.url);
const released = new URL('./wire-format.released.txt', import.meta.url);

const HEADER = `# Codes and fields of every message, in the order in which they stand on the wire. Processes of other
# versions rely on them: lines may be added at the end, and fields at the end of a message; whatever else
# changes here needs a new PROTOCOL_VERSION. After a change that is meant, run this test with UPDATE_GOLDEN=1.
`;

test('the wire format has not changed', () => {
  const current = HEADER + wireFormat();
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(golden, current);
  expect(current).toBe(readFileSync(golden, 'utf8'));
});

test('messages have the fields of the last release in their places, and only optional ones after them', () => {
  const before = linesOf(readFileSync(released, 'utf8'));
  const now = linesOf(wireFormat());
  expect(before.flatMap((line, code) => differences(line, now[code] ?? '(none)', `message ${code}`))).toEqual(
    [],
  );
});

function linesOf(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const [, fields] = /^\d+ \w+\((.*)\)$/.exec(line) ?? [];
    return fields === undefined ? [] : [`record(${fields})`];
  });
}

/** Splits at the commas outside of parentheses. */
function partsOf(text: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const character of text) {
    if (character === '(') depth++;
    if (character === ')') depth--;
    if (character === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts.filter((part) => part !== '');
}

/** Differences of two types on the wire. Names of fields may differ, because the wire has only their places. */
function differences(before: string, now: string, path: string): string[] {
  const [, kind, inner = '', mark] = /^(\w+)(?:\((.*)\))?(\??)$/.exec(before)!;
  const [, kindNow, innerNow = '', markNow] = /^(\w+)(?:\((.*)\))?(\??)$/.exec(now) ?? [];
  if (kind !== kindNow || mark !== markNow) return [`${path}: ${before} became ${now}`];
  const [parts, partsNow] = [partsOf(inner), partsOf(innerNow)];
  if (kind === 'list') return differences(parts[0]!, partsNow[0]!, `${path}[]`);
  if (kind !== 'record') return [];
  const type = (field: string): string => field.slice(field.indexOf(':') + 1);
  const moved = parts.flatMap((field, place) =>
    differences(type(field), type(partsNow[place] ?? ':(none)'), `${path}, ${field.split(':')[0]}`),
  );
  // `resources` are nil for none.
  const needed = partsNow.slice(parts.length).filter((field) => !/(\?|:resources)$/.test(field));
  return [...moved, ...needed.map((field) => `${path}: ${field} is new, but not optional`)];
}
