import type { Resources } from '../resources.js';

/** Who has what of the cluster, and what is due to them. */
export interface ClusterShares {
  /** Whom the policy gives equal shares, weights apart; undefined: it gives out none. */
  readonly by?: 'job' | 'user' | undefined;
  /** Of all workers that take work, slots among it. */
  readonly capacity: Resources;
  /** Those that have most of any resource first. */
  readonly jobs: readonly JobShare[];
  /** Jobs there are; the list may be shorter. */
  readonly total: number;
}

export interface JobShare {
  readonly id: string;
  /** Empty: unknown. */
  readonly user: string;
  readonly weight: number;
  readonly running: number;
  /** Tasks that may start and have no worker. */
  readonly waiting: number;
  readonly has: Resources;
  /** Undefined where the policy gives out no shares. */
  readonly due?: Resources | undefined;
}

/** The largest part of any resource, as a fraction of what there is. */
export function largestShare(amounts: Resources, capacity: Resources): { share: number; of: string } {
  let largest = { share: 0, of: '' };
  for (const [name, there] of Object.entries(capacity)) {
    const share = there > 0 ? (amounts[name] ?? 0) / there : 0;
    if (share > largest.share) largest = { share, of: name };
  }
  return largest;
}
