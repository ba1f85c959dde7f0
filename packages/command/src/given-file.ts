import { closeSync, constants, createReadStream, fstatSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { isatty, ReadStream } from 'node:tty';
import { formatBytes, type InputError, whyUnread } from '@goshawk/core';

/** Maximum size of a file or of stdin that is read at once. A job of this size would not fit into a message. */
const BYTES_MAX = 64 * 1024 * 1024;

/** Parts of a stream, which `destroy` ends early. */
interface Parts extends AsyncIterable<Uint8Array> {
  destroy?(error?: Error): unknown;
}

/**
 * Reads a file that the user named: also a pipe, such as `<(…)`, or a device, such as /dev/stdin. Unlike
 * `readFile`, it does not block the process while a pipe has no writer.
 *
 * @param signal stops the read
 * @param failed returns the error for a file that cannot be read
 * @throws the signal's reason, or the error of `failed`
 */
export async function readGivenFile(
  path: string,
  signal: AbortSignal,
  failed: (why: string, cause: unknown) => InputError,
): Promise<Uint8Array> {
  try {
    return await bytesOf(streamOf(path), signal);
  } catch (error) {
    signal.throwIfAborted();
    throw failed(whyUnread(error), error);
  }
}

/**
 * Reads a stream to its end.
 *
 * @throws the signal's reason; Error if there are more bytes than `bytesMax`
 */
export async function bytesOf(stream: Parts, signal: AbortSignal, bytesMax = BYTES_MAX): Promise<Uint8Array> {
  const stop = (): void => void stream.destroy?.(new Error('stopped'));
  signal.throwIfAborted();
  signal.addEventListener('abort', stop, { once: true });
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of stream) {
      bytes += part.length;
      if (bytes > bytesMax) throw new Error(`it has more than ${formatBytes(bytesMax)}`);
      parts.push(part);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
  // A stream that was destroyed may end instead of failing.
  signal.throwIfAborted();
  return Buffer.concat(parts);
}

function streamOf(path: string): Readable {
  // Opening a pipe without O_NONBLOCK waits for its writer, in a thread that keeps the process from exiting.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (isatty(fd)) return new ReadStream(fd);
    if (fstatSync(fd).isFIFO()) return new Socket({ fd, readable: true, writable: false });
    return createReadStream(path, { fd });
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}
