import type { Failure, OutputStream } from './contract.js';

/** What the pool hands to a thread for one run. */
export interface ThreadOrder {
  readonly run: number;
  readonly path: string;
  readonly exportName: string;
  readonly input: unknown;
  readonly env: Readonly<Record<string, string>>;
  readonly outputBytesMax: number;
  readonly valueBytesMax: number;
  /** The broadcast channel that says which runs are to end: `{ run, reason }`. */
  readonly kills: string;
}

/**
 * What a thread posts while it works on a run. These go by another port than its result and may be
 * overtaken by it, so the result says how many there were.
 */
export type ThreadPost =
  | { readonly run: number; readonly kind: 'started' }
  /** It wants to hear of its end. */
  | { readonly run: number; readonly kind: 'listens' }
  | {
      readonly run: number;
      readonly kind: 'output';
      readonly stream: OutputStream;
      readonly bytes: Uint8Array;
    };

export interface ThreadResult {
  readonly posts: number;
  readonly runMs: number;
  /** What the thread has loaded so far. */
  readonly loads: number;
  /** JSON text of the value; undefined for a value of undefined. */
  readonly json?: string;
  readonly error?: Failure;
}
