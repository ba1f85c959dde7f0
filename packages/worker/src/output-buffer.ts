import type { OutputChunk } from '@goshawk/core';

/** Maximum number of separate chunks, and of bytes, before output is sent. */
const CHUNKS_MAX = 32;
const BYTES_MAX = 32 * 1024;

/** Task output that was not yet sent to the owner. Consecutive output of one stream forms one chunk. */
export class OutputBuffer {
  #parts: { stream: 'stdout' | 'stderr'; pieces: Uint8Array[]; length: number }[] = [];
  #length = 0;
  /** Number of bytes sent so far. */
  sentBytes = 0;

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  get isFull(): boolean {
    return this.#length >= BYTES_MAX || this.#parts.length >= CHUNKS_MAX;
  }

  append(stream: 'stdout' | 'stderr', bytes: Uint8Array): void {
    const last = this.#parts.at(-1);
    this.#length += bytes.length;
    if (last?.stream === stream) {
      last.pieces.push(bytes);
      last.length += bytes.length;
    } else {
      this.#parts.push({ stream, pieces: [bytes], length: bytes.length });
    }
  }

  take(): OutputChunk[] {
    const chunks = this.#parts.map(({ stream, pieces, length }) => ({ stream, bytes: join(pieces, length) }));
    this.sentBytes += this.#length;
    this.#parts = [];
    this.#length = 0;
    return chunks;
  }
}

function join(pieces: readonly Uint8Array[], length: number): Uint8Array {
  if (pieces.length === 1) return pieces[0]!;
  const joined = new Uint8Array(length);
  let offset = 0;
  for (const piece of pieces) {
    joined.set(piece, offset);
    offset += piece.length;
  }
  return joined;
}
