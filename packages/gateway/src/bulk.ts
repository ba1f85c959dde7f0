import type { Cluster } from '@goshawk/client';
import { GoshawkError, InputError, isFinal, type JobSummary, parseJobQuery, sumOf } from '@goshawk/core';
import { LIMITS } from './limits.js';

export const BULK_ACTIONS = ['cancel', 'retry', 'hold', 'release'] as const;
type BulkAction = (typeof BULK_ACTIONS)[number];

/** Maximum number of concurrent requests to jobs. */
const CONCURRENCY_MAX = 16;
const ERRORS_SHOWN = 10;

interface Refused {
  readonly job: string;
  readonly message: string;
}

interface Request {
  readonly action: BulkAction;
  readonly ids?: readonly string[] | undefined;
  readonly q?: string | undefined;
  readonly dryRun?: boolean | undefined;
}

/**
 * Applies an action to several jobs: named ones, or all that match a query. `dryRun` only reports
 * the effect, with the ids of the jobs: the action on these ids changes no job that matches later.
 *
 * @throws InputError for an invalid query, or for ids together with a query
 */
export async function bulk(
  cluster: Cluster,
  { action, ids, q, dryRun = false }: Request,
  signal: AbortSignal,
) {
  if ((ids === undefined) === (q === undefined))
    throw new InputError('bad-request', 'body: expected either ids or q', 'list job ids, or use a query');
  const errors: Refused[] = [];
  const { all, truncated, silent } =
    ids === undefined
      ? await matching(cluster, q!, errors, signal)
      : { all: await named(cluster, ids, errors, signal), truncated: false, silent: [] };
  const applicable = all.filter((job) => APPLIES[action](job));
  const tasks = {
    waiting: action === 'retry' ? 0 : sumOf(applicable, (job) => job.tasks.waiting),
    running: action === 'cancel' ? sumOf(applicable, (job) => job.tasks.running) : 0,
    again: action === 'retry' ? sumOf(applicable, (job) => job.tasks.failed + job.tasks.cancelled) : 0,
  };
  const unknown = errors.length;
  if (!dryRun)
    await eachOf(applicable, ({ id }) =>
      collectErrors(id, errors, signal, async () => {
        const job = cluster.job(id);
        await (action === 'retry' ? job.retry({ signal }) : job[action]({ signal }));
      }),
    );
  return {
    schema: 'goshawk.bulk/1' as const,
    ...{ action, dryRun, matched: all.length, jobs: applicable.length, tasks },
    ids: dryRun ? applicable.map(({ id }) => id) : [],
    ...{
      failed: errors.length - unknown,
      errors: errors.slice(0, ERRORS_SHOWN),
      truncated,
      silent: [...silent],
    },
  };
}

const APPLIES: Readonly<Record<BulkAction, (job: JobSummary) => boolean>> = {
  cancel: ({ state }) => !isFinal(state),
  retry: ({ state, tasks }) => isFinal(state) && tasks.failed + tasks.cancelled > 0,
  hold: ({ state, held = false }) => !isFinal(state) && !held,
  release: ({ state, held = false, beginAt }) => !isFinal(state) && (held || beginAt !== undefined),
};

async function matching(cluster: Cluster, q: string, errors: Refused[], signal: AbortSignal) {
  const { id, ...filters } = parseJobQuery(q, Date.now());
  if (id !== undefined)
    return { all: await named(cluster, [id], errors, signal), truncated: false, silent: [] };
  const { jobs, truncated, silent } = await cluster.jobs({
    ...filters,
    all: true,
    limit: LIMITS.bulkJobsMax,
    signal,
  });
  return { all: jobs, truncated, silent };
}

/** Looks up jobs by id. A missing job, or one whose scheduler is unavailable, does not affect the others. */
async function named(
  cluster: Cluster,
  ids: readonly string[],
  errors: Refused[],
  signal: AbortSignal,
): Promise<JobSummary[]> {
  const found: JobSummary[] = [];
  await eachOf([...new Set(ids)], (id) =>
    collectErrors(id, errors, signal, async () => {
      found.push(await cluster.job(id).describe({ signal }));
    }),
  );
  return found;
}

async function collectErrors(
  job: string,
  errors: Refused[],
  signal: AbortSignal,
  call: () => Promise<void>,
): Promise<void> {
  try {
    await call();
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof GoshawkError)) throw error;
    errors.push({ job, message: error.message });
  }
}

/** Calls a function for each item, with limited concurrency. */
async function eachOf<T>(all: readonly T[], call: (one: T) => Promise<void>): Promise<void> {
  const left = all[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = left.next(); !next.done; next = left.next()) await call(next.value);
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY_MAX, all.length) }, worker));
}
