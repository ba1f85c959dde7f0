import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { getHeapStatistics } from 'node:v8';
import { jsonExcess } from '@goshawk/core';
import { Refused } from './errors.js';
import { LIMITS } from './limits.js';
import type { TakeTurn } from './turns.js';

/** Fraction of the heap that all bodies in progress may use. */
const HEAP_SHARE = 1 / 4;
/** Heap size of an empty array in bytes. Its text has two bytes. */
const VALUE_BYTES = 64;

/**
 * Limits the heap size of request bodies, individually and in total. The size is estimated before parsing,
 * because 16 MiB of text can be JSON of seven million arrays.
 */
export class Bodies {
  readonly #bytesMax: number;
  readonly #taken = new Map<IncomingMessage, number>();
  #bytes = 0;

  /** @param bytesMax limit of the heap size of all bodies */
  constructor(bytesMax = getHeapStatistics().heap_size_limit * HEAP_SHARE) {
    this.#bytesMax = bytesMax;
  }

  /**
   * Reads the text of a body within the limits.
   *
   * @param turn runs what takes time once the body has arrived, and its parsing
   * @throws Refused if the body is too large or has too many values, or if too many bodies are in progress
   */
  async read(
    request: IncomingMessage,
    payload: Readable,
    turn: TakeTurn = (work) => work(),
  ): Promise<string> {
    try {
      const chunks: Buffer[] = [];
      let bytes = 0;
      // The connection must stay open for the response.
      for await (const chunk of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > LIMITS.bodyBytesMax) throw tooLarge(`has more than ${LIMITS.bodyBytesMax} bytes`);
        this.#take(request, chunk.length);
        chunks.push(chunk);
      }
      return await turn(async () => {
        const body = Buffer.concat(chunks);
        this.#take(request, VALUE_BYTES * valuesOf(body));
        const text = textOf(body);
        const excess = jsonExcess(text);
        if (excess !== undefined) throw tooLarge(`is refused: ${excess}`);
        return text;
      });
    } catch (error) {
      this.ended(request);
      throw error;
    }
  }

  /** Releases the body of a request that was answered, or whose client has disconnected. */
  ended(request: IncomingMessage): void {
    this.#bytes -= this.#taken.get(request) ?? 0;
    this.#taken.delete(request);
  }

  #take(request: IncomingMessage, bytes: number): void {
    if (this.#bytes + bytes > this.#bytesMax)
      throw new Refused(503, 'overloaded', 'too many submissions at once', 'try again in a second');
    this.#bytes += bytes;
    this.#taken.set(request, (this.#taken.get(request) ?? 0) + bytes);
  }
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** @throws Refused for invalid UTF-8: replacement characters would become part of the job */
function textOf(body: Uint8Array): string {
  try {
    return UTF_8.decode(body);
  } catch {
    throw new Refused(400, 'bad-text', 'the body is not valid UTF-8', 'encode the JSON as UTF-8');
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);
const COMMA = 0x2c;

/**
 * Returns an upper bound on the number of JSON values, at most one per array too high. The result for invalid
 * JSON is arbitrary.
 *
 * @throws Refused above the limits
 */
export function valuesOf(text: Uint8Array): number {
  let values = 1;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const byte = text[i]!;
    if (byte === QUOTE) {
      for (i++; i < text.length && text[i] !== QUOTE; i++) if (text[i] === BACKSLASH) i++;
    } else if (byte === COMMA) {
      values++;
    } else if (OPENING.has(byte)) {
      values++;
      depth++;
      if (depth > LIMITS.bodyDepthMax) throw tooLarge(`is nested deeper than ${LIMITS.bodyDepthMax} levels`);
    } else if (CLOSING.has(byte)) {
      depth--;
    }
    if (values > LIMITS.bodyValuesMax) throw tooLarge(`has more than ${LIMITS.bodyValuesMax} values`);
  }
  return values;
}

function tooLarge(what: string): Refused {
  return new Refused(413, 'too-large', `the body ${what}`, 'submit several jobs, or use a task count');
}
