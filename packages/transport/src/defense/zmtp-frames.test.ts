import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Verdict, ZmtpFrames } from './zmtp-frames.js';

function greeting(mechanism: 'NULL' | 'CURVE', version = 3): Buffer {
  const bytes = Buffer.alloc(64);
  bytes.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, version]);
  bytes.write(mechanism, 12);
  return bytes;
}

function frame(size: number, flags = 0): Buffer {
  const isLong = size > 255;
  const head = Buffer.alloc(isLong ? 9 : 2);
  head[0] = flags | (isLong ? 2 : 0);
  if (isLong) head.writeBigUInt64BE(BigInt(size), 1);
  else head[1] = size;
  return Buffer.concat([head, Buffer.alloc(size, 0x01)]);
}

/** In chunks of this many bytes. */
function pass(frames: ZmtpFrames, bytes: Buffer, pieces: readonly number[]): Verdict {
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const end = at + (pieces[i % pieces.length] ?? bytes.length);
    const verdict = frames.take(bytes.subarray(at, end));
    if (verdict !== 'passes') return verdict;
    at = end;
  }
  return 'passes';
}

const pieces = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 8 });

describe('proxied frames', () => {
  test('are counted for any chunking', () => {
    const run = (sizes: number[], lengths: number[]) => {
      const frames = new ZmtpFrames();
      const bytes = [greeting('NULL'), frame(40, 4), ...sizes.map((size) => frame(size))];
      expect(pass(frames, Buffer.concat(bytes), lengths)).toBe('passes');
      expect(frames.unread).toBe(sizes.length);
      expect(frames.unreadBytes).toBe(sizes.reduce((sum, size) => sum + size + 2, 0));
      for (const _ of sizes) frames.read();
      expect(frames).toMatchObject({ unread: 0, unreadBytes: 0 });
    };
    fc.assert(fc.property(fc.array(fc.nat(600), { maxLength: 20 }), pieces, run));
  });

  test('are stopped at the first of several parts, if that is visible', () => {
    const run = (whole: number, lengths: number[]) => {
      const before = Array.from({ length: whole }, () => frame(10));
      const bytes = Buffer.concat([greeting('NULL'), ...before, frame(3, 1), frame(3)]);
      expect(pass(new ZmtpFrames(), bytes, lengths)).toBe('has parts');
    };
    fc.assert(fc.property(fc.nat(5), pieces, run));
    const hidden = Buffer.concat([greeting('CURVE'), frame(3, 1), frame(3)]);
    expect(pass(new ZmtpFrames(), hidden, [7])).toBe('passes');
  });

  test('do not exist if the greeting is not that of ZMTP 3', () => {
    for (const bytes of [Buffer.from('GET / HTTP/1.1\r\n'), greeting('NULL', 1)])
      expect(pass(new ZmtpFrames(), bytes, [1])).toBe('is foreign');
  });
});
