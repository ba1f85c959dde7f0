import type { Address, Message, Millis } from '@goshawk/core';

export interface Envelope {
  readonly from: Address;
  readonly to: Address;
  readonly message: Message;
  /** Number of the message, in the order of sending. */
  readonly sequence: number;
  readonly sentAt: Millis;
}

/**
 * Messages in flight. Messages from one party to another stay in order, as the transport promises. Messages of
 * different pairs arrive in any order, which the test chooses.
 */
export class Network {
  readonly #channels = new Map<string, Envelope[]>();
  #sequence = 0;

  send(from: Address, to: Address, message: Message, now: Millis): void {
    const key = `${from} ${to}`;
    const envelope: Envelope = { from, to, message, sequence: this.#sequence++, sentAt: now };
    const channel = this.#channels.get(key);
    if (channel === undefined) this.#channels.set(key, [envelope]);
    else channel.push(envelope);
  }

  /** Takes the next message of a pair. */
  take(from: Address, to: Address): Envelope | undefined {
    const key = `${from} ${to}`;
    const channel = this.#channels.get(key);
    const envelope = channel?.shift();
    if (channel?.length === 0) this.#channels.delete(key);
    return envelope;
  }

  /** Returns the next message of every pair that has one, oldest first. */
  heads(): Envelope[] {
    return [...this.#channels.values()]
      .map((channel) => channel[0]!)
      .sort((one, other) => one.sequence - other.sequence);
  }

  /** Returns all messages in flight, oldest first. */
  all(): Envelope[] {
    return [...this.#channels.values()].flat().sort((one, other) => one.sequence - other.sequence);
  }

  get isQuiet(): boolean {
    return this.#channels.size === 0;
  }
}
