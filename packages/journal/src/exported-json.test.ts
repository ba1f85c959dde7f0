import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { exportedJson, parseExported } from './exported-json.js';
import { parseExport } from './import-lines.js';
import { decodeRecord, encodeRecord, jsonOf } from './record-codec.js';
import { accepted, attempt, EVERY_KIND } from './records.fixture.js';

const ODD_VALUES: readonly [string, unknown][] = [
  ['bytes', Buffer.from([0, 255, 128, 10])],
  ['no bytes', Buffer.alloc(0)],
  ['NaN', Number.NaN],
  ['infinities', [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]],
  ['a negative zero', -0],
  ['a date', new Date(1_800_000_000_123)],
  ['an object that looks like bytes', { $goshawk: 'bytes', base64: 'AAAA' }],
  ['an object that looks like an escaped one', { $$goshawk: 'bytes', $goshawk: { $$$goshawk: 1 } }],
  ['a field of the same name beside bytes', { $goshawk: Buffer.from('a'), other: [{ $goshawk: 1 }] }],
  ['an object that looks like bytes of JSON.stringify', { a: [{ type: 'Buffer', data: [1, 255] }] }],
  ['plain JSON', { a: [1, 'two', null, true, { b: {} }] }],
];

describe('an export', () => {
  test.each(ODD_VALUES)('restores %s', (_, value) => {
    expect(parseExported(exportedJson(value))).toStrictEqual(value);
    const record = attempt(1, 0, value);
    const stored = encodeRecord(record);
    const line = [...jsonOf(stored, ({ job }) => `abcde-${job}`)].join('');
    const text = `${[...jsonOf(encodeRecord(accepted(1)), () => 'abcde-1')].join('')}${line}`;
    const [, imported] = parseExport(Buffer.from(text)).records;
    expect(imported).toStrictEqual(decodeRecord(stored));
    expect(encodeRecord(imported!)).toStrictEqual(stored);
  });

  test('restores a Uint8Array as a Buffer with the same bytes', () => {
    expect(parseExported(exportedJson(new Uint8Array([0, 255])))).toStrictEqual(Buffer.from([0, 255]));
  });

  test('restores bytes in the stdin of tasks, in a small and in a large record', () => {
    for (const size of [10, 2_000_000]) {
      const stdin = Buffer.alloc(size, 0xff);
      const [stage] = accepted(1).spec.stages;
      const tasks = { each: [{ exec: ['cat'], stdin }, { sleep: 1 }] } as never;
      const spec = { ...accepted(1).spec, stages: [{ ...stage!, tasks }] };
      const stored = encodeRecord(accepted(1, { spec }));
      const line = [...jsonOf(stored, () => 'abcde-1')].join('');
      // Vitest takes half a minute to compare 2 MB.
      expect(isDeepStrictEqual(parseExport(Buffer.from(line)).records[0], decodeRecord(stored))).toBe(true);
    }
  });

  test('without such values is plain JSON', () => {
    for (const record of EVERY_KIND) expect(exportedJson(record)).toBe(JSON.stringify(record));
  });

  test.each([
    { $goshawk: 'later' },
    { $goshawk: 'bytes', base64: '*' },
    { $goshawk: 'number', value: 'toString' },
  ])('with the mark %j is rejected', (value) => {
    const line = JSON.stringify({ id: 'abcde-1', ...attempt(1, 0, value) });
    expect(() => parseExport(Buffer.from(line))).toThrow('line 1 has an unknown "$goshawk" value');
  });
});
