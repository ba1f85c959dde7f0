import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeValue } from './json-value.js';
import { VALUE_DEPTH_MAX } from './limits.js';

const BYTES_MAX = 10_000;

describe('a value', () => {
  it('of JSON survives the round trip', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        expect(encodeValue(value, 1_000_000)).toEqual({ text: JSON.stringify(value) });
      }),
    );
  });

  it('of undefined counts as absent', () => {
    expect(encodeValue(undefined, BYTES_MAX)).toEqual({ text: undefined });
  });

  it('with toJSON or undefined properties is encoded like JSON.stringify', () => {
    const value = { at: new Date(0), url: new URL('file:///a'), none: undefined };
    expect(encodeValue(value, BYTES_MAX)).toEqual({ text: JSON.stringify(value) });
  });

  it('may be a class instance, and may contain an object twice', () => {
    class Point {
      x = 1;
    }
    const point = new Point();
    expect(encodeValue([point, point], BYTES_MAX)).toEqual({ text: '[{"x":1},{"x":1}]' });
  });

  const cycle: Record<string, unknown> = { list: [] };
  (cycle.list as unknown[]).push(cycle);

  it.each([
    [cycle, 'value.list[0] contains itself'],
    [{ a: [0, 1n] }, 'value.a[1] is a BigInt'],
    [{ run() {} }, 'value.run is a function'],
    [[Symbol('s')], 'value[0] is a symbol'],
    [Number.NaN, 'value is NaN'],
    [{ m: new Map() }, 'value.m is a Map'],
    [new Uint8Array(3), 'value is a Uint8Array'],
    [Promise.resolve(), 'value is a Promise'],
    [new Error('e'), 'value is a Error'],
    [
      {
        get trap() {
          throw new Error('ha');
        },
      },
      'the value cannot be read: Error: ha',
    ],
    [
      {
        get trap() {
          throw Object.create(null);
        },
      },
      'the value cannot be read: [Object: null prototype] {} was thrown, which is not an Error',
    ],
  ])('that JSON would lose or refuse is reported with its path (%#)', (value, message) => {
    const encoded = encodeValue(value, BYTES_MAX);
    expect(encoded).toMatchObject({ problem: 'not-serialisable' });
    expect('message' in encoded && encoded.message).toContain(message);
  });

  it('that is nested too deeply is refused', () => {
    let value: unknown = 0;
    for (let depth = 0; depth < VALUE_DEPTH_MAX; depth++) value = [value];
    expect(encodeValue(value, BYTES_MAX)).toHaveProperty('text');
    expect(encodeValue([value], BYTES_MAX)).toMatchObject({ problem: 'not-serialisable' });
  });

  it('that is too large is refused, even an infinite one', () => {
    expect(encodeValue('x'.repeat(BYTES_MAX - 2), BYTES_MAX)).toHaveProperty('text');
    expect(encodeValue('x'.repeat(BYTES_MAX - 1), BYTES_MAX)).toMatchObject({ problem: 'too-large' });
    let doubled: unknown[] = [];
    for (let depth = 0; depth < 60; depth++) doubled = [doubled, doubled];
    expect(encodeValue(doubled, BYTES_MAX)).toMatchObject({ problem: 'too-large' });
  });
});
