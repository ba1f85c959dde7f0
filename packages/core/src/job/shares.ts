import { choice, count, list, number, optional, view } from '../messages/fields.js';
import { line, name } from '../messages/records.js';
import type { Resources } from '../resources.js';
import { amounts } from './amounts.js';

/** Jobs in one answer, at most. */
export const SHARES_MAX = 1_000;

const jobShare = view({
  /** Of a job whose owner is not known, the party that it came from, and its number there. */
  id: line,
  /** Empty: unknown. */
  user: name,
  weight: number,
  running: count,
  /** Tasks that may start and have no worker. */
  waiting: count,
  has: amounts,
  /** Undefined where the policy gives out no shares. */
  due: optional(amounts),
  /** Of its user. */
  userWeight: optional(number),
});
export type JobShare = NonNullable<(typeof jobShare)['infer']>;

export const clusterShares = view({
  /** Whom the policy gives equal shares, weights apart; undefined: it gives out none. */
  by: optional(choice('job', 'user')),
  /** Of all workers that take work, slots among it. */
  capacity: amounts,
  /** Those that have most of any resource first. */
  jobs: list(jobShare, SHARES_MAX),
  /** Jobs there are; the list may be shorter. */
  total: count,
});
/** Who has what of the cluster, and what is due to them. */
export type ClusterShares = NonNullable<(typeof clusterShares)['infer']>;

/** The largest part of any resource, as a fraction of what there is. */
export function largestShare(amounts: Resources, capacity: Resources): { share: number; of: string } {
  let largest = { share: 0, of: '' };
  for (const [name, there] of Object.entries(capacity)) {
    const share = there > 0 ? (amounts[name] ?? 0) / there : 0;
    if (share > largest.share) largest = { share, of: name };
  }
  return largest;
}
