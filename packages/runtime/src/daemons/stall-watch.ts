import { Worker } from 'node:worker_threads';
import { compiledFile } from '@goshawk/executors';

/** Data for the watching thread. */
export interface Watched {
  /** Counter that increases while the event loop turns. */
  readonly beats: Int32Array;
  /** Policy whose code may block, if any. */
  readonly policy: string;
}

/** Interval between heartbeats. ms */
export const BEAT_MS = 500;

/**
 * Watches the event loop from another thread. A custom policy that never returns blocks the process, including its signal
 * handlers; this thread logs that and ends the process with SIGUSR2, which tells its parent why. It watches until the process
 * is gone, because a policy may also block its exit.
 */
export function watchForStalls(policy: string): void {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData: Watched = { beats, policy };
  const thread = new Worker(compiledFile('./stall-thread.js', import.meta.url), { workerData });
  thread.unref();
  setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS).unref();
}
