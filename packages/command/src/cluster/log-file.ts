import fs, { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from '@goshawk/core';

/** Maximum size of one log file. A second file of that size keeps older lines. */
const LOG_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Log of a child: at most two files of bounded size, readable only by this user. Lines that cannot be
 * written, for example on a full disk, are lost, because a log must not stop a supervisor.
 */
export class LogFile {
  readonly #path: string;
  readonly #bytesMax: number;
  #file: number | undefined;
  #bytes = 0;

  constructor(path: string, bytesMax: number = LOG_BYTES_MAX) {
    this.#path = path;
    this.#bytesMax = bytesMax;
  }

  write(bytes: Uint8Array): void {
    try {
      this.#file ??= this.#open();
      if (this.#bytes > 0 && this.#bytes + bytes.length > this.#bytesMax) this.#file = this.#rotate();
      this.#bytes += writeSync(this.#file, bytes);
    } catch {
      // The next write opens the file again.
      this.close();
    }
  }

  close(): void {
    const file = this.#file;
    this.#file = undefined;
    try {
      if (file !== undefined) closeSync(file);
    } catch {
      // Lines that do not fit are lost.
    }
  }

  #open(): number {
    makeFolder(fs, dirname(this.#path), 0o700);
    const file = openSync(this.#path, 'a', 0o600);
    this.#bytes = fstatSync(file).size;
    return file;
  }

  #rotate(): number {
    this.close();
    renameSync(this.#path, `${this.#path}.1`);
    return this.#open();
  }
}
