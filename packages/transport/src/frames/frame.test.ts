import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { PROTOCOL_VERSION } from '@goshawk/core';
import { Packr } from 'msgpackr';
import { describe, expect, test } from 'vitest';
import { packFrame } from '../connection/testing.fixture.js';
import { FrameTooLargeError, MalformedFrameError, OtherVersionError } from '../errors.js';
import { completeLimits } from '../limits.js';
import { FrameWriter, openFrame, type PackedFrame } from './frame.js';

const limits = completeLimits();
const packr = new Packr({ useRecords: false });
const pack = (frame: unknown) => Buffer.from(packr.pack(frame));
const open = (bytes: Buffer) => openFrame(bytes, limits);

/** Nested to a depth that a body may have. */
function deepestBody(): unknown[] {
  let body: unknown[] = [];
  for (let depth = 1; depth < limits.nestingMax; depth++) body = [body];
  return body;
}

describe('a frame', () => {
  test('is one MessagePack array that any implementation reads', () => {
    const bytes = packFrame('you', [[1, 2, ['hello', 3.5, null]]], 'me');
    expect(packr.unpack(bytes)).toStrictEqual([
      [PROTOCOL_VERSION, 'you', 'me'],
      [1, 2, ['hello', 3.5, null]],
    ]);
  });

  test('made by another implementation is decoded', () => {
    expect(
      open(
        pack([
          [PROTOCOL_VERSION, '*', null],
          [0, 65_535, ['x']],
          [1, 0, [2]],
        ]),
      ),
    ).toStrictEqual({
      target: '*',
      sender: null,
      mail: [
        [0, 65_535, ['x']],
        [1, 0, [2]],
      ],
    });
  });

  test('with the deepest permitted body is decoded', () => {
    expect(open(packFrame('*', [[0, 0, deepestBody()]])).mail).toStrictEqual([[0, 0, deepestBody()]]);
    expect(() => packFrame('*', [[0, 0, [deepestBody()]]])).toThrow('nested deeper than 32 levels');
  });

  test('has at most as many messages as are handled without a pause, however small they are', () => {
    const most = limits.frameMessagesMax;
    const frames: PackedFrame[] = [];
    const writer = new FrameWriter(null, limits, (frame) => frames.push(frame));
    for (let message = 0; message < 2.5 * most; message++) writer.add('*', 0, 0, []);
    writer.finish();
    expect(frames.map(({ messages }) => messages)).toEqual([most, most, most / 2]);
    expect(open(frames[0]!.bytes).mail).toHaveLength(most);
    const tooMany = pack([
      [PROTOCOL_VERSION, '*', null],
      ...Array.from({ length: most + 1 }, () => [0, 0, []]),
    ]);
    // The same array with a longer header, as this process writes it.
    const longer = Buffer.concat([Buffer.from([0xdd, 0, 0]), tooMany.subarray(1)]);
    expect(tooMany[0]).toBe(0xdc);
    for (const bytes of [tooMany, longer]) expect(() => open(bytes)).toThrow('too many messages');
  });

  test('with the longest message between the longest names is within the limit', () => {
    const small = completeLimits({ frameBytesTarget: 100, frameBytesMax: 1_000 });
    const longest = 'x'.repeat(64);
    const frames: PackedFrame[] = [];
    const writer = new FrameWriter(longest, small, (frame) => frames.push(frame));
    const add = (length: number) => writer.add(longest, 0, 0, ['y'.repeat(length)]);
    let length = 900;
    for (; length > 0; length--) {
      try {
        add(length);
        break;
      } catch (error) {
        expect(error).toBeInstanceOf(FrameTooLargeError);
      }
    }
    expect(frames).toHaveLength(1);
    expect(frames[0]?.bytes.length).toBeGreaterThan(small.frameBytesMax - 10);
    expect(openFrame(frames[0]?.bytes as Buffer, small).mail).toStrictEqual([[0, 0, ['y'.repeat(length)]]]);
  });

  test('frees its memory after it was sent, for any number of peers', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const used = () => {
      collect();
      return process.memoryUsage().arrayBuffers;
    };
    const before = used();
    const writers = Array.from({ length: 10_000 }, () => new FrameWriter(null, limits, () => {}));
    for (const writer of writers) {
      writer.add('peer', 0, 0, ['y'.repeat(4_000)]);
      writer.finish();
    }
    // Memory is released some time after collection.
    await expect.poll(() => used() - before).toBeLessThan(writers.length * 500);
  });

  test('of another version is refused with both versions', () => {
    const other = PROTOCOL_VERSION + 1;
    expect(() => open(pack([[other, 'x', null]]))).toThrow(new OtherVersionError(other));
    expect(new OtherVersionError(other).message).toBe(
      `protocol version ${other}; this process speaks version ${PROTOCOL_VERSION}`,
    );
  });

  test.each([
    ['a number', 1],
    ['a map', { version: 1 }],
    ['an empty array', []],
    ['no mail', [[PROTOCOL_VERSION, 'x', null]]],
    ['no head', [PROTOCOL_VERSION, 'x', null, []]],
    ['an empty head', [[]]],
    ['too few fields', [[PROTOCOL_VERSION, 'x']]],
    ['too many fields', [[PROTOCOL_VERSION, 'x', null, 0]]],
    ['a version that is a string', [['1', 'x', null]]],
    ['a version that cannot be shown', [[{ toString: 1, valueOf: 2 }, 'x', null]]],
    ['no target', [[PROTOCOL_VERSION, null, null]]],
    ['a target that is no incarnation', [[PROTOCOL_VERSION, 'a b', null]]],
    ['a target that is endless', [[PROTOCOL_VERSION, 'x'.repeat(65), null]]],
    ['a sender that is a number', [[PROTOCOL_VERSION, 'x', 7]]],
    ['mail that is a map', [[PROTOCOL_VERSION, 'x', null], {}]],
    [
      'mail that is cut short',
      [
        [PROTOCOL_VERSION, 'x', null],
        [0, 0],
      ],
    ],
    [
      'mail that is too long',
      [
        [PROTOCOL_VERSION, 'x', null],
        [0, 0, [], []],
      ],
    ],
    [
      'a party that is negative',
      [
        [PROTOCOL_VERSION, 'x', null],
        [0, -1, []],
      ],
    ],
    [
      'a party that is a fraction',
      [
        [PROTOCOL_VERSION, 'x', null],
        [0.5, 0, []],
      ],
    ],
    [
      'a party beyond the largest index',
      [
        [PROTOCOL_VERSION, 'x', null],
        [0, 65_536, []],
      ],
    ],
    [
      'a party that is a string',
      [
        [PROTOCOL_VERSION, 'x', null],
        ['0', 0, []],
      ],
    ],
  ])('with %s is refused', (_, frame) => {
    expect(() => open(pack(frame))).toThrow(MalformedFrameError);
  });
});
