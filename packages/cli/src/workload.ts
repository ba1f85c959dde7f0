import { setImmediate } from 'node:timers/promises';
import { type Jobs, openWorkload, type TraceJob, type Workload } from '@goshawk/traces';
import type { Context } from './context.js';
import { type Progress, startProgress } from './terminal/progress.js';

/**
 * Opens a workload, and shows how far that has come where it takes a while.
 *
 * @param onJob called for each job that is read
 * @param features what is known of the jobs of a `.tr` file beside their times
 * @throws WorkloadError, one line; the reason of the interruption
 */
export async function openShown(
  context: Context,
  spec: string,
  onJob: () => void = () => {},
  features?: string,
): Promise<Workload> {
  const counter = new Counter(context, 'reading jobs', 0);
  try {
    return await openWorkload(spec, {
      features,
      onJobRead: () => {
        counter.add();
        onJob();
        context.interrupted.throwIfAborted();
      },
    });
  } finally {
    counter.stop();
  }
}

/** The jobs of a workload, with a count of them shown where they take a while. */
export async function* jobsShown(
  context: Context,
  { jobs, jobCount }: { readonly jobs: () => Jobs; readonly jobCount: number | undefined },
  label: string,
  onJob: () => void = () => {},
): AsyncGenerator<TraceJob> {
  const counter = new Counter(context, label, jobCount ?? 0);
  let sincePause = 0;
  try {
    for await (const job of jobs()) {
      counter.add();
      onJob();
      yield job;
      if (++sincePause < PAUSE_EACH) continue;
      sincePause = 0;
      // Jobs that are drawn never let go by themselves, and Ctrl-C is heard only in a pause.
      await setImmediate();
      context.interrupted.throwIfAborted();
    }
  } finally {
    counter.stop();
  }
}

/** What is done within this is not worth a bar. */
const SHOWN_AFTER_MS = 1_000;
/** Looking at the clock for each job would cost more than reading it. */
const LOOK_EACH = 256;
const PAUSE_EACH = 1_024;

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

  add(): void {
    if (++this.#count % LOOK_EACH !== 0) return;
    if (this.#shown === undefined && performance.now() - this.#startedAt < SHOWN_AFTER_MS) return;
    this.#shown ??= startProgress(this.#context, this.#label, this.#total);
    this.#shown.update(this.#count);
  }

  stop(): void {
    this.#shown?.update(this.#count);
    this.#shown?.stop();
  }
}
