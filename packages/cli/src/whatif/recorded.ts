import { InputError, type Millis } from '@goshawk/core';
import { type JournalEntry, type RecordedJob, RecordedRuns, type Tally } from '@goshawk/traces';
import { readJournals } from '../local/journals.js';

/**
 * What a cluster has run, from the journals of its schedulers.
 *
 * @param places as `journalPlaces` has them
 * @param since jobs that were submitted from then on. ms since 1970
 * @throws InputError where there is no journal, or no job in it that has ended
 */
export async function recordedJobs(
  places: readonly string[],
  since: Millis | undefined,
  tally: Tally,
): Promise<RecordedJob[]> {
  const runs = new RecordedRuns();
  await readJournals(
    places,
    (record) => runs.note(record as unknown as JournalEntry),
    () => tally.add({ code: 'records-damaged', what: 'records that cannot be read: left out' }),
  );
  const jobs = runs.jobs(tally, since);
  if (jobs.length > 0) return jobs;
  throw new InputError(
    'nothing-recorded',
    `no job has ended${since === undefined ? '' : ' within that time'} of which ${places.join(', ')} tells`,
    'run some, or look further back with --since',
  );
}
