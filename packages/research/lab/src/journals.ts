import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Context } from '@goshawk/command';
import { findCluster, journalIn } from '@goshawk/command/cluster';
import { InputError } from '@goshawk/core';
import { type JournalEntry, readJournalExport } from '@goshawk/traces';

/**
 * Resolves words to journals: data folders of schedulers, parents of such folders, exports, or `postgres://…`;
 * by default, those of the local cluster.
 * @throws InputError if they are unknown; UnreachableError if no cluster runs
 */
export async function journalPlaces(context: Context, words: readonly string[]): Promise<string[]> {
  if (words.length > 0)
    return words.map((word) => (word.includes('://') ? word : resolve(context.cwd, word)));
  const { url, dataFolder } = await findCluster(context);
  if (dataFolder !== undefined) return [dataFolder];
  throw new InputError(
    'no-journal',
    `the location of the journals of ${url} is unknown`,
    'pass their folders, or postgres://…',
  );
}

/**
 * Reads every readable record of each journal, in its order. The scheduler may be running.
 *
 * @param damaged called for each unreadable record
 * @throws InputError if there is no journal
 */
export async function readJournals(
  places: readonly string[],
  read: (record: JournalEntry) => void,
  damaged: () => void,
): Promise<void> {
  const { isJournalUrl, journalsAt } = await import('@goshawk/journal');
  for (const place of places) {
    if (statSync(place, { throwIfNoEntry: false })?.isFile() === true) {
      await readJournalExport(place, read);
      continue;
    }
    for (const one of isJournalUrl(place) ? [place] : journalsBelow(place)) {
      const journals = await journalsAt(one);
      try {
        for (const journal of journals) {
          const { tag } = journal.identity;
          for (const [, record] of journal.entries(damaged)) read({ ...record, id: `${tag}-${record.job}` });
        }
      } finally {
        for (const journal of journals) await journal.close();
      }
    }
  }
}

/** @throws InputError if one of these places is no file and no folder with journals */
export async function checkJournalPlaces(places: readonly string[]): Promise<void> {
  const { isJournalUrl } = await import('@goshawk/journal');
  for (const place of places)
    if (!isJournalUrl(place) && statSync(place, { throwIfNoEntry: false })?.isFile() !== true)
      journalsBelow(place);
}

/** Whether this is the data folder of a scheduler with a journal, or of several. */
export function hasJournals(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true && foldersBelow(path).length > 0;
}

/** Returns the journals in a folder and below it. @throws InputError if there are none */
function journalsBelow(place: string): string[] {
  if (statSync(place, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new InputError(
      'no-journal',
      `${place} is not a folder`,
      'pass the data folder of `goshawk up`, such as .goshawk, or a file of `goshawk journal export`',
    );
  const journals = foldersBelow(place);
  if (journals.length > 0) return journals;
  throw new InputError(
    'no-journal',
    `there is no journal in ${place} or its subfolders`,
    'pass the data folder of `goshawk up`, such as .goshawk',
  );
}

function foldersBelow(place: string): string[] {
  const folders = [place, ...readdirSync(place).map((name) => join(place, name))];
  return folders
    .map(journalIn)
    .filter((folder) => existsSync(folder))
    .sort();
}
