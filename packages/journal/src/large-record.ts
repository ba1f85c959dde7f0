import { endOf, type HeapCount, isList, isMap, openedAt, PackedError } from './packed.js';

/** Decodes a value from its bytes. */
type Unpack = (bytes: Buffer) => unknown;

/** Size of a pointer to a shared payload. Bytes. */
const SHARED_BYTES = 8;

/** Decoding a record would exceed the heap limit. */
export class TooLargeError extends Error {
  override name = 'TooLargeError';
}

/** A list of payloads, by its offset in the bytes of a record. */
export interface PackedList {
  readonly count: number;
  readonly first: number;
}

/**
 * Decodes a record part by part. A job may list a payload per task, up to a gigabyte in total: identical payloads that
 * follow each other become one shared object, and a record that is still too large is not decoded at all.
 */
export class LargeRecord {
  readonly #bytes: Buffer;
  readonly #unpack: Unpack;
  readonly #heapMax: number;
  readonly #heap: HeapCount = { bytes: 0 };
  readonly #placeOf: ((list: PackedList) => unknown) | undefined;

  /** @param placeOf replaces a list of payloads; default: the payloads */
  constructor(bytes: Buffer, unpack: Unpack, heapMax: number, placeOf?: (list: PackedList) => unknown) {
    this.#bytes = bytes;
    this.#unpack = unpack;
    this.#heapMax = heapMax;
    this.#placeOf = placeOf;
  }

  /**
   * Decodes the values of the record's list.
   *
   * @param nameOf returns the name of the value at this place, given those before it; a value named `skipped` is not decoded
   * @throws PackedError, TooLargeError
   */
  values(nameOf: (place: number, before: readonly unknown[]) => string | undefined): unknown[] {
    const { count, next } = openedAt(this.#bytes, 0);
    if (!isList(this.#bytes[0])) throw new PackedError('it is not a list of fields');
    const values: unknown[] = [];
    let at = next;
    for (let place = 0; place < count; place++) {
      const end = endOf(this.#bytes, at);
      const name = nameOf(place, values);
      if (name === 'spec') values.push(this.#spec(at));
      else if (name === 'tasks') values.push(this.#payloads(at));
      else if (name !== 'skipped') values.push(this.#make(at, end));
      at = end;
    }
    if (at !== this.#bytes.length) throw new PackedError('bytes follow the record');
    return values;
  }

  /** Yields the payloads one by one; a payload equal to the previous one is the same object. */
  *payloadsOf({ count, first }: PackedList): Iterable<unknown> {
    const bytes = this.#bytes;
    let at = first;
    let size = 0;
    let payload: unknown;
    for (let index = 0; index < count; index++) {
      // No encoding is a prefix of another, so a value that starts with the same bytes has the same end.
      const isSame =
        index > 0 && at + size <= bytes.length && bytes.compare(bytes, at, at + size, at - size, at) === 0;
      if (isSame) this.#take(SHARED_BYTES);
      else {
        const end = endOf(bytes, at);
        size = end - at;
        payload = this.#make(at, end);
      }
      at += size;
      yield payload;
    }
  }

  #spec(at: number): unknown {
    return this.#object(at, (name, from, end) =>
      name === 'stages' && isList(this.#bytes[from]) ? this.#stages(from) : this.#make(from, end),
    );
  }

  #stages(at: number): unknown[] {
    const { count, next } = openedAt(this.#bytes, at);
    const stages: unknown[] = [];
    let from = next;
    for (let index = 0; index < count; index++) {
      stages.push(
        this.#object(from, (name, start, end) =>
          name === 'tasks' ? this.#object(start, this.#taskList) : this.#make(start, end),
        ),
      );
      from = endOf(this.#bytes, from);
    }
    return stages;
  }

  readonly #taskList = (name: string, at: number, end: number): unknown =>
    name === 'each' ? this.#payloads(at) : this.#make(at, end);

  #payloads(at: number): unknown {
    if (!isList(this.#bytes[at])) return this.#make(at, endOf(this.#bytes, at));
    const { count, next: first } = openedAt(this.#bytes, at);
    const list = { count, first };
    return this.#placeOf === undefined ? [...this.payloadsOf(list)] : this.#placeOf(list);
  }

  #object(at: number, fieldOf: (name: string, at: number, end: number) => unknown): unknown {
    const bytes = this.#bytes;
    if (!isMap(bytes[at])) return this.#make(at, endOf(bytes, at));
    const { count, next } = openedAt(bytes, at);
    const fields: [string, unknown][] = [];
    let from = next;
    for (let index = 0; index < count; index++) {
      const start = endOf(bytes, from);
      const end = endOf(bytes, start);
      const name = String(this.#make(from, start));
      fields.push([name, fieldOf(name, start, end)]);
      from = end;
    }
    return Object.fromEntries(fields);
  }

  #make(at: number, end: number): unknown {
    const before = this.#heap.bytes;
    endOf(this.#bytes, at, this.#heap);
    const taken = this.#heap.bytes - before;
    this.#heap.bytes = before;
    this.#take(taken);
    // A copy: byte arrays in the value would keep the whole record in memory.
    return this.#unpack(Buffer.from(this.#bytes.subarray(at, end)));
  }

  #take(bytes: number): void {
    this.#heap.bytes += bytes;
    if (this.#heap.bytes <= this.#heapMax) return;
    const most = Math.round(this.#heapMax / 2 ** 20);
    throw new TooLargeError(
      `it takes more than ${most} MiB of memory, the limit for one record: use a larger heap (--max-old-space-size)`,
    );
  }
}
