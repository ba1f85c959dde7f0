const RESERVED = 0;
const WRITTEN = 1;
const HEADER_BYTES = 2 * BigInt64Array.BYTES_PER_ELEMENT;

/**
 * The last bytes of one stream, in a ring buffer. The memory may be shared with a thread that is terminated during a write:
 * `read` then omits the bytes that were being overwritten.
 */
export class OutputTail {
  readonly #counts: BigInt64Array;
  readonly #ring: Uint8Array;

  /** @param memory from `OutputTail.memory` */
  constructor(memory: SharedArrayBuffer) {
    this.#counts = new BigInt64Array(memory, 0, 2);
    this.#ring = new Uint8Array(memory, HEADER_BYTES);
  }

  static memory(bytesMax: number): SharedArrayBuffer {
    return new SharedArrayBuffer(HEADER_BYTES + bytesMax);
  }

  /** Whether bytes were overwritten. */
  get isOver(): boolean {
    return this.#count(WRITTEN) > this.#ring.length;
  }

  push(bytes: Uint8Array): void {
    const written = this.#count(WRITTEN) + bytes.length;
    Atomics.store(this.#counts, RESERVED, BigInt(written));
    const kept = bytes.subarray(Math.max(0, bytes.length - this.#ring.length));
    if (kept.length > 0) {
      const at = (written - kept.length) % this.#ring.length;
      const untilEnd = this.#ring.length - at;
      this.#ring.set(kept.subarray(0, untilEnd), at);
      this.#ring.set(kept.subarray(untilEnd), 0);
    }
    Atomics.store(this.#counts, WRITTEN, BigInt(written));
  }

  /** Returns the last bytes, from a character boundary on, and the number of bytes before them. */
  read(): { readonly omittedBytes: number; readonly bytes: Uint8Array } {
    const end = this.#count(WRITTEN);
    const start = Math.max(0, end - this.#ring.length);
    const copy = new Uint8Array(end - start);
    if (copy.length > 0) {
      const at = start % this.#ring.length;
      const untilEnd = this.#ring.subarray(at, at + copy.length);
      copy.set(untilEnd);
      copy.set(this.#ring.subarray(0, copy.length - untilEnd.length), untilEnd.length);
    }
    const intactFrom = Math.min(end, Math.max(start, this.#count(RESERVED) - this.#ring.length));
    const intact = copy.subarray(intactFrom - start);
    const bytes = intactFrom === 0 ? intact : intact.subarray(continuationBytes(intact));
    return { omittedBytes: end - bytes.length, bytes };
  }

  #count(which: number): number {
    return Number(Atomics.load(this.#counts, which));
  }
}

/** A UTF-8 character has at most three bytes after its first. */
const CONTINUATION_BYTES_MAX = 3;

/** Returns how many bytes from `from` on continue a UTF-8 character that begins before it. */
function continuationBytes(bytes: Uint8Array, from = 0): number {
  let count = 0;
  while (count < CONTINUATION_BYTES_MAX && (bytes[from + count] ?? 0) >> 6 === 0b10) count++;
  return count;
}
