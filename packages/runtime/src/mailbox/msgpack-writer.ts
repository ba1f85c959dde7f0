import { FrameTooLargeError, UnencodableError } from './errors.js';

const INITIAL_BYTES = 512;

/** Below this length a loop over an ASCII string is faster than a call into the runtime. */
const SHORT_STRING = 48;

export interface WriterLimits {
  /** Bytes of memory that may be taken. */
  readonly memoryMax: number;
  readonly nestingMax: number;
}

/**
 * Writes plain values as MessagePack into one growing buffer.
 *
 * The subset is what JSON has, plus binary: nil, booleans, numbers, strings, `Uint8Array`, arrays, and
 * plain objects as maps with string keys. There are no extension types; see `MsgpackReader` for why.
 *
 * How values travel:
 * - whole numbers of 32 bits as integers, all others as 64-bit floats: integers beyond 2^53 arrive as the
 *   double that they were, NaN and ±Infinity as such, −0 as 0;
 * - `undefined` in an array (a hole, too) as nil, so it arrives as null; a property that is `undefined` is
 *   left out;
 * - lone surrogates in a string arrive as U+FFFD;
 * - anything else (Date, Map, Set, BigInt, functions, symbols, instances of classes) is refused, and so is a
 *   property named `__proto__`.
 */
export class MsgpackWriter {
  /** Bytes `0 .. length` are written. */
  length = 0;
  /** Values written into arrays and maps so far, as the reader at the other end will count them. */
  values = 0;
  private bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  private view = viewOf(this.bytes);
  private readonly limits: WriterLimits;

  constructor(limits: WriterLimits) {
    this.limits = limits;
  }

  /**
   * @throws UnencodableError for a value that has no form on the wire; FrameTooLargeError if memory for it
   * would exceed the limit. After either, the caller cuts back to the length that it had before.
   */
  write(value: unknown): void {
    this.writeValue(value, 0);
  }

  /**
   * Begins an array whose count is not known yet.
   *
   * @returns where `patchUint32` puts the count.
   */
  openArray(): number {
    this.reserve(5);
    this.writeTagged32(0xdd, 0);
    return this.length - 4;
  }

  writeArrayHeader(count: number): void {
    this.reserve(5);
    this.values += count;
    if (count < 16) {
      this.bytes[this.length++] = 0x90 | count;
    } else if (count < 0x10000) {
      this.writeTagged16(0xdc, count);
    } else {
      this.writeTagged32(0xdd, count);
    }
  }

  patchUint32(position: number, value: number): void {
    this.view.setUint32(position, value);
  }

  /** What is written, in memory of its own. */
  copy(): Buffer {
    const copied = Buffer.allocUnsafe(this.length);
    this.bytes.copy(copied, 0, 0, this.length);
    return copied;
  }

  /** Starts over, and gives memory back if more than `bytesKept` was taken. */
  reset(bytesKept: number): void {
    this.length = 0;
    this.values = 0;
    if (this.bytes.length > Math.max(bytesKept, INITIAL_BYTES)) {
      this.bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
      this.view = viewOf(this.bytes);
    }
  }

  private writeValue(value: unknown, depth: number): void {
    switch (typeof value) {
      case 'number':
        this.writeNumber(value);
        return;
      case 'string':
        this.writeString(value);
        return;
      case 'boolean':
        this.reserve(1);
        this.bytes[this.length++] = value ? 0xc3 : 0xc2;
        return;
      case 'undefined':
        this.reserve(1);
        this.bytes[this.length++] = 0xc0;
        return;
      case 'object':
        this.writeObject(value, depth);
        return;
      default:
        throw new UnencodableError(`a ${typeof value} cannot be sent in a message`);
    }
  }

  private writeNumber(value: number): void {
    this.reserve(9);
    const { bytes } = this;
    if (value >>> 0 === value) {
      if (value < 0x80) {
        bytes[this.length++] = value;
      } else if (value < 0x100) {
        bytes[this.length++] = 0xcc;
        bytes[this.length++] = value;
      } else if (value < 0x10000) {
        this.writeTagged16(0xcd, value);
      } else {
        this.writeTagged32(0xce, value);
      }
    } else if ((value | 0) === value) {
      if (value >= -32) {
        bytes[this.length++] = value & 0xff;
      } else {
        this.writeTagged32(0xd2, value >>> 0);
      }
    } else {
      bytes[this.length] = 0xcb;
      this.view.setFloat64(this.length + 1, value);
      this.length += 9;
    }
  }

  private writeString(text: string): void {
    const units = text.length;
    if (units < SHORT_STRING && this.writeShortAscii(text, units)) {
      return;
    }
    const size = Buffer.byteLength(text);
    this.reserve(size + 5);
    if (size < 32) {
      this.bytes[this.length++] = 0xa0 | size;
    } else if (size < 0x100) {
      this.bytes[this.length++] = 0xd9;
      this.bytes[this.length++] = size;
    } else if (size < 0x10000) {
      this.writeTagged16(0xda, size);
    } else {
      this.writeTagged32(0xdb, size);
    }
    this.length += this.bytes.write(text, this.length, size);
  }

  /** @returns false, with nothing written, if there is a character beyond ASCII. */
  private writeShortAscii(text: string, units: number): boolean {
    this.reserve(SHORT_STRING + 2);
    const { bytes } = this;
    let position = this.length + (units < 32 ? 1 : 2);
    for (let i = 0; i < units; i++) {
      const unit = text.charCodeAt(i);
      if (unit >= 0x80) {
        return false;
      }
      bytes[position++] = unit;
    }
    if (units < 32) {
      bytes[this.length] = 0xa0 | units;
    } else {
      bytes[this.length] = 0xd9;
      bytes[this.length + 1] = units;
    }
    this.length = position;
    return true;
  }

  private writeObject(value: object | null, depth: number): void {
    if (value === null) {
      this.reserve(1);
      this.bytes[this.length++] = 0xc0;
      return;
    }
    if (depth >= this.limits.nestingMax) {
      throw new UnencodableError(
        `a message is nested deeper than ${this.limits.nestingMax} levels, or contains itself`,
      );
    }
    if (Array.isArray(value)) {
      const count = value.length;
      this.writeArrayHeader(count);
      for (let i = 0; i < count; i++) {
        this.writeValue(value[i], depth + 1);
      }
      return;
    }
    if (value instanceof Uint8Array) {
      this.writeBinary(value);
      return;
    }
    const prototype = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) {
      throw new UnencodableError(`a ${value.constructor?.name ?? 'object'} cannot be sent in a message`);
    }
    this.writeMap(value as Record<string, unknown>, depth);
  }

  private writeMap(value: Record<string, unknown>, depth: number): void {
    const keys = Object.keys(value);
    let count = 0;
    for (const key of keys) {
      if (value[key] !== undefined) {
        count++;
      }
    }
    this.reserve(5);
    this.values += 2 * count;
    if (count < 16) {
      this.bytes[this.length++] = 0x80 | count;
    } else if (count < 0x10000) {
      this.writeTagged16(0xde, count);
    } else {
      this.writeTagged32(0xdf, count);
    }
    for (const key of keys) {
      const property = value[key];
      if (property !== undefined) {
        if (key === '__proto__') {
          throw new UnencodableError('a property named __proto__ cannot be sent in a message');
        }
        this.writeString(key);
        this.writeValue(property, depth + 1);
      }
    }
  }

  private writeBinary(value: Uint8Array): void {
    const size = value.length;
    this.reserve(size + 5);
    if (size < 0x100) {
      this.bytes[this.length++] = 0xc4;
      this.bytes[this.length++] = size;
    } else if (size < 0x10000) {
      this.writeTagged16(0xc5, size);
    } else {
      this.writeTagged32(0xc6, size);
    }
    this.bytes.set(value, this.length);
    this.length += size;
  }

  /** The caller has reserved the room. */
  private writeTagged16(tag: number, value: number): void {
    this.bytes[this.length] = tag;
    this.bytes[this.length + 1] = value >> 8;
    this.bytes[this.length + 2] = value;
    this.length += 3;
  }

  /** The caller has reserved the room. */
  private writeTagged32(tag: number, value: number): void {
    this.bytes[this.length] = tag;
    this.view.setUint32(this.length + 1, value);
    this.length += 5;
  }

  private reserve(size: number): void {
    if (this.length + size > this.bytes.length) {
      this.grow(size);
    }
  }

  private grow(size: number): void {
    const needed = this.length + size;
    if (needed > this.limits.memoryMax) {
      throw new FrameTooLargeError(`a message needs more than ${this.limits.memoryMax} bytes`);
    }
    const larger = Buffer.allocUnsafeSlow(
      Math.min(Math.max(needed, this.bytes.length * 2), this.limits.memoryMax),
    );
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
    this.view = viewOf(larger);
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
