import { Packr, RESET_BUFFER_MODE, REUSE_BUFFER_MODE } from 'msgpackr/index-no-eval';
import { MalformedFrameError } from '../errors.js';
import { checkWellFormed, type WellFormedLimits } from './well-formed.js';

/**
 * The MessagePack subset of this protocol: JSON plus binary. `checkEncodable` and `checkWellFormed` enforce it on the two sides;
 * msgpackr does the rest.
 *
 * Encoding of values:
 * - 32-bit integers as integers, all other numbers as 64-bit floats: integers beyond 2^53, NaN and ±Infinity
 *   arrive unchanged, −0 as 0;
 * - `undefined` in an array (or a hole) as nil, so it arrives as null; a property that is `undefined` is
 *   omitted;
 * - lone surrogates in a string arrive as U+FFFD;
 * - a `Uint8Array` arrives as a `Buffer`, which is a view of its frame (the codec copies it);
 * - anything else (Date, Map, Set, BigInt, functions, symbols, class instances) is rejected by the sender,
 *   and so is a property named `__proto__`.
 *
 * This uses msgpackr's build without native code, because its strings are independent copies. The native part yields slices of up
 * to 6 KB of a frame's text: 100,000 stored ids, one per frame, used 357 MB instead of 8. The cost is 0.1 µs for a string of 16
 * to 64 characters. Extensions that other code registers do not affect this instance, and it generates no code at run
 * time.
 */
const OPTIONS = {
  // Encodes objects as maps. With records, a frame could change how the next one is decoded.
  useRecords: false,
  // Encodes the size of a map in the shortest form.
  variableMapSize: true,
  encodeUndefinedAsNil: true,
  skipValues: [undefined],
  useToJSON: false,
  // Other implementations may encode small numbers as 64-bit integers.
  int64AsType: 'number' as const,
};

/** Size above which the scratch buffer is replaced: msgpackr would keep the memory of the largest value. */
const SCRATCH_BYTES_MAX = 1 << 20;
const SCRATCH_BYTES = 8 << 10;

const packr = new Packr(OPTIONS);

/** Bytes `start .. end` of a reused buffer: copy them before packing anything else. */
export interface Packed extends Buffer {
  readonly start: number;
  readonly end: number;
}

/** Encodes a value, which must have passed `checkEncodable`. */
export function pack(value: unknown): Packed {
  const packed = packr.pack(value, REUSE_BUFFER_MODE | RESET_BUFFER_MODE) as Packed;
  if (packed.length > SCRATCH_BYTES_MAX) packr.useBuffer(Buffer.allocUnsafeSlow(SCRATCH_BYTES));
  return packed;
}

/** Decodes a value. @throws MalformedFrameError unless the bytes are exactly one value of the subset */
export function unpack(bytes: Uint8Array, limits: WellFormedLimits): unknown {
  checkWellFormed(bytes, limits);
  try {
    return packr.unpack(bytes);
  } catch (cause) {
    // A well-formed map whose key is an array, a map or binary is still invalid here.
    throw new MalformedFrameError((cause as Error).message, { cause });
  }
}
