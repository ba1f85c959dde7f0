import type { Member } from './scaler.js';

/** Where workers come from: a StatefulSet, allocations of Slurm. */
export interface Pool {
  readonly name: string;
  /** See `ScalerOptions`. */
  readonly lastLeavesFirst: boolean;
  /** @throws UnreachableError with what keeps it from an answer; so do the others */
  members(signal: AbortSignal): Promise<readonly Member[]>;
  /** @returns those that were started, beside those that it told of last */
  start(count: number, signal: AbortSignal): Promise<readonly Member[]>;
  /** Of those that it told of last. */
  end(members: readonly Member[], signal: AbortSignal): Promise<void>;
}
