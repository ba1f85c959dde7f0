import { StringDecoder } from 'node:string_decoder';
import type { LogChunk } from '@goshawk/client';
import { Deque } from '@goshawk/core';

interface LogText {
  readonly task: number;
  readonly attempt: number;
  readonly stream: 'stdout' | 'stderr';
  readonly at: string;
  text: string;
}

/** Collects the last output of a job as text, up to a maximum size. */
export class LogTail {
  /** Whether output was dropped. */
  isTruncated = false;
  readonly #bytesMax: number;
  readonly #chunks = new Deque<{ readonly shown: LogText; readonly bytes: number }>();
  /** Decoder and last text of each stream. A character may be split between two chunks of a stream. */
  readonly #streams = new Map<string, { readonly decoder: StringDecoder; last: LogText | undefined }>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add({ task, attempt, stream, bytes, at }: LogChunk): void {
    const name = nameOf({ task, attempt, stream });
    const of = this.#streams.get(name) ?? { decoder: new StringDecoder(), last: undefined };
    this.#streams.set(name, of);
    const text = of.decoder.write(Buffer.from(bytes));
    of.last = { task, attempt, stream, at: new Date(at).toISOString(), text };
    this.#chunks.push({ shown: of.last, bytes: bytes.length });
    this.#bytes += bytes.length;
    while (this.#bytes > this.#bytesMax) {
      const { shown, bytes } = this.#chunks.shift()!;
      this.#bytes -= bytes;
      this.isTruncated = true;
      if (this.#streams.get(nameOf(shown))?.last === shown) this.#streams.delete(nameOf(shown));
    }
  }

  /** Returns the output in order of arrival. Must be called only once. */
  end(): LogText[] {
    for (const { decoder, last } of this.#streams.values()) last!.text += decoder.end();
    return Array.from(this.#chunks, ({ shown }) => shown);
  }
}

function nameOf({ task, attempt, stream }: Pick<LogText, 'task' | 'attempt' | 'stream'>): string {
  return `${task} ${attempt} ${stream}`;
}
