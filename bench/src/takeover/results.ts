import { journalsAt } from '@goshawk/journal';
import { Written } from '../written.js';

/** Reads all journals in a database. */
export async function readSharedJournals(url: string): Promise<Written> {
  const written = new Written();
  for (const journal of await journalsAt(url)) {
    const entries = journal.entries(({ problem }) => written.doubled.push(`damaged: ${problem}`));
    for (const [, record] of entries) written.add(`${journal.identity.tag}-${record.job}`, record);
  }
  return written;
}
