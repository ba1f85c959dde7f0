import fs, {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { InputError, makeFolder } from '@goshawk/core';
import type { MailLogger } from '@goshawk/transport';

/** The file is rotated when it reaches this size. */
const FILE_BYTES_MAX = 64 * 1024 * 1024;
/** Maximum number of rotated files. */
const KEPT_MAX = 10;

/** Returns the lines of a log and of its rotated files, oldest first; empty if there are none. */
export function linesOf(path: string): string[] {
  const prefix = `${basename(path)}.`;
  const folder = dirname(path);
  const all = fs.existsSync(folder) ? readdirSync(folder) : [];
  const old = all.filter((name) => name.startsWith(prefix) && ROTATED.test(name)).sort();
  return [...old, basename(path)]
    .filter((name) => all.includes(name))
    .flatMap((name) => fs.readFileSync(join(folder, name), 'utf8').split('\n'));
}

/**
 * A log on disk, such as the audit log, to which several processes may append. Each line is one write, so no line is lost during
 * rotation.
 */
export class RotatedFile {
  readonly #what: string;
  readonly #path: string;
  readonly #logger: MailLogger;
  readonly #bytesMax: number;
  readonly #keptMax: number;
  #file: number | undefined;
  #inode = 0;
  #isFailing = false;

  /**
   * @param about name of the log, and the option that names the file
   * @throws InputError if the file cannot be written
   */
  constructor(
    path: string,
    logger: MailLogger,
    bytesMax = FILE_BYTES_MAX,
    keptMax = KEPT_MAX,
    about = { what: 'audit log', option: '--audit-log' },
  ) {
    this.#what = about.what;
    this.#path = path;
    this.#logger = logger;
    this.#bytesMax = bytesMax;
    this.#keptMax = keptMax;
    try {
      makeFolder(fs, dirname(path), 0o700);
      this.#open();
    } catch (error) {
      throw new InputError(
        `bad-${about.what.replace(' ', '-')}`,
        `cannot write the ${about.what} ${path}: ${(error as Error).message}`,
        `choose another place with ${about.option}`,
        { cause: error },
      );
    }
  }

  /** Appends one line. Failures, such as a full disk, are logged and do not stop the scheduler. */
  write(entry: object): void {
    try {
      this.#follow();
      writeSync(this.#file!, `${JSON.stringify(entry)}\n`);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#logger.error({ err: error }, `the ${this.#what} cannot be written`);
      this.#isFailing = true;
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #open(): void {
    this.close();
    this.#file = openSync(this.#path, 'a', 0o600);
    const { ino, size } = fstatSync(this.#file);
    this.#inode = ino;
    // A process that was killed may have written a part of a line.
    if (size > 0 && !endsLine(this.#path, size)) writeSync(this.#file, '\n');
  }

  /** Reopens the file if another process or logrotate has rotated it, and rotates it if it is too large. */
  #follow(): void {
    const stats = statSync(this.#path, { throwIfNoEntry: false });
    if (this.#file === undefined || stats?.ino !== this.#inode) return this.#open();
    if (stats.size < this.#bytesMax) return;
    // The name is unique, so that two processes that rotate at once do not overwrite each other's file.
    const at = new Date().toISOString().replaceAll(':', '');
    renameSync(this.#path, `${this.#path}.${at}-${process.pid}-${rotations++}`);
    this.#open();
    const prefix = `${basename(this.#path)}.`;
    const folder = dirname(this.#path);
    const old = readdirSync(folder).filter((name) => name.startsWith(prefix) && ROTATED.test(name));
    for (const name of old.sort().slice(0, -this.#keptMax)) rmSync(join(folder, name), { force: true });
  }
}

function endsLine(path: string, size: number): boolean {
  const file = openSync(path, 'r');
  try {
    const last = Buffer.alloc(1);
    fs.readSync(file, last, 0, 1, size - 1);
    return last.toString() === '\n';
  } finally {
    closeSync(file);
  }
}

const ROTATED = /\.\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z-\d+-\d+$/;

/** Number of files that this process has rotated. */
let rotations = 0;
