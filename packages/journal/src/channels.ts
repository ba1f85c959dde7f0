import { type Channel, channel } from 'node:diagnostics_channel';
import type { Millis } from '@goshawk/core';

/** Event of `goshawk.journal.committed`: a group is durable. Subscribe to it as to the channels of `@goshawk/transport`. */
export interface JournalCommitted {
  readonly records: number;
  /** Time since the write was submitted. */
  readonly tookMs: Millis;
}

export const journalCommitted: Pick<Channel, 'hasSubscribers'> & {
  publish(message: JournalCommitted): void;
} = channel('goshawk.journal.committed');
