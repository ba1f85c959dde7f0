import { type Channel, channel } from 'node:diagnostics_channel';
import type { Millis } from '@goshawk/core';

/**
 * Diagnostics channels (`node:diagnostics_channel`) that report messages to modules loaded with `node --import`.
 * Without subscribers a channel costs one property read. Times are `performance.now()` of this process. Subscribers
 * must not keep the message after the call. A subscriber that throws ends the process, as usual in Node.
 */

/** Event of `goshawk.message.sent`: the mailbox has accepted a message. */
export interface MessageSent {
  /** Name of the sending process, and index of the sending party in it. */
  readonly from: string;
  readonly fromIndex: number;
  /** Name of the receiving process. Its incarnation may be `*`, see `party-name.ts`. */
  readonly to: string;
  readonly toIndex: number;
  /** Message type, as its index in core's message table. */
  readonly code: unknown;
}

/** Event of `goshawk.message.handled`: a party has handled a message. */
export interface MessageHandled {
  readonly from: string;
  readonly fromIndex: number;
  readonly to: string;
  readonly toIndex: number;
  readonly code: unknown;
  /** When the handler was called. Subscribers run right after it, so the difference from now is its run time. */
  readonly startedAt: Millis;
}

/** A channel with a fixed event type. */
interface TypedChannel<T> extends Pick<Channel, 'hasSubscribers'> {
  publish(message: T): void;
}

export const messageSent: TypedChannel<MessageSent> = channel('goshawk.message.sent');
export const messageHandled: TypedChannel<MessageHandled> = channel('goshawk.message.handled');
