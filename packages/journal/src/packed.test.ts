import fc from 'fast-check';
import { Packr } from 'msgpackr/index-no-eval';
import { describe, expect, test } from 'vitest';
import { endOf, PackedError } from './packed.js';

const packr = new Packr({ useRecords: false, variableMapSize: true });

const value = fc.oneof(
  fc.jsonValue({ maxDepth: 5 }),
  fc.uint8Array({ maxLength: 300 }),
  fc.string({ maxLength: 70_000, size: 'max' }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.double(),
  fc.array(fc.integer(), { maxLength: 70_000, size: 'max' }),
  fc.dictionary(fc.string(), fc.integer(), { maxKeys: 40 }),
);

describe('the end of a packed value', () => {
  test('is the start of the next one', () => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 5 }), (values) => {
        const parts = values.map((each) => Buffer.from(packr.pack(each)));
        const bytes = Buffer.concat(parts);
        let at = 0;
        for (const part of parts) {
          const end = endOf(bytes, at);
          expect(end - at).toBe(part.length);
          at = end;
        }
      }),
      { numRuns: 200 },
    );
  });

  test('is not found if the bytes are truncated', () => {
    const bytes = Buffer.from(packr.pack({ a: [1, 'x'.repeat(300), 2.5], b: new Uint8Array(70_000) }));
    for (const length of [0, 1, 2, 5, 9, 100, 320, 1_000, bytes.length - 1])
      expect(() => endOf(bytes.subarray(0, length), 0)).toThrow(PackedError);
  });

  test('is found at any depth', () => {
    const deep = Buffer.concat([Buffer.alloc(1_000_000, 0x91), Buffer.from([0xc0])]);
    expect(endOf(deep, 0)).toBe(deep.length);
  });
});
