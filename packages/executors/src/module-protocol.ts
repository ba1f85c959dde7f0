import type { MessagePort } from 'node:worker_threads';
import type { KillReason } from '@goshawk/core';
import type { Failure, OutputStream } from './contract.js';

/** A thread begins with it. The port is the thread's end of its link: modules have `parentPort` for themselves. */
export interface ThreadData {
  readonly port: MessagePort;
}

/** One run, which the thread is to make now. */
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
  /** Answered with `usage` as soon as the thread does not compute. */
  | { readonly kind: 'measure' }
  | { readonly kind: 'run'; readonly order: ThreadOrder }
  /** The run is to end: only said where it listens. */
  | { readonly kind: 'kill'; readonly reason: KillReason };

/** Messages from a thread. It is `ready` once and then accepts runs; a run that arrived earlier starts then. */
export type FromThread =
  | { readonly kind: 'ready' }
  /** Bytes outside of the heap, such as those of Buffers. */
  | { readonly kind: 'usage'; readonly externalBytes: number }
  | FromRun;

/** Messages about a run; `ended` is the last. */
export type FromRun =
  /** The run wants to hear of its end. */
  | { readonly kind: 'listens' }
  | { readonly kind: 'output'; readonly stream: OutputStream; readonly bytes: Uint8Array }
  /** A file that the thread has loaded is another one by now: it has not begun the run, and takes no more. */
  | { readonly kind: 'stale' }
  /** The ring that holds the end of a long stream, for the worker to read once the run has ended. */
  | { readonly kind: 'tail'; readonly stream: OutputStream; readonly memory: SharedArrayBuffer }
  | ThreadResult;

export interface ThreadResult {
  readonly kind: 'ended';
  readonly runMs: number;
  /** The thread is to run nothing more. */
  readonly isSpent: boolean;
  /** JSON text of the value; undefined for a value of undefined. */
  readonly json?: string;
  readonly error?: Failure;
}
