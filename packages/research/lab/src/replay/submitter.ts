import type { Cluster, EndedJobWithTasks } from '@goshawk/client';
import { GoshawkError, InputError, type Millis } from '@goshawk/core';
import type { PlannedJob } from './plan.js';

/** The part of a cluster that a replay needs. */
export interface JobTaker {
  submit(job: PlannedJob['input'], options: { signal: AbortSignal }): Promise<SubmittedJob>;
}

type SubmittedJob = Pick<Awaited<ReturnType<Cluster['submit']>>, 'id' | 'cancel'> & {
  wait(options: { detail: true; signal: AbortSignal }): Promise<EndedJobWithTasks>;
};

/** A job that has ended. Times are on one monotonic clock, since the start of the replay. */
export interface EndedReplayJob {
  readonly planned: PlannedJob;
  readonly submittedMs: Millis;
  /** Time when the client learned of the end. */
  readonly endedMs: Millis;
  readonly ended: EndedJobWithTasks;
}

export interface Progress {
  readonly elapsedMs: Millis;
  readonly submitted: number;
  readonly ended: number;
  /** Total run time of the submitted jobs. */
  readonly submittedTaskMs: Millis;
}

export interface SubmitOptions {
  readonly signal: AbortSignal;
  /** Called periodically, but never while a job is due. */
  readonly onProgress: (progress: Progress) => void;
  /** Cancels unfinished jobs on abort, for clusters that keep running. */
  readonly cancelOnAbort: boolean;
  /** Gives up after this time without a submission or an ended job. */
  readonly stallMs: Millis;
}

const PROGRESS_INTERVAL_MS = 250;
/** Delay before the start, so that the first job is not late. */
const LEAD_MS = 50;
const CANCEL_TIMEOUT_MS = 5_000;

/**
 * Submits each job on time, regardless of the others, and waits for all of them.
 *
 * @param jobs in order of submission
 * @throws GoshawkError if the end of a job cannot be determined, or nothing progresses; the signal's reason
 */
export async function submitOnTime(
  cluster: JobTaker,
  jobs: readonly PlannedJob[],
  options: SubmitOptions,
): Promise<EndedReplayJob[]> {
  const submitter = new Submitter(cluster, jobs, options);
  try {
    return await submitter.run();
  } finally {
    await submitter.close();
  }
}

class Submitter {
  readonly #cluster: JobTaker;
  readonly #jobs: readonly PlannedJob[];
  readonly #options: SubmitOptions;
  readonly #stop = new AbortController();
  readonly #beganAtMs: Millis = performance.now() + LEAD_MS;
  readonly #open = new Set<SubmittedJob>();
  readonly #ended: EndedReplayJob[] = [];
  readonly #lost: { name: string; error: unknown }[] = [];
  #next = 0;
  #submittedTaskMs = 0;
  #progressAtMs: Millis = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #progressTimer: NodeJS.Timeout | undefined;
  #settle: { resolve: () => void; reject: (reason: unknown) => void } = { resolve() {}, reject() {} };

  constructor(cluster: JobTaker, jobs: readonly PlannedJob[], options: SubmitOptions) {
    this.#cluster = cluster;
    this.#jobs = jobs;
    this.#options = options;
  }

  async run(): Promise<EndedReplayJob[]> {
    const { signal } = this.#options;
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject };
      signal.addEventListener('abort', this.#onAbort);
      this.#progressTimer = setInterval(() => this.#showProgress(), PROGRESS_INTERVAL_MS);
      this.#submitDue();
    });
    this.#report();
    if (this.#lost.length > 0) throw this.#lostError();
    return this.#ended;
  }

  /** Removes timers and listeners, and cancels the remaining jobs if the cluster keeps running. */
  async close(): Promise<void> {
    const { signal, cancelOnAbort } = this.#options;
    clearTimeout(this.#timer);
    clearInterval(this.#progressTimer);
    signal.removeEventListener('abort', this.#onAbort);
    this.#stop.abort();
    if (!cancelOnAbort) return;
    const patience = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
    await Promise.allSettled([...this.#open].map((job) => job.cancel({ signal: patience })));
  }

  readonly #onAbort = (): void => this.#settle.reject(this.#options.signal.reason);

  readonly #submitDue = (): void => {
    const elapsedMs = performance.now() - this.#beganAtMs;
    while (this.#next < this.#jobs.length && this.#jobs[this.#next]!.submitMs <= elapsedMs) {
      void this.#follow(this.#jobs[this.#next++]!);
    }
    if (this.#next === this.#jobs.length) return;
    const dueAtMs = this.#beganAtMs + this.#jobs[this.#next]!.submitMs;
    this.#timer = setTimeout(this.#submitDue, Math.max(0, dueAtMs - performance.now()));
  };

  async #follow(planned: PlannedJob): Promise<void> {
    const submittedAtMs = performance.now();
    this.#submittedTaskMs += planned.taskMs;
    this.#progressAtMs = submittedAtMs;
    const { signal } = this.#stop;
    try {
      const job = await this.#cluster.submit(planned.input, { signal });
      this.#open.add(job);
      const ended = await job.wait({ detail: true, signal });
      this.#open.delete(job);
      const submittedMs = submittedAtMs - this.#beganAtMs;
      this.#ended.push({ planned, submittedMs, endedMs: ended.endedAtMs - this.#beganAtMs, ended });
      this.#progressAtMs = ended.endedAtMs;
    } catch (error) {
      if (signal.aborted) return;
      // An input error of one job applies to all.
      if (error instanceof InputError) this.#settle.reject(error);
      this.#lost.push({ name: planned.input.name ?? '', error });
    }
    if (this.#ended.length + this.#lost.length === this.#jobs.length) this.#settle.resolve();
  }

  #showProgress(): void {
    this.#report();
    const silentMs = performance.now() - this.#progressAtMs;
    if (this.#next < this.#jobs.length || silentMs < this.#options.stallMs) return;
    const left = this.#jobs.length - this.#ended.length;
    this.#settle.reject(
      new GoshawkError(
        'replay-stalled',
        `${left} of ${this.#jobs.length} jobs have not ended, and there was no progress for ${Math.round(silentMs / 1_000)} s`,
        'this is a bug in Goshawk: please report it with the logs of the cluster',
      ),
    );
  }

  #report(): void {
    this.#options.onProgress({
      elapsedMs: Math.max(0, performance.now() - this.#beganAtMs),
      submitted: this.#next,
      ended: this.#ended.length,
      submittedTaskMs: this.#submittedTaskMs,
    });
  }

  #lostError(): GoshawkError {
    const [first] = this.#lost;
    const message = first!.error instanceof Error ? first!.error.message : String(first!.error);
    return new GoshawkError(
      'jobs-lost',
      `the outcome of ${this.#lost.length} of ${this.#jobs.length} jobs is unknown (${first!.name}: ${message})`,
      'run it again: results are valid only if the outcome of every job is known',
      { cause: first!.error },
    );
  }
}
