import { type Channel, channel } from 'node:diagnostics_channel';
import type { Millis } from '@goshawk/core';

/** `goshawk.journal.committed`: a group is durable. To be watched as the channels of `@goshawk/transport` are. */
export interface JournalCommitted {
  readonly records: number;
  /** Time since the group was submitted to the disk. */
  readonly tookMs: Millis;
}

export const journalCommitted: Pick<Channel, 'hasSubscribers'> & {
  publish(message: JournalCommitted): void;
} = channel('goshawk.journal.committed');
