import { type Channel, channel } from 'node:diagnostics_channel';
import type { Millis } from '@goshawk/core';

/** Event of `goshawk.timer.fired`: a machine's timer. Subscribe to it like the channels of `@goshawk/transport`. */
export interface TimerFired {
  readonly timer: string;
  readonly lateMs: Millis;
}

export const timerFired: Pick<Channel, 'hasSubscribers'> & { publish(message: TimerFired): void } =
  channel('goshawk.timer.fired');
