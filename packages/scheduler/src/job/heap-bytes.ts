import { LIMITS } from '@goshawk/core';

/** Size of a JSON-like value. */
export interface Weight {
  /** Values and keys, as the codec counts them. */
  values: number;
  /** Bytes of text and byte arrays. */
  bytes: number;
}

/** Weighs a value; one of any depth, for it is as deep as somebody has made it. */
export function weigh(value: unknown): Weight {
  const weight = { values: 0, bytes: 0 };
  const left: unknown[] = [value];
  while (left.length > 0) {
    const next = left.pop();
    weight.values++;
    if (typeof next === 'string') weight.bytes += next.length;
    else if (next instanceof Uint8Array) weight.bytes += next.length;
    else if (Array.isArray(next)) for (const inner of next) left.push(inner);
    else if (typeof next === 'object' && next !== null) {
      for (const key of Object.keys(next)) {
        weight.values++;
        weight.bytes += key.length;
        left.push((next as Record<string, unknown>)[key]);
      }
    }
  }
  return weight;
}

/** A value in an object or a list, or a key, beside the text that it may be. */
const VALUE_BYTES = 16;

/** Estimated heap size of a value. Bytes. */
export function heapBytes(value: unknown): number {
  const { values, bytes } = weigh(value);
  return values * VALUE_BYTES + bytes;
}

/** Whether a value may go out in one answer. */
export function isAnswerable({ values, bytes }: Weight): boolean {
  return values <= LIMITS.answerValuesMax && bytes <= LIMITS.answerBytesMax;
}

/** Fills one answer with as many items as may be in it. */
export class Page<Item> {
  readonly items: Item[] = [];
  readonly #total: Weight = { values: 0, bytes: 0 };

  /** @returns false when the item is one for the next page; the first always fits */
  take(item: Item): boolean {
    const { values, bytes } = weigh(item);
    const total = { values: this.#total.values + values, bytes: this.#total.bytes + bytes };
    if (this.items.length > 0 && !isAnswerable(total)) return false;
    Object.assign(this.#total, total);
    this.items.push(item);
    return true;
  }
}
