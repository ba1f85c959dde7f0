import type { Outcome } from '@goshawk/core';
import type { KillReason } from '@goshawk/worker';

/** How a task that came to its own end has ended. */
export const COMPLETED: Outcome = {
  kind: 'completed',
  value: undefined,
  errorCode: '',
  errorMessage: '',
  exitCode: undefined,
  signal: undefined,
};

/** How one has that was killed: in the words that are used live. */
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
  shutdown: {
    ...COMPLETED,
    kind: 'lost',
    errorCode: 'worker-stopped',
    errorMessage: 'its worker was stopped while it ran',
  },
};
