import { setImmediate } from 'node:timers/promises';
import { type Context, type Progress, startProgress } from '@goshawk/command';
import { type Jobs, openWorkload, type PackedJobs, type TraceJob, type Workload } from '@goshawk/traces';
import { hasJournals } from './journals.js';

/**
 * Opens a workload, which may also be the data folder of a cluster, and shows progress if it takes a while.
 *
 * @param onJobs called with the number of jobs in each batch read
 * @param features additional facts about the jobs of a `.tr` file
 * @param resources of the workers; demands of foreign traces for other resources are omitted
 * @throws WorkloadError, one line; the reason of the interruption
 */
export async function openWithProgress(
  context: Context,
  spec: string,
  onJobs: (count: number) => void = () => {},
  features?: string,
  resources?: readonly string[],
): Promise<Workload> {
  if (features === undefined && hasJournals(spec))
    return (await import('./whatif/recorded.js')).recordedWorkload(spec);
  const counter = new Counter(context, 'reading jobs', 0);
  try {
    return await openWorkload(spec, {
      features,
      resources,
      signal: context.interrupted,
      onJobsRead: (count) => {
        counter.add(count);
        onJobs(count);
        context.interrupted.throwIfAborted();
      },
    });
  } finally {
    counter.stop();
  }
}

/** Yields the jobs of a workload and shows their count if it takes a while. */
export async function* jobsWithProgress(
  context: Context,
  { jobs, jobCount }: { readonly jobs: () => Jobs; readonly jobCount: number | undefined },
  label: string,
): AsyncGenerator<TraceJob> {
  const counter = new Counter(context, label, jobCount ?? 0);
  let sincePause = 0;
  let tasksSincePause = 0;
  try {
    for await (const job of jobs()) {
      yield job;
      tasksSincePause += job.durationsSeconds.length;
      if (++sincePause < PAUSE_EACH && tasksSincePause < PAUSE_EACH_TASKS) continue;
      counter.add(sincePause);
      sincePause = 0;
      tasksSincePause = 0;
      await pause(context);
    }
    counter.add(sincePause);
  } finally {
    counter.stop();
  }
}

/**
 * Yields the jobs of a workload in batches and shows progress.
 *
 * @param onJobs called with the number of jobs in each batch
 */
export async function* batchesWithProgress(
  context: Context,
  { batches, jobCount }: Workload,
  label: string,
  onJobs: (count: number) => void = () => {},
): AsyncGenerator<PackedJobs> {
  const counter = new Counter(context, label, jobCount);
  try {
    for await (const batch of batches()) {
      counter.add(batch.ends.length);
      onJobs(batch.ends.length);
      yield batch;
      await pause(context);
    }
  } finally {
    counter.stop();
  }
}

/** Yields to the event loop so that Ctrl-C is handled; generated jobs do not pause otherwise. */
async function pause({ interrupted }: Context): Promise<void> {
  await setImmediate();
  interrupted.throwIfAborted();
}

/** Shorter work shows no progress bar. */
const SHOWN_AFTER_MS = 1_000;
const PAUSE_EACH = 1_024;
const PAUSE_EACH_TASKS = 1_000_000;

class Counter {
  readonly #context: Context;
  readonly #label: string;
  readonly #total: number;
  readonly #startedAt = performance.now();
  #count = 0;
  #shown: Progress | undefined;

  constructor(context: Context, label: string, total: number) {
    this.#context = context;
    this.#label = label;
    this.#total = total;
  }

  add(count: number): void {
    this.#count += count;
    if (this.#shown === undefined && performance.now() - this.#startedAt < SHOWN_AFTER_MS) return;
    this.#shown ??= startProgress(this.#context, this.#label, this.#total);
    this.#shown.update(this.#count);
  }

  stop(): void {
    this.#shown?.update(this.#count);
    this.#shown?.stop();
  }
}
