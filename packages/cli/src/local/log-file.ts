import fs, { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from '@goshawk/core';

/** Of one log; there is one more of that size beside it, with what was said before. */
const LOG_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Where a child's log goes: for this user alone, and never more than two files of a bounded size. What cannot be
 * written, on a full disk say, is lost: a supervisor does not end over a log.
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
      // Tried again with what comes next.
      this.close();
    }
  }

  close(): void {
    const file = this.#file;
    this.#file = undefined;
    try {
      if (file !== undefined) closeSync(file);
    } catch {
      // What it could not keep is lost.
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
