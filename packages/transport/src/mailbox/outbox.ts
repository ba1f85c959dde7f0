import { FrameTooLargeError, UnencodableError } from './errors.js';
import { FrameWriter, type PackedFrame } from './frame.js';
import type { MailboxLimits } from './limits.js';

/** Why `Outbox.add` took nothing. */
export type Refusal =
  /** The peer's queue is full. */
  | { readonly reason: 'overflow' }
  /** The message does not fit into a frame. */
  | { readonly reason: 'tooLarge'; readonly error: FrameTooLargeError }
  /** The message has no form on the wire. */
  | { readonly reason: 'unencodable'; readonly error: UnencodableError };

const OVERFLOW: Refusal = { reason: 'overflow' };

/** Byte budget that several outboxes share; a frame that is still being filled does not count. */
export interface SharedRoom {
  bytes: number;
  readonly bytesMax: number;
}

/**
 * Mail that waits for one peer process: a queue of packed frames and one that is still being filled.
 *
 * A frame has one target incarnation, so mail to another one begins a new frame; order is kept. What
 * `next` gave out counts as waiting until `settle`, since until then nobody else holds it.
 */
export class Outbox {
  readonly #packed: PackedFrame[] = [];
  readonly #writer: FrameWriter;
  readonly #limits: MailboxLimits;
  readonly #bytesMax: number;
  readonly #shared: SharedRoom | undefined;
  #packedBytes = 0;
  #packedMessages = 0;

  /**
   * @param sender incarnation to put into each frame, or null where the connection says it.
   * @param replies of all clients together; undefined where the peer is none.
   */
  constructor(sender: string | null, limits: MailboxLimits, replies?: SharedRoom) {
    this.#limits = limits;
    this.#shared = replies;
    this.#bytesMax = replies === undefined ? limits.peerQueueBytesMax : limits.replyQueueBytesMax;
    this.#writer = new FrameWriter(sender, limits, (frame) => this.#enqueue(frame));
  }

  /** Bytes that wait, framing included. */
  get bytes(): number {
    return this.#packedBytes + this.#writer.size;
  }

  /** Messages that wait. */
  get messages(): number {
    return this.#packedMessages + this.#writer.messages;
  }

  get isEmpty(): boolean {
    return this.messages === 0;
  }

  /** @returns nothing if the message was taken. */
  add(target: string, from: number, to: number, body: unknown): Refusal | undefined {
    const shared = this.#shared;
    const isFull = this.messages >= this.#limits.peerQueueMessagesMax || this.bytes >= this.#bytesMax;
    if (isFull || (shared !== undefined && shared.bytes >= shared.bytesMax)) return OVERFLOW;
    try {
      this.#writer.add(target, from, to, body);
      return undefined;
    } catch (error) {
      if (error instanceof FrameTooLargeError) return { reason: 'tooLarge', error };
      if (error instanceof UnencodableError) return { reason: 'unencodable', error };
      throw error;
    }
  }

  /** Takes the oldest frame; its mail waits until `settle`. */
  next(): PackedFrame | undefined {
    if (this.#packed.length === 0) this.#writer.finish();
    return this.#packed.shift();
  }

  /** The frame was sent, or given up. */
  settle(frame: PackedFrame): void {
    this.#packedBytes -= frame.bytes.length;
    this.#share(-frame.bytes.length);
    this.#packedMessages -= frame.messages;
  }

  /**
   * Drops what waits, a frame that was given out excepted.
   *
   * @param isKept which targets to spare; none by default.
   * @returns how many messages were dropped.
   */
  discard(isKept: (target: string) => boolean = () => false): number {
    let dropped = this.#writer.discard(isKept);
    for (const frame of this.#packed.splice(0)) {
      if (isKept(frame.target)) {
        this.#packed.push(frame);
      } else {
        dropped += frame.messages;
        this.settle(frame);
      }
    }
    return dropped;
  }

  #enqueue(frame: PackedFrame): void {
    this.#packed.push(frame);
    this.#packedBytes += frame.bytes.length;
    this.#share(frame.bytes.length);
    this.#packedMessages += frame.messages;
  }

  #share(bytes: number): void {
    if (this.#shared !== undefined) this.#shared.bytes += bytes;
  }
}
