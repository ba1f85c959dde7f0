import { spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  fchmodSync,
  mkdirSync,
  openSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** Pipes that one `mkfifo` creates. It takes as long as the start of a command. */
const BATCH = 256;

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;

/** Descriptors of a pipe: the end that this process reads without blocking, and the end of a command. */
export interface Pipe {
  readonly own: number;
  readonly command: number;
}

/**
 * Creates the stdin, stdout and stderr of commands. Node.js would use sockets, which a command on Linux cannot
 * open as /dev/stdin, /dev/stdout or /dev/stderr.
 */
export class CommandStreams {
  readonly #folder: string;
  readonly #onUnavailable: (reason: string) => void;
  /** Pipes that are not in use. Each loses its name when it is opened. */
  #paths: string[] = [];
  #created = 0;
  #isUnavailable = process.platform !== 'linux';

  /** @param folder for unused pipes; created when needed */
  constructor(folder: string, onUnavailable: (reason: string) => void) {
    this.#folder = folder;
    this.#onUnavailable = onUnavailable;
  }

  /** Returns a pipe for stdout or stderr; undefined if a socket must do. */
  output(): Pipe | undefined {
    for (let isNew = false; ; isNew = true) {
      if (this.#paths.length === 0 || isNew) this.#refill();
      const path = this.#paths.pop();
      if (path === undefined) return undefined;
      let own: number | undefined;
      try {
        // Opening a pipe for writing waits for a reader.
        own = openSync(path, O_RDONLY | O_NONBLOCK);
        const command = openSync(path, O_WRONLY);
        unlinkSync(path);
        return { own, command };
      } catch {
        // Something has cleaned the folder, or descriptors are exhausted, which also fails the start of the command.
        if (own !== undefined) closeSync(own);
        if (isNew) return undefined;
      }
    }
  }

  /**
   * Returns a descriptor for stdin; undefined if a socket must do. It is a file without a name: opening a
   * named pipe as /dev/stdin would wait forever once all is written.
   */
  input(bytes: Uint8Array): number | undefined {
    if (this.#isUnavailable) return undefined;
    const path = join(this.#folder, `${this.#created++}`);
    try {
      this.#createFolder();
      const file = openSync(path, 'wx');
      try {
        // A command under another account may open it again.
        fchmodSync(file, 0o644);
        writeFileSync(file, bytes);
        return openSync(path, O_RDONLY);
      } finally {
        closeSync(file);
        unlinkSync(path);
      }
    } catch {
      return undefined;
    }
  }

  /** Deletes unused pipes. */
  delete(): void {
    this.#paths = [];
    try {
      rmSync(this.#folder, { recursive: true, force: true });
    } catch {
      // The disk may have become read-only; the next worker removes the folder.
    }
  }

  #refill(): void {
    if (this.#isUnavailable) return;
    const paths = Array.from({ length: BATCH }, () => join(this.#folder, `${this.#created++}`));
    try {
      this.#createFolder();
      // A command under another account may open them again.
      const { error, status, stderr } = spawnSync('mkfifo', ['-m', '666', ...paths], { encoding: 'utf8' });
      if (error !== undefined || status !== 0) throw error ?? new Error(stderr.trim().split('\n')[0]);
      this.#paths = paths;
    } catch (error) {
      this.#isUnavailable = true;
      this.#onUnavailable((error as Error).message);
    }
  }

  #createFolder(): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
  }
}
