import { PROTOCOL_VERSION } from '@goshawk/core';
import { MalformedFrameError, OtherVersionError } from '../errors.js';
import { ANY_INCARNATION, isIncarnation, isPartyIndex } from '../identity/party-name.js';
import type { MailboxLimits } from '../limits.js';
import { checkEncodable, tooLarge } from './encodable.js';
import { type Packed, pack, unpack } from './msgpack.js';

/**
 * A frame contains messages that one process sends to another together:
 *
 *     [ [ version, target, sender ],  [ from, to, body ],  [ from, to, body ],  … ]
 *
 * - version: core's `PROTOCOL_VERSION`, which changes with the message table; other versions are rejected;
 * - target: incarnation of the recipient, or `*`; a process with another incarnation drops the frame;
 * - sender: incarnation of the sender in replies to clients, else nil, because the connection identifies it;
 * - from, to: indices of parties in their processes;
 * - body: a message, encoded by the codec.
 */

/** Levels of nesting around a body. */
const FRAME_NESTING = 2;
const HEAD_FIELDS = 3;
const MAIL_FIELDS = 3;
/** Number of values in a frame outside its messages, and in a message outside its body. */
const HEAD_VALUES = 1 + HEAD_FIELDS;
const MESSAGE_VALUES = MAIL_FIELDS;
/** Array header with a 4-byte count. */
const ARRAY_32 = 0xdd;
const ARRAY_32_BYTES = 5;
/** Headers of smaller arrays, which this process does not write: with a 2-byte count, and with one in the first byte. */
const ARRAY_16 = 0xdc;
const ARRAY_16_BYTES = 3;
const ARRAY_4 = 0x9;

const INITIAL_BYTES = 512;
/** Recycled buffers of sent frames, shared by all writers, so that an idle writer needs no memory. */
const recycledBuffers: Buffer[] = [];
const SPARES_MAX = 64;
const SPARE_BYTES_MAX = 32 * 1024;
const EMPTY: Buffer = Buffer.alloc(0);

export interface PackedFrame {
  readonly target: string;
  readonly bytes: Buffer;
  readonly messages: number;
}

export type Mail = readonly [from: number, to: number, body: unknown];

export interface OpenedFrame {
  readonly target: string;
  readonly sender: string | null;
  readonly mail: readonly Mail[];
}

/**
 * Packs messages into frames. Consecutive messages share a frame if they have the same target and fit.
 *
 * Bodies are packed when they are added and may change afterwards. A finished frame is copied from the recycled buffer
 * into one of its exact size, so that a frame that waits for long wastes no memory.
 */
export class FrameWriter {
  /** The unfinished frame; empty if there is none. */
  #bytes = EMPTY;
  #length = 0;
  #messageCount = 0;
  #values = 0;
  #target: string | undefined;
  /** First bytes of each frame for this target. */
  #head = EMPTY;
  readonly #sender: string | null;
  readonly #limits: MailboxLimits;
  readonly #onFrame: (frame: PackedFrame) => void;

  /** @param onFrame receives each finished frame */
  constructor(sender: string | null, limits: MailboxLimits, onFrame: (frame: PackedFrame) => void) {
    this.#sender = sender;
    this.#limits = limits;
    this.#onFrame = onFrame;
  }

  /** Size of the unfinished frame in bytes. */
  get size(): number {
    return this.#messageCount === 0 ? 0 : this.#length;
  }

  /** Number of messages in the unfinished frame. */
  get messages(): number {
    return this.#messageCount;
  }

  /** @throws UnencodableError; FrameTooLargeError if the message exceeds the size of a frame */
  add(target: string, from: number, to: number, body: unknown): void {
    if (target !== this.#target) {
      this.finish();
      this.#target = target;
      this.#head = headFor(target, this.#sender);
    }
    const values = MESSAGE_VALUES + checkEncodable(body, this.#limits);
    const message = pack([from, to, body]);
    if (this.#messageCount === 0) this.#begin();
    if (!this.#hasRoomFor(message, values) && this.#messageCount > 0) {
      this.finish();
      this.#begin();
    }
    if (!this.#hasRoomFor(message, values)) throw tooLarge(this.#limits);
    this.#append(message);
    this.#values += values;
    this.#messageCount++;
    if (this.#length >= this.#limits.frameBytesTarget) this.finish();
  }

  /** Finishes the frame unless it is empty. */
  finish(): void {
    const messages = this.#messageCount;
    const target = this.#target;
    if (messages === 0 || target === undefined) return;
    this.#bytes[0] = ARRAY_32;
    this.#bytes.writeUInt32BE(1 + messages, 1);
    const bytes = Buffer.from(this.#bytes.subarray(0, this.#length));
    this.#empty();
    this.#onFrame({ target, bytes, messages });
  }

  /**
   * Drops the unfinished frame unless `isKept` returns true for its target.
   *
   * @returns the number of dropped messages
   */
  discard(isKept: (target: string) => boolean): number {
    const messages = this.#messageCount;
    const target = this.#target;
    if (messages === 0 || target === undefined || isKept(target)) return 0;
    this.#empty();
    return messages;
  }

  #begin(): void {
    if (this.#bytes === EMPTY) this.#bytes = recycledBuffers.pop() ?? Buffer.allocUnsafeSlow(INITIAL_BYTES);
    this.#head.copy(this.#bytes);
    this.#length = this.#head.length;
    this.#values = HEAD_VALUES;
  }

  #empty(): void {
    if (recycledBuffers.length < SPARES_MAX && this.#bytes.length <= SPARE_BYTES_MAX)
      recycledBuffers.push(this.#bytes);
    this.#bytes = EMPTY;
    this.#messageCount = 0;
  }

  #hasRoomFor({ start, end }: Packed, values: number): boolean {
    const { frameBytesMax, frameMessagesMax, frameValuesMax } = this.#limits;
    if (this.#messageCount >= frameMessagesMax) return false;
    return this.#length + end - start <= frameBytesMax && this.#values + values <= frameValuesMax;
  }

  #append(packed: Packed): void {
    const end = this.#length + packed.end - packed.start;
    if (end > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(end, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    packed.copy(this.#bytes, this.#length, packed.start, packed.end);
    this.#length = end;
  }
}

/** Builds the bytes before the first message, with room for the number of messages, which `finish` writes. */
function headFor(target: string, sender: string | null): Buffer {
  const packed = pack([PROTOCOL_VERSION, target, sender]);
  const head = Buffer.alloc(ARRAY_32_BYTES + packed.end - packed.start);
  packed.copy(head, ARRAY_32_BYTES, packed.start, packed.end);
  return head;
}

/**
 * Returns a frame without messages, from which a peer of another protocol version reads the version of this process.
 */
export function versionNotice(incarnation: string): Buffer {
  const packed = pack([[PROTOCOL_VERSION, ANY_INCARNATION, incarnation]]);
  return Buffer.from(packed.subarray(packed.start, packed.end));
}

/**
 * Decodes a frame. One invalid message makes the whole frame invalid.
 *
 * @throws MalformedFrameError
 */
export function openFrame(bytes: Buffer, limits: MailboxLimits): OpenedFrame {
  const { frameMessagesMax, frameValuesMax: valuesMax, nestingMax } = limits;
  // Before the frame is decoded, which takes time in proportion to its messages.
  if (elementsIn(bytes) > 1 + frameMessagesMax)
    throw new MalformedFrameError('the frame has too many messages');
  const unpacked = unpack(bytes, { valuesMax, nestingMax: nestingMax + FRAME_NESTING });
  const frame: unknown[] = Array.isArray(unpacked) ? unpacked : [];
  const head = frame[0];
  if (!Array.isArray(head) || typeof head[0] !== 'number') throw new MalformedFrameError('not a frame');
  const [version, target, sender] = head;
  if (version !== PROTOCOL_VERSION) throw new OtherVersionError(version);
  if (head.length !== HEAD_FIELDS || !isIncarnation(target)) {
    throw new MalformedFrameError('the head of the frame is invalid');
  }
  if (sender !== null && !isIncarnation(sender)) {
    throw new MalformedFrameError('the sender of the frame is invalid');
  }
  const mail = frame.slice(1);
  if (mail.length === 0 || !mail.every(isMail)) {
    throw new MalformedFrameError('the messages of the frame are invalid');
  }
  return { target, sender, mail };
}

/** Returns the number of elements that the array at the beginning announces; 0: it is no array. */
function elementsIn(bytes: Buffer): number {
  const [first = 0] = bytes;
  if (first === ARRAY_32 && bytes.length >= ARRAY_32_BYTES) return bytes.readUInt32BE(1);
  if (first === ARRAY_16 && bytes.length >= ARRAY_16_BYTES) return bytes.readUInt16BE(1);
  return first >> 4 === ARRAY_4 ? first & 0x0f : 0;
}

function isMail(value: unknown): value is Mail {
  return (
    Array.isArray(value) && value.length === MAIL_FIELDS && isPartyIndex(value[0]) && isPartyIndex(value[1])
  );
}
