import { journalsAt } from '@goshawk/journal';

/** Returns the size of a job's records as JSON, excluding the given kinds, in bytes. */
export async function journalBytes(folder: string, id: string, without: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const journal of await journalsAt(folder)) {
    for (const [, record] of journal.entries(() => {}))
      if (`${journal.identity.tag}-${record.job}` === id && !without.includes(record.kind))
        bytes += JSON.stringify(record).length;
    await journal.close();
  }
  return bytes;
}
