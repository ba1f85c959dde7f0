import {
  InputError,
  type JobState,
  type JobSummary,
  LIMITS,
  type MessageOf,
  parseTaskRanges,
  requestedRanges,
  type TaskRange,
  UnreachableError,
} from '@goshawk/core';
import { badAnswer } from './errors.js';
import type { CallOptions } from './options.js';
import type { KnownScheduler } from './roster.js';
import { type Session, someSchedulers } from './session.js';

/** Tasks of a job by index: text such as `7-20` or `3,7-9`, a list of indices, or inclusive ranges. */
export type TaskChoice = string | readonly (number | TaskRange)[];

export interface CancelTasksOptions extends CallOptions {
  /** All tasks of this stage; combined with `tasks`, they must belong to it. */
  readonly stage?: string | undefined;
}

export interface CancelledTasks {
  readonly job: JobSummary;
  /** Number of selected tasks that are cancelled, including those that were before. */
  readonly cancelled: number;
  /** Number of selected tasks that are running and are being killed. */
  readonly killing: number;
  /** Number of selected tasks that had already completed or failed. */
  readonly ended: number;
}

/** At least one filter is required; jobs that match all of them are cancelled. */
export interface CancelJobsOptions extends CallOptions {
  readonly user?: string | undefined;
  /** Job name with `*` and `?`. */
  readonly name?: string | undefined;
  /** `waiting`, `running`. */
  readonly states?: readonly JobState[] | undefined;
  /** All jobs. */
  readonly all?: boolean | undefined;
  /** Only counts the jobs. */
  readonly dryRun?: boolean | undefined;
}

export interface CancelledJobs {
  readonly jobs: number;
  /** Number of tasks of these jobs that had not started. */
  readonly waiting: number;
  /** Number of tasks of these jobs that were running and are being killed. */
  readonly running: number;
  /** Schedulers that did not answer: their jobs may continue. */
  readonly silent: readonly string[];
}

/** @throws InputError `bad-tasks` */
export function rangesOf(tasks: TaskChoice): TaskRange[] {
  if (typeof tasks === 'string') return parseTaskRanges(tasks);
  if (!Array.isArray(tasks))
    throw new InputError('bad-tasks', 'tasks: expected a text such as "3,7-9", or a list of numbers');
  const ranges = tasks.map((each) => (typeof each === 'number' ? { first: each, last: each } : Object(each)));
  if (ranges.length === 0)
    throw new InputError('bad-tasks', 'tasks: the list is empty', 'omit it to select all tasks');
  for (const { first, last } of ranges)
    if (!isTask(first) || !isTask(last) || last < first)
      throw new InputError(
        'bad-tasks',
        `tasks: ${first} to ${last} is not a range of tasks`,
        'tasks are numbered from 0',
      );
  return requestedRanges(ranges);
}

function isTask(number: number): boolean {
  return Number.isSafeInteger(number) && number >= 0 && number < LIMITS.tasksPerJobMax;
}

/** Cancels matching jobs at all schedulers. */
export async function cancelJobs(session: Session, options: CancelJobsOptions): Promise<CancelledJobs> {
  const { user, name, states = [], all = false } = options;
  if (user === undefined && name === undefined && states.length === 0 && !all)
    throw new InputError(
      'usage',
      'the selection of jobs is empty',
      'select by user, name or state, or set all',
    );
  const schedulers = await someSchedulers(session, options);
  const settled = await Promise.allSettled(schedulers.map((one) => cancelAt(session, one, options)));
  const sums = { jobs: 0, waiting: 0, running: 0 };
  const silent: string[] = [];
  settled.forEach((outcome, index) => {
    if (outcome.status === 'fulfilled') {
      for (const sum of ['jobs', 'waiting', 'running'] as const) sums[sum] += outcome.value[sum];
    } else if (outcome.reason instanceof UnreachableError) silent.push(schedulers[index]!.title);
    else throw outcome.reason;
  });
  const first = settled[0];
  if (silent.length === schedulers.length && first?.status === 'rejected') throw first.reason;
  return { ...sums, silent: [...silent, ...session.roster.missing] };
}

type Count = Omit<MessageOf<'jobsCancelled'>['value'], 'next'>;

async function cancelAt(
  { requests, timings }: Session,
  scheduler: KnownScheduler,
  { user, name, states = [], dryRun = false, signal }: CancelJobsOptions,
): Promise<Count> {
  const sums = { jobs: 0, waiting: 0, running: 0 };
  for (let from: number | undefined = 0; from !== undefined; ) {
    const first: number = from;
    const { value, peer } = await requests.ask<'cancelJobs'>({
      what: 'to cancel jobs',
      build: (request) => ({
        type: 'cancelJobs',
        request,
        states,
        user,
        name,
        from: first as MessageOf<'cancelJobs'>['from'],
        dryRun,
      }),
      to: () => scheduler,
      timeoutMs: timings.requestTimeoutMs,
      signal,
    });
    for (const sum of ['jobs', 'waiting', 'running'] as const) sums[sum] += value[sum];
    if (value.next !== undefined && value.next <= first) throw badAnswer(peer, 'further jobs');
    from = value.next;
  }
  return sums;
}
