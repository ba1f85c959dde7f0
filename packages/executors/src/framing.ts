/**
 * Frames on a byte stream between two processes of one machine:
 *
 *     u32 body length | u8 kind | u32 run | body        (little-endian)
 *
 * Both ends run the same version of this package, so only the length of a frame is validated.
 */
const HEADER_BYTES = 9;

export interface Frame {
  readonly kind: number;
  readonly run: number;
  /** A view of the receive buffer; copy what outlives the call. */
  readonly body: Buffer;
}

export function encodeFrame(kind: number, run: number, ...parts: readonly Uint8Array[]): Buffer {
  const bodyBytes = parts.reduce((sum, part) => sum + part.length, 0);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + bodyBytes);
  frame.writeUInt32LE(bodyBytes, 0);
  frame.writeUInt8(kind, 4);
  frame.writeUInt32LE(run, 5);
  let offset = HEADER_BYTES;
  for (const part of parts) {
    frame.set(part, offset);
    offset += part.length;
  }
  return frame;
}

/** Splits a byte stream into frames. */
export class FrameReader {
  readonly #onFrame: (frame: Frame) => void;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #needed = HEADER_BYTES;

  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame;
  }

  push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    // Chunks are joined only when a frame is complete, so that a large one is copied once.
    if (this.#bytes < this.#needed) return;
    const bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces, this.#bytes);
    let offset = 0;
    for (;;) {
      const left = bytes.length - offset;
      this.#needed = left < HEADER_BYTES ? HEADER_BYTES : HEADER_BYTES + bytes.readUInt32LE(offset);
      if (left < this.#needed) break;
      const end = offset + this.#needed;
      const body = bytes.subarray(offset + HEADER_BYTES, end);
      this.#onFrame({ kind: bytes.readUInt8(offset + 4), run: bytes.readUInt32LE(offset + 5), body });
      offset = end;
    }
    const rest = bytes.subarray(offset);
    this.#pieces = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
  }
}

/** A stream that accepts one buffer at a time. */
interface FrameStream {
  write(bytes: Uint8Array): boolean;
}

/** Batches the frames of one turn of the event loop into one write, because a system call costs more than a copy. */
export class FrameWriter {
  readonly #stream: FrameStream;
  #frames: Buffer[] = [];
  #queuedBytes = 0;

  constructor(stream: FrameStream) {
    this.#stream = stream;
  }

  /** Bytes that wait for the end of this turn. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  send(kind: number, run: number, ...parts: readonly Uint8Array[]): void {
    const frame = encodeFrame(kind, run, ...parts);
    if (this.#frames.length === 0) setImmediate(() => this.flush());
    this.#frames.push(frame);
    this.#queuedBytes += frame.length;
  }

  /** Writes pending frames now; used before blocking calls. */
  flush(): void {
    if (this.#frames.length === 0) return;
    const frames = this.#frames;
    this.#frames = [];
    this.#queuedBytes = 0;
    this.#stream.write(frames.length === 1 ? frames[0]! : Buffer.concat(frames));
  }
}
