import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeFrame, FrameReader, FrameWriter } from './framing.js';

interface Plain {
  kind: number;
  run: number;
  body: number[];
}

const frames = fc.array(
  fc.record({
    kind: fc.integer({ min: 0, max: 255 }),
    run: fc.integer({ min: 0, max: 0xffff_ffff }),
    body: fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 40 }),
  }),
  { maxLength: 12 },
);

function reader(): { read: Plain[]; push: (piece: Buffer) => void } {
  const read: Plain[] = [];
  const frameReader = new FrameReader(({ kind, run, body }) => read.push({ kind, run, body: [...body] }));
  return { read, push: (piece) => frameReader.push(piece) };
}

describe('frames on a byte stream', () => {
  it('are decoded correctly for any chunking of the stream', () => {
    fc.assert(
      fc.property(frames, fc.infiniteStream(fc.integer({ min: 1, max: 30 })), (sent, cuts) => {
        const bytes = Buffer.concat(
          sent.map(({ kind, run, body }) => encodeFrame(kind, run, Uint8Array.from(body))),
        );
        const { read, push } = reader();
        let offset = 0;
        while (offset < bytes.length) {
          const length = cuts.next().value as number;
          push(bytes.subarray(offset, offset + length));
          offset += length;
        }
        expect(read).toEqual(sent);
      }),
    );
  });

  it('join several parts into one body', () => {
    const { read, push } = reader();
    push(encodeFrame(7, 9, Uint8Array.of(1), new Uint8Array(0), Uint8Array.of(2, 3)));
    expect(read).toEqual([{ kind: 7, run: 9, body: [1, 2, 3] }]);
  });
});

describe('the frame writer', () => {
  it('combines the frames of a turn into one write', async () => {
    const written: Buffer[] = [];
    const writer = new FrameWriter({ write: (bytes) => written.push(Buffer.from(bytes)) > 0 });
    writer.send(1, 1, Uint8Array.of(5));
    writer.send(2, 2);
    expect(written).toEqual([]);
    expect(writer.queuedBytes).toBe(19);
    await new Promise((resolve) => setImmediate(resolve));
    expect(written).toEqual([Buffer.concat([encodeFrame(1, 1, Uint8Array.of(5)), encodeFrame(2, 2)])]);
    expect(writer.queuedBytes).toBe(0);
  });

  it('writes at once when flushed, and nothing twice', async () => {
    const written: Buffer[] = [];
    const writer = new FrameWriter({ write: (bytes) => written.push(Buffer.from(bytes)) > 0 });
    writer.send(1, 1);
    writer.flush();
    await new Promise((resolve) => setImmediate(resolve));
    expect(written).toEqual([encodeFrame(1, 1)]);
  });
});
