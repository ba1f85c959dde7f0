import { FrameTooLargeError, UnencodableError } from '../errors.js';
import type { MailboxLimits } from '../limits.js';

type EncodableLimits = Pick<MailboxLimits, 'frameBytesMax' | 'frameValuesMax' | 'nestingMax'>;

/**
 * Checks that encoding will not change a value. msgpackr would turn sets into arrays and class instances into maps,
 * write floats as bytes, and overflow the stack on cycles.
 *
 * @returns the number of values, including keys and `value` itself
 * @throws UnencodableError; FrameTooLargeError if it exceeds the size of a frame
 */
export function checkEncodable(value: unknown, limits: EncodableLimits): number {
  const survey = new EncodableCheck(limits);
  survey.value(value, 0);
  return survey.values;
}

class EncodableCheck {
  values = 0;
  /** Minimum encoded size of text and binary; a UTF-16 unit takes at least one byte. */
  #bytes = 0;
  readonly #limits: EncodableLimits;

  constructor(limits: EncodableLimits) {
    this.#limits = limits;
  }

  value(value: unknown, depth: number): void {
    this.values++;
    if (this.values > this.#limits.frameValuesMax) throw tooLarge(this.#limits);
    switch (typeof value) {
      case 'number':
      case 'boolean':
      case 'undefined':
        return;
      case 'string':
        return this.#content(value.length);
      case 'object':
        return value === null ? undefined : this.#object(value, depth);
      default:
        throw new UnencodableError(`a ${typeof value} cannot be sent in a message`);
    }
  }

  #object(value: object, depth: number): void {
    if (value instanceof Uint8Array) return this.#content(value.length);
    const { nestingMax } = this.#limits;
    if (depth >= nestingMax) {
      throw new UnencodableError(`a message is nested deeper than ${nestingMax} levels, or contains itself`);
    }
    if (Array.isArray(value)) {
      for (const entry of value) this.value(entry, depth + 1);
      return;
    }
    const prototype = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) {
      throw new UnencodableError(`a ${value.constructor?.name ?? 'object'} cannot be sent in a message`);
    }
    for (const key of Object.keys(value)) {
      if (key === '__proto__') {
        throw new UnencodableError('a property named __proto__ cannot be sent in a message');
      }
      this.value(key, depth);
      this.value((value as Record<string, unknown>)[key], depth + 1);
    }
  }

  #content(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#limits.frameBytesMax) throw tooLarge(this.#limits);
  }
}

export function tooLarge({ frameBytesMax, frameValuesMax }: EncodableLimits): FrameTooLargeError {
  return new FrameTooLargeError(
    `a message does not fit into a frame of ${frameBytesMax} bytes and ${frameValuesMax} values`,
  );
}
