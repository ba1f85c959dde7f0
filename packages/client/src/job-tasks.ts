import {
  formatTaskRanges,
  InputError,
  JOB_STATES,
  type JobState,
  type Millis,
  TASKS_LISTED_MAX,
  type TaskRange,
  type TaskRow,
} from '@goshawk/core';
import { badAnswer } from './errors.js';
import type { CallOptions } from './options.js';
import { askOwner, type Session } from './session.js';

export interface TasksOptions extends CallOptions {
  /** Only tasks in these states. Default: all states. */
  readonly states?: readonly JobState[] | undefined;
  /** Only tasks of the stage of this name. */
  readonly stage?: string | undefined;
  /** First index to consider. Default: 0. */
  readonly from?: number | undefined;
}

/** Consecutive tasks of a job. */
export interface Tasks {
  readonly tasks: readonly TaskRow[];
  /** Number of matching entries, including those not listed. */
  readonly total: number;
  /** `from` of the next page; undefined at the end. */
  readonly next: number | undefined;
  /** Time when the job was accepted; times of its tasks are relative to it. Wall clock, ms since 1970. */
  readonly submittedAt: Millis;
}

/** @throws InputError `bad-state` */
export function checkStates(states: readonly JobState[]): void {
  if (!Array.isArray(states)) throw new InputError('bad-state', 'states: expected a list of states');
  const wrong = states.find((state) => !JOB_STATES.includes(state));
  if (wrong !== undefined)
    throw new InputError('bad-state', `states: "${wrong}" is not one of ${JOB_STATES.join(', ')}`);
}

/** One page of tasks, of at most 2,000. */
export async function readTasks(
  session: Session,
  id: string,
  options: TasksOptions & { readonly limit?: number | undefined },
): Promise<Tasks> {
  const { states = [], stage, from = 0, limit = TASKS_LISTED_MAX } = options;
  checkStates(states);
  for (const [name, value, min] of [
    ['from', from, 0],
    ['limit', limit, 1],
  ] as const)
    if (!Number.isSafeInteger(value) || value < min)
      throw new InputError(
        `bad-${name}`,
        `${name}: expected a whole number of at least ${min}, got ${value}`,
      );
  const answer = await askOwner(
    session,
    id,
    {
      what: 'for the tasks of a job',
      build: (request) => ({
        type: 'listTasks',
        request,
        id,
        states,
        stage,
        from,
        limit: Math.min(limit, TASKS_LISTED_MAX),
      }),
    },
    options,
  );
  const { tasks, total, next, submittedAt } = answer.value;
  if (next !== undefined && (tasks.length === 0 || next <= tasks.at(-1)!.index))
    throw badAnswer(answer.peer, 'further tasks');
  return { tasks, total, next, submittedAt };
}

/** Yields page after page, so that only one is in memory. */
export async function* taskPages(
  session: Session,
  id: string,
  options: TasksOptions,
): AsyncGenerator<Tasks, void, undefined> {
  for (let from: number | undefined = options.from; ; ) {
    const page = await readTasks(session, id, { ...options, from });
    yield page;
    if (page.next === undefined) return;
    from = page.next;
  }
}

/**
 * Returns the tasks of a stage, or some of them.
 *
 * @param tasks undefined: all of the stage
 * @throws InputError `unknown-stage`, or `unknown-task` if a task belongs to another stage
 */
export async function tasksOfStage(
  session: Session,
  id: string,
  {
    stage,
    tasks,
    signal,
  }: CallOptions & { readonly stage: string; readonly tasks?: readonly TaskRange[] | undefined },
): Promise<readonly TaskRange[]> {
  const opening = await readTasks(session, id, { stage, limit: 1, signal });
  const first = opening.tasks[0]?.index;
  if (first === undefined)
    throw new InputError(
      'unknown-task',
      `stage "${stage}" of ${id} has no tasks`,
      '`goshawk tasks` lists all',
    );
  // The indices of a stage are consecutive. Only a job that retries tasks of another as a new job has gaps.
  let last = first;
  const from = first + opening.total - 1;
  for await (const page of taskPages(session, id, { stage, from, signal }))
    last = page.tasks.at(-1)?.index ?? last;
  if (tasks === undefined) return [{ first, last }];
  const outside = tasks.find((range) => range.first < first || range.last > last);
  if (outside === undefined) return tasks;
  const wrong = outside.first < first ? outside.first : outside.last;
  throw new InputError(
    'unknown-task',
    `stage "${stage}" of ${id} has no task ${wrong}`,
    `its tasks are ${formatTaskRanges([{ first, last }])}, as \`goshawk tasks\` numbers them`,
  );
}
