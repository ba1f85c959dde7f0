import * as lmdb from 'lmdb';

/** Records are ordered by job, and by the order of writing within it. */
type RecordKey = readonly [job: number, place: number];

/** lmdb exports these without declaring them. */
const { bufferToKeyValue, keyValueToBuffer } = lmdb as unknown as {
  bufferToKeyValue(bytes: Buffer): unknown;
  keyValueToBuffer(key: readonly number[]): Buffer;
};

/** Returns the key of a record, or, for a job alone, the prefix of all its records. */
export function keyBytes(...key: RecordKey | readonly [job: number]): Buffer {
  return keyValueToBuffer(key);
}

/** Returns undefined for an invalid key, which is damage. */
export function recordKeyOf(bytes: Buffer): RecordKey | undefined {
  try {
    const key = bufferToKeyValue(bytes);
    const isKey = Array.isArray(key) && key.length === 2 && key.every((part) => Number.isSafeInteger(part));
    return isKey ? (key as unknown as RecordKey) : undefined;
  } catch {
    return undefined;
  }
}
