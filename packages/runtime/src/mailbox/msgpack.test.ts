import fc from 'fast-check';
import { Packr, Unpackr } from 'msgpackr';
import { describe, expect, test } from 'vitest';
import { FrameTooLargeError, MalformedFrameError, UnencodableError } from './errors.js';
import { MsgpackReader } from './msgpack-reader.js';
import { MsgpackWriter } from './msgpack-writer.js';

const NESTING = 8;
const SEED = 20150708;

function encode(value: unknown): Buffer {
  const writer = new MsgpackWriter({ memoryMax: 1 << 20, nestingMax: NESTING });
  writer.write(value);
  return writer.copy();
}

const reader = new MsgpackReader(10_000, NESTING);

function decode(bytes: Uint8Array | readonly number[]): unknown {
  return reader.read(Buffer.from(bytes));
}

function roundTrip(value: unknown): unknown {
  return decode(encode(value));
}

/** Values as messages hold them: JSON, every double, and binary. */
const messageValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: NESTING - 1, withCrossShrink: true },
    fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.double(), fc.boolean(), fc.constant(null)),
    fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ maxLength: 300 })),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    fc.array(tie('value'), { maxLength: 20 }),
    fc.dictionary(
      fc.string().filter((key) => key !== '__proto__'),
      tie('value'),
      { noNullPrototype: true },
    ),
  ),
})).value;

/** −0 travels as 0. */
function withoutNegativeZero(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(withoutNegativeZero);
  }
  if (value !== null && typeof value === 'object' && !(value instanceof Uint8Array)) {
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, withoutNegativeZero(entry)]));
  }
  return value === 0 ? 0 : value;
}

describe('values', () => {
  test('arrive as they were sent', () => {
    fc.assert(
      fc.property(messageValue, (value) => {
        expect(roundTrip(value)).toStrictEqual(withoutNegativeZero(value));
      }),
      { seed: SEED, numRuns: 2_000 },
    );
  });

  test('are written as another implementation reads them', () => {
    const unpackr = new Unpackr({ useRecords: false, copyBuffers: true });
    fc.assert(
      fc.property(messageValue, (value) => {
        expect(unpackr.unpack(encode(value))).toStrictEqual(withoutNegativeZero(value));
      }),
      { seed: SEED, numRuns: 1_000 },
    );
  });

  test('are read as another implementation writes them', () => {
    const packr = new Packr({ useRecords: false, variableMapSize: true });
    fc.assert(
      fc.property(messageValue, (value) => {
        expect(decode(packr.pack(value))).toStrictEqual(withoutNegativeZero(value));
      }),
      { seed: SEED, numRuns: 1_000 },
    );
  });

  test.each([
    0,
    1,
    127,
    128,
    255,
    256,
    65_535,
    65_536,
    2 ** 31,
    2 ** 32 - 1,
    2 ** 32,
    -1,
    -32,
    -33,
    -128,
    -129,
    -32_768,
    -32_769,
    -(2 ** 31),
    -(2 ** 31) - 1,
    2 ** 53,
    2 ** 53 + 2,
    1e300,
    0.1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
  ])('number %d keeps its value', (value) => {
    expect(roundTrip(value)).toBe(value);
  });

  test.each([0, 31, 32, 47, 48, 255, 256, 65_535, 65_536])(
    'a string of %d units keeps its value',
    (length) => {
      expect(roundTrip('x'.repeat(length))).toBe('x'.repeat(length));
      expect(roundTrip('é'.repeat(length))).toBe('é'.repeat(length));
    },
  );

  test.each([15, 16, 3_000])('an array and a map of %d entries keep their value', (count) => {
    const entries = Array.from({ length: count }, (_, i) => i);
    expect(roundTrip(entries)).toStrictEqual(entries);
    const map = Object.fromEntries(entries.map((i) => [`key ${i}`, i]));
    expect(roundTrip(map)).toStrictEqual(map);
  });

  test.each([0, 255, 256, 65_536])('%d bytes arrive in memory of their own', (length) => {
    const sent = new Uint8Array(length).fill(7);
    const encoded = encode(sent);
    const received = decode(encoded);
    encoded.fill(0);
    expect(received).toStrictEqual(Buffer.alloc(length, 7));
  });

  test('undefined arrives as null in an array, and not at all as a property', () => {
    expect(roundTrip([1, undefined, 3])).toStrictEqual([1, null, 3]);
    expect(roundTrip({ a: undefined, b: 1 })).toStrictEqual({ b: 1 });
    expect(roundTrip(new Array(2))).toStrictEqual([null, null]);
  });

  test('−0 arrives as 0, and half a surrogate pair as U+FFFD', () => {
    expect(roundTrip(-0)).toBe(0);
    expect(roundTrip('a\ud800b')).toBe('a\ufffdb');
  });

  test.each([
    ['a Date', new Date(0)],
    ['a Map', new Map()],
    ['a Set', new Set()],
    ['a BigInt', 1n],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['an Error', new Error('e')],
    ['a Float64Array', new Float64Array(1)],
    ['a property named __proto__', JSON.parse('{"__proto__": 1}')],
  ])('%s is refused where it is sent', (_, value) => {
    expect(() => encode([1, { inner: value }])).toThrow(UnencodableError);
  });

  test('an array that contains itself is refused', () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    expect(() => encode(cycle)).toThrow(/nested deeper than 8 levels, or contains itself/);
  });

  test('what needs more memory than is allowed is refused before the memory is taken', () => {
    expect(() => encode('x'.repeat(2 << 20))).toThrow(FrameTooLargeError);
    expect(() => encode(Array.from({ length: 5 }, () => 'x'.repeat(300_000)))).toThrow(FrameTooLargeError);
  });
});

describe('bytes from outside', () => {
  const one = [0x93, 1, 2, 3];

  /** Each is one of the ways in which MessagePack libraries let bytes define, refer or construct. */
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
    ['a Date', [0xd6, 0xff, 0, 0, 0, 1]],
    ['undefined', [0xd4, 0, 0]],
    ['a BigInt', [0xc7, 1, 0x42, 1]],
  ];

  test.each(extensions)('%s is refused, and what follows is read right', (_, bytes) => {
    for (const framed of [bytes, [0x92, ...bytes, 1], [0x81, 0xa1, 0x61, ...bytes]]) {
      expect(() => decode(framed)).toThrow(MalformedFrameError);
    }
    // Where records exist, the numbers 64 to 127 are the ones that a definition takes over.
    const numbers = Array.from({ length: 128 }, (__, i) => i);
    expect(roundTrip(numbers)).toStrictEqual(numbers);
    expect(roundTrip({ a: 1, b: 2 })).toStrictEqual({ a: 1, b: 2 });
  });

  test.each([
    ['no bytes', []],
    ['an array longer than the frame', [0xdd, 0xff, 0xff, 0xff, 0xff]],
    ['a map longer than the frame', [0xdf, 0x7f, 0xff, 0xff, 0xff, 0xa0]],
    ['a string longer than the frame', [0xdb, 0xff, 0xff, 0xff, 0xff, 0x61]],
    ['binary longer than the frame', [0xc6, 0xff, 0xff, 0xff, 0xff, 0x61]],
    ['a number cut short', [0xcb, 0, 0, 0]],
    ['a length cut short', [0xdc, 0]],
    ['an array cut short', [0x93, 1, 2]],
    ['bytes after the value', [...one, 0]],
    ['a key that is a number', [0x81, 1, 1]],
    ['a key that is an array', [0x81, 0x90, 1]],
    ['the key __proto__', [0x81, 0xa9, ...Buffer.from('__proto__'), 0x80]],
    ['an integer above 2^53', [0xcf, 0, 0x20, 0, 0, 0, 0, 0, 1]],
    ['an integer below −2^53', [0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0]],
  ])('%s is refused', (_, bytes) => {
    expect(() => decode(bytes)).toThrow(MalformedFrameError);
  });

  test('nesting is bounded, however cheap it is for the sender', () => {
    expect(() => decode(Buffer.alloc(1 << 20, 0x91))).toThrow(/nested deeper than 8 levels/);
    expect(decode([...Array(NESTING - 1).fill(0x91), 0x90])).toBeDefined();
  });

  test('the number of values is bounded, summed over all arrays and maps', () => {
    const tooMany = Buffer.concat([Buffer.from([0xdc, 0x27, 0x11]), Buffer.alloc(10_001, 0xc0)]);
    expect(() => decode(tooMany)).toThrow(/more than 10000 values/);
    const nested = Buffer.concat(
      Array(101).fill(Buffer.concat([Buffer.from([0xdc, 0, 99]), Buffer.alloc(99)])),
    );
    expect(() => decode(Buffer.concat([Buffer.from([0xdc, 0, 101]), nested]))).toThrow(
      /more than 10000 values/,
    );
  });

  test('integers of 64 bits within 2^53, and floats of 32, are accepted from other implementations', () => {
    expect(decode([0xcf, 0, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])).toBe(Number.MAX_SAFE_INTEGER);
    expect(decode([0xd3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe])).toBe(-2);
    expect(decode([0xca, 0x3f, 0xc0, 0, 0])).toBe(1.5);
  });

  test('bytes that are no UTF-8 do no harm', () => {
    expect(decode([0xa3, 0xff, 0x61, 0xfe])).toBe('\ufffda\ufffd');
  });
});
