import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Fingerprint } from './fingerprint.js';

function printOf(...parts: readonly (string | number)[]): number {
  const print = new Fingerprint();
  print.begin();
  for (const part of parts) {
    if (typeof part === 'string') print.addText(part);
    else print.addNumber(part);
  }
  return print.value;
}

describe('a fingerprint', () => {
  test('is stable across processes and versions, because it is saved', () => {
    expect(printOf('nightly', 7)).toBe(printOf('nightly', 7));
    expect(printOf('nightly')).toBe(1_822_745_677_037_742);
  });

  test('is a whole number that JSON carries exactly', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.nat())), (parts) => {
        expect(Number.isSafeInteger(printOf(...parts))).toBe(true);
      }),
    );
  });

  test('distinguishes different inputs', () => {
    const different = [
      ['ab', 'c'],
      ['a', 'bc'],
      ['abc'],
      ['c', 'ab'],
      [1],
      [2],
      [1, 0],
      [0, 1],
      [2 ** 40],
      [''],
    ];
    expect(new Set(different.map((parts) => printOf(...parts))).size).toBe(different.length);
  });

  test('of 200,000 names and numbers are all distinct', () => {
    const seen = new Set<number>();
    for (let i = 0; i < 100_000; i++) {
      seen.add(printOf(`job ${i}`));
      seen.add(printOf(i));
    }
    expect(seen.size).toBe(200_000);
  });

  test('depends on the order of its parts', () => {
    const [a, b, ab, ba] = Array.from({ length: 4 }, () => new Fingerprint()) as [
      Fingerprint,
      Fingerprint,
      Fingerprint,
      Fingerprint,
    ];
    for (const print of [a, b, ab, ba]) print.begin();
    a.addText('a');
    b.addText('b');
    ab.join(a);
    ab.join(b);
    ba.join(b);
    ba.join(a);
    expect(ab.value).not.toBe(ba.value);
  });
});
