import { Worker } from 'node:worker_threads';
import { compiledFile } from '@goshawk/executors';

/** Data for the watching thread. */
export interface Watched {
  /** One number, which goes up as long as the event loop turns. */
  readonly beats: Int32Array;
  /** Policy whose code may block, if any. */
  readonly policy: string;
}

/** Interval between heartbeats. ms */
export const BEAT_MS = 500;

/**
 * Watches from another thread whether the event loop turns. A policy of one's own that never returns keeps the process from
 * everything else, a signal to end included: this thread says so, and ends the process when it lasts.
 */
export function watchForStalls(policy: string, ended: Promise<unknown>): void {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData: Watched = { beats, policy };
  const thread = new Worker(compiledFile('./stall-thread.js', import.meta.url), { workerData });
  thread.unref();
  const timer = setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS).unref();
  void ended.then(() => {
    clearInterval(timer);
    return thread.terminate();
  });
}
