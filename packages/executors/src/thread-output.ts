import type { OutputStream } from './contract.js';
import { OutputLimit } from './output-limit.js';
import { OutputTail } from './output-tail.js';

type Post = (stream: OutputStream, bytes: Uint8Array) => void;
/** Hands over the shared memory of a tail, which the worker can read however the thread ends. */
type PostTail = (stream: OutputStream, memory: SharedArrayBuffer) => void;

/**
 * Separates the output of modules (console, process.stdout, process.stderr) from the worker's. The limit applies here in the
 * thread, so that a flood is dropped before it is copied.
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

  /** From now on all output belongs to this run, including that of callbacks of the previous one. */
  begin(bytesMax: number): void {
    this.#limit = new OutputLimit(bytesMax, (stream, tailBytesMax) => {
      const memory = OutputTail.memory(tailBytesMax);
      this.#postTail(stream, memory);
      return new OutputTail(memory);
    });
  }

  /** Output between two runs is dropped. */
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
