import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Default, type Options, readOptions as read } from '../../scripts/options.mjs';

/** Reads the options of a benchmark, and `--json`. */
export function readOptions<const D extends Record<string, Default>>(
  defaults: D,
  takesPositionals = false,
): Options<D & { readonly json: boolean }> {
  return read('options:', { ...defaults, json: false }, takesPositionals);
}

/** Reports an invalid command line and ends the process. */
export function fail(message: string): never {
  note(message);
  process.exit(2);
}

/** Prints progress to stderr. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** The folder of a measurement. `using` removes it at the end of the block; otherwise call `remove`. */
export class Folder implements Disposable {
  readonly path: string;
  readonly #isOwn: boolean;

  /** @param given is never removed; without it, creates a folder `goshawk-NAME-…` */
  constructor(name: string, given?: string, place = tmpdir()) {
    this.path = given ?? mkdtempSync(join(place, `goshawk-${name}-`));
    this.#isOwn = given === undefined;
  }

  remove(): void {
    if (this.#isOwn) rmSync(this.path, { recursive: true, force: true });
  }

  [Symbol.dispose](): void {
    this.remove();
  }
}
