import * as lmdb from 'lmdb';

/** Records are filed by job, and by the order of writing within it. */
type RecordKey = readonly [job: number, place: number];

/** lmdb has these, and does not declare them. */
const { bufferToKeyValue, keyValueToBuffer } = lmdb as unknown as {
  bufferToKeyValue(bytes: Buffer): unknown;
  keyValueToBuffer(key: readonly number[]): Buffer;
};

/** Key of a record, or, for a job alone, the prefix of all its records. */
export function keyBytes(...key: RecordKey | readonly [job: number]): Buffer {
  return keyValueToBuffer(key);
}

/** Undefined for bytes that are no key of a record: they were damaged. */
export function recordKeyOf(bytes: Buffer): RecordKey | undefined {
  try {
    const key = bufferToKeyValue(bytes);
    const isKey = Array.isArray(key) && key.length === 2 && key.every((part) => Number.isSafeInteger(part));
    return isKey ? (key as unknown as RecordKey) : undefined;
  } catch {
    return undefined;
  }
}
