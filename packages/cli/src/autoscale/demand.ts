import type { ClusterView, ClusterWaiting } from '@goshawk/client';
import { sumOf, type WaitingReason } from '@goshawk/core';

/** What another worker may help. What waits for its own job, for pilots or for central would wait with it, too. */
const HELPED: ReadonlySet<WaitingReason> = new Set([
  'no-worker',
  'drained',
  'placing',
  'queued',
  'probing',
  'matching',
  'resources',
  'seeking',
  'required',
]);

/** Tasks that another worker might run; undefined while somebody who may have some does not answer. */
export function tasksToHelp(
  { waiting, silent }: Pick<ClusterWaiting, 'waiting' | 'silent'>,
  { complete, schedulersAway }: Pick<ClusterView, 'complete' | 'schedulersAway'>,
): number | undefined {
  if (!complete || silent.length > 0 || schedulersAway.length > 0) return undefined;
  return sumOf(waiting, ({ reason, tasks }) => (HELPED.has(reason) ? tasks : 0));
}
