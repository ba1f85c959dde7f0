import { deepStrictEqual } from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { addExtension } from 'msgpackr';
import { describe, expect, test } from 'vitest';
import { FrameTooLargeError, MalformedFrameError, UnencodableError } from '../errors.js';
import { checkEncodable } from './encodable.js';
import { pack, unpack } from './msgpack.js';

const NESTING = 8;
const SEED = 20150708;

function encode(value: unknown): Buffer {
  checkEncodable(value, { frameBytesMax: 1 << 20, frameValuesMax: 200_000, nestingMax: NESTING });
  const packed = pack(value);
  return Buffer.from(packed.subarray(packed.start, packed.end));
}

function decode(bytes: Uint8Array | readonly number[]): unknown {
  return unpack(Buffer.from(bytes), { valuesMax: 200_000, nestingMax: NESTING });
}

function roundTrip(value: unknown): unknown {
  return decode(encode(value));
}

/** Values as messages hold them: JSON, every double, and binary. */
const messageValue = fc
  .letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: NESTING - 1, withCrossShrink: true },
      fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.double(), fc.boolean(), fc.constant(null)),
      fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ maxLength: 300 })),
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
      fc.array(tie('value'), { maxLength: 20 }),
      fc.dictionary(
        fc.oneof(fc.string(), fc.constantFrom('constructor', 'hasOwnProperty', 'toJSON', 'length', '0')),
        tie('value'),
        { noNullPrototype: true },
      ),
    ),
  }))
  .value.filter((value) => !JSON.stringify(value).includes('"__proto__":'));

/** −0 travels as 0. */
function withoutNegativeZero(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNegativeZero);
  if (value !== null && typeof value === 'object' && !(value instanceof Uint8Array)) {
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, withoutNegativeZero(entry)]));
  }
  return value === 0 ? 0 : value;
}

describe('values', () => {
  test('arrive as they were sent', () => {
    fc.assert(
      fc.property(messageValue, (value) => {
        deepStrictEqual(roundTrip(value), withoutNegativeZero(value));
      }),
      { seed: SEED, numRuns: 3_000 },
    );
  });

  test.each([0, 127, 128, -32, -33, 2 ** 32 - 1, 2 ** 32, -(2 ** 31) - 1, 2 ** 53 + 2, 1e300, NaN, Infinity])(
    'number %d keeps its value',
    (value) => {
      expect(roundTrip(value)).toBe(value);
    },
  );

  test.each([15, 16, 17, 63, 64, 65, 65_536])('text of %d units keeps its value', (length) => {
    expect(roundTrip(['x'.repeat(length)])).toStrictEqual(['x'.repeat(length)]);
    expect(roundTrip(['é'.repeat(length)])).toStrictEqual(['é'.repeat(length)]);
  });

  test('an array and a map of more than 65,535 entries keep their value', () => {
    const entries = Array.from({ length: 70_000 }, (_, i) => i);
    expect(roundTrip(entries)).toStrictEqual(entries);
    const map = Object.fromEntries(entries.map((i) => [`key ${i}`, i]));
    expect(roundTrip(map)).toStrictEqual(map);
  });

  test('an object without a prototype arrives as a plain one', () => {
    expect(roundTrip(Object.assign(Object.create(null), { a: 1 }))).toStrictEqual({ a: 1 });
  });

  test('undefined arrives as null in an array, and not at all as a property', () => {
    expect(roundTrip([1, undefined, 3])).toStrictEqual([1, null, 3]);
    expect(roundTrip({ a: undefined, b: 1 })).toStrictEqual({ b: 1 });
    expect(roundTrip(new Array(2))).toStrictEqual([null, null]);
  });

  test('−0 arrives as 0, and half a surrogate pair as U+FFFD, once or more', () => {
    expect(roundTrip(-0)).toBe(0);
    expect(roundTrip('a\ud800b')).toMatch(/^a\ufffd+b$/);
  });

  test.each([
    ['a Date', new Date(0)],
    ['a Map', new Map()],
    ['a Set', new Set()],
    ['a bigint', 1n],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['a Error', new Error('e')],
    ['a RegExp', /r/],
    ['a ArrayBuffer', new ArrayBuffer(8)],
    ['a Float64Array', new Float64Array(1)],
    ['a Money', new (class Money {})()],
    ['a property named __proto__', JSON.parse('{"__proto__": 1}')],
  ])('%s is refused at the sender', (name, value) => {
    expect(() => encode([1, { inner: value }])).toThrow(UnencodableError);
    expect(() => encode([1, { inner: value }])).toThrow(`${name} cannot be sent in a message`);
  });

  test('a cyclic value is refused', () => {
    const list: unknown[] = [];
    list.push(list);
    const map: Record<string, unknown> = {};
    map.self = map;
    expect(() => encode(list)).toThrow('nested deeper than 8 levels, or contains itself');
    expect(() => encode(map)).toThrow('nested deeper than 8 levels, or contains itself');
  });

  test('a value that cannot fit is refused before memory is allocated for it', () => {
    expect(() => encode('x'.repeat(2 << 20))).toThrow(FrameTooLargeError);
    expect(() => encode(Array.from({ length: 5 }, () => 'x'.repeat(300_000)))).toThrow(FrameTooLargeError);
    expect(() => encode(Buffer.alloc(2 << 20))).toThrow(FrameTooLargeError);
    expect(() => encode(new Array(1e9))).toThrow(FrameTooLargeError);
  });

  test('the memory of a large value is freed', () => {
    expect(pack('x'.repeat(1 << 20)).length).toBeGreaterThan(1 << 20);
    expect(pack('x').length).toBeLessThan(1 << 20);
  });

  test('extensions registered with msgpackr elsewhere do not reach the wire', () => {
    addExtension({ Class: Uint8Array, type: 1, pack: () => Buffer.from('other'), unpack: () => 'other' });
    expect(roundTrip([new Uint8Array([7])])).toStrictEqual([Buffer.from([7])]);
  });
});

describe('bytes of other processes', () => {
  const one = [0x93, 1, 2, 3];

  /** Each uses a feature by which MessagePack libraries let bytes define records, refer to values or construct objects. */
  const extensions: readonly (readonly [string, readonly number[]])[] = [
    ['a record definition (fixext 1)', [0xd4, 0x72, 0x40, 0x92, 0xa1, 0x61, 0xa1, 0x62, 1, 2]],
    ['a record definition (fixext 2)', [0xd5, 0x72, 0x40, 0x00, 0x92, 0xa1, 0x61, 0xa1, 0x62, 1, 2]],
    ['a record definition (ext 8)', [0xc7, 0x01, 0x72, 0x40, 0x91, 0xa1, 0x61, 1]],
    ['a record definition (ext 16)', [0xc8, 0x00, 0x01, 0x72, 0x40, 0x91, 0xa1, 0x61, 1]],
    ['a record definition (ext 32)', [0xc9, 0, 0, 0, 1, 0x72, 0x40, 0x91, 0xa1, 0x61, 1]],
    ['a record inside an array', [0x92, 0xd4, 0x72, 0x40, 0x91, 0xa1, 0x61, 1, 0x40]],
    ['a structured-clone id', [0xd6, 0x69, 0, 0, 0, 1, 0x90]],
    ['a structured-clone pointer', [0xd6, 0x70, 0, 0, 0, 1]],
    ['bundled strings', [0xd6, 0x62, 0, 0, 0, 9, 0xa1, 0x61, 0xa1, 0x62]],
    ['a reference to a bundled string', [0xc1, 1]],
    ['a Set', [0xd4, 0x73, 0, 0x91, 1]],
    ['an Error', [0xd4, 0x65, 0, 0x92, 0xa5, 0x45, 0x72, 0x72, 0x6f, 0x72, 0xa1, 0x78]],
    ['a RegExp', [0xd4, 0x78, 0, 0x92, 0xa4, 0x28, 0x61, 0x2b, 0x29, 0xa0]],
    ['a typed array', [0xc7, 9, 0x74, 8, 0, 0, 0, 0, 0, 0, 0, 0]],
    ['a Date (fixext 4)', [0xd6, 0xff, 0, 0, 0, 1]],
    ['a Date (fixext 8)', [0xd7, 0xff, 0, 0, 0, 0, 0, 0, 0, 1]],
    ['undefined', [0xd4, 0, 0]],
    ['a BigInt', [0xc7, 1, 0x42, 1]],
    ['an extension that nobody knows (fixext 16)', [0xd8, 1, ...Array(16).fill(0)]],
  ];

  test.each(extensions)('%s is refused, and later frames are read correctly', (_, bytes) => {
    for (const framed of [bytes, [0x92, ...bytes, 1], [0x81, 0xa1, 0x61, ...bytes]]) {
      expect(() => decode(framed)).toThrow(/^type 0x[0-9a-f]{2} is not allowed$/);
    }
    // With records, the numbers 64 to 127 are redefined.
    const numbers = Array.from({ length: 128 }, (__, i) => i);
    expect(roundTrip(numbers)).toStrictEqual(numbers);
    expect(roundTrip({ a: 1, b: 2 })).toStrictEqual({ a: 1, b: 2 });
  });

  test.each([
    ['no bytes', []],
    ['an array longer than the frame', [0xdd, 0xff, 0xff, 0xff, 0xff]],
    ['arrays longer than the frame', Array(7).fill([0xdc, 0xff, 0xff]).flat()],
    ['a map longer than the frame', [0xdf, 0x7f, 0xff, 0xff, 0xff, 0xa0]],
    ['a string longer than the frame', [0xdb, 0xff, 0xff, 0xff, 0xff, 0x61]],
    ['a short string longer than the frame', [0xa5, 0x61]],
    ['binary longer than the frame', [0xc6, 0xff, 0xff, 0xff, 0xff, 0x61]],
    ['a number cut short', [0xcb, 0, 0, 0]],
    ['a length cut short', [0xdc, 0]],
    ['an array cut short', [0x93, 1, 2]],
    ['a map cut short', [0x81, 0xa1, 0x61]],
    ['bytes after the value', [...one, 0]],
    ['a key that is an array', [0x81, 0x90, 1]],
    ['a key that is a map', [0x81, 0x80, 1]],
    ['a key that is binary', [0x81, 0xc4, 0, 1]],
  ])('%s is refused', (_, bytes) => {
    expect(() => decode(bytes)).toThrow(MalformedFrameError);
  });

  test('every accepted value can be sent', () => {
    const token = fc.oneof(
      fc.constantFrom(
        0x80,
        0x81,
        0x82,
        0x90,
        0x91,
        0x92,
        0x93,
        0xa0,
        0xa1,
        0xc0,
        0xc2,
        0xc4,
        0xca,
        0xcb,
        0xcc,
      ),
      fc.constantFrom(0xcf, 0xd3, 0xd9, 0xdc, 0xde, 0, 1, 0x40, 0x61, 0xe0),
      fc.nat(255),
    );
    let accepted = 0;
    fc.assert(
      fc.property(fc.array(token, { maxLength: 24 }), (bytes) => {
        let value: unknown;
        try {
          value = decode(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedFrameError);
          return;
        }
        accepted++;
        deepStrictEqual(roundTrip(value), withoutNegativeZero(value));
      }),
      { seed: SEED, numRuns: 20_000 },
    );
    expect(accepted).toBeGreaterThan(500);
  });

  test('a key cannot be the prototype', () => {
    const value = decode([0x81, 0xa9, ...Buffer.from('__proto__'), 0x81, 0xa1, 0x61, 1]) as { a?: unknown };
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(value.a).toBeUndefined();
  });

  test('nesting is bounded, however cheap it is for the sender', () => {
    expect(() => decode(Buffer.alloc(1 << 20, 0x91))).toThrow('nested deeper than 8 levels');
    expect(decode([...Array(NESTING - 1).fill(0x91), 0x90])).toBeDefined();
  });

  test('the number of values is bounded, summed over all arrays and maps', () => {
    const tooMany = Buffer.concat([Buffer.from([0xdd, 0, 3, 0x0d, 0x41]), Buffer.alloc(200_001, 0xc0)]);
    expect(() => decode(tooMany)).toThrow('more than 200000 values');
    const nested = Array(2_001).fill(Buffer.concat([Buffer.from([0xdc, 0, 99]), Buffer.alloc(99)]));
    expect(() => decode(Buffer.concat([Buffer.from([0xdc, 0x07, 0xd1]), ...nested]))).toThrow(
      'more than 200000 values',
    );
  });

  test('encodings of other implementations are read: 64-bit integers, 32-bit floats, numbers as keys', () => {
    expect(decode([0xcf, 0, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])).toBe(Number.MAX_SAFE_INTEGER);
    expect(decode([0xd3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe])).toBe(-2);
    expect(decode([0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])).toBe(2 ** 64);
    expect(decode([0xca, 0x3f, 0xc0, 0, 0])).toBe(1.5);
    expect(decode([0x81, 7, 1])).toStrictEqual({ 7: 1 });
  });

  test('bytes that are not UTF-8 do no harm', () => {
    expect(decode([0xa3, 0xff, 0x61, 0xfe])).toBe('\ufffda\ufffd');
  });

  test('stored text does not keep its frame in memory', () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const frame = encode(Array.from({ length: 200 }, (_, i) => `a text of some length, number ${i}`));
    const kept: string[] = [];
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 10_000; i++) kept.push((decode(frame) as string[])[100] as string);
    collectGarbage();
    const bytesEach = (process.memoryUsage().heapUsed - before) / kept.length;
    expect(bytesEach).toBeLessThan(500);
  });
});
