import { MalformedFrameError } from './errors.js';

/** Below this length a loop over an ASCII string is faster than a call into the runtime. */
const SHORT_STRING = 12;

const NO_BYTES = Buffer.alloc(0);

/** Numbers of 4 and 8 bytes are read through here: most frames are too short to earn a view of their own. */
const scratch = new DataView(new ArrayBuffer(8));

/**
 * Reads MessagePack that a peer has sent.
 *
 * Why not a general decoder: those offer extensions (records, shared structures, references, bundled
 * strings, classes), by which bytes from outside decide how later bytes are read or what is constructed.
 * Here an extension is a malformed frame, and a reader holds nothing from one frame to the next, so there
 * is nothing for a peer to influence. It also yields strings of their own, where the native part of
 * msgpackr yields slices: one job id that is kept held 6 KB of its frame's text. The price is that frames of
 * many strings are read at two thirds of its speed; short frames are read faster.
 *
 * Declared lengths are compared with the bytes that are there before anything is allocated; nesting and
 * the number of values are bounded. Integers of 64 bits are accepted within ±(2^53 − 1). Binary is copied
 * out of the frame. A `Uint8Array` arrives as a `Buffer`, which is one.
 */
export class MsgpackReader {
  private bytes: Buffer = NO_BYTES;
  private position = 0;
  private end = 0;
  private valuesLeft = 0;
  private readonly valuesMax: number;
  private readonly nestingMax: number;

  constructor(valuesMax: number, nestingMax: number) {
    this.valuesMax = valuesMax;
    this.nestingMax = nestingMax;
  }

  /** @throws MalformedFrameError unless the bytes are exactly one value of the subset. */
  read(bytes: Buffer): unknown {
    this.bytes = bytes;
    this.position = 0;
    this.end = bytes.length;
    this.valuesLeft = this.valuesMax;
    try {
      const value = this.readValue(0);
      if (this.position !== this.end) {
        throw new MalformedFrameError(`${this.end - this.position} bytes after the end of the value`);
      }
      return value;
    } finally {
      this.bytes = NO_BYTES;
    }
  }

  private readValue(depth: number): unknown {
    if (this.position >= this.end) {
      throw truncated();
    }
    const token = this.bytes[this.position++] as number;
    if (token < 0x80) {
      return token;
    }
    if (token >= 0xe0) {
      return token - 0x100;
    }
    if (token < 0x90) {
      return this.readMap(token & 0x0f, depth);
    }
    if (token < 0xa0) {
      return this.readArray(token & 0x0f, depth);
    }
    if (token < 0xc0) {
      return this.readString(token & 0x1f);
    }
    return this.readTagged(token, depth);
  }

  private readTagged(token: number, depth: number): unknown {
    switch (token) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xc4:
        return this.readBinary(this.readUint8());
      case 0xc5:
        return this.readBinary(this.readUint16());
      case 0xc6:
        return this.readBinary(this.readUint32());
      case 0xca:
        return this.scratch(4).getFloat32(0);
      case 0xcb:
        return this.scratch(8).getFloat64(0);
      case 0xcc:
        return this.readUint8();
      case 0xcd:
        return this.readUint16();
      case 0xce:
        return this.readUint32();
      case 0xcf:
        return safeInteger(this.scratch(8).getBigUint64(0));
      case 0xd0:
        return (this.readUint8() << 24) >> 24;
      case 0xd1:
        return (this.readUint16() << 16) >> 16;
      case 0xd2:
        return this.readUint32() | 0;
      case 0xd3:
        return safeInteger(this.scratch(8).getBigInt64(0));
      case 0xd9:
        return this.readString(this.readUint8());
      case 0xda:
        return this.readString(this.readUint16());
      case 0xdb:
        return this.readString(this.readUint32());
      case 0xdc:
        return this.readArray(this.readUint16(), depth);
      case 0xdd:
        return this.readArray(this.readUint32(), depth);
      case 0xde:
        return this.readMap(this.readUint16(), depth);
      case 0xdf:
        return this.readMap(this.readUint32(), depth);
      default:
        throw new MalformedFrameError(`type 0x${token.toString(16)} is not allowed`);
    }
  }

  private readArray(count: number, depth: number): unknown[] {
    this.enter(count, depth);
    const array: unknown[] = [];
    for (let i = 0; i < count; i++) {
      array.push(this.readValue(depth + 1));
    }
    return array;
  }

  private readMap(count: number, depth: number): Record<string, unknown> {
    this.enter(2 * count, depth);
    const map: Record<string, unknown> = {};
    for (let i = 0; i < count; i++) {
      const key = this.readValue(depth + 1);
      if (typeof key !== 'string' || key === '__proto__') {
        throw new MalformedFrameError(`a map has the key ${String(key)}`);
      }
      map[key] = this.readValue(depth + 1);
    }
    return map;
  }

  private readString(size: number): string {
    const start = this.take(size);
    return size < SHORT_STRING
      ? this.readShortString(start, start + size)
      : this.bytes.toString('utf8', start, start + size);
  }

  private readShortString(start: number, end: number): string {
    const { bytes } = this;
    let text = '';
    for (let i = start; i < end; i++) {
      const byte = bytes[i] as number;
      if (byte >= 0x80) {
        return bytes.toString('utf8', start, end);
      }
      text += String.fromCharCode(byte);
    }
    return text;
  }

  private readBinary(size: number): Buffer {
    const start = this.take(size);
    return Buffer.from(this.bytes.subarray(start, start + size));
  }

  private readUint8(): number {
    return this.bytes[this.take(1)] as number;
  }

  private readUint16(): number {
    const start = this.take(2);
    return ((this.bytes[start] as number) << 8) | (this.bytes[start + 1] as number);
  }

  private readUint32(): number {
    const start = this.take(4);
    const { bytes } = this;
    return (
      (bytes[start] as number) * 0x1000000 +
      (((bytes[start + 1] as number) << 16) |
        ((bytes[start + 2] as number) << 8) |
        (bytes[start + 3] as number))
    );
  }

  private scratch(size: number): DataView {
    const start = this.take(size);
    for (let i = 0; i < size; i++) {
      scratch.setUint8(i, this.bytes[start + i] as number);
    }
    return scratch;
  }

  /** @returns where the next `size` bytes begin. */
  private take(size: number): number {
    const start = this.position;
    if (size > this.end - start) {
      throw truncated();
    }
    this.position = start + size;
    return start;
  }

  /** Checks an array or a map before any of it is read; each of its values takes a byte at least. */
  private enter(values: number, depth: number): void {
    if (values > this.end - this.position) {
      throw truncated();
    }
    this.valuesLeft -= values;
    if (this.valuesLeft < 0) {
      throw new MalformedFrameError(`more than ${this.valuesMax} values`);
    }
    if (depth >= this.nestingMax) {
      throw new MalformedFrameError(`nested deeper than ${this.nestingMax} levels`);
    }
  }
}

function truncated(): MalformedFrameError {
  return new MalformedFrameError('a length points past the end');
}

function safeInteger(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) {
    throw new MalformedFrameError(`integer ${value} is beyond 2^53`);
  }
  return number;
}
