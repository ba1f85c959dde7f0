import type { OutputStream } from './contract.js';
import { OutputLimit } from './output-limit.js';
import { OutputTail } from './output-tail.js';

type Post = (stream: OutputStream, bytes: Uint8Array) => void;
/** Sends the shared memory of a tail, which the worker can read even if the thread ends abnormally. */
type PostTail = (stream: OutputStream, memory: SharedArrayBuffer) => void;

/**
 * Separates the output of modules (console, process.stdout, process.stderr) from that of the worker. The
 * limit applies in the thread, so that excess output is dropped before it is copied.
 */
export class ThreadOutput {
  readonly #post: Post;
  readonly #postTail: PostTail;
  #limit: OutputLimit | undefined;

  constructor(post: Post, postTail: PostTail) {
    this.#post = post;
    this.#postTail = postTail;
    process.stdout.write = this.#writeOf('stdout');
    process.stderr.write = this.#writeOf('stderr');
  }

  /** Assigns all further output to this run, including output of callbacks of the previous run. */
  begin(bytesMax: number): void {
    this.#limit = new OutputLimit(bytesMax, (stream, tailBytesMax) => {
      const memory = OutputTail.memory(tailBytesMax);
      this.#postTail(stream, memory);
      return new OutputTail(memory);
    });
  }

  /** Drops all further output, until the next run begins. */
  end(): void {
    this.#limit = undefined;
  }

  #writeOf(stream: OutputStream): NodeJS.WriteStream['write'] {
    return (
      text: string | Uint8Array,
      encoding?: BufferEncoding | ((error?: Error | null) => void),
      done?: (error?: Error | null) => void,
    ) => {
      const bytes =
        typeof text === 'string' ? Buffer.from(text, typeof encoding === 'string' ? encoding : 'utf8') : text;
      for (const chunk of this.#limit?.keep(stream, bytes) ?? []) this.#post(chunk.stream, chunk.bytes);
      const callback = typeof encoding === 'function' ? encoding : done;
      if (callback !== undefined) process.nextTick(callback);
      return true;
    };
  }
}
