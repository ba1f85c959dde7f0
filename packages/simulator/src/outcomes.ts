import { COMPLETED, type Outcome } from '@goshawk/core';
import type { KillReason } from '@goshawk/worker';

/** How a task has ended that was killed: in the words that are used live. */
export const CUT_SHORT: Readonly<Record<KillReason, Outcome>> = {
  cancelled: {
    ...COMPLETED,
    kind: 'cancelled',
    errorCode: 'cancelled',
    errorMessage: 'cancelled while it ran',
  },
  timeout: {
    ...COMPLETED,
    kind: 'timeout',
    errorCode: 'timeout',
    errorMessage: 'ran for longer than its timeout',
  },
  preempted: {
    ...COMPLETED,
    kind: 'lost',
    errorCode: 'preempted',
    errorMessage: 'made room for another job',
  },
  shutdown: {
    ...COMPLETED,
    kind: 'lost',
    errorCode: 'worker-stopped',
    errorMessage: 'its worker was stopped while it ran',
  },
};
