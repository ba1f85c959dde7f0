/** The bytes are not MessagePack. */
export class PackedError extends Error {
  override name = 'PackedError';
}

/** Estimates the heap size of values in MessagePack. */
export interface HeapCount {
  bytes: number;
}

// Sizes of V8's objects on 64-bit machines. Keys, which are shared, count as texts, and objects correspondingly less.
const OBJECT_BYTES = 40;
const LIST_BYTES = 40;
const TEXT_BYTES = 24;
const SLOT_BYTES = 8;

/** @returns the end of the value that begins at `at`, without decoding it, at any depth @throws PackedError */
export function endOf(bytes: Buffer, at: number, heap?: HeapCount): number {
  let values = 1;
  while (values > 0) {
    values--;
    if (at >= bytes.length) throw new PackedError('the value is cut off');
    const code = bytes[at]!;
    let taken = SLOT_BYTES;
    if (code < 0x80 || code >= 0xe0 || code === 0xc0 || code === 0xc2 || code === 0xc3) at++;
    else if (isMap(code) || isList(code)) {
      const { count, next } = openedAt(bytes, at);
      at = next;
      values += isMap(code) ? 2 * count : count;
      taken = isMap(code) ? OBJECT_BYTES : LIST_BYTES + SLOT_BYTES * count;
    } else if (code < 0xc0) {
      at += 1 + (code & 0x1f);
      taken = TEXT_BYTES + (code & 0x1f);
    } else {
      const end = at + 1 + (FIXED[code] ?? lengthOf(bytes, at, code));
      if (code >= 0xc4 && (code < 0xca || code > 0xd3)) taken = TEXT_BYTES + end - at;
      at = end;
    }
    if (heap !== undefined) heap.bytes += taken;
  }
  if (at > bytes.length) throw new PackedError('the value is cut off');
  return at;
}

/**
 * Returns the number of values of a list or map (pairs count twice), and the offset of the first. @throws PackedError for another
 * value
 */
export function openedAt(bytes: Buffer, at: number): { readonly count: number; readonly next: number } {
  const code = bytes[at] ?? 0xc1;
  if (code >= 0x80 && code < 0xa0) return { count: code & 0x0f, next: at + 1 };
  const isShort = code === 0xdc || code === 0xde;
  if (!isShort && code !== 0xdd && code !== 0xdf) throw new PackedError('it is neither a list nor a map');
  const next = at + (isShort ? 3 : 5);
  if (next > bytes.length) throw new PackedError('the value is cut off');
  return { count: isShort ? bytes.readUInt16BE(at + 1) : bytes.readUInt32BE(at + 1), next };
}

export function isMap(code: number | undefined): boolean {
  return code !== undefined && ((code >= 0x80 && code < 0x90) || code === 0xde || code === 0xdf);
}

export function isList(code: number | undefined): boolean {
  return code !== undefined && ((code >= 0x90 && code < 0xa0) || code === 0xdc || code === 0xdd);
}

/** Bytes after the code of fixed-length values: numbers, and extensions with their type. */
const FIXED: Readonly<Record<number, number>> = {
  202: 4,
  203: 8,
  204: 1,
  205: 2,
  206: 4,
  207: 8,
  208: 1,
  209: 2,
  210: 4,
  211: 8,
  212: 2,
  213: 3,
  214: 5,
  215: 9,
  216: 17,
};

/** Bytes after the code: a length, the counted bytes, and the type of an extension. */
function lengthOf(bytes: Buffer, at: number, code: number): number {
  const isExtension = code >= 0xc7 && code <= 0xc9;
  const size = code >= 0xd9 ? code - 0xd9 : (code - 0xc4) % 3;
  if (code === 0xc1 || at + 5 > bytes.length + (size === 2 ? 0 : size === 1 ? 2 : 3))
    throw new PackedError(code === 0xc1 ? 'it contains a value of an unknown type' : 'the value is cut off');
  const width = 1 << size;
  return width + bytes.readUIntBE(at + 1, width) + (isExtension ? 1 : 0);
}
