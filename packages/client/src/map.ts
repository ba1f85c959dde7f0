import { GoshawkError, type Millis } from '@goshawk/core';
import { pause } from './abort.js';
import type { JobSubmission } from './submission.js';

/** The function that is called with each input: an export of an ES module, by its path or `file:` URL. */
export interface MapWork {
  readonly module: string;
  /** `default` unless given. */
  readonly export?: string | undefined;
}

export interface MapOptions extends Omit<JobSubmission, 'tasks' | 'stages' | 'key'> {
  /** Jobs that have been submitted and whose results have not been taken. Default 64. */
  readonly inFlight?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What it needs of a cluster. */
export interface MapCluster {
  submit(
    job: JobSubmission,
    options: { readonly signal?: AbortSignal | undefined },
  ): Promise<{
    result(options: { readonly signal?: AbortSignal | undefined }): Promise<unknown[]>;
    cancel(): Promise<unknown>;
  }>;
}

const IN_FLIGHT = 64;
/** After a refusal for which the cluster was asked as often as it said. */
const OVERLOADED_PAUSE_MS: Millis = 1_000;

type Came<Input> =
  | { readonly kind: 'input'; readonly next: IteratorResult<Input, unknown> }
  | { readonly kind: 'value'; readonly value: unknown };

/** See `Cluster.map`. */
export async function* mapInputs<Input>(
  cluster: MapCluster,
  { module, export: name }: MapWork,
  inputs: Iterable<Input> | AsyncIterable<Input>,
  { inFlight = IN_FLIGHT, signal, ...job }: MapOptions,
): AsyncGenerator<unknown, void, undefined> {
  const iterator =
    Symbol.asyncIterator in inputs ? inputs[Symbol.asyncIterator]() : inputs[Symbol.iterator]();
  const stop = new AbortController();
  const until = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const unfinished = new Set<{ cancel(): Promise<unknown> }>();
  // Inputs without end are only slowed down by a cluster that has enough for now: it takes the next as soon as it can.
  const submit = async (submission: JobSubmission) => {
    for (;;) {
      try {
        return await cluster.submit(submission, { signal: until });
      } catch (error) {
        if (!(error instanceof GoshawkError) || error.code !== 'overloaded') throw error;
        await pause(OVERLOADED_PAUSE_MS, until);
      }
    }
  };
  const run = async (input: Input): Promise<Came<Input>> => {
    const task = { module, ...(name === undefined ? {} : { export: name }), input };
    const handle = await submit({ ...job, tasks: [task] } as JobSubmission);
    unfinished.add(handle);
    const [value] = await handle.result({ signal: until });
    unfinished.delete(handle);
    return { kind: 'value', value };
  };
  const running: Promise<Came<Input>>[] = [];
  let pulled: Promise<Came<Input>> | undefined;
  let hasMore = true;
  try {
    for (;;) {
      if (hasMore && pulled === undefined && running.length < inFlight)
        pulled = (async () => ({ kind: 'input', next: await iterator.next() }))();
      const awaited = [pulled, running[0]].filter((each) => each !== undefined);
      if (awaited.length === 0) return;
      const came = await Promise.race(awaited);
      if (came.kind === 'value') {
        running.shift();
        yield came.value;
        continue;
      }
      pulled = undefined;
      if (came.next.done) hasMore = false;
      else {
        const one = run(came.next.value);
        // Of what fails only the first in order is thrown.
        one.catch(() => {});
        running.push(one);
      }
    }
  } finally {
    stop.abort();
    await Promise.allSettled([...unfinished].map((handle) => handle.cancel()));
    pulled?.catch(() => {});
    // An input that is waited for may never come: nobody waits for it here.
    if (hasMore) Promise.resolve(iterator.return?.()).catch(() => {});
  }
}
