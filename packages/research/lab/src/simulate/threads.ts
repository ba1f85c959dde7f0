import { on } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ExitCode, type Failure } from '@goshawk/command';
import { GoshawkError, InputError } from '@goshawk/core';
import type { JobSource, OnDone, RunOutcome, RunProgress, RunRequest } from './request.js';

export type ThreadMessage =
  | { readonly kind: 'progress'; readonly progress: RunProgress }
  | { readonly kind: 'done'; readonly outcome: RunOutcome }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** Recreates an error from a failure that arrived as plain data. */
export function errorOf({ code, message, hint, exitCode }: Failure): GoshawkError {
  const Kind = exitCode === ExitCode.usage ? InputError : GoshawkError;
  return new Kind(code, message, hint);
}

/** A thread that performs several runs, so that the engine compiles the machines only once. */
class SimulationThread {
  readonly #thread: Worker;

  constructor(source: JobSource) {
    this.#thread = new Worker(new URL('./thread.js', import.meta.url), { workerData: source });
    // A failure after all runs of the thread spoils none of them.
    this.#thread.on('error', () => {});
  }

  /** @throws the failure of the run; the reason of the signal */
  async perform(
    request: RunRequest,
    onProgress: (progress: RunProgress) => void,
    signal: AbortSignal,
  ): Promise<RunOutcome> {
    const messages = on(this.#thread, 'message', { signal, close: ['exit'] });
    this.#thread.postMessage(request);
    try {
      for await (const [message] of messages as AsyncIterable<[ThreadMessage]>) {
        if (message.kind === 'done') return message.outcome;
        if (message.kind === 'failed') throw errorOf(message.failure);
        onProgress(message.progress);
      }
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
    throw new GoshawkError('internal', 'a simulation thread exited');
  }

  end(): void {
    void this.#thread.terminate();
  }
}

/**
 * Performs up to `parallel` runs at a time and returns the outcomes in the order of the requests. One at a
 * time needs no thread.
 *
 * @throws the first error; other active runs are abandoned
 */
export async function performAll(
  requests: readonly RunRequest[],
  source: JobSource,
  parallel: number,
  onProgress: (index: number, progress: RunProgress) => void,
  signal: AbortSignal,
  onDone: OnDone = async () => {},
): Promise<RunOutcome[]> {
  const outcomes = new Array<RunOutcome>(requests.length);
  const giveUp = new AbortController();
  const stop = AbortSignal.any([signal, giveUp.signal]);
  let next = 0;
  const lane = async (thread?: SimulationThread): Promise<void> => {
    while (next < requests.length) {
      stop.throwIfAborted();
      const index = next++;
      const request = requests[index]!;
      const report = (progress: RunProgress): void => onProgress(index, progress);
      outcomes[index] =
        thread === undefined
          ? await performHere(request, source, report, stop)
          : await thread.perform(request, report, stop);
      await onDone(index, outcomes[index]);
    }
  };
  const threads = Array.from(
    { length: parallel === 1 ? 0 : Math.min(parallel, requests.length) },
    () => new SimulationThread(source),
  );
  try {
    await (threads.length === 0 ? lane() : Promise.all(threads.map(lane)));
  } finally {
    giveUp.abort();
    for (const thread of threads) thread.end();
  }
  return outcomes;
}

/** Loads the simulator lazily, since it would delay every command. */
async function performHere(
  request: RunRequest,
  source: JobSource,
  onProgress: (progress: RunProgress) => void,
  signal: AbortSignal,
): Promise<RunOutcome> {
  const { perform } = await import('./perform.js');
  return perform(request, source, onProgress, signal);
}
