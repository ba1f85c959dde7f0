import { MalformedFrameError } from '../errors.js';

export interface WellFormedLimits {
  /** Maximum number of values in all arrays and maps together. */
  readonly valuesMax: number;
  /** Maximum nesting of arrays and maps. */
  readonly nestingMax: number;
}

/**
 * Checks that untrusted bytes are exactly one value of plain MessagePack within limits, before anything is decoded. The
 * check takes a quarter of the time of decoding.
 *
 * Checking the result of msgpackr would be too late:
 * - Extensions can do more than construct values. A frame of 188 KB that declares a thousand times that its
 *   strings are bundled at the end takes 0.4 s to read, and one of 16 MiB most of an hour; others define the
 *   meaning of the following bytes, or values that are shared. msgpackr has no setting to disable them. This
 *   protocol uses none, so each is malformed.
 * - An empty map is one byte of a frame and 64 of memory: a frame of 16 MiB can request a gigabyte.
 * - Nesting is parsed recursively.
 *
 * @throws MalformedFrameError
 */
export function checkWellFormed(bytes: Uint8Array, limits: WellFormedLimits): void {
  new Scan(bytes, limits).run();
}

class Scan {
  readonly #bytes: Uint8Array;
  readonly #limits: WellFormedLimits;
  #position = 0;
  #values = 0;

  constructor(bytes: Uint8Array, limits: WellFormedLimits) {
    this.#bytes = bytes;
    this.#limits = limits;
  }

  run(): void {
    this.#value(0);
    const rest = this.#bytes.length - this.#position;
    if (rest > 0) throw new MalformedFrameError(`${rest} bytes after the end of the value`);
  }

  /** Skips one value with its content. */
  #value(depth: number): void {
    const token = this.#bytes[this.#position++];
    if (token === undefined) throw pastTheEnd();
    if (token < 0x80 || token >= 0xe0) return;
    if (token < 0x90) {
      this.#container(2 * (token & 0x0f), depth);
    } else if (token < 0xa0) {
      this.#container(token & 0x0f, depth);
    } else if (token < 0xc0) {
      this.#skip(token & 0x1f);
    } else {
      this.#tagged(token, depth);
    }
  }

  #tagged(token: number, depth: number): void {
    switch (token) {
      case 0xc0: // nil
      case 0xc2: // false
      case 0xc3: // true
        return;
      case 0xcc: // uint 8
      case 0xd0: // int 8
        return this.#skip(1);
      case 0xcd: // uint 16
      case 0xd1: // int 16
        return this.#skip(2);
      case 0xca: // float 32
      case 0xce: // uint 32
      case 0xd2: // int 32
        return this.#skip(4);
      case 0xcb: // float 64
      case 0xcf: // uint 64
      case 0xd3: // int 64
        return this.#skip(8);
      case 0xc4: // bin 8
      case 0xd9: // str 8
        return this.#skip(this.#uint(1));
      case 0xc5: // bin 16
      case 0xda: // str 16
        return this.#skip(this.#uint(2));
      case 0xc6: // bin 32
      case 0xdb: // str 32
        return this.#skip(this.#uint(4));
      case 0xdc: // array 16
        return this.#container(this.#uint(2), depth);
      case 0xdd: // array 32
        return this.#container(this.#uint(4), depth);
      case 0xde: // map 16
        return this.#container(2 * this.#uint(2), depth);
      case 0xdf: // map 32
        return this.#container(2 * this.#uint(4), depth);
      default:
        throw new MalformedFrameError(`type 0x${token.toString(16)} is not allowed`);
    }
  }

  /** Skips the content of an array or a map: `count` values, keys included. */
  #container(count: number, depth: number): void {
    const { valuesMax, nestingMax } = this.#limits;
    this.#values += count;
    if (this.#values > valuesMax) throw new MalformedFrameError(`more than ${valuesMax} values`);
    if (depth >= nestingMax) throw new MalformedFrameError(`nested deeper than ${nestingMax} levels`);
    for (let i = 0; i < count; i++) this.#value(depth + 1);
  }

  /** Skips `size` bytes, and returns them as a number. */
  #uint(size: number): number {
    const start = this.#position;
    this.#skip(size);
    let value = 0;
    for (let i = start; i < this.#position; i++) value = 0x100 * value + (this.#bytes[i] as number);
    return value;
  }

  #skip(size: number): void {
    this.#position += size;
    if (this.#position > this.#bytes.length) throw pastTheEnd();
  }
}

function pastTheEnd(): MalformedFrameError {
  return new MalformedFrameError('a value extends beyond the end');
}
