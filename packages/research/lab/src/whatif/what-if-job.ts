import { isDeepStrictEqual } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { Cluster } from '@goshawk/client';
import type { Failure } from '@goshawk/command';
import { counted, GoshawkError, InputError, seconds } from '@goshawk/core';
import { errorOf } from '../simulate/threads.js';
import type { JobChange, JobTimes } from './job-start.js';
import { type Snapshot, snapshotOf } from './snapshot.js';

export type ThreadAnswer = { readonly times: readonly JobTimes[] } | { readonly failure: Failure };

/** Limits of the thread: a page waits for its answer. */
const BUDGET_MS = 15_000;
const HEAP_MIB = 512;

/**
 * Predicts when a job would start and end with no change, and with each change, by a simulation in a thread.
 *
 * @throws InputError if the job waits for nothing that a simulation shows, or the cluster is too large; the signal's reason
 */
export async function whatIfJob(
  cluster: Cluster,
  id: string,
  changes: readonly JobChange[],
  signal: AbortSignal,
) {
  const snapshot = await snapshotOf(cluster, id, signal);
  const [now, ...others] = await inThread(snapshot, [{}, ...changes], signal);
  return {
    schema: 'goshawk.job-whatif/1' as const,
    job: id,
    now: timesJson(now!),
    changes: others.map((times, index) => ({ change: changeJson(changes[index]!), ...timesJson(times) })),
    assumptions: assumptionsOf(snapshot),
  };
}

function timesJson({ startMs, endMs }: JobTimes) {
  return {
    startSeconds: startMs === null ? null : seconds(startMs),
    endSeconds: endMs === null ? null : seconds(endMs),
  };
}

function changeJson({ workers, priority, policy }: JobChange) {
  return { workers: workers ?? null, priority: priority ?? null, policy: policy ?? null };
}

function assumptionsOf({ jobs, workers, assumedRunTimes }: Snapshot): string[] {
  const [first] = workers;
  const differ = workers.some(
    ({ slots, capacity }) => slots !== first!.slots || !isDeepStrictEqual(capacity, first!.capacity),
  );
  const hasUsers = new Set(jobs.map(({ spec }) => spec.user)).size > 1;
  return [
    'no other job arrives, and tasks run as long as others of their stage did, or as estimated',
    ...(assumedRunTimes > 0
      ? [`the run times of ${counted(assumedRunTimes, 'job')} are unknown; the average of the others is used`]
      : []),
    ...(differ ? ['workers differ; all are simulated like the first one'] : []),
    ...(hasUsers ? ['users have equal weights and no limits'] : []),
  ];
}

async function inThread(
  snapshot: Snapshot,
  changes: readonly JobChange[],
  signal: AbortSignal,
): Promise<readonly JobTimes[]> {
  signal.throwIfAborted();
  const thread = new Worker(new URL('./job-thread.js', import.meta.url), {
    workerData: { snapshot, changes },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
  });
  let timer: NodeJS.Timeout | undefined;
  let left = (): void => {};
  try {
    const answer = await new Promise<ThreadAnswer>((resolve, reject) => {
      left = () => reject(signal.reason);
      signal.addEventListener('abort', left);
      timer = setTimeout(() => reject(tooSlow()), BUDGET_MS);
      thread.once('message', resolve);
      thread.once('error', (error: NodeJS.ErrnoException) =>
        reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooSlow() : error),
      );
      thread.once('exit', () => reject(new GoshawkError('internal', 'the simulation thread exited')));
    });
    if ('failure' in answer) throw errorOf(answer.failure);
    return answer.times;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', left);
    await thread.terminate();
  }
}

function tooSlow(): InputError {
  return new InputError(
    'too-large',
    `the simulation needs more than ${BUDGET_MS / 1_000} s or ${HEAP_MIB} MiB`,
    '`goshawk whatif` simulates the past jobs of a cluster without this limit',
  );
}
