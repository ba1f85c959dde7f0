import type { OutputChunk, OutputStream } from './contract.js';

const NEWLINE = 0x0a;

/**
 * Keeps the first bytes of what a task prints, stdout and stderr together. What comes later is dropped,
 * and one line on stderr says so; the task is never blocked, and nothing that is dropped is stored.
 */
export class OutputLimit {
  readonly #bytesMax: number;
  #keptBytes = 0;
  #noted = false;
  #lastByte = NEWLINE;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** What is to be passed on of a piece of output: at most what is left, and the note after it. */
  *keep(stream: OutputStream, bytes: Uint8Array): Generator<OutputChunk> {
    const kept = bytes.subarray(0, this.#bytesMax - this.#keptBytes);
    if (kept.length > 0) {
      this.#keptBytes += kept.length;
      this.#lastByte = kept[kept.length - 1]!;
      yield { stream, bytes: kept };
    }
    if (kept.length < bytes.length && !this.#noted) {
      this.#noted = true;
      yield { stream: 'stderr', bytes: this.#note() };
    }
  }

  #note(): Uint8Array {
    const lineStart = this.#lastByte === NEWLINE ? '' : '\n';
    return Buffer.from(
      `${lineStart}goshawk: the output ends here: ${this.#keptBytes} bytes are kept, the limit of a task; the rest is dropped\n`,
    );
  }
}
