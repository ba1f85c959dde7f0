import { type Channel, channel } from 'node:diagnostics_channel';
import type { Millis } from '@goshawk/core';

/**
 * Where a process can be watched at work: channels of `node:diagnostics_channel`, to which a module
 * subscribes that is loaded into the process beforehand (`node --import`). Nothing is measured, and nothing
 * is allocated, while nobody has subscribed: each place asks `hasSubscribers` first, which is one property.
 *
 * Times are of `performance.now()` of the process. What is published may not be kept for longer than the
 * call, and a subscriber that throws ends the process, as everywhere in Node.
 */

/** `goshawk.message.sent`: the mailbox has taken a message. */
export interface MessageSent {
  /** Name of the sending process, and which of its parties. */
  readonly from: string;
  readonly fromIndex: number;
  /** Of the process that it is for; its incarnation may be `*`. */
  readonly to: string;
  readonly toIndex: number;
  /** First element of the body: the message's place in the table. */
  readonly code: unknown;
}

/** `goshawk.message.handled`: a party has done what a message asked of it. */
export interface MessageHandled {
  readonly from: string;
  readonly fromIndex: number;
  readonly to: string;
  readonly toIndex: number;
  readonly code: unknown;
  /** When its handler was called; the difference to now is what the handler took. */
  readonly startedAt: Millis;
}

/** A channel that takes one kind of message. */
interface TypedChannel<T> extends Pick<Channel, 'hasSubscribers'> {
  publish(message: T): void;
}

export const messageSent: TypedChannel<MessageSent> = channel('goshawk.message.sent');
export const messageHandled: TypedChannel<MessageHandled> = channel('goshawk.message.handled');
