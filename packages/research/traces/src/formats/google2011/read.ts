import { WorkloadError } from '../../errors.js';
import { type PackedJobs, packed } from '../../packed-jobs.js';
import { Tally } from '../../tally.js';
import { JOB_EVENTS, type JobEvent, readEvents, TASK_EVENTS } from './events.js';
import { Join } from './join.js';
import { findParts } from './parts.js';

/** Job events are read this far ahead of task events, to allow for rounding between the tables. */
const JOBS_AHEAD_US = 1e6;

/**
 * Reads jobs of the official 2011 Google trace (ClusterData2011_2): job_events and task_events, joined, in batches in
 * order of the jobs' ends; submissions in seconds as in the trace. The tally counts omissions with their reasons,
 * which docs/SIMULATE.md lists. Memory: the tasks of active jobs.
 *
 * @param folder contains both tables, as folders of parts or single files, optionally gzipped
 * @throws WorkloadError with file and line at the first invalid row
 */
export async function* readGoogle2011(
  folder: string,
  tally = new Tally(),
  signal?: AbortSignal,
): AsyncGenerator<PackedJobs> {
  const parts = await findParts(folder);
  const join = new Join(tally);
  const jobEvents = new Cursor<JobEvent>(readEvents(parts.job_events, JOB_EVENTS, signal));
  let isEmpty = true;
  try {
    await jobEvents.advance();
    for await (const batch of readEvents(parts.task_events, TASK_EVENTS, signal)) {
      for (const event of batch) {
        while (jobEvents.head !== undefined && jobEvents.head.timeUs <= event.timeUs + JOBS_AHEAD_US) {
          join.onJobEvent(jobEvents.head);
          if (!jobEvents.step()) await jobEvents.advance();
        }
        join.onTaskEvent(event);
      }
      const jobs = join.take();
      if (jobs.length === 0) continue;
      isEmpty = false;
      yield packed(jobs);
    }
    while (jobEvents.head !== undefined) {
      join.onJobEvent(jobEvents.head);
      if (!jobEvents.step()) await jobEvents.advance();
    }
  } finally {
    await jobEvents.close();
  }
  join.onEnd();
  const last = join.take();
  if (last.length > 0) yield packed(last);
  else if (isEmpty) throw noJobs(folder, tally);
}

/** The next event of a table, which is read in batches. */
class Cursor<Event> {
  readonly #batches: AsyncGenerator<Event[]>;
  #batch: readonly Event[] = [];
  #position = 0;

  constructor(batches: AsyncGenerator<Event[]>) {
    this.#batches = batches;
  }

  /** undefined before the first `advance` and at the end. */
  get head(): Event | undefined {
    return this.#batch[this.#position];
  }

  /** Moves on within the batch; returns false at its end, and `advance` must be called next. */
  step(): boolean {
    return ++this.#position < this.#batch.length;
  }

  async advance(): Promise<void> {
    const { value, done } = await this.#batches.next();
    this.#batch = done ? [] : value;
    this.#position = 0;
  }

  async close(): Promise<void> {
    await this.#batches.return(undefined);
  }
}

function noJobs(folder: string, tally: Tally): WorkloadError {
  const counts = tally.list().map(({ what, count }) => `${count} ${what}`);
  return new WorkloadError(
    `no job in these parts has a finished task${counts.length === 0 ? '' : ` (${counts.join('; ')})`}`,
    'add more parts',
    { file: folder },
  );
}
