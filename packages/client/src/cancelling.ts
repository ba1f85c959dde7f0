import {
  InputError,
  type JobState,
  type JobSummary,
  LIMITS,
  type MessageOf,
  parseTaskRanges,
  requestedRanges,
  slicesOf,
  type TaskRange,
  tagOf,
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

/** At least one filter, or ids, are required; jobs that match all filters are cancelled. */
export interface CancelJobsOptions extends CallOptions {
  readonly user?: string | undefined;
  /** Job name with `*` and `?`. */
  readonly name?: string | undefined;
  /** `waiting`, `running`. */
  readonly states?: readonly JobState[] | undefined;
  /** All jobs. */
  readonly all?: boolean | undefined;
  /** Exactly these jobs, such as those of a dry run: jobs that match later are not cancelled. Without other filters. */
  readonly ids?: readonly string[] | undefined;
  /** Only counts and names the jobs. */
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
  /** Ids of the jobs that a dry run found; empty if jobs were cancelled. */
  readonly ids: readonly string[];
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

/** Cancels matching jobs at all schedulers, or named ones at their owners. */
export async function cancelJobs(session: Session, options: CancelJobsOptions): Promise<CancelledJobs> {
  const { user, name, states = [], all = false, ids } = options;
  const isFiltered = user !== undefined || name !== undefined || states.length > 0 || all;
  if (isFiltered === (ids !== undefined))
    throw new InputError(
      'usage',
      isFiltered ? 'ids cannot be combined with other filters' : 'the selection of jobs is empty',
      'select by user, name or state, or set all, or list ids',
    );
  const schedulers = await someSchedulers(session, options);
  const missing = ids === undefined ? session.roster.missing : [];
  const orders =
    ids === undefined ? schedulers.map((to) => ({ to, ids })) : await byOwner(session, ids, options);
  const settled = await Promise.allSettled(orders.map((order) => cancelAt(session, order, options)));
  const sums = { jobs: 0, waiting: 0, running: 0 };
  const found: string[] = [];
  const silent: string[] = [];
  settled.forEach((outcome, index) => {
    if (outcome.status === 'fulfilled') {
      for (const sum of ['jobs', 'waiting', 'running'] as const) sums[sum] += outcome.value[sum];
      found.push(...outcome.value.ids);
    } else if (outcome.reason instanceof UnreachableError) silent.push(orders[index]!.to.title);
    else throw outcome.reason;
  });
  const first = settled[0];
  if (silent.length === orders.length && first?.status === 'rejected') throw first.reason;
  return { ...sums, silent: [...silent, ...missing], ids: found };
}

interface CancelOrder {
  readonly to: KnownScheduler;
  readonly ids: readonly string[] | undefined;
}

/** Groups ids by the schedulers that own them. Ids of no scheduler are ignored: their jobs are gone. */
async function byOwner(
  { roster }: Session,
  ids: readonly string[],
  { signal }: CallOptions,
): Promise<CancelOrder[]> {
  const byTag = new Map<string, string[]>();
  for (const id of ids) {
    const those = byTag.get(tagOf(id));
    if (those === undefined) byTag.set(tagOf(id), [id]);
    else those.push(id);
  }
  const orders: CancelOrder[] = [];
  for (const those of byTag.values()) {
    const to = await roster.findOwner(those[0]!, signal).catch((error: unknown) => {
      if (error instanceof InputError && error.code === 'unknown-job') return undefined;
      throw error;
    });
    if (to !== undefined) orders.push({ to, ids: those });
  }
  return orders;
}

type Count = Omit<MessageOf<'jobsCancelled'>['value'], 'next'>;

async function cancelAt(
  { requests, timings }: Session,
  { to, ids }: CancelOrder,
  { user, name, states = [], dryRun = false, signal }: CancelJobsOptions,
): Promise<Count> {
  const sums = { jobs: 0, waiting: 0, running: 0 };
  const found: string[] = [];
  const ask = async (from: number, some: readonly string[] | undefined): Promise<number | undefined> => {
    const { value, peer } = await requests.ask<'cancelJobs'>({
      what: 'to cancel jobs',
      build: (request) => ({
        ...{ type: 'cancelJobs', request, states, user, name, dryRun, ids: some },
        from: from as MessageOf<'cancelJobs'>['from'],
      }),
      to: () => to,
      timeoutMs: timings.requestTimeoutMs,
      signal,
    });
    for (const sum of ['jobs', 'waiting', 'running'] as const) sums[sum] += value[sum];
    found.push(...value.ids);
    if (value.next !== undefined && value.next <= from) throw badAnswer(peer, 'further jobs');
    return value.next;
  };
  if (ids !== undefined) for (const some of slicesOf(ids, LIMITS.cancelledMax)) await ask(0, some);
  else for (let from: number | undefined = 0; from !== undefined; ) from = await ask(from, undefined);
  return { ...sums, ids: found };
}
