import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OutputBuffer } from './output-buffer.js';

const STREAMS = ['stdout', 'stderr'] as const;
const printed = fc.record({
  stream: fc.constantFrom(...STREAMS),
  bytes: fc.uint8Array({ maxLength: 2_000 }),
  take: fc.boolean(),
});

test('every byte is emitted once, in order within its stream, and adjacent output of a stream is one chunk', () => {
  fc.assert(
    fc.property(fc.array(printed, { maxLength: 60 }), (steps) => {
      const buffer = new OutputBuffer();
      const went = { stdout: [] as number[], stderr: [] as number[] };
      const received = { stdout: [] as number[], stderr: [] as number[] };
      let sent = 0;
      const take = () => {
        const chunks = buffer.take();
        chunks.forEach(({ stream, bytes }, i) => {
          received[stream].push(...bytes);
          sent += bytes.length;
          expect(chunks[i - 1]?.stream).not.toBe(stream);
        });
        expect(buffer.sentBytes).toBe(sent);
        expect(buffer.isEmpty).toBe(true);
        expect(buffer.isFull).toBe(false);
      };
      for (const { stream, bytes, take: takesNow } of steps) {
        buffer.append(stream, bytes);
        went[stream].push(...bytes);
        if (takesNow || buffer.isFull) take();
      }
      take();
      expect(received).toEqual(went);
    }),
    { numRuns: 300 },
  );
});

test('is full with much text, or with many switches between the streams', () => {
  const much = new OutputBuffer();
  much.append('stdout', new Uint8Array(32 * 1024));
  expect(much.isFull).toBe(true);
  const changes = new OutputBuffer();
  for (let i = 0; i < 31; i++) changes.append(STREAMS[i % 2]!, new Uint8Array(1));
  expect(changes.isFull).toBe(false);
  changes.append('stderr', new Uint8Array(1));
  expect(changes.isFull).toBe(true);
});
