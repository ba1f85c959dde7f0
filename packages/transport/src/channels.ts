import { type Channel, channel } from 'node:diagnostics_channel';
import type { Millis } from '@goshawk/core';

/**
 * Observation points of a process: channels of `node:diagnostics_channel`, for modules that are loaded with
 * `node --import`. Without subscribers a channel costs one property read. Times are `performance.now()` of
 * the process. Subscribers must not keep the message after the call, and one that throws ends the process, as
 * usual in Node.
 */

/** `goshawk.message.sent`: the mailbox has taken a message. */
export interface MessageSent {
  /** Name of the sending process, and which of its parties. */
  readonly from: string;
  readonly fromIndex: number;
  /** Name of the target process; its incarnation may be `*`. */
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
