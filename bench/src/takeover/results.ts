import { journalsAt } from '@goshawk/journal';
import { Written } from '../written.js';

/** Reads all journals in a database, and adds them to those that were read. */
export async function readSharedJournals(url: string, written = new Written()): Promise<Written> {
  for (const journal of await journalsAt(url)) {
    const entries = journal.entries(({ problem }) => written.doubled.push(`damaged: ${problem}`));
    for (const [, record] of entries) written.add(`${journal.identity.tag}-${record.job}`, record);
  }
  return written;
}
