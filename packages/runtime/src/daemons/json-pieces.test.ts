import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonPieces } from './estimator-state-file.js';

const value = fc.jsonValue({ maxDepth: 3 });

test('chunks of JSON are the whole document when concatenated', () => {
  const long = fc.array(value, { minLength: 250, maxLength: 800 });
  fc.assert(
    fc.property(value, long, (short, list) => {
      for (const each of [short, list, { short, of: { list, none: undefined } }, {}, []]) {
        expect([...jsonPieces(each)].join('')).toBe(JSON.stringify(each));
      }
    }),
    { numRuns: 50 },
  );
});

test('no chunk contains more than a few hundred elements', () => {
  const pieces = [...jsonPieces({ values: Array.from({ length: 10_000 }, () => 'x'.repeat(10)) })];
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(5_000);
});
