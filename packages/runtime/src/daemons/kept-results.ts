import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { type AddressNames, Codec, type Logger } from '@goshawk/transport';
import type { KeptResult } from '@goshawk/worker';
import { replaceFile } from './replace-file.js';

const FILE = 'results';

/**
 * Results of ended tasks that a worker could not hand over before it stopped. The next worker with the same data folder
 * hands them over. The file stays until that worker stops, so that a crash loses none; schedulers count a repeated result
 * once.
 */
export class KeptResults {
  readonly #folder: string;
  readonly #names: AddressNames;
  readonly #codec: Codec;
  readonly #logger: Logger;

  constructor(folder: string, names: AddressNames, logger: Logger) {
    this.#folder = folder;
    this.#names = names;
    this.#codec = new Codec(names);
    this.#logger = logger;
  }

  /** Reads the results of an earlier process. */
  read(): readonly KeptResult[] {
    const path = join(this.#folder, FILE);
    let bytes: Buffer;
    try {
      bytes = readFileSync(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#logger.error({ path }, `cannot read the results of ended tasks: ${(error as Error).message}`);
      return [];
    }
    try {
      const results = (deserialize(bytes) as unknown[][]).flatMap(([owner, body, writtenAt]) => {
        const message = this.#codec.decode(body, 'worker', 'scheduler');
        if (message.type !== 'ended') return [];
        // The clock may have been set back since.
        const endedAgoMs = (message.endedAgoMs ?? 0) + Math.max(0, Date.now() - (writtenAt as number));
        return { owner: this.#names.intern(owner as string), message: { ...message, endedAgoMs } };
      });
      this.#logger.info(
        { results: results.length },
        'hands over results of tasks that ended before its start',
      );
      return results;
    } catch (error) {
      this.#logger.error({ path }, `the results of ended tasks are damaged: ${(error as Error).message}`);
      return [];
    }
  }

  /** Writes the results for the next process; removes the file if there are none. */
  write(results: readonly KeptResult[]): void {
    const path = join(this.#folder, FILE);
    try {
      if (results.length === 0) return rmSync(path, { force: true });
      const rows = results.map(({ owner, message }) => [
        this.#names.nameOf(owner),
        this.#codec.encode(message, 'worker', 'scheduler'),
        Date.now(),
      ]);
      replaceFile(path, serialize(rows.filter(([owner]) => owner !== undefined)));
      this.#logger.warn(
        { results: results.length },
        'stops with results of ended tasks that no scheduler has confirmed: the next worker with this data folder hands them over',
      );
    } catch (error) {
      this.#logger.error(
        { results: results.length },
        `drops results of ended tasks that no scheduler has confirmed, because they cannot be written: ${(error as Error).message}; these tasks run again`,
      );
    }
  }
}
