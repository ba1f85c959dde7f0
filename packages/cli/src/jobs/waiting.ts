import type { JobHandle } from '@goshawk/client';
import {
  type Context,
  DetachedError,
  ExitCode,
  type Progress,
  startProgress,
  WaitTimeoutError,
} from '@goshawk/command';
import {
  counted,
  formatCount,
  isFinal,
  type JobDetail,
  type Millis,
  metDeadline,
  type TaskCounts,
  TIMER_MAX_MS,
} from '@goshawk/core';
import { alignedCommands } from './words.js';

interface WaitRequest {
  /** Until one has ended; where several have, the one that ended first. */
  readonly any?: boolean;
  readonly timeoutMs?: Millis | undefined;
  /** How far they have come is shown in another way. */
  readonly isSilent?: boolean;
  /** Called with each end: at once for programs, when the waiting is over for people. */
  readonly ended: (job: JobDetail) => void;
}

/**
 * Waits for the end of jobs and shows how far they have come. When this waiting comes to an end first, the
 * jobs go on.
 *
 * @returns the jobs that have ended, in that order; with `any` the one that ended first
 * @throws WaitTimeoutError; DetachedError after Ctrl-C; InputError for a job that there is not;
 * UnreachableError when a job's scheduler is gone
 */
export async function waitForJobs(
  context: Context,
  handles: readonly JobHandle[],
  request: WaitRequest,
): Promise<JobDetail[]> {
  const stop = new AbortController();
  const signal = AbortSignal.any([context.interrupted, stop.signal]);
  const board = new Board(context, handles.length, request.isSilent ?? false);
  const ended: JobDetail[] = [];
  let isDecided = false;
  let isTimeUp = false;
  const giveUp = (): void => {
    isTimeUp = true;
    stop.abort();
  };
  const { timeoutMs } = request;
  const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, Math.min(timeoutMs, TIMER_MAX_MS));
  const watches = handles.map(async (handle) => {
    const job = await endOf(handle, board, signal);
    if (isDecided) return;
    ended.push(job);
    if (context.global.json && !request.any) request.ended(job);
  });
  try {
    if (request.any) {
      await Promise.race(watches);
      const first = await firstOf(handles, ended, signal);
      isDecided = true;
      ended.splice(0, ended.length, first);
      if (context.global.json) request.ended(ended[0]!);
      return ended;
    }
    await Promise.all(watches);
    return ended;
  } catch (error) {
    const left = handles.map(({ id }) => id).filter((id) => !ended.some((job) => job.id === id));
    if (context.interrupted.aborted) throw new DetachedError(left);
    throw isTimeUp ? new WaitTimeoutError(left, timeoutMs!) : error;
  } finally {
    clearTimeout(timer);
    board.clear();
    stop.abort();
    await Promise.allSettled(watches);
    // Words for people would end up in the middle of the bar.
    if (!context.global.json) for (const job of ended) request.ended(job);
  }
}

/** 0 when all tasks of all these jobs completed, by the deadline of each that has one. */
export function exitCodeOf(jobs: readonly JobDetail[]): number {
  if (jobs.some(({ state }) => state !== 'completed')) return ExitCode.failed;
  const isLate = jobs.some((job) => metDeadline(job, job.submittedAt) === false);
  return isLate ? ExitCode.deadlineMissed : ExitCode.done;
}

/** Another owner may be slow to answer, or gone. ms */
const OTHERS_MS = 3_000;

/** The job that ended first: of several that have, the news of it may be the last to come. */
async function firstOf(
  handles: readonly JobHandle[],
  known: readonly JobDetail[],
  waiting: AbortSignal,
): Promise<JobDetail> {
  const others = handles.filter(({ id }) => !known.some((job) => job.id === id));
  const signal = AbortSignal.any([waiting, AbortSignal.timeout(OTHERS_MS)]);
  const asked = await Promise.allSettled(others.map((handle) => handle.describe({ signal })));
  const answers = asked.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  const ended = [...known, ...answers].filter(({ state }) => isFinal(state));
  return ended.reduce((first, job) => (endedAt(job) < endedAt(first) ? job : first));
}

function endedAt({ submittedAt, endedMs = 0 }: JobDetail): Millis {
  return submittedAt + endedMs;
}

async function endOf(handle: JobHandle, board: Board, signal: AbortSignal): Promise<JobDetail> {
  for await (const event of handle.events({ signal })) {
    board.update(handle.id, event.job.tasks);
    if (event.kind === 'ended') return event.job;
  }
  // Its events end with the end, or throw.
  throw new Error(`no updates about ${handle.id}`);
}

/** How far several jobs have come together; nothing is drawn before all of them are known. */
class Board {
  readonly #context: Context;
  readonly #jobs: number;
  readonly #counts = new Map<string, TaskCounts>();
  #progress: Progress | undefined;
  #isOver: boolean;

  constructor(context: Context, jobs: number, isSilent: boolean) {
    this.#context = context;
    this.#jobs = jobs;
    this.#isOver = isSilent;
  }

  update(id: string, counts: TaskCounts): void {
    this.#counts.set(id, counts);
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
    // Without a note, the time that is left is shown.
    if (sums.failed > 0) this.#progress.update(done, `${formatCount(sums.failed)} failed`);
    else if (done === 0) this.#progress.update(done, `${formatCount(sums.running)} running`);
    else this.#progress.update(done);
  }

  clear(): void {
    this.#isOver = true;
    this.#progress?.stop();
  }
}

/**
 * After Ctrl-C: says to a person how to go on with jobs that were left to themselves.
 *
 * @returns the exit code
 * @throws the error, where it is another one, or where a program is to read it
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
