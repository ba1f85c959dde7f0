import type { Cluster } from '@goshawk/client';
import type { Context } from '@goshawk/command';
import {
  counted,
  formatCount,
  InputError,
  isFinal,
  type JobSummary,
  LIMITS,
  parseTaskRanges,
  type TaskRange,
} from '@goshawk/core';

const EXAMPLES_SHOWN = 3;

/**
 * Returns the id of the job that a word refers to: an id, a prefix of one, or `last` for the job that this
 * user submitted last.
 *
 * @throws InputError `unknown-job`, or `ambiguous-job` with the matching ids
 */
export async function jobNamed(context: Context, cluster: Cluster, word: string): Promise<string> {
  // The word looks like a complete id; the job's scheduler verifies that it exists.
  if (/-\d+$/.test(word)) return word;
  if (word.includes('/'))
    throw new InputError(
      'usage',
      `"${word}" is a task, not a job`,
      `\`goshawk why ${word}\` and \`goshawk logs ${word}\` accept a task`,
    );
  const signal = context.interrupted;
  const user = word === 'last' ? context.environment.GOSHAWK_USER || cluster.user : undefined;
  const { jobs, silent, truncated } = await cluster.jobs({
    all: true,
    limit: LIMITS.jobsListedMax,
    user,
    signal,
  });
  const hint = silent.length > 0 ? `no answer from ${silent.join(', ')}` : '`goshawk jobs --all` lists them';
  if (word === 'last') {
    if (jobs.length === 0)
      throw new InputError('unknown-job', `no job${user ? ` of ${user}` : ''} is known`, hint);
    // Active jobs are listed first, from the oldest, so a truncated list may lack the last job.
    if (truncated && !isFinal(jobs.at(-1)!.state))
      throw new InputError(
        'ambiguous-job',
        `cannot find the last job: more than ${formatCount(LIMITS.jobsListedMax)} are active`,
        'use its id',
      );
    return jobs.reduce(later).id;
  }
  const found = word === '' ? [] : jobs.filter(({ id }) => id.startsWith(word));
  if (found.length === 0) throw new InputError('unknown-job', `no job id begins with "${word}"`, hint);
  if (found.length > 1) {
    const ids = found.slice(0, EXAMPLES_SHOWN).map(({ id }) => id);
    const more = found.length > ids.length ? ', …' : '';
    throw new InputError(
      'ambiguous-job',
      `${counted(found.length, 'job')} have ids that begin with "${word}": ${ids.join(', ')}${more}`,
      'use a longer prefix',
    );
  }
  return found[0]!.id;
}

/**
 * Parses `ID`, or `ID/TASK` with the index of a task.
 *
 * @throws InputError
 */
export function parseTaskName(word: string): { readonly id: string; readonly task: number | undefined } {
  const [, id, task] = /^([^/]+)(?:\/(\d{1,9}))?$/.exec(word) ?? [];
  if (id !== undefined) return { id, task: task === undefined ? undefined : Number(task) };
  throw new InputError(
    'usage',
    `"${word}" is not a job or task`,
    'write ID, or ID/TASK with the number of a task, such as a1-3/17',
  );
}

/**
 * Parses tasks of a job: `ID`, `ID/7-20,31`, `ID/STAGE` or `ID/STAGE/7-20`. Indices count across stages. A
 * stage whose name looks like indices must be followed by indices: `ID/3/0-9`.
 *
 * @throws InputError
 */
export function parseTasksName(word: string): {
  readonly id: string;
  readonly tasks: readonly TaskRange[] | undefined;
  readonly stage: string | undefined;
} {
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
 * Parses the words of `retry`: `ID`, `ID TASKS` or `ID/TASKS`.
 *
 * @throws InputError
 */
export function parseRetried([word = '', list]: readonly string[]): {
  readonly id: string;
  readonly tasks: string | readonly TaskRange[] | undefined;
} {
  const { id, tasks, stage } = parseTasksName(word);
  if (stage === undefined && (tasks === undefined || list === undefined)) return { id, tasks: tasks ?? list };
  throw new InputError('usage', `"${word}" does not name a job`, 'write the tasks to retry as in ID 3,7-9');
}

const ARE_TASKS = /^[\d,\s-]*\d[\d,\s-]*$/;

/** Returns the ids without duplicates, in the order of the words. */
export async function jobsNamed(
  context: Context,
  cluster: Cluster,
  words: readonly string[],
): Promise<string[]> {
  const ids: string[] = [];
  for (const word of words) ids.push(await jobNamed(context, cluster, word));
  return [...new Set(ids)];
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
