import type { OutputChunk, OutputStream } from './contract.js';
import { OutputTail } from './output-tail.js';

const NEWLINE = 0x0a;
/** Fraction of a stream's limit reserved for its end. */
const TAIL_SHARE = 1 / 8;

/** One stream of a task: its first bytes are forwarded, its last ones kept until it ends. */
interface Stream {
  headBytes: number;
  lastByte: number;
  tail: OutputTail | undefined;
  isMarked: boolean;
}

/**
 * Keeps both ends of a task's stdout and stderr: the head is forwarded as it arrives, the tail at the end of the task. Bytes
 * between them are dropped, so the task never blocks; a line in the same stream marks the gap.
 */
export class OutputLimit {
  readonly #headBytesMax: number;
  readonly #tailBytesMax: number;
  readonly #newTail: (stream: OutputStream, bytesMax: number) => OutputTail;
  readonly #streams: Readonly<Record<OutputStream, Stream>> = { stdout: newStream(), stderr: newStream() };

  /**
   * @param bytesMax limit of each stream
   * @param newTail creates the ring buffer of a stream once its head is full
   */
  constructor(
    bytesMax: number,
    newTail = (_: OutputStream, bytesMax: number): OutputTail => new OutputTail(OutputTail.memory(bytesMax)),
  ) {
    this.#tailBytesMax = Math.floor(bytesMax * TAIL_SHARE);
    this.#headBytesMax = bytesMax - this.#tailBytesMax;
    this.#newTail = newTail;
  }

  /** Yields the part of a chunk to forward now, and the mark when bytes are dropped for the first time. */
  *keep(name: OutputStream, bytes: Uint8Array): Generator<OutputChunk> {
    const stream = this.#streams[name];
    const head = stream.tail === undefined ? bytes.subarray(0, this.#headEnd(stream, bytes)) : NO_BYTES;
    if (head.length > 0) {
      stream.headBytes += head.length;
      stream.lastByte = head[head.length - 1]!;
      yield { stream: name, bytes: head };
    }
    if (head.length === bytes.length) return;
    stream.tail ??= this.#newTail(name, this.#tailBytesMax);
    stream.tail.push(bytes.subarray(head.length));
    if (!stream.tail.isOver || stream.isMarked) return;
    stream.isMarked = true;
    const lineStart = stream.lastByte === NEWLINE ? '' : '\n';
    yield { stream: name, bytes: Buffer.from(`${lineStart}${gapMark(name, this.#tailBytesMax)}`) };
  }

  /** Yields the tails once the streams have ended. */
  *end(): Generator<OutputChunk> {
    for (const name of ['stdout', 'stderr'] as const) {
      const { tail } = this.#streams[name];
      if (tail !== undefined) yield* tailChunks(name, tail);
    }
  }

  /** The head does not end within a character, unless the character began in an earlier chunk. */
  #headEnd({ headBytes }: Stream, bytes: Uint8Array): number {
    const room = this.#headBytesMax - headBytes;
    if (bytes.length <= room) return bytes.length;
    for (let end = room; end > Math.max(0, room - 4); end--) if (bytes[end]! >> 6 !== 0b10) return end;
    return room;
  }
}

/** Yields the end of a stream: the number of bytes omitted before it, if any, and its last bytes. */
export function* tailChunks(stream: OutputStream, tail: OutputTail): Generator<OutputChunk> {
  const { omittedBytes, bytes } = tail.read();
  if (omittedBytes > 0) {
    yield { stream, bytes: Buffer.from(`goshawk: ${omittedBytes} bytes of ${stream} omitted here\n`) };
  }
  if (bytes.length > 0) yield { stream, bytes };
}

const NO_BYTES = new Uint8Array(0);

function newStream(): Stream {
  return { headBytes: 0, lastByte: NEWLINE, tail: undefined, isMarked: false };
}

function gapMark(stream: OutputStream, tailBytes: number): string {
  return `goshawk: ${stream} is too long: its last ${tailBytes} bytes follow when the task ends\n`;
}
