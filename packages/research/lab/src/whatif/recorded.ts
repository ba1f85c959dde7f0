import { createHash } from 'node:crypto';
import { basename, resolve } from 'node:path';
import { InputError, type Millis } from '@goshawk/core';
import { packed, type RecordedJob, RecordedRuns, Tally, unpackedJobs, type Workload } from '@goshawk/traces';
import { readJournals } from '../journals.js';

/**
 * Returns the jobs that a cluster ran, from the journals of its schedulers.
 * @param places see `journalPlaces`
 * @param since only jobs submitted from then on, in ms since 1970
 * @throws InputError without a journal or an ended job
 */
export async function recordedJobs(
  places: readonly string[],
  since: Millis | undefined,
  tally: Tally,
): Promise<RecordedJob[]> {
  const runs = new RecordedRuns();
  await readJournals(
    places,
    (record) => runs.note(record),
    () => tally.add({ code: 'records-damaged', what: 'unreadable records, skipped' }),
  );
  const jobs = runs.jobs(tally, since);
  if (jobs.length > 0) return jobs;
  throw new InputError(
    'nothing-recorded',
    `${places.join(', ')}: no job has ended${since === undefined ? '' : ' within that time'}`,
    'run some jobs, or look further back with --since',
  );
}

/**
 * Returns the jobs that a cluster ran as a workload, from its data folder.
 * @throws InputError without a journal or an ended job
 */
export async function recordedWorkload(folder: string): Promise<Workload> {
  const tally = new Tally();
  const recorded = await recordedJobs([folder], undefined, tally);
  const held = packed(recorded.map(({ job }) => job));
  return {
    name: basename(resolve(folder)),
    jobCount: recorded.length,
    tallied: tally.list(),
    jobs: () => unpackedJobs(held),
    batches: () => [held],
    // Hash of the jobs: the bytes of a journal change when its scheduler opens it.
    sha256: async () => {
      const hash = createHash('sha256');
      for (const { job } of recorded)
        hash.update(JSON.stringify({ ...job, durationsSeconds: [...job.durationsSeconds] }));
      return hash.digest('hex');
    },
  };
}
