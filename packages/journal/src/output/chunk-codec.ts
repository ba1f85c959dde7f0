import type { StoredOutput } from '@goshawk/core';

/** First byte of a chunk by stream. A torn or overwritten file has another byte there. */
const MARKS = { stdout: 0xb1, stderr: 0xb2 } as const;
/** Mark, number, task, attempt, offset, length and time. */
const HEADER_BYTES = 1 + 8 + 4 + 4 + 8 + 4 + 8;

/** Returns the size of a chunk in a file. */
export function encodedBytes({ bytes }: Pick<StoredOutput, 'bytes'>): number {
  return HEADER_BYTES + bytes.length;
}

export function encodeChunk({ number, task, attempt, stream, bytes, offset, at }: StoredOutput): Buffer {
  const encoded = Buffer.allocUnsafe(HEADER_BYTES + bytes.length);
  encoded.writeUInt8(MARKS[stream], 0);
  encoded.writeDoubleLE(number, 1);
  encoded.writeUInt32LE(task, 9);
  encoded.writeUInt32LE(attempt, 13);
  encoded.writeDoubleLE(offset, 17);
  encoded.writeUInt32LE(bytes.length, 25);
  encoded.writeDoubleLE(at, 29);
  encoded.set(bytes, HEADER_BYTES);
  return encoded;
}

/** Yields the complete chunks, each with its position; ends at the first that is incomplete or damaged. */
export function* decodeChunks(
  buffer: Buffer,
): Generator<{ readonly from: number; readonly chunk: StoredOutput }> {
  for (let from = 0; from + HEADER_BYTES <= buffer.length; ) {
    const mark = buffer.readUInt8(from);
    const stream = mark === MARKS.stdout ? 'stdout' : mark === MARKS.stderr ? 'stderr' : undefined;
    const number = buffer.readDoubleLE(from + 1);
    const offset = buffer.readDoubleLE(from + 17);
    const at = buffer.readDoubleLE(from + 29);
    const end = from + HEADER_BYTES + buffer.readUInt32LE(from + 25);
    if (stream === undefined || !isCount(number) || !isCount(offset) || !isCount(at) || end > buffer.length)
      return;
    const [task, attempt] = [buffer.readUInt32LE(from + 9), buffer.readUInt32LE(from + 13)];
    const bytes = Uint8Array.from(buffer.subarray(from + HEADER_BYTES, end));
    yield { from, chunk: { number, task, attempt, stream, bytes, offset, at } };
    from = end;
  }
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
