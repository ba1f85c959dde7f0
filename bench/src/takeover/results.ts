import { inPostgres } from '@goshawk/journal';
import { Written } from '../written.js';

/** What all journals in a database say together. */
export async function writtenDown(url: string): Promise<Written> {
  const { StoredJournal } = await inPostgres();
  const written = new Written();
  for (const journal of await StoredJournal.all(url)) {
    const records = journal.records(({ problem }) => written.doubled.push(`damaged: ${problem}`));
    for (const record of records) written.add(`${journal.identity.tag}-${record.job}`, record);
  }
  return written;
}
