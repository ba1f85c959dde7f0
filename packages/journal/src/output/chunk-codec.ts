import type { StoredOutput } from '@goshawk/core';

/** First byte of a chunk by stream. A torn or overwritten file has another byte there. */
const MARKS = { stdout: 0xb1, stderr: 0xb2 } as const;
/** Mark, number, task, attempt, offset and length. */
const HEADER_BYTES = 1 + 8 + 4 + 4 + 8 + 4;

/** Returns the size of a chunk in a file. */
export function encodedBytes({ bytes }: Pick<StoredOutput, 'bytes'>): number {
  return HEADER_BYTES + bytes.length;
}

export function encodeChunk({ number, task, attempt, stream, bytes, offset }: StoredOutput): Buffer {
  const encoded = Buffer.allocUnsafe(HEADER_BYTES + bytes.length);
  encoded.writeUInt8(MARKS[stream], 0);
  encoded.writeDoubleLE(number, 1);
  encoded.writeUInt32LE(task, 9);
  encoded.writeUInt32LE(attempt, 13);
  encoded.writeDoubleLE(offset, 17);
  encoded.writeUInt32LE(bytes.length, 25);
  encoded.set(bytes, HEADER_BYTES);
  return encoded;
}

/** Yields the complete chunks, each with its position; ends at the first that is incomplete or damaged. */
export function* decodeChunks(
  buffer: Buffer,
): Generator<{ readonly at: number; readonly chunk: StoredOutput }> {
  for (let at = 0; at + HEADER_BYTES <= buffer.length; ) {
    const mark = buffer.readUInt8(at);
    const stream = mark === MARKS.stdout ? 'stdout' : mark === MARKS.stderr ? 'stderr' : undefined;
    const number = buffer.readDoubleLE(at + 1);
    const offset = buffer.readDoubleLE(at + 17);
    const end = at + HEADER_BYTES + buffer.readUInt32LE(at + 25);
    if (stream === undefined || !isCount(number) || !isCount(offset) || end > buffer.length) return;
    const [task, attempt] = [buffer.readUInt32LE(at + 9), buffer.readUInt32LE(at + 13)];
    const bytes = Uint8Array.from(buffer.subarray(at + HEADER_BYTES, end));
    yield { at, chunk: { number, task, attempt, stream, bytes, offset } };
    at = end;
  }
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
