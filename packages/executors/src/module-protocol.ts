import type { MessagePort } from 'node:worker_threads';
import type { KillReason } from '@goshawk/core';
import type { Failure, OutputStream } from './contract.js';

/** Start data of a thread. The port is the thread's end of its link: modules use `parentPort` themselves. */
export interface ThreadData {
  readonly port: MessagePort;
}

/** One run for the thread to start now. */
export interface ThreadOrder {
  readonly path: string;
  readonly exportName: string;
  readonly input: unknown;
  readonly env: Readonly<Record<string, string>>;
  readonly outputBytesMax: number;
  readonly valueBytesMax: number;
}

/** Messages from the worker to a thread. */
export type ToThread =
  /** The thread answers with `usage` when it is not computing. */
  | { readonly kind: 'measure' }
  | { readonly kind: 'run'; readonly order: ThreadOrder }
  /** Ends the run; sent only if it listens. */
  | { readonly kind: 'kill'; readonly reason: KillReason };

/** Messages from a thread. It sends `ready` once and then accepts runs; a run that arrived earlier starts then. */
export type FromThread =
  /** `thread`: number of the thread in the kernel; undefined if unknown. */
  | { readonly kind: 'ready'; readonly thread: number | undefined }
  /** Memory outside of the heap, such as Buffers. */
  | { readonly kind: 'usage'; readonly externalBytes: number }
  | FromRun;

/** Messages about a run; `ended` is the last. */
export type FromRun =
  /** The run observes its abort signal. */
  | { readonly kind: 'listens' }
  | { readonly kind: 'output'; readonly stream: OutputStream; readonly bytes: Uint8Array }
  /** A loaded file has changed: the thread has not begun the run and accepts no more. */
  | { readonly kind: 'stale' }
  /** The ring buffer with the end of a long stream, which the worker reads after the run has ended. */
  | { readonly kind: 'tail'; readonly stream: OutputStream; readonly memory: SharedArrayBuffer }
  | ThreadResult;

export interface ThreadResult {
  readonly kind: 'ended';
  readonly runMs: number;
  /** Whether the thread must not run anything more. */
  readonly isSpent: boolean;
  /** JSON text of the value; undefined for a value of undefined. */
  readonly json?: string;
  readonly error?: Failure;
}
