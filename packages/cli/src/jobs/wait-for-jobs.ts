import type { JobHandle } from '@goshawk/client';
import {
  type Context,
  DetachedError,
  ExitCode,
  type Progress,
  startProgress,
  throwAll,
  WaitTimeoutError,
} from '@goshawk/command';
import {
  counted,
  type ExpectedEnd,
  expectedEndOf,
  formatCount,
  InputError,
  isFinal,
  type JobDetail,
  type JobSummary,
  type Millis,
  metDeadline,
  type TaskCounts,
  TIMER_MAX_MS,
} from '@goshawk/core';
import { expectedEndTime } from './local-time.js';
import { alignedCommands } from './words.js';

interface WaitRequest {
  /** Whether to return after the first job has ended; if several have, with the one that ended first. */
  readonly any?: boolean;
  readonly timeoutMs?: Millis | undefined;
  /** Whether to show no progress, because the caller does. */
  readonly isSilent?: boolean;
  /** Receives each ended job: immediately for programs, after the wait for people. */
  readonly ended: (job: JobDetail) => void;
}

/**
 * Waits for jobs to end and shows their progress. The jobs continue if the wait ends before them. It
 * reports jobs that have ended even if it throws.
 *
 * @returns the ended jobs, in the order in which they ended; with `any` the one that ended first
 * @throws WaitTimeoutError; DetachedError after Ctrl-C; InputError for an unknown job, at once; UnreachableError
 * if a job's scheduler is gone, after the other jobs have ended
 */
export async function waitForJobs(
  context: Context,
  handles: readonly JobHandle[],
  request: WaitRequest,
): Promise<JobDetail[]> {
  const stop = new AbortController();
  const signal = AbortSignal.any([context.interrupted, stop.signal]);
  const board = new CombinedProgress(context, handles.length, request.isSilent ?? false);
  const ended: JobDetail[] = [];
  let isDecided = false;
  let isTimeUp = false;
  const giveUp = (): void => {
    isTimeUp = true;
    stop.abort();
  };
  const { timeoutMs } = request;
  const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, Math.min(timeoutMs, TIMER_MAX_MS));
  const problems: unknown[] = [];
  const report = (job: JobDetail): void => {
    ended.push(job);
    if (context.global.json && !request.any) request.ended(job);
  };
  /** Returns whether the job has ended. */
  const watches = handles.map(async (handle): Promise<boolean> => {
    try {
      const job = await endOf(handle, board, signal);
      if (!isDecided) report(job);
      return true;
    } catch (error) {
      if (signal.aborted || error instanceof InputError) throw error;
      problems.push(error);
      return false;
    }
  });
  const all = Promise.all(watches);
  try {
    if (request.any) {
      await Promise.race([all, anyOf(watches)]);
      if (ended.length === 0) throwAll(context, problems);
      const first = await firstOf(handles, ended, signal);
      isDecided = true;
      ended.splice(0, ended.length, first);
      if (context.global.json) request.ended(first);
      return ended;
    }
    await all;
    throwAll(context, problems);
    return ended;
  } catch (error) {
    const left = handles.map(({ id }) => id).filter((id) => !ended.some((job) => job.id === id));
    if (context.interrupted.aborted) throw new DetachedError(left);
    if (isTimeUp) throw new WaitTimeoutError(left, timeoutMs!);
    isDecided = true;
    const others = await askOthers(handles, ended, signal);
    if (!request.any) for (const job of others.ended) report(job);
    // One of them is the error itself.
    throwAll(context, others.unknown.length > 0 ? others.unknown : [error]);
    throw error;
  } finally {
    clearTimeout(timer);
    board.clear();
    stop.abort();
    await Promise.allSettled(watches);
    // Messages for people are printed here, after the progress bar.
    if (!context.global.json) for (const job of ended) request.ended(job);
  }
}

/** Resolves when a watched job has ended, or none is watched anymore. */
function anyOf(watches: readonly Promise<boolean>[]): Promise<void> {
  const ends = watches.map(async (watch) => {
    if (!(await watch)) throw new Error('not ended');
  });
  return Promise.any(ends).catch(() => {});
}

/** Returns 0 if all tasks of all jobs completed, and met the deadlines. */
export function exitCodeOf(jobs: readonly JobDetail[]): number {
  if (jobs.some(({ state }) => state !== 'completed')) return ExitCode.failed;
  const isLate = jobs.some((job) => metDeadline(job, job.submittedAt) === false);
  return isLate ? ExitCode.deadlineMissed : ExitCode.done;
}

/** Timeout (ms) for other schedulers, which may be slow or gone. */
const OTHERS_MS = 3_000;

/** Returns the job that ended first. Its event may arrive after those of jobs that ended later. */
async function firstOf(
  handles: readonly JobHandle[],
  known: readonly JobDetail[],
  waiting: AbortSignal,
): Promise<JobDetail> {
  const ended = [...known, ...(await askOthers(handles, known, waiting)).ended];
  return ended.reduce((first, job) => (endedAt(job) < endedAt(first) ? job : first));
}

/** Returns the jobs that have ended besides the known ones, and an error for each unknown job. */
async function askOthers(
  handles: readonly JobHandle[],
  known: readonly JobDetail[],
  waiting: AbortSignal,
): Promise<{ readonly ended: readonly JobDetail[]; readonly unknown: readonly InputError[] }> {
  const others = handles.filter(({ id }) => !known.some((job) => job.id === id));
  const signal = AbortSignal.any([waiting, AbortSignal.timeout(OTHERS_MS)]);
  const asked = await Promise.allSettled(others.map((handle) => handle.describe({ signal })));
  const answers = asked.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  const unknown = asked.flatMap((answer) =>
    answer.status === 'rejected' && answer.reason instanceof InputError ? [answer.reason] : [],
  );
  return { ended: answers.filter(({ state }) => isFinal(state)), unknown };
}

function endedAt({ submittedAt, endedMs = 0 }: JobDetail): Millis {
  return submittedAt + endedMs;
}

async function endOf(handle: JobHandle, board: CombinedProgress, signal: AbortSignal): Promise<JobDetail> {
  for await (const event of handle.events({ signal })) {
    board.update(event.job);
    if (event.kind === 'ended') return event.job;
  }
  // The events of a job stop only after its end, or throw.
  throw new Error(`no updates about ${handle.id}`);
}

/** Shows the combined progress of several jobs once the state of all is known. */
class CombinedProgress {
  readonly #context: Context;
  readonly #jobs: number;
  readonly #counts = new Map<string, TaskCounts>();
  /** Unfinished jobs that are on hold, or not. */
  readonly #held = new Map<string, boolean>();
  /** Expected ends of unfinished jobs; undefined: unknown. */
  readonly #ends = new Map<string, ExpectedEnd | undefined>();
  #progress: Progress | undefined;
  #isOver: boolean;

  constructor(context: Context, jobs: number, isSilent: boolean) {
    this.#context = context;
    this.#jobs = jobs;
    this.#isOver = isSilent;
  }

  update(job: JobSummary): void {
    const { id, state, held = false, tasks: counts } = job;
    this.#counts.set(id, counts);
    if (isFinal(state)) {
      this.#held.delete(id);
      this.#ends.delete(id);
    } else {
      this.#held.set(id, held);
      this.#ends.set(id, expectedEndOf(job, Date.now()));
    }
    if (this.#isOver || this.#counts.size < this.#jobs) return;
    const sums = { total: 0, waiting: 0, running: 0, completed: 0, failed: 0, cancelled: 0 };
    for (const each of this.#counts.values()) {
      for (const state of Object.keys(sums) as (keyof TaskCounts)[]) sums[state] += each[state];
    }
    const left = sums.waiting + sums.running;
    // Ended jobs need no progress bar.
    if (this.#progress === undefined && left === 0) return;
    const label = this.#jobs === 1 ? id : counted(this.#jobs, 'job');
    this.#progress ??= startProgress(this.#context, label, sums.total);
    const done = sums.total - left;
    const ends = this.#endWords();
    // Without a note, the time left by the rate of tasks is shown.
    const isHeld = sums.running === 0 && left > 0 && [...this.#held.values()].every((held) => held);
    if (isHeld) this.#progress.update(done, 'on hold until `goshawk release`');
    else if (sums.failed > 0)
      this.#progress.update(done, [`${formatCount(sums.failed)} failed`, ...ends].join(', '));
    else if (ends.length > 0) this.#progress.update(done, ends[0]!);
    else if (done === 0) this.#progress.update(done, `${formatCount(sums.running)} running`);
    else this.#progress.update(done);
  }

  /** `ends at 17:26 (17:21 to 17:40)`: the last of the ends, if all are known. */
  #endWords(): string[] {
    const ends = [...this.#ends.values()];
    if (ends.length === 0 || ends.includes(undefined)) return [];
    const last = (ends as ExpectedEnd[]).reduce((late, end) => (end.latest > late.latest ? end : late));
    return [`ends at ${expectedEndTime(last, Date.now())}`];
  }

  clear(): void {
    this.#isOver = true;
    this.#progress?.stop();
  }
}

/**
 * Prints how to continue with jobs that were left running after Ctrl-C.
 *
 * @returns the exit code
 * @throws any other error, and every error with --json
 */
export function leave(context: Context, error: unknown): number {
  if (!(error instanceof DetachedError) || context.global.json) throw error;
  context.note(error.message);
  if (error.fate === 'goes on') {
    const which = error.ids.join(' ');
    const ways = alignedCommands([
      [`goshawk wait ${which}`, 'waits again'],
      [`goshawk cancel ${which}`, 'cancels'],
    ]);
    for (const way of ways) context.note(`  ${way}`);
  }
  return ExitCode.interrupted;
}
