import { Packr } from 'msgpackr';
import { describe, expect, test } from 'vitest';
import { MalformedFrameError } from './errors.js';
import { FrameWriter, frameReader, openFrame, PROTOCOL_VERSION } from './frame.js';
import { completeLimits } from './limits.js';

const limits = completeLimits();
const reader = frameReader(limits);
const packr = new Packr({ useRecords: false });
const pack = (frame: unknown) => Buffer.from(packr.pack(frame));

describe('a frame', () => {
  test('is one MessagePack array that any implementation reads', () => {
    const writer = new FrameWriter('me', limits);
    writer.begin('you');
    writer.add(1, 2, ['hello', 3.5, null]);
    const { bytes, messages, target } = writer.finish();
    expect([messages, target]).toStrictEqual([1, 'you']);
    expect(packr.unpack(bytes)).toStrictEqual([PROTOCOL_VERSION, 'you', 'me', [1, 2, ['hello', 3.5, null]]]);
  });

  test('made by another implementation is opened', () => {
    expect(openFrame(pack([1, '*', null, [0, 65_535, ['x']]]), reader)).toStrictEqual({
      target: '*',
      sender: null,
      mail: [0, 65_535, ['x']],
    });
  });

  test('of the deepest body that may be sent is opened', () => {
    const writer = new FrameWriter(null, limits);
    let body: unknown[] = [];
    for (let depth = 1; depth < limits.nestingMax; depth++) {
      body = [body];
    }
    writer.begin('*');
    expect(writer.add(0, 0, body)).toBe(true);
    expect(openFrame(writer.finish().bytes, reader).mail[2]).toStrictEqual(body);
  });

  test('of another version is refused, and both versions are named', () => {
    expect(() => openFrame(pack([2, 'x', null, []]), reader)).toThrow(
      'protocol version 2; this process speaks version 1',
    );
  });

  test.each([
    ['a number', 1],
    ['a map', { version: 1 }],
    ['an empty array', []],
    ['too few fields', [1, 'x', null]],
    ['too many fields', [1, 'x', null, [], 0]],
    ['a version that is a string', ['1', 'x', null, []]],
    ['no target', [1, null, null, []]],
    ['a target that is no incarnation', [1, 'a b', null, []]],
    ['a target that is endless', [1, 'x'.repeat(65), null, []]],
    ['a sender that is a number', [1, 'x', 7, []]],
    ['mail that is a map', [1, 'x', null, {}]],
    ['mail that is cut short', [1, 'x', null, [0, 0]]],
    ['a party that is negative', [1, 'x', null, [0, -1, []]]],
    ['a party that is a fraction', [1, 'x', null, [0.5, 0, []]]],
    ['a party beyond the largest index', [1, 'x', null, [0, 65_536, []]]],
    ['a party that is a string', [1, 'x', null, ['0', 0, []]]],
  ])('with %s is refused', (_, frame) => {
    expect(() => openFrame(pack(frame), reader)).toThrow(MalformedFrameError);
  });
});
