import { FrameTooLargeError, UnencodableError } from './errors.js';
import { FrameWriter, type PackedFrame } from './frame.js';
import type { MailboxLimits } from './limits.js';

/** Why `Outbox.add` took nothing. */
export type Refusal =
  /** As much waits for the peer as may. */
  | { readonly reason: 'overflow' }
  /** The message does not fit into a frame. */
  | { readonly reason: 'tooLarge'; readonly error: FrameTooLargeError }
  /** The message has no form on the wire. */
  | { readonly reason: 'unencodable'; readonly error: UnencodableError };

const OVERFLOW: Refusal = { reason: 'overflow' };

/**
 * Mail that waits for one peer process: a queue of packed frames and one that is still being filled.
 *
 * A frame has one target incarnation, so mail to another one begins a new frame; order is kept. What
 * `next` gave out counts as waiting until `settle`, since until then nobody else holds it.
 */
export class Outbox {
  private readonly packed: PackedFrame[] = [];
  private readonly open: FrameWriter;
  private readonly limits: MailboxLimits;
  private packedBytes = 0;
  private packedMessages = 0;

  /** @param sender incarnation to put into each frame, or null where the connection says it. */
  constructor(sender: string | null, limits: MailboxLimits) {
    this.limits = limits;
    this.open = new FrameWriter(sender, limits);
  }

  /** Bytes that wait, framing included. */
  get bytes(): number {
    return this.packedBytes + this.open.length;
  }

  /** Messages that wait. */
  get messages(): number {
    return this.packedMessages + this.open.messages;
  }

  get isEmpty(): boolean {
    return this.messages === 0;
  }

  /** @returns nothing if the message was taken. */
  add(target: string, from: number, to: number, body: unknown): Refusal | undefined {
    if (this.messages >= this.limits.peerQueueMessagesMax || this.bytes >= this.limits.peerQueueBytesMax) {
      return OVERFLOW;
    }
    try {
      this.write(target, from, to, body);
    } catch (error) {
      if (this.open.messages === 0) {
        this.open.clear();
      }
      if (error instanceof FrameTooLargeError) {
        return { reason: 'tooLarge', error };
      }
      if (error instanceof UnencodableError) {
        return { reason: 'unencodable', error };
      }
      throw error;
    }
    if (this.open.length >= this.limits.frameBytesTarget) {
      this.pack();
    }
    return undefined;
  }

  /** Takes the oldest frame; its mail waits until `settle`. */
  next(): PackedFrame | undefined {
    if (this.packed.length === 0) {
      this.pack();
    }
    return this.packed.shift();
  }

  /** The frame was sent, or given up. */
  settle(frame: PackedFrame): void {
    this.packedBytes -= frame.bytes.length;
    this.packedMessages -= frame.messages;
  }

  /**
   * Drops what waits, a frame that was given out excepted.
   *
   * @param isKept which targets to spare; none by default.
   * @returns how many messages were dropped.
   */
  discard(isKept: (target: string) => boolean = () => false): number {
    let dropped = 0;
    const kept = this.packed.filter((frame) => isKept(frame.target));
    for (const frame of this.packed) {
      if (!isKept(frame.target)) {
        dropped += frame.messages;
        this.settle(frame);
      }
    }
    this.packed.splice(0, this.packed.length, ...kept);
    if (this.open.target !== undefined && !isKept(this.open.target)) {
      dropped += this.open.messages;
      this.open.clear();
    }
    return dropped;
  }

  private write(target: string, from: number, to: number, body: unknown): void {
    if (this.open.target !== target) {
      this.pack();
      this.open.begin(target);
    }
    if (!this.open.add(from, to, body)) {
      this.pack();
      this.open.begin(target);
      this.open.add(from, to, body);
    }
  }

  private pack(): void {
    if (this.open.messages === 0) {
      return;
    }
    const frame = this.open.finish();
    this.packed.push(frame);
    this.packedBytes += frame.bytes.length;
    this.packedMessages += frame.messages;
  }
}
