import { type Channel, channel } from 'node:diagnostics_channel';
import type { Millis } from '@goshawk/core';

/** `goshawk.sleep.ended`: a task that sleeps has ended by itself. To be watched as the channels of `@goshawk/transport` are. */
export interface SleepEnded {
  readonly sleepMs: Millis;
  /** How much longer than that it took. */
  readonly lateMs: Millis;
}

export const sleepEnded: Pick<Channel, 'hasSubscribers'> & { publish(message: SleepEnded): void } =
  channel('goshawk.sleep.ended');
