import { describe, expect, test } from 'vitest';
import { checkOpen, openProblem } from './open.js';

describe('undeclared values in messages', () => {
  test('JSON values, undefined and bytes are permitted', () => {
    const value = { a: [1, 'x', null, true, undefined], b: new Uint8Array(2), c: Object.create(null) };
    expect(openProblem(value)).toBeUndefined();
    expect(openProblem(undefined)).toBeUndefined();
  });

  test('anything else is refused with its path', () => {
    expect(openProblem({ rows: [{ at: new Date(0) }] })).toBe(
      'rows[0].at: expected a JSON-like value, got an object',
    );
    expect(openProblem(1n)).toBe('expected a JSON-like value, got a bigint');
    expect(openProblem([Symbol('s')])).toBe('[0]: expected a JSON-like value, got a symbol');
    expect(openProblem({ [`k${'e'.repeat(100)}y`]: () => 1 })).toBe(
      `k${'e'.repeat(38)}…: expected a JSON-like value, got a function`,
    );
  });

  test('text and numbers that would arrive as others are refused', () => {
    const half = 'half of a character (a lone surrogate) cannot be passed on';
    expect(openProblem(['x', '\ud800'])).toBe(`[1]: ${half}`);
    expect(openProblem({ '\udc00': 1 })).toContain(half);
    expect(openProblem({ n: Number.POSITIVE_INFINITY })).toBe('n: Infinity, which JSON cannot represent');
    expect(openProblem('\ud83d\ude00')).toBeUndefined();
  });

  test('text that would arrive as other text is not sent, but NaN is', () => {
    expect(() => checkOpen({ name: 'a\ud800' })).toThrow(
      expect.objectContaining({ path: '.name', problem: expect.stringContaining('half of a character') }),
    );
    expect(() => checkOpen({ '\ud800': 1 })).toThrow();
    expect(checkOpen([Number.NaN])).toEqual([Number.NaN]);
  });

  test('a check does not modify the value', () => {
    const bytes = new Uint8Array([1]);
    const value = [bytes];
    expect(openProblem(value)).toBeUndefined();
    expect(value[0]).toBe(bytes);
  });
});
