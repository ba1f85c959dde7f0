import {
  grown,
  InputError,
  isFinal,
  type JobEvent,
  type JobState,
  type MessageOf,
  type Millis,
  type ResultPage,
  type ResultRow,
  resultJson,
  type TaskResult,
} from '@goshawk/core';
import { pause } from './abort.js';
import { badAnswer } from './errors.js';
import type { CallOptions } from './options.js';
import { askOwner, type Session } from './session.js';

/** Return values so far by task; undefined if there is none. */
export async function readValues(
  session: Session,
  id: string,
  tasks: number,
  options: CallOptions,
): Promise<unknown[]> {
  const values = new Array<unknown>(tasks).fill(undefined);
  for (let from: number | undefined = 0; from !== undefined; ) {
    const page = await readPage(session, id, from, undefined, options);
    for (const { task, value } of page.values) {
      // A job that retries selected tasks of another has larger indices than tasks.
      while (values.length <= task) values.push(undefined);
      values[task] = value;
    }
    from = page.next;
  }
  return values;
}

const READ_EVERY_MS: Millis = 50;
const READ_MS_PER_RESULT: Millis = 5;

const ORDERS = ['index', 'completed'] as const;

/** `index`: by index; `completed`: as tasks end. */
export type ResultOrder = (typeof ORDERS)[number];

/** @throws InputError `bad-order`, for callers without types */
export function checkOrder(order: ResultOrder = 'index'): void {
  if (!ORDERS.includes(order))
    throw new InputError('bad-order', `order: ${JSON.stringify(order)} is not one of ${ORDERS.join(', ')}`);
}

/** Tasks whose results to read. Default: all. */
export interface ResultRange {
  /** First index. */
  readonly from?: number;
  /** Maximum number of tasks. */
  readonly max?: number;
  /** Maximum number of replies from the scheduler, each of up to 1 MiB of values. */
  readonly pages?: number;
}

/** How to yield each result of a job. */
export interface EachResultOptions extends CallOptions {
  /** Default: `index`. */
  readonly order?: ResultOrder;
  /** Runs each request for a page of results, which a caller with many readers may delay. Default: at once. */
  readonly readPage?: <Page>(read: () => Promise<Page>) => Promise<Page>;
}

/** Consecutive results of a job. */
export interface Results<Value = unknown> {
  readonly results: TaskResult<Value>[];
  /** `from` of the next page; undefined at the end. Indices may have gaps, so it cannot be computed from their number. */
  readonly next: number | undefined;
}

/** Reads tasks in any state. */
export async function readResults(
  session: Session,
  id: string,
  options: CallOptions & ResultRange,
): Promise<Results> {
  const { from: first = 0, max = Number.POSITIVE_INFINITY, pages = Number.POSITIVE_INFINITY } = options;
  const results: TaskResult[] = [];
  let from: number | undefined = first;
  for (let page = 0; page < pages && from !== undefined; page++) {
    const { tasks, next }: Rows = await readPage(session, id, from, 'index', options);
    for (const row of tasks) {
      if (results.length >= max) return { results, next: row.task };
      results.push(resultJson(id, row));
    }
    from = next;
    if (results.length >= max) break;
  }
  return { results, next: from };
}

/**
 * Yields each result once its task has ended, until the job has. A result is yielded again only if the task was retried since.
 *
 * @param news events of the job, from before the first result is read
 */
export async function* eachResult(
  session: Session,
  id: string,
  news: AsyncIterator<JobEvent>,
  options: EachResultOptions,
): AsyncGenerator<TaskResult, void, undefined> {
  const { order = 'index', readPage: run = (read) => read() } = options;
  const yielded = new YieldedAttempts();
  const pace = new Pace();
  let from = 0;
  let owner: string | undefined;
  let isOver = false;
  try {
    for (;;) {
      if (!isOver) await pace.next(options.signal);
      for (let hasMore = true; hasMore; ) {
        const first = from;
        const page = await run(() =>
          readPage(session, id, first, order === 'index' ? 'prefix' : 'ended', options),
        );
        // Another process of the scheduler may list the tasks in another order.
        if (order === 'completed' && owner !== undefined && owner !== page.from && from > 0) from = 0;
        else {
          // A job that retries selected tasks has gaps in its indices.
          const last = page.tasks.at(-1);
          if (last !== undefined) from = order === 'index' ? last.task + 1 : from + page.tasks.length;
          pace.took(page.tasks.length);
          hasMore = page.next !== undefined;
          for (const row of page.tasks) if (yielded.isNew(row)) yield resultJson(id, row);
        }
        owner = page.from;
      }
      if (isOver) return;
      const { value: event } = await news.next();
      isOver = event === undefined || event.kind === 'ended';
    }
  } finally {
    await news.return?.();
  }
}

/**
 * Adapts the delay between reads: none while results arrive one by one, longer if many arrive at once, or if none arrived
 * several times in a row. A message for every few results would cost client and scheduler more than the results do.
 */
class Pace {
  #took = 0;
  #readAt = Number.NEGATIVE_INFINITY;
  /** Number of consecutive reads without a result. */
  #emptyReads = 0;

  took(results: number): void {
    this.#took += results;
  }

  async next(signal: AbortSignal | undefined): Promise<void> {
    this.#emptyReads = this.#took > 0 ? 0 : this.#emptyReads + 1;
    const waitMs = READ_MS_PER_RESULT * (this.#took > 0 ? this.#took : this.#emptyReads - 1);
    const at = this.#readAt + Math.min(READ_EVERY_MS, waitMs);
    const now = performance.now();
    if (at > now) await pause(at - now, signal);
    this.#readAt = performance.now();
    this.#took = 0;
  }
}

/** Records the last yielded attempt of each task, up to a number that few tasks reach. */
class YieldedAttempts {
  #attempts = new Uint8Array(64);

  isNew({ task, state, attempt }: ResultRow): boolean {
    if (!isFinal(state as JobState)) return false;
    if (task >= this.#attempts.length) this.#attempts = grown(this.#attempts, task + 1);
    // A cancelled task may have no attempt.
    if (this.#attempts[task]! > attempt) return false;
    this.#attempts[task] = Math.min(ATTEMPTS_MAX, attempt + 1);
    return true;
  }
}

/** Results of later attempts are yielded each time they are read. */
const ATTEMPTS_MAX = 255;

interface Rows {
  readonly values: ResultPage['values'];
  readonly tasks: readonly ResultRow[];
  readonly next: number | undefined;
  /** Full name of the process that answered. */
  readonly from: string;
}

async function readPage(
  session: Session,
  id: string,
  from: number,
  order: MessageOf<'readResults'>['order'],
  options: CallOptions,
): Promise<Rows> {
  const answer = await askOwner(
    session,
    id,
    {
      what: 'for the results of a job',
      build: (request) => ({ type: 'readResults', request, id, from, order }),
    },
    options,
  );
  const { values, tasks = [], next } = answer.value;
  const isShort = order !== undefined && answer.value.tasks === undefined;
  if (isShort || (next !== undefined && next <= from)) throw badAnswer(answer.peer, 'further results');
  return { values, tasks, next, from: answer.from };
}
