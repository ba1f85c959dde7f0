import { FrameTooLargeError, UnencodableError } from '../errors.js';
import { FrameWriter, type PackedFrame } from '../frames/frame.js';
import type { MailboxLimits } from '../limits.js';

/** Reason why `Outbox.add` rejected a message. */
export type Refusal =
  /** The peer's queue is full. */
  | { readonly reason: 'overflow' }
  /** The message exceeds the size of a frame. */
  | { readonly reason: 'tooLarge'; readonly error: FrameTooLargeError }
  /** The message is not serializable. */
  | { readonly reason: 'unencodable'; readonly error: UnencodableError };

const OVERFLOW: Refusal = { reason: 'overflow' };

/** Byte budget that several outboxes share. Unfinished frames do not count. */
export interface SharedBudget {
  bytes: number;
  readonly bytesMax: number;
}

/**
 * The queue for one peer process: packed frames, and one that is still being filled.
 *
 * A frame has one target incarnation, so a message to another incarnation begins a new frame. Order is preserved. A
 * frame returned by `next` counts as queued until `settle`.
 */
export class Outbox {
  readonly #packed: PackedFrame[] = [];
  readonly #writer: FrameWriter;
  readonly #limits: MailboxLimits;
  readonly #bytesMax: number;
  readonly #shared: SharedBudget | undefined;
  #packedBytes = 0;
  #packedMessages = 0;

  /**
   * @param sender incarnation to put into each frame, or null if the connection identifies it
   * @param replies shared budget of all clients; undefined if the peer is not a client
   */
  constructor(sender: string | null, limits: MailboxLimits, replies?: SharedBudget) {
    this.#limits = limits;
    this.#shared = replies;
    this.#bytesMax = replies === undefined ? limits.peerQueueBytesMax : limits.replyQueueBytesMax;
    this.#writer = new FrameWriter(sender, limits, (frame) => this.#enqueue(frame));
  }

  /** Size of the queue, framing included. */
  get bytes(): number {
    return this.#packedBytes + this.#writer.size;
  }

  /** Number of queued messages. */
  get messages(): number {
    return this.#packedMessages + this.#writer.messages;
  }

  get isEmpty(): boolean {
    return this.messages === 0;
  }

  /** Queues a message. Returns why it was rejected; undefined if it was accepted. */
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

  /** Removes and returns the oldest frame, which counts as queued until `settle`. */
  next(): PackedFrame | undefined {
    if (this.#packed.length === 0) this.#writer.finish();
    return this.#packed.shift();
  }

  /** Records that a frame was sent or abandoned, so that it no longer counts as queued. */
  settle(frame: PackedFrame): void {
    this.#packedBytes -= frame.bytes.length;
    this.#share(-frame.bytes.length);
    this.#packedMessages -= frame.messages;
  }

  /**
   * Drops queued messages, except the frame in flight.
   *
   * @param isKept targets to keep; none by default
   * @returns the number of dropped messages
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
