import type { Member } from './scaler.js';

/** Where workers come from: a StatefulSet, allocations of Slurm. */
export interface Pool {
  readonly name: string;
  /** See `ScalerOptions`. */
  readonly lastLeavesFirst: boolean;
  /** @throws UnreachableError with what keeps it from an answer; so do the others */
  members(signal: AbortSignal): Promise<readonly Member[]>;
  /** @returns the members that were started */
  start(count: number, signal: AbortSignal): Promise<readonly Member[]>;
  /** @param members of the last answer of `members` and `start` */
  end(members: readonly Member[], signal: AbortSignal): Promise<void>;
}
