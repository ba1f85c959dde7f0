import type { Needs } from '@goshawk/core';

/** Similar waiting tasks that arrived together. */
export interface Group {
  /**
   * Sequence number of arrival. A task that is declined, or lost with its server, returns with the same
   * number.
   */
  readonly sequence: number;
  /** Size of each task in units, at least 1. */
  readonly size: number;
  /** Family of its virtual queues, if servers differ. */
  readonly family: number;
  readonly needs: Needs;
  /** Number of waiting tasks, decremented by the packer. */
  count: number;
}
