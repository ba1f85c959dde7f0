import { type MessageOf, type OutputChunk, sumOf } from '@goshawk/core';

/** Number of separate chunks, and of bytes, from which on output is sent without waiting for the timer. */
const UNSENT_CHUNKS_MAX = 32;
const UNSENT_BYTES_MAX = 32 * 1024;
/** Maximum size of a block that collects small writes. */
const BLOCK_BYTES_MAX = 32 * 1024;
/** Memory of a block besides its bytes. */
const BLOCK_OVERHEAD = 200;
/** Bytes of an attempt that may be in flight. */
const WINDOW_BYTES = 64 * 1024;
/** Maximum number of chunks in the report of an end. */
const REPORT_CHUNKS_MAX = 64;
/** Fraction of the limit to which the kept output shrinks when it exceeds the limit. */
const EVICTION_TARGET = 0.9;
/** Fraction of the largest buffer that is dropped at a time. */
const EVICTION_STEP = 1 / 8;

/** Output at a position in the output of its attempt: `offset` counts the bytes before it, of both streams. */
interface PlacedChunk {
  readonly offset: number;
  readonly chunk: OutputChunk;
}

interface Block {
  readonly stream: OutputChunk['stream'];
  readonly offset: number;
  bytes: Uint8Array;
  length: number;
}

/** Limits the memory of all output buffers of a process. Above the limit, the largest buffers drop their oldest output. */
export class OutputBudget {
  readonly #bytesMax: number;
  readonly #buffers = new Set<OutputBuffer>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Memory of all buffers. */
  get bytes(): number {
    return this.#bytes;
  }

  add(buffer: OutputBuffer, bytes: number): void {
    this.#buffers.add(buffer);
    this.#bytes += bytes;
    if (this.#bytes > this.#bytesMax) this.#evict();
  }

  remove(buffer: OutputBuffer): void {
    if (this.#buffers.delete(buffer)) this.#bytes -= buffer.memoryBytes;
  }

  #evict(): void {
    const target = EVICTION_TARGET * this.#bytesMax;
    while (this.#bytes > target) {
      let largest: OutputBuffer | undefined;
      for (const buffer of this.#buffers)
        if (largest === undefined || buffer.memoryBytes > largest.memoryBytes) largest = buffer;
      if (largest === undefined || largest.memoryBytes === 0) return;
      this.#bytes -= largest.dropOldest(EVICTION_STEP * largest.memoryBytes);
    }
  }
}

/**
 * The output of an attempt. It is kept after it was sent, because an owner that restarts has lost it, until the owner has
 * confirmed the end of the attempt. Executors limit its size.
 */
export class OutputBuffer {
  readonly #budget: OutputBudget;
  /** Oldest first. Bytes of a block never change, so that messages can refer to them. */
  #blocks: Block[] = [];
  #memoryBytes = 0;
  /** Number of bytes printed so far. */
  printedBytes = 0;
  /** Number of bytes sent so far. */
  sentBytes = 0;
  /** Number of bytes that the owner has acknowledged. */
  receivedBytes = 0;
  /** Whether unsent output waits for an acknowledgment. */
  isBlocked = false;
  /** Position from which the output was last repeated. */
  #repeatedFrom = -1;

  constructor(budget: OutputBudget) {
    this.#budget = budget;
  }

  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  /** Position of the oldest kept output. */
  get keptFrom(): number {
    return this.#blocks[0]?.offset ?? this.printedBytes;
  }

  get hasUnsent(): boolean {
    return this.sentBytes < this.printedBytes;
  }

  get isFull(): boolean {
    return (
      this.printedBytes - this.sentBytes >= UNSENT_BYTES_MAX ||
      this.#blocks.length - this.#indexAt(this.sentBytes) >= UNSENT_CHUNKS_MAX
    );
  }

  append(stream: OutputChunk['stream'], bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const last = this.#blocks.at(-1);
    const before = last?.bytes.length ?? 0;
    const isJoined = last?.stream === stream && last.length + bytes.length <= BLOCK_BYTES_MAX;
    if (isJoined) join(last, bytes);
    // Copied, because the bytes may be a part of a larger buffer.
    else this.#blocks.push({ stream, offset: this.printedBytes, bytes: bytes.slice(), length: bytes.length });
    this.printedBytes += bytes.length;
    const added = isJoined ? last.bytes.length - before : BLOCK_OVERHEAD + bytes.length;
    this.#memoryBytes += added;
    this.#budget.add(this, added);
  }

  /** Yields unsent output, as much as may be in flight. It then counts as sent. */
  *take(): Generator<PlacedChunk> {
    const end = this.receivedBytes + WINDOW_BYTES;
    this.isBlocked = false;
    for (const placed of this.chunksFrom(this.sentBytes)) {
      this.isBlocked = placed.offset >= Math.max(end, this.keptFrom + 1);
      if (this.isBlocked) return;
      this.sentBytes = placed.offset + placed.chunk.bytes.length;
      yield placed;
    }
    this.sentBytes = this.printedBytes;
  }

  /**
   * Returns the output for the report of the end: all that was not acknowledged, or its last part if it is large. If it is
   * all of it, it then counts as sent.
   */
  takeRest(): OutputChunk[] {
    const rest = this.chunksFrom(this.receivedBytes);
    let first = rest.length;
    for (let bytes = 0; first > 0 && rest.length - first < REPORT_CHUNKS_MAX; first--) {
      bytes += rest[first - 1]!.chunk.bytes.length;
      if (bytes > WINDOW_BYTES) break;
    }
    if (first === 0) this.sentBytes = this.printedBytes;
    return rest.slice(first).map(({ chunk }) => chunk);
  }

  /** Returns the kept output from a position on. Adjacent chunks of a stream may be separate. */
  chunksFrom(from: number): PlacedChunk[] {
    return this.#blocks.slice(this.#indexAt(from)).map(({ stream, offset, bytes, length }) => {
      const skipped = Math.max(0, from - offset);
      return { offset: offset + skipped, chunk: { stream, bytes: bytes.subarray(skipped, length) } };
    });
  }

  /**
   * Handles an acknowledgment.
   *
   * @param isGap the owner has refused later output, because output from here on did not arrive
   * @returns whether to send output now
   */
  received(bytes: number, isGap: boolean): boolean {
    this.receivedBytes = Math.min(this.printedBytes, Math.max(this.receivedBytes, bytes));
    if (!isGap) return this.isBlocked;
    // All output in flight after the gap is refused, but it is repeated only once.
    if (bytes >= this.sentBytes || bytes === this.#repeatedFrom) return false;
    this.#repeatedFrom = bytes;
    this.sentBytes = bytes;
    return true;
  }

  /** Returns whether output before that of the report has not been acknowledged. */
  isMissingBefore({ output, outputBytes }: MessageOf<'ended'>): boolean {
    const reported = outputBytes - sumOf(output, ({ bytes }) => bytes.length);
    return Math.max(this.receivedBytes, this.keptFrom) < reported;
  }

  /** Marks output that was not acknowledged as unsent. */
  rewind(): void {
    this.sentBytes = Math.min(this.sentBytes, this.receivedBytes);
    this.#repeatedFrom = -1;
  }

  /** Marks all output as unsent, because the owner has lost it. */
  restart(): void {
    this.receivedBytes = this.keptFrom;
    this.rewind();
  }

  /** Drops the oldest output: at least this much memory, if there is as much. @returns freed memory */
  dropOldest(bytes: number): number {
    let freed = 0;
    let count = 0;
    for (; count < this.#blocks.length && freed < bytes; count++)
      freed += BLOCK_OVERHEAD + this.#blocks[count]!.bytes.length;
    this.#blocks = this.#blocks.slice(count);
    this.#memoryBytes -= freed;
    return freed;
  }

  /** Frees its memory. */
  free(): void {
    this.#budget.remove(this);
    this.#blocks = [];
    this.#memoryBytes = 0;
  }

  /** Returns the index of the first block that ends after this position. */
  #indexAt(position: number): number {
    let [low, high] = [0, this.#blocks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const { offset, length } = this.#blocks[middle]!;
      if (offset + length <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function join(block: Block, bytes: Uint8Array): void {
  const length = block.length + bytes.length;
  if (length > block.bytes.length) {
    const larger = new Uint8Array(Math.min(BLOCK_BYTES_MAX, Math.max(length, 2 * block.bytes.length)));
    larger.set(block.bytes.subarray(0, block.length));
    block.bytes = larger;
  }
  block.bytes.set(bytes, block.length);
  block.length = length;
}
