import { LIMITS } from '@goshawk/core';

/** Size of a JSON-like value. */
export interface HeapSize {
  /** Values and keys, as the codec counts them. */
  values: number;
  /** Bytes of text and byte arrays. */
  bytes: number;
}

/** Measures a value without recursion, because untrusted values may be nested to any depth. */
export function measureHeap(value: unknown): HeapSize {
  const weight = { values: 0, bytes: 0 };
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    weight.values++;
    if (typeof next === 'string') weight.bytes += next.length;
    else if (next instanceof Uint8Array) weight.bytes += next.length;
    else if (Array.isArray(next)) for (const inner of next) pending.push(inner);
    else if (typeof next === 'object' && next !== null) {
      for (const key of Object.keys(next)) {
        weight.values++;
        weight.bytes += key.length;
        pending.push((next as Record<string, unknown>)[key]);
      }
    }
  }
  return weight;
}

/** Bytes of a key, or of an element of an object or array, without its text. */
const VALUE_BYTES = 16;

/** Estimated heap size of a value, in bytes. */
export function heapBytes(value: unknown): number {
  const { values, bytes } = measureHeap(value);
  return values * VALUE_BYTES + bytes;
}

/** Whether a value of this size fits into one answer. */
export function isAnswerable({ values, bytes }: HeapSize): boolean {
  return values <= LIMITS.answerValuesMax && bytes <= LIMITS.answerBytesMax;
}

/** Collects items until an answer is full. */
export class Page<Item> {
  readonly items: Item[] = [];
  readonly #total: HeapSize = { values: 0, bytes: 0 };

  /** @returns false if the item belongs on the next page; the first item always fits */
  take(item: Item): boolean {
    const { values, bytes } = measureHeap(item);
    const total = { values: this.#total.values + values, bytes: this.#total.bytes + bytes };
    if (this.items.length > 0 && !isAnswerable(total)) return false;
    Object.assign(this.#total, total);
    this.items.push(item);
    return true;
  }
}
