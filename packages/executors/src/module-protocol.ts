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
}

/**
 * What a thread posts while it works on a run. These go by another port than its result and may be
 * overtaken by it, so the result says how many there were.
 */
export type ThreadPost =
  | { readonly run: number; readonly kind: 'started' }
  | {
      readonly run: number;
      readonly kind: 'output';
      readonly stream: OutputStream;
      readonly bytes: Uint8Array;
    };

export interface ThreadResult {
  readonly posts: number;
  readonly runMs: number;
  /** JSON text of the value; undefined for a value of undefined. */
  readonly json?: string;
  readonly error?: Failure;
}
