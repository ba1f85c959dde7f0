import type { Cluster, ResultOrder } from '@goshawk/client';
import { jobJson, summaryJson } from '@goshawk/core';
import { nanoid } from 'nanoid';
import type { StreamEvent, ValidRequest } from './route.js';
import type { ClusterWatch } from './watch.js';

/** Identifies this process in event ids, because versions differ between processes. */
const EPOCH = nanoid(8);

type Options = Pick<ValidRequest<never, never, never>, 'signal' | 'turnIn'>;

/** Streams changes of the cluster after each poll. A slow reader gets fewer events but misses no change. */
export async function* pageStream(
  watch: ClusterWatch,
  lastEventId: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent, void, undefined> {
  const leave = watch.pollFaster();
  let seen = versionOf(lastEventId);
  let last = '';
  try {
    while (!signal.aborted) {
      const next = watch.next();
      const { version, overview, points, workers } = watch.since(seen);
      const isNew = JSON.stringify(overview) !== last;
      if (isNew) yield { event: 'overview', data: overview };
      last = JSON.stringify(overview);
      if (points.length > 0 || workers.reset)
        yield { event: 'history', data: { reset: workers.reset, points } };
      // The id is on the last event, so a reader with this id has all events of the update.
      yield { event: 'workers', id: `${EPOCH}.${version}`, data: workers };
      seen = version;
      await next;
    }
  } finally {
    leave();
  }
}

/** Streams the progress of a job until its end. */
export async function* jobStream(
  cluster: () => Promise<Cluster>,
  id: string,
  lastEventId: string | undefined,
  { signal, turnIn }: Options,
): AsyncGenerator<StreamEvent, void, undefined> {
  if (lastEventId === 'ended') return;
  const job = (await cluster()).job(id);
  const present = await turnIn('reads')(() => job.describe({ signal }));
  yield { event: 'progress', data: summaryJson(present, Date.now()) };
  for await (const event of job.events({ signal })) {
    const now = Date.now();
    if (event.kind === 'progress') yield { event: 'progress', data: summaryJson(event.job, now) };
    else yield { event: 'ended', id: 'ended', data: jobJson(event.job, now) };
  }
}

/** Streams the outcome of each task as `result`, then `ended` once. */
export async function* resultStream(
  cluster: () => Promise<Cluster>,
  id: string,
  order: ResultOrder,
  { signal, turnIn }: Options,
): AsyncGenerator<StreamEvent, void, undefined> {
  const job = (await cluster()).job(id);
  // An unknown job must cause an error before the stream begins.
  await turnIn('reads')(() => job.describe({ signal }));
  const results = job.eachResult({ order, readPage: turnIn('pages'), signal });
  for await (const result of results) yield { event: 'result', data: result };
  const { state, tasks } = await turnIn('reads')(() => job.describe({ signal }));
  yield { event: 'ended', data: { job: id, state, tasks } };
}

/** Returns the version in an event id; 0 for an id of another process. */
function versionOf(lastEventId: string | undefined): number {
  const [epoch, version] = (lastEventId ?? '').split('.');
  return epoch === EPOCH && /^\d{1,15}$/.test(version ?? '') ? Number(version) : 0;
}
