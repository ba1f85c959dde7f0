import { Worker } from 'node:worker_threads';
import { ExitCode, type Failure } from '@goshawk/cli';
import { GoshawkError, InputError } from '@goshawk/core';
import type { JobSource, RunOutcome, RunProgress, RunRequest } from './request.js';

/** What a thread is given. */
export interface ThreadInput {
  readonly request: RunRequest;
  readonly source: JobSource;
}

export type ThreadMessage =
  | { readonly kind: 'progress'; readonly progress: RunProgress }
  | { readonly kind: 'done'; readonly outcome: RunOutcome }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** A failure that crossed to here as plain data, as the error that it was. */
export function errorOf({ code, message, hint, exitCode }: Failure): GoshawkError {
  const Kind = exitCode === ExitCode.usage ? InputError : GoshawkError;
  return new Kind(code, message, hint);
}

/**
 * Performs all runs, so many at a time, and gives what came of them in the order in which they were asked
 * for. A run that is alone needs no thread.
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
  const lane = async (): Promise<void> => {
    while (next < requests.length) {
      stop.throwIfAborted();
      const index = next++;
      const input = { request: requests[index]!, source };
      const report = (progress: RunProgress): void => onProgress(index, progress);
      outcomes[index] =
        parallel === 1 ? await performHere(input, report, stop) : await inThread(input, report, stop);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(parallel, requests.length) }, lane));
  } finally {
    giveUp.abort();
  }
  return outcomes;
}

/** What it needs takes long to load, and every command of goshawk would wait for it. */
async function performHere(
  { request, source }: ThreadInput,
  onProgress: (progress: RunProgress) => void,
  signal: AbortSignal,
): Promise<RunOutcome> {
  const { perform } = await import('./perform.js');
  return perform(request, source, onProgress, signal);
}

function inThread(
  input: ThreadInput,
  onProgress: (progress: RunProgress) => void,
  signal: AbortSignal,
): Promise<RunOutcome> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./thread.js', import.meta.url), { workerData: input });
    const give = (settle: () => void): void => {
      signal.removeEventListener('abort', abort);
      void thread.terminate();
      settle();
    };
    const abort = (): void => give(() => reject(signal.reason as Error));
    signal.addEventListener('abort', abort);
    thread.on('message', (message: ThreadMessage) => {
      if (message.kind === 'progress') onProgress(message.progress);
      else if (message.kind === 'done') give(() => resolve(message.outcome));
      else give(() => reject(errorOf(message.failure)));
    });
    thread.on('error', (error) => give(() => reject(error)));
  });
}
