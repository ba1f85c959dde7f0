import { type Channel, channel } from 'node:diagnostics_channel';
import type { Millis } from '@goshawk/core';

/** `goshawk.timer.fired`: a machine's timer. To be watched as the channels of `@goshawk/transport` are. */
export interface TimerFired {
  readonly timer: string;
  readonly lateMs: Millis;
}

export const timerFired: Pick<Channel, 'hasSubscribers'> & { publish(message: TimerFired): void } =
  channel('goshawk.timer.fired');
