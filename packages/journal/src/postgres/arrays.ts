/** PostgreSQL's type numbers of elements. */
const INT8 = 20;
const BYTEA = 17;
/**
 * The header: number of dimensions, whether there are nulls, the type, and the length and first index of the only dimension.
 * Bytes.
 */
const HEAD = 20;

/** Encodes `bigint[]` in PostgreSQL's binary format, which saves the conversion to text. @param values nonnegative integers */
export function int8Array(values: readonly number[]): Buffer {
  const bytes = headed(INT8, values.length, 12 * values.length, false);
  let at = HEAD;
  for (const value of values) {
    bytes.writeInt32BE(8, at);
    bytes.writeUInt32BE(Math.floor(value / 2 ** 32), at + 4);
    bytes.writeUInt32BE(value % 2 ** 32, at + 8);
    at += 12;
  }
  return bytes;
}

/** Encodes `bytea[]` in PostgreSQL's binary format; undefined is null. */
export function byteaArray(values: readonly (Buffer | undefined)[]): Buffer {
  let size = 0;
  let hasNulls = false;
  for (const value of values) {
    size += 4 + (value?.length ?? 0);
    hasNulls ||= value === undefined;
  }
  const bytes = headed(BYTEA, values.length, size, hasNulls);
  let at = HEAD;
  for (const value of values) {
    at = bytes.writeInt32BE(value?.length ?? -1, at);
    if (value !== undefined) at += value.copy(bytes, at);
  }
  return bytes;
}

/** An empty array has no dimension. */
function headed(type: number, length: number, size: number, hasNulls: boolean): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD + size);
  bytes.writeInt32BE(1, 0);
  bytes.writeInt32BE(hasNulls ? 1 : 0, 4);
  bytes.writeInt32BE(type, 8);
  bytes.writeInt32BE(length, 12);
  bytes.writeInt32BE(1, 16);
  if (length > 0) return bytes;
  bytes.writeInt32BE(0, 0);
  return bytes.subarray(0, 12);
}
