import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OutputBudget, OutputBuffer } from './output-buffer.js';

const STREAMS = ['stdout', 'stderr'] as const;
const printed = fc.record({
  stream: fc.constantFrom(...STREAMS),
  bytes: fc.uint8Array({ maxLength: 2_000 }),
  take: fc.boolean(),
});

function newBuffer(): OutputBuffer {
  return new OutputBuffer(new OutputBudget(Number.POSITIVE_INFINITY));
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) {
    all.set(part, end);
    end += part.length;
  }
  return all;
}

function areEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

/** An owner: receives output like a scheduler, and acknowledges it. */
class Owner {
  readonly text: Record<'stdout' | 'stderr', Uint8Array[]> = { stdout: [], stderr: [] };
  received = 0;
  missing = 0;

  take(buffer: OutputBuffer, isLost: () => boolean = () => false): boolean {
    let isGap = false;
    for (const { offset, chunk } of [...buffer.take()]) {
      if (isLost()) continue;
      isGap = offset > Math.max(this.received, buffer.keptFrom);
      if (isGap) continue;
      this.missing += Math.max(0, offset - this.received);
      this.text[chunk.stream].push(chunk.bytes.subarray(Math.max(0, this.received - offset)));
      this.received = Math.max(this.received, offset + chunk.bytes.length);
    }
    return isGap;
  }
}

test('every byte is sent once, in order within its stream', () => {
  fc.assert(
    fc.property(fc.array(printed, { maxLength: 60 }), (steps) => {
      const buffer = newBuffer();
      const went = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
      const owner = new Owner();
      for (const { stream, bytes, take } of steps) {
        buffer.append(stream, bytes);
        went[stream].push(bytes);
        if (take || buffer.isFull) {
          owner.take(buffer);
          buffer.received(owner.received, false);
          owner.take(buffer);
          expect(buffer.hasUnsent).toBe(false);
          expect(buffer.isFull).toBe(false);
        }
      }
      owner.take(buffer);
      for (const stream of STREAMS)
        expect(areEqual(joined(owner.text[stream]), joined(went[stream]))).toBe(true);
      expect(owner.missing).toBe(0);
    }),
    { numRuns: 300 },
  );
});

test('messages may be lost, and a new incarnation of the owner gets everything once, in order', () => {
  const step = fc.record({
    stream: fc.constantFrom(...STREAMS),
    length: fc.nat(50_000),
    isLost: fc.boolean(),
    isAcknowledged: fc.boolean(),
    restarts: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const buffer = newBuffer();
      const went = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
      let owner = new Owner();
      for (const [index, { stream, length, isLost, isAcknowledged, restarts }] of steps.entries()) {
        const bytes = new Uint8Array(length).fill(index);
        buffer.append(stream, bytes);
        went[stream].push(bytes);
        if (restarts) {
          owner = new Owner();
          buffer.restart();
        }
        const isGap = owner.take(buffer, () => isLost);
        if (isAcknowledged) buffer.received(owner.received, isGap);
      }
      buffer.rewind();
      while (owner.received < buffer.printedBytes) {
        owner.take(buffer);
        buffer.received(owner.received, false);
      }
      for (const stream of STREAMS)
        expect(areEqual(joined(owner.text[stream]), joined(went[stream]))).toBe(true);
      expect(owner.missing).toBe(0);
    }),
    { numRuns: 100 },
  );
});

test('a limited amount of output is in flight', () => {
  const buffer = newBuffer();
  for (let i = 0; i < 10; i++) buffer.append('stdout', new Uint8Array(32 * 1024));
  expect([...buffer.take()]).toHaveLength(2);
  expect(buffer.isBlocked).toBe(true);
  expect(buffer.received(32 * 1024, false)).toBe(true);
  expect([...buffer.take()]).toHaveLength(1);
});

test('a gap is repeated once, although each message after it is refused', () => {
  const buffer = newBuffer();
  for (let i = 0; i < 2; i++) buffer.append('stdout', new Uint8Array(32 * 1024));
  expect([...buffer.take()]).toHaveLength(2);
  expect([buffer.received(0, true), buffer.received(0, true)]).toEqual([true, false]);
  expect([...buffer.take()]).toHaveLength(2);
});

test('small writes and parts of large buffers take no more memory than their bytes', () => {
  const buffer = newBuffer();
  const large = new Uint8Array(64 * 1024);
  for (let i = 0; i < 10_000; i++) buffer.append('stdout', large.subarray(i, i + 10));
  expect(buffer.memoryBytes).toBeLessThan(140_000);
});

test('above its limit the budget drops the oldest output of the largest buffers, and the rest says how much', () => {
  const budget = new OutputBudget(1_000_000);
  const [large, small] = [new OutputBuffer(budget), new OutputBuffer(budget)];
  small.append('stdout', new Uint8Array(10_000));
  for (let i = 0; i < 100; i++) large.append('stdout', new Uint8Array(30_000).fill(i));
  expect(budget.bytes).toBeLessThanOrEqual(1_000_000);
  expect(budget.bytes).toBe(large.memoryBytes + small.memoryBytes);
  expect([small.keptFrom, large.printedBytes]).toEqual([0, 3_000_000]);
  const owner = new Owner();
  while (owner.received < large.printedBytes) {
    owner.take(large);
    large.received(owner.received, false);
  }
  expect(owner.missing).toBe(large.keptFrom);
  const text = joined(owner.text.stdout);
  expect([text.length, text.at(-1)]).toEqual([3_000_000 - large.keptFrom, 99]);
  large.free();
  expect(budget.bytes).toBe(small.memoryBytes);
  large.free();
  expect(budget.bytes).toBe(small.memoryBytes);
});

test('is full with much text, or with many switches between the streams', () => {
  const much = newBuffer();
  much.append('stdout', new Uint8Array(32 * 1024));
  expect(much.isFull).toBe(true);
  const changes = newBuffer();
  for (let i = 0; i < 31; i++) changes.append(STREAMS[i % 2]!, new Uint8Array(1));
  expect(changes.isFull).toBe(false);
  changes.append('stderr', new Uint8Array(1));
  expect(changes.isFull).toBe(true);
});
