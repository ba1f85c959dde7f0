import type { IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { setImmediate as nextLoop } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Bodies, valuesOf } from './bodies.js';
import { LIMITS } from './limits.js';
import type { TakeTurn } from './turns.js';

const request = () => ({}) as IncomingMessage;

function inChunks(text: string, bytes = 65_536): Readable {
  const body = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(body.length / bytes) }, (_, i) => i * bytes);
  return Readable.from(pieces.map((at) => body.subarray(at, at + bytes)));
}

function countOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return 1 + Object.values(value).reduce((sum: number, one) => sum + countOf(one), 0);
}

describe('a body', () => {
  test('has at most the counted number of values, and not many fewer', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const counted = valuesOf(Buffer.from(JSON.stringify(value)));
        expect(counted).toBeGreaterThanOrEqual(countOf(value));
        expect(counted).toBeLessThanOrEqual(2 * countOf(value));
      }),
    );
  });

  test.each<[text: string, times: number, start?: string]>([
    ['[', LIMITS.bodyBytesMax - 1],
    ['[],', 5_000_000],
    ['"x",', 3_000_000],
    ['{"a":', 200],
    ['"key":1,', 900_000, '{'],
    [' ', LIMITS.bodyBytesMax + 1],
  ])('with too many repetitions of %s is refused before it is parsed', async (text, times, start = '') => {
    await expect(new Bodies().read(request(), inChunks(start + text.repeat(times)))).rejects.toMatchObject({
      status: 413,
      code: 'too-large',
    });
  });

  test('must be UTF-8 without a byte order mark', async () => {
    const read = (bytes: Uint8Array) => new Bodies().read(request(), Readable.from([bytes]));
    expect(await read(Buffer.from('\ufeff"é"'))).toBe('"é"');
    await expect(read(Buffer.of(0x22, 0xff, 0x22))).rejects.toMatchObject({ status: 400, code: 'bad-text' });
  });

  test('is refused while others use the memory budget, and read afterwards', async () => {
    const bodies = new Bodies(1_000);
    const text = JSON.stringify('x'.repeat(600));
    const [first, second] = [request(), request()];
    expect(await bodies.read(first, inChunks(text))).toBe(text);
    await expect(bodies.read(second, inChunks(text, 100))).rejects.toMatchObject({ status: 503 });
    bodies.ended(first);
    expect(await bodies.read(second, inChunks(text))).toBe(text);
    bodies.ended(second);
    expect(await bodies.read(first, inChunks(text))).toBe(text);
  });
});

test('a turn is taken to parse a body only once all of it has arrived', async () => {
  const payload = new PassThrough();
  payload.write('{');
  let taken = 0;
  const turn: TakeTurn = (work) => {
    taken++;
    return work();
  };
  const text = new Bodies().read(request(), payload, turn);
  await nextLoop();
  expect(taken).toBe(0);
  payload.end('}');
  expect(await text).toBe('{}');
  expect(taken).toBe(1);
});
