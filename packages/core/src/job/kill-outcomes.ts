import { COMPLETED, type Outcome } from '../fields/records.js';

/** Why a worker ends a run before it completes. */
export type KillReason = 'cancelled' | 'timeout' | 'shutdown' | 'preempted' | 'drained';

/** Outcome of a run that a worker killed, by reason. */
export const KILL_OUTCOMES: Readonly<Record<KillReason, Outcome>> = {
  cancelled: cut('cancelled', 'cancelled', 'cancelled while it ran'),
  timeout: cut('timeout', 'timeout', 'ran longer than its timeout'),
  preempted: cut('lost', 'preempted', 'preempted by another job'),
  drained: cut('lost', 'worker-drained', 'its worker was drained before it ended'),
  shutdown: cut('lost', 'worker-stopped', 'its worker was stopped while it ran'),
};

function cut(kind: Outcome['kind'], errorCode: string, errorMessage: string): Outcome {
  return { ...COMPLETED, kind, errorCode, errorMessage };
}
