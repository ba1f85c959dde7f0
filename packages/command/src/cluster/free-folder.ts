import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { InputError } from '@goshawk/core';

/** One of the folders that several schedulers share. */
export interface SchedulerFolder {
  /** Number, starting at 0. */
  readonly number: number;
  readonly path: string;
}

/** Number of passes over all folders. During a pass, other schedulers may claim or release folders. */
const ROUNDS = 3;

/** Journal folder within a scheduler's data folder. */
export function journalIn(dataFolder: string): string {
  return join(dataFolder, 'journal');
}

/**
 * Starts a scheduler in a free folder of `parent`. Folders with a journal are first, because they may contain
 * jobs. A kernel lock determines the owner of a folder (`claimFolder`), across containers and after crashes.
 *
 * @param start throws JournalError `journal-in-use` if another scheduler claimed the folder first
 * @throws InputError `no-free-folder` if running schedulers use all folders
 */
export async function inFreeFolder<T>(
  parent: string,
  count: number,
  start: (folder: SchedulerFolder) => Promise<T>,
): Promise<T> {
  const { isClaimed } = await import('@goshawk/journal');
  for (let round = 0; round < ROUNDS; round++) {
    for (const folder of candidates(parent, count)) {
      if (await isClaimed(journalIn(folder.path))) continue;
      try {
        return await start(folder);
      } catch (error) {
        if (!(error instanceof InputError && error.code === 'journal-in-use')) throw error;
      }
    }
  }
  throw new InputError(
    'no-free-folder',
    `running schedulers use all folders in ${parent} (${count})`,
    'start fewer schedulers, or raise --data-folders',
  );
}

/** Returns the folders with a journal that no scheduler claims, because their numbers are too high. */
export function foldersBeyond(parent: string, count: number): string[] {
  return readdirSync(parent)
    .filter((name) => /^\d+$/.test(name) && Number(name) >= count)
    .sort((one, other) => Number(one) - Number(other))
    .map((name) => join(parent, name))
    .filter((path) => existsSync(journalIn(path)));
}

/**
 * Returns the folders, starting at a random one, so that schedulers that start together do not compete for
 * the same folders.
 */
function candidates(parent: string, count: number): SchedulerFolder[] {
  const first = Math.floor(Math.random() * count);
  const all = Array.from({ length: count }, (_, i) => {
    const number = (first + i) % count;
    return { number, path: join(parent, `${number}`) };
  });
  const left = all.filter(({ path }) => existsSync(journalIn(path)));
  return [...left, ...all.filter((folder) => !left.includes(folder))];
}
