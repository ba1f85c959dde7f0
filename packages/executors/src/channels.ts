import { type Channel, channel } from 'node:diagnostics_channel';
import type { Millis } from '@goshawk/core';

/**
 * Event of `goshawk.sleep.ended`: a sleep task ended without being killed. Subscribe to it like the channels of
 * `@goshawk/transport`.
 */
export interface SleepEnded {
  readonly sleepMs: Millis;
  /** Excess over the requested time. */
  readonly lateMs: Millis;
}

export const sleepEnded: Pick<Channel, 'hasSubscribers'> & { publish(message: SleepEnded): void } =
  channel('goshawk.sleep.ended');
