import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { InputError, type JobRecord, type Millis } from '@goshawk/core';
import { type JournalEntry, type RecordedJob, RecordedRuns, type Tally } from '@goshawk/traces';
import { journalIn } from '../local/free-folder.js';

/**
 * What a cluster has run, from the journals of its schedulers, which may be at work meanwhile.
 *
 * @param places data folders of schedulers, folders of such, or `postgres://…`
 * @param since jobs that were submitted from then on. ms since 1970
 * @param damaged told how many records could not be read
 * @throws InputError where there is no journal, or no job in it that has ended
 */
export async function recordedJobs(
  places: readonly string[],
  since: Millis | undefined,
  tally: Tally,
): Promise<RecordedJob[]> {
  const { inPostgres, isJournalUrl, OfflineJournal } = await import('@goshawk/journal');
  const runs = new RecordedRuns();
  const damage = () => tally.add({ code: 'records-damaged', what: 'records that cannot be read: left out' });
  const read = (tag: string, records: Iterable<JobRecord>): void => {
    for (const record of records)
      runs.note({ id: `${tag}-${record.job}`, ...record } as unknown as JournalEntry);
  };
  for (const place of places) {
    if (isJournalUrl(place)) {
      const { StoredJournal } = await inPostgres();
      for (const stored of await StoredJournal.all(place)) read(stored.identity.tag, stored.records(damage));
      continue;
    }
    for (const folder of journalsBelow(place)) {
      const journal = await OfflineJournal.open(folder);
      try {
        read(journal.identity.tag, journal.records(damage));
      } finally {
        await journal.close();
      }
    }
  }
  const jobs = runs.jobs(tally, since);
  if (jobs.length === 0)
    throw new InputError(
      'nothing-recorded',
      `no job has ended${since === undefined ? '' : ' within that time'} of which ${places.join(', ')} tells`,
      'run some, or look further back with --since',
    );
  return jobs;
}

/** @throws InputError */
function journalsBelow(place: string): string[] {
  if (statSync(place, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new InputError(
      'no-journal',
      `${place} is no folder`,
      'name the data folder of `goshawk up`, such as .goshawk',
    );
  const folders = [place, ...readdirSync(place).map((name) => join(place, name))];
  const journals = folders.map(journalIn).filter((folder) => existsSync(folder));
  if (journals.length > 0) return journals.sort();
  throw new InputError('no-journal', `there is no journal in ${place}, or in a folder in it`);
}
