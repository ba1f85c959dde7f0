import { VALUE_DEPTH_MAX } from './limits.js';
import { describeThrown } from './thrown.js';

type EncodedValue =
  /** Undefined for a value of undefined. */
  | { readonly text: string | undefined }
  | { readonly problem: 'not-serialisable' | 'too-large'; readonly message: string };

/**
 * Encodes a module's value as JSON. Functions, maps, NaN and other values that JSON.stringify drops silently are
 * errors with a path; `toJSON` and undefined properties behave as in JSON.stringify.
 */
export function encodeValue(value: unknown, bytesMax: number): EncodedValue {
  try {
    const problem = new Inspection(bytesMax).problemOf(value, 'value', 0);
    if (problem !== undefined) return { problem: 'not-serialisable', message: problem };
    const text = JSON.stringify(value) as string | undefined;
    if (text !== undefined && Buffer.byteLength(text) > bytesMax) return tooLarge(bytesMax);
    return { text };
  } catch (error) {
    if (error instanceof TooLarge) return tooLarge(bytesMax);
    // A getter or toJSON threw, or the text exceeds the maximum string length.
    return { problem: 'not-serialisable', message: `the value cannot be read: ${describeThrown(error)}` };
  }
}

function tooLarge(bytesMax: number): EncodedValue {
  return { problem: 'too-large', message: tooLargeMessage(bytesMax) };
}

export function tooLargeMessage(bytesMax: number): string {
  return `the value takes more than ${bytesMax} bytes as JSON: write it to a file and return its path`;
}

class TooLarge extends Error {}

class Inspection {
  readonly #nodesMax: number;
  readonly #ancestors = new Set<object>();
  #nodes = 0;

  /** @param nodesMax maximum size in bytes, because each node takes at least one byte of JSON */
  constructor(nodesMax: number) {
    this.#nodesMax = nodesMax;
  }

  problemOf(value: unknown, path: string, depth: number): string | undefined {
    if (++this.#nodes > this.#nodesMax) throw new TooLarge();
    switch (typeof value) {
      case 'bigint':
        return `${path} is a BigInt: return a string or a number`;
      case 'function':
      case 'symbol':
        return `${path} is a ${typeof value}`;
      case 'number':
        return Number.isFinite(value) ? undefined : `${path} is ${value}, which JSON cannot represent`;
      case 'object':
        return value === null ? undefined : this.#problemOfObject(value, path, depth);
      default:
        return undefined;
    }
  }

  #problemOfObject(value: object, path: string, depth: number): string | undefined {
    if (this.#ancestors.has(value)) return `${path} contains itself`;
    if (depth >= VALUE_DEPTH_MAX) return `the value is nested deeper than ${VALUE_DEPTH_MAX} levels`;
    this.#ancestors.add(value);
    const problem = this.#problemWithin(value, path, depth + 1);
    this.#ancestors.delete(value);
    return problem;
  }

  #problemWithin(value: object, path: string, depth: number): string | undefined {
    if ('toJSON' in value && typeof value.toJSON === 'function') {
      return this.problemOf(value.toJSON(), path, depth);
    }
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++) {
        const problem = this.problemOf(value[index], `${path}[${index}]`, depth);
        if (problem !== undefined) return problem;
      }
      return undefined;
    }
    // Plain objects and class instances; not Map, Promise, Error, Uint8Array and similar.
    const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
    if (tag !== 'Object') return `${path} is a ${tag}, which JSON cannot represent`;
    for (const [key, entry] of Object.entries(value)) {
      const problem = this.problemOf(entry, `${path}.${key}`, depth);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
}
