import { journalsAt } from '@goshawk/journal';

/** Bytes of a job's records, as JSON, without those of some kinds. */
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
