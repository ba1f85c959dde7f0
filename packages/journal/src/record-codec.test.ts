import { readFileSync } from 'node:fs';
import { parseJobSpec } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { BadRecordError, decodeRecord, encodeRecord, FORMAT } from './record-codec.js';
import { accepted, BY_FORMAT } from './records.fixture.js';

describe('records as bytes', () => {
  const linesOf = (format: number): string[] =>
    readFileSync(new URL(`./record-format-${format}.golden.txt`, import.meta.url), 'utf8')
      .trim()
      .split('\n');

  test.each(Array.from({ length: FORMAT }, (_, before) => before + 1))(
    'format %i is read as it was when it was made',
    (format) => {
      const read = linesOf(format).map((hex) => decodeRecord(Buffer.from(hex, 'hex')));
      expect(read).toEqual(BY_FORMAT.slice(0, read.length));
    },
  );

  test('keeps all that a job can say', () => {
    const spec = parseJobSpec({
      tasks: [{ exec: ['a'], stdout: 'out/{index}', stderr: '/dev/null' }],
      retries: 2,
      retryBackoff: '1s',
      retryOn: [75, 137],
      timeLimit: '10m',
      priority: 'low',
      prefer: { rack: 'r1' },
      slowdown: 2,
      after: ['a-1'],
      afterOk: ['a-2'],
      deadline: '1h',
      value: 3,
      maxRunning: 4,
      timeout: '5s',
    });
    // A field that this version does not know is kept as well.
    const said = { ...spec, added: 'later' };
    expect(decodeRecord(encodeRecord(accepted(1, { spec: said })))).toEqual(accepted(1, { spec: said }));
  });

  test(`format ${FORMAT} is written as it was when it was made`, () => {
    expect(BY_FORMAT.map((record) => encodeRecord(record).toString('hex'))).toEqual(linesOf(FORMAT));
  });

  test('what was decided before estimates were written down has none', () => {
    const bytes =
      'f02868ba960101cb427a3185c5002000a46c6f6e67a570696c6f7482a26279a763656e7472616ca46f766572a767656e6572616c';
    expect(decodeRecord(Buffer.from(bytes, 'hex'))).toEqual({ ...BY_FORMAT[1], estimateMs: undefined });
  });

  test.each(BY_FORMAT.filter(({ kind }) => kind === 'accepted' || kind === 'classified'))(
    'what is believed of stages is kept with a job that was $kind',
    (record) => {
      const believed = { ...record, stagesMs: [30_000, 1.5] };
      expect(decodeRecord(encodeRecord(believed))).toEqual(believed);
    },
  );

  test('a job given as a column of sleeps keeps it', () => {
    const spec = {
      ...accepted(1).spec,
      stages: [{ name: 's', after: [], demand: {}, tasks: { sleepsMs: new Float64Array([1, 2.5]) } }],
    };
    const read = decodeRecord(encodeRecord(accepted(1, { spec })));
    expect(read).toMatchObject({ spec: { stages: [{ tasks: { sleepsMs: [1, 2.5] } }] } });
  });

  test('a job keeps all that was said of it', () => {
    const spec = { ...accepted(1).spec, user: 'ann', estimateMs: 5, logicalName: 'nightly', seed: '7' };
    expect(decodeRecord(encodeRecord(accepted(1, { spec })))).toEqual(accepted(1, { spec }));
  });

  test('a bit that was flipped anywhere is found', () => {
    const good = encodeRecord(accepted(1));
    for (let at = 0; at < good.length; at++) {
      const bad = Buffer.from(good);
      bad[at]! ^= 1;
      expect(() => decodeRecord(bad)).toThrow(BadRecordError);
    }
  });

  test('what is cut short is found', () => {
    const good = encodeRecord(accepted(1));
    for (const length of [0, 3, 4, good.length - 1]) {
      expect(() => decodeRecord(good.subarray(0, length))).toThrow(BadRecordError);
    }
  });
});
