import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, type EndedJob, type JobHandle, OutcomeUnknownError } from '@goshawk/client';
import type { Millis, Random } from '@goshawk/core';
import { planJob } from './jobs.js';

interface LoadOptions {
  readonly client: Cluster;
  /** One that waits for less time than faults last; it submits some of the jobs. */
  readonly hasty: Cluster;
  readonly random: Random;
  readonly jobsPerSecond: number;
  /** A module that returns its input. */
  readonly module: string;
  /** A container image for some of the programs. */
  readonly image?: string | undefined;
  readonly isCentralAway: () => boolean;
  readonly note: (line: string) => void;
}

/** An accepted job. */
export interface Submitted {
  readonly id: string;
  readonly tasks: number;
  readonly isShort: boolean;
  /** Whether central was down or stopped when the job was submitted. */
  readonly isWithoutCentral: boolean;
  readonly submittedAtMs: Millis;
  endedAtMs: Millis | undefined;
  state: EndedJob['state'] | undefined;
  /** States in which it may end. */
  readonly ends: readonly EndedJob['state'][];
  /** Whether the results of its tasks differ from their inputs. */
  isWrong: boolean;
  /** Attempts beyond one per task. */
  reruns: number;
}

/** Submits jobs at a steady rate and follows each one to its end, through all faults of the cluster. */
export class Load {
  readonly #options: LoadOptions;
  readonly submitted: Submitted[] = [];
  /** Submissions whose outcome the client does not know; the job may or may not have been accepted. */
  unanswered = 0;
  /** Keys of submissions that were answered as refused, so that there is no job. */
  readonly refused: string[] = [];
  #open = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  begin(): void {
    this.#timer = setInterval(() => {
      // A job that cannot be followed to its end counts as not completed.
      const one = this.#one().catch((error: Error) =>
        this.#options.note(`a job is no longer watched: ${error.message}`),
      );
      this.#open.add(one);
      void one.finally(() => this.#open.delete(one));
    }, 1_000 / this.#options.jobsPerSecond);
  }

  /** Stops submitting jobs. */
  end(): void {
    clearInterval(this.#timer);
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** Resolves when every job has ended. */
  async ended(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }

  async #one(): Promise<void> {
    const { client, hasty, random, module, image, isCentralAway, note } = this.#options;
    const { job, tasks, isShort = false, results, act, ends } = planJob(random, module, image);
    const submittedAtMs = performance.now();
    const isWithoutCentral = isCentralAway();
    const isHasty = act === undefined && random.next() < HASTY_SHARE;
    const key = `hasty-${random.nextUint32()}`;
    let handle: JobHandle;
    try {
      handle = await (isHasty ? hasty.submit({ ...job, key }) : client.submit(job));
    } catch (error) {
      if (error instanceof OutcomeUnknownError) this.unanswered++;
      else if (isHasty) this.refused.push(key);
      return note(`not submitted: ${(error as Error).message}`);
    }
    const submitted: Submitted = {
      id: handle.id,
      tasks,
      isShort,
      isWithoutCentral,
      submittedAtMs,
      endedAtMs: undefined,
      state: undefined,
      ends,
      isWrong: false,
      reruns: 0,
    };
    this.submitted.push(submitted);
    if (act !== undefined) await this.#retryWhileOwnerIsDown(() => act(handle));
    const { state, endedAtMs, attempts } = await this.#retryWhileOwnerIsDown(() => handle.wait());
    submitted.state = state;
    submitted.endedAtMs = endedAtMs;
    submitted.reruns = Math.max(0, attempts.total - submitted.tasks);
    if (results === undefined || state !== 'completed') return;
    const values = await this.#retryWhileOwnerIsDown(() => handle.result());
    submitted.isWrong = JSON.stringify(values) !== JSON.stringify(results);
  }

  /** The owner may be down for longer than a client waits, but the job still exists. */
  async #retryWhileOwnerIsDown<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        const { code, message } = error as { code?: string; message: string };
        if (code === undefined || !WAITS_FOR.has(code)) throw error;
        this.#options.note(`asked again: ${message}`);
        await pause(500);
      }
    }
  }
}

const HASTY_SHARE = 0.25;

/** Expected errors while an owner or its journal is down, or before it has registered with central again. */
const WAITS_FOR: ReadonlySet<string> = new Set([
  'owner-gone',
  'owner-away',
  'unreachable',
  'unknown-job',
  'journal-unavailable',
  'journal-pending',
  'not-ready',
  'timeout',
]);
