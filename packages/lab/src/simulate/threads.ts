import { on } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ExitCode, type Failure } from '@goshawk/command';
import { GoshawkError, InputError } from '@goshawk/core';
import type { JobSource, RunOutcome, RunProgress, RunRequest } from './request.js';

export type ThreadMessage =
  | { readonly kind: 'progress'; readonly progress: RunProgress }
  | { readonly kind: 'done'; readonly outcome: RunOutcome }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** A failure that crossed to here as plain data, as the error that it was. */
export function errorOf({ code, message, hint, exitCode }: Failure): GoshawkError {
  const Kind = exitCode === ExitCode.usage ? InputError : GoshawkError;
  return new Kind(code, message, hint);
}

/** A thread that performs one run after another: the engine compiles the machines once, and not for each run. */
class SimulationThread {
  readonly #thread: Worker;

  constructor(source: JobSource) {
    this.#thread = new Worker(new URL('./thread.js', import.meta.url), { workerData: source });
    // One that fails when all its runs are done spoils none of them.
    this.#thread.on('error', () => {});
  }

  /** @throws what the run came to grief on; the reason of the signal */
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
 * Performs all runs, so many at a time, and gives what came of them in the order in which they were asked
 * for. One at a time needs no thread.
 *
 * @throws the first error; runs that are under way are given up
 */
export async function performAll(
  requests: readonly RunRequest[],
  source: JobSource,
  parallel: number,
  onProgress: (index: number, progress: RunProgress) => void,
  signal: AbortSignal,
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

/** Loaded lazily, because it would delay every command of goshawk. */
async function performHere(
  request: RunRequest,
  source: JobSource,
  onProgress: (progress: RunProgress) => void,
  signal: AbortSignal,
): Promise<RunOutcome> {
  const { perform } = await import('./perform.js');
  return perform(request, source, onProgress, signal);
}
