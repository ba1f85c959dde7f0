import { fstatSync, writeSync } from 'node:fs';

/**
 * Writes bytes; throws the system's error on failure.
 * @returns the number of bytes written
 */
type Write = (bytes: Buffer) => number;

/**
 * Writes log lines to a file, a terminal or a pipe. A line that cannot be written is dropped and counted: a full disk or a
 * stalled reader neither ends nor blocks the daemon.
 */
export class LogSink {
  readonly #write: Write;
  #dropped = 0;
  #droppedInRow = 0;
  #isTorn = false;
  /** Called after the first line that is written again after a failure. */
  onRecovered: (dropped: number) => void = () => {};

  constructor(write: Write) {
    this.#write = write;
  }

  /** Number of dropped lines. */
  get dropped(): number {
    return this.#dropped;
  }

  write(line: string): void {
    // A truncated line must not swallow the next one.
    const bytes = Buffer.from(this.#isTorn ? `\n${line}` : line);
    let at = 0;
    try {
      while (at < bytes.length) at += this.#write(bytes.subarray(at));
    } catch {
      this.#dropped++;
      this.#droppedInRow++;
      this.#isTorn ||= at > 0;
      return;
    }
    this.#isTorn = false;
    if (this.#droppedInRow === 0) return;
    const dropped = this.#droppedInRow;
    this.#droppedInRow = 0;
    this.onRecovered(dropped);
  }
}

/** Maximum size of lines waiting for the reader of a pipe. Bytes. */
const WAITING_BYTES_MAX = 1024 * 1024;

/**
 * Returns a sink for stderr. A pipe accepts as much as it has room for, and the rest waits in memory; other targets accept
 * everything immediately.
 */
export function toStderr(): Write {
  const stats = fstatSync(2);
  if (!stats.isFIFO() && !stats.isSocket()) return (bytes) => writeSync(2, bytes);
  // Outside of the command, a reader that closed the pipe would raise an error here.
  process.stderr.on('error', () => {});
  return (bytes) => {
    if (process.stderr.writableLength > WAITING_BYTES_MAX) throw new Error('its reader is stuck');
    if (!process.stderr.writable) throw new Error('its reader has exited');
    process.stderr.write(bytes);
    return bytes.length;
  };
}
