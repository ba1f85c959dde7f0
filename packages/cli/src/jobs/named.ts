import type { Cluster } from '@goshawk/client';
import { type Context, plain, throwAll } from '@goshawk/command';
import {
  counted,
  formatCount,
  InputError,
  isFinal,
  type JobSummary,
  LIMITS,
  parseTaskRanges,
  type TaskRange,
  tasksInRanges,
  UnreachableError,
} from '@goshawk/core';
import { outcomesOf } from './outcomes.js';

const EXAMPLES_SHOWN = 3;

/**
 * Returns the id of the job that a word refers to: an id, a prefix of one, `last` for the job that this user submitted last, or
 * a name for the job of that name that this user submitted last.
 *
 * @throws InputError `unknown-job`, or `ambiguous-job` with the matching ids; UnreachableError if a scheduler that
 * does not answer may own the job
 */
export async function jobNamed(context: Context, cluster: Cluster, word: string): Promise<string> {
  if (word.includes('/'))
    throw new InputError(
      'usage',
      `"${word}" names tasks, not a job`,
      'write ID; `goshawk tasks`, `results`, `logs`, `why`, `cancel` and `retry` accept tasks',
    );
  // The word looks like a complete id; the job's scheduler verifies that it exists. Names may look like ids, too.
  const isId = /-\d+$/.test(word);
  if (isId && cluster.hasOwner(word)) return word;
  const signal = context.interrupted;
  const own = context.environment.GOSHAWK_USER || cluster.user;
  const user = word === 'last' ? own : undefined;
  const list = await cluster.jobs({ all: true, limit: LIMITS.jobsListedMax, user, signal });
  const { jobs, silent, truncated } = list;
  // Active jobs are listed first, from the oldest, so a truncated list may lack the last job.
  const isIncomplete = truncated && !isFinal(jobs.at(-1)!.state);
  const missing = silent.length === 0 ? undefined : `no answer from ${silent.join(', ')}`;
  if (word === 'last') {
    if (jobs.length === 0 && missing === undefined)
      throw new InputError('unknown-job', `no job${user ? ` of ${user}` : ''} is known`, LIST_HINT);
    return lastOf(jobs, 'the last job', missing, isIncomplete);
  }
  const begun = word === '' ? [] : jobs.filter(({ id }) => id.startsWith(word));
  const called = jobs.filter(({ name, user }) => name === word && (own === undefined || user === own));
  if (called.length > 0 && begun.length === 0) {
    const id = lastOf(called, `the last job named "${word}"`, missing, isIncomplete);
    if (called.length > 1)
      context.note(`${id} is the last of ${counted(called.length, 'job')} named "${plain(word)}"`);
    return id;
  }
  // Its scheduler may be missing: the request to it says so.
  if (isId) return word;
  if (begun.length === 0 && missing !== undefined)
    throw new UnreachableError('unreachable', `no known job is "${word}"; ${missing}`);
  if (begun.length === 0)
    throw new InputError('unknown-job', `no job has the name "${word}" or an id that begins so`, LIST_HINT);
  const found = new Set([...begun, ...called].map(({ id }) => id));
  if (found.size > 1) {
    const ids = [...found].slice(0, EXAMPLES_SHOWN);
    const more = found.size > ids.length ? ', …' : '';
    throw new InputError(
      'ambiguous-job',
      `${counted(found.size, 'job')} have ids that begin with "${word}"${called.length > 0 ? ' or that name' : ''}: ${ids.join(', ')}${more}`,
      'use a longer prefix',
    );
  }
  return begun[0]!.id;
}

const LIST_HINT = '`goshawk jobs --all` lists all jobs';

/**
 * Returns the job that was submitted last.
 *
 * @param missing schedulers that did not answer
 */
function lastOf(
  jobs: readonly JobSummary[],
  what: string,
  missing: string | undefined,
  isIncomplete: boolean,
): string {
  // A scheduler that does not answer may own the last job, and another job must not be cancelled in its place.
  if (missing !== undefined)
    throw new UnreachableError('unreachable', `cannot find ${what}: ${missing}`, 'use its id');
  if (isIncomplete)
    throw new InputError(
      'ambiguous-job',
      `cannot find ${what}: more than ${formatCount(LIMITS.jobsListedMax)} are active`,
      'use its id',
    );
  return jobs.reduce(later).id;
}

/** A job, or tasks of it. */
export interface Address {
  readonly id: string;
  /** Indices, which count across stages. */
  readonly tasks: readonly TaskRange[] | undefined;
  readonly stage: string | undefined;
}

/**
 * Parses a job or tasks of it: `ID`, `ID/7-20,31`, `ID/STAGE` or `ID/STAGE/7-20`. A stage whose name looks like
 * indices must be followed by indices: `ID/3/0-9`.
 *
 * @throws InputError
 */
export function parseAddress(word: string): Address {
  const slash = word.indexOf('/');
  if (slash < 0) return { id: word, tasks: undefined, stage: undefined };
  const [id, rest] = [word.slice(0, slash), word.slice(slash + 1)];
  if (id === '' || rest === '')
    throw new InputError(
      'usage',
      `"${word}" is not a job or task`,
      'write ID, ID/7-20, ID/STAGE or ID/STAGE/7-20',
    );
  if (ARE_TASKS.test(rest)) return { id, tasks: parseTaskRanges(rest), stage: undefined };
  const last = rest.lastIndexOf('/');
  const numbers = rest.slice(last + 1);
  if (last <= 0 || !ARE_TASKS.test(numbers)) return { id, tasks: undefined, stage: rest };
  return { id, tasks: parseTaskRanges(numbers), stage: rest.slice(0, last) };
}

/**
 * Returns the index of the only task of an address; undefined if it names a job.
 *
 * @throws InputError for several tasks
 */
export function oneTaskOf({ tasks, stage }: Address, word: string): number | undefined {
  if (tasks === undefined && stage === undefined) return undefined;
  if (tasks !== undefined && tasksInRanges(tasks) === 1) return tasks[0]!.first;
  throw new InputError(
    'usage',
    `"${word}" is not one task`,
    'write ID, ID/TASK or ID/STAGE/TASK with the number of a task, such as a1-3/17',
  );
}

/** @throws InputError `unknown-task` if a job with this number of tasks does not have all of the named ones */
export function checkTasksExist(id: string, tasks: readonly TaskRange[] | undefined, total: number): void {
  const last = tasks?.at(-1)?.last ?? 0;
  if (last >= total)
    throw new InputError('unknown-task', `${id} has no task ${last}`, `its tasks are 0 to ${total - 1}`);
}

/**
 * Parses the words of `retry`: an address, or `ID TASKS` or `ID/STAGE TASKS`.
 *
 * @throws InputError
 */
export function parseRetried([word = '', list]: readonly string[]): Address {
  const address = parseAddress(word);
  if (list === undefined) return address;
  if (address.tasks === undefined) return { ...address, tasks: parseTaskRanges(list) };
  throw new InputError(
    'usage',
    `"${word}" and "${list}" both name tasks`,
    'write the tasks once, as in ID/3,7-9',
  );
}

const ARE_TASKS = /^[\d,\s-]*\d[\d,\s-]*$/;

/**
 * Returns the ids without duplicates, in the order of the words.
 *
 * @throws the first problem, after the others are reported
 */
export async function jobsNamed(
  context: Context,
  cluster: Cluster,
  words: readonly string[],
): Promise<string[]> {
  const ids = new Set<string>();
  const problems: unknown[] = [];
  const named = (word: string): Promise<string> => jobNamed(context, cluster, word);
  for await (const outcome of outcomesOf(words, named)) {
    if (outcome.status === 'fulfilled') ids.add(outcome.value);
    else problems.push(outcome.reason);
  }
  context.interrupted.throwIfAborted();
  throwAll(context, problems);
  return [...ids];
}

/**
 * Returns the job that was submitted later. Within a scheduler, the id's number orders jobs of the same
 * millisecond.
 */
function later(a: JobSummary, b: JobSummary): JobSummary {
  if (a.submittedAt !== b.submittedAt) return a.submittedAt > b.submittedAt ? a : b;
  return numberOf(a.id) > numberOf(b.id) ? a : b;
}

function numberOf(id: string): number {
  return Number(id.slice(id.lastIndexOf('-') + 1));
}
