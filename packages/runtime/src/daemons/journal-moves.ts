import { readFileSync } from 'node:fs';
import type { Logger } from '@goshawk/transport';
import { replaceFile } from './replace-file.js';

/**
 * How often a copy of each journal was admitted, by tag: in memory, and in a file, from which the next central reads it.
 * Without it, a restarted central would admit the original while its copy is down.
 */
export class JournalMoves {
  readonly byTag: Map<string, number>;
  readonly #path: string | undefined;
  readonly #logger: Logger;

  /** @param path of the file; undefined: the numbers are lost when the process ends */
  constructor(path: string | undefined, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
    this.byTag = new Map(path === undefined ? [] : storedIn(path));
  }

  set(tag: string, moves: number): void {
    if (this.byTag.get(tag) === moves) return;
    this.byTag.set(tag, moves);
    if (this.#path === undefined) return;
    try {
      replaceFile(this.#path, JSON.stringify(Object.fromEntries(this.byTag)));
    } catch (error) {
      const text = 'cannot record that a copy of a journal was admitted; never start its original again';
      this.#logger.error({ error, tag }, text);
    }
  }
}

/** Returns the numbers in the file; none if it is absent or damaged. */
function storedIn(path: string): [string, number][] {
  try {
    const stored: object = JSON.parse(readFileSync(path, 'utf8'));
    return Object.entries(stored).filter(([, moves]) => Number.isSafeInteger(moves));
  } catch {
    return [];
  }
}
