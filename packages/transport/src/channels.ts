import { type Channel, channel } from 'node:diagnostics_channel';
import type { Millis } from '@goshawk/core';

/**
 * Observation points of a process: channels of `node:diagnostics_channel`, for modules loaded with `node --import`. Without
 * subscribers a channel costs one property read. Times are `performance.now()` of the process. Subscribers must not keep the
 * message after the call; one that throws ends the process, as usual in Node.
 */

/** Event of `goshawk.message.sent`: the mailbox has accepted a message. */
export interface MessageSent {
  /** Name of the sending process, and index of its party. */
  readonly from: string;
  readonly fromIndex: number;
  /** Name of the target process; its incarnation may be `*`. */
  readonly to: string;
  readonly toIndex: number;
  /** First element of the body: the message's index in the table. */
  readonly code: unknown;
}

/** Event of `goshawk.message.handled`: a party has handled a message. */
export interface MessageHandled {
  readonly from: string;
  readonly fromIndex: number;
  readonly to: string;
  readonly toIndex: number;
  readonly code: unknown;
  /** Time when its handler was called; the difference to now is the handler's run time. */
  readonly startedAt: Millis;
}

/** A channel with a fixed event type. */
interface TypedChannel<T> extends Pick<Channel, 'hasSubscribers'> {
  publish(message: T): void;
}

export const messageSent: TypedChannel<MessageSent> = channel('goshawk.message.sent');
export const messageHandled: TypedChannel<MessageHandled> = channel('goshawk.message.handled');
