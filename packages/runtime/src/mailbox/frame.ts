import { FrameTooLargeError, MalformedFrameError } from './errors.js';
import type { MailboxLimits } from './limits.js';
import { MsgpackReader } from './msgpack-reader.js';
import { MsgpackWriter } from './msgpack-writer.js';
import { isIncarnation, isPartyIndex } from './party-name.js';

/**
 * A frame: all that one process has to say to another at one time.
 *
 *     [ version, target, sender, [ from, to, body,  from, to, body,  … ] ]
 *
 * - target: incarnation that the mail is for, or `*`; any other process drops the frame;
 * - sender: incarnation of the sender where the connection does not say it (replies to clients), else nil;
 * - from, to: indices of parties in their processes;
 * - body: what the codec above has made of a message.
 */
export const PROTOCOL_VERSION = 1;

const FRAME_FIELDS = 4;
/** from, to, body */
export const MAIL_FIELDS = 3;
/** Levels of nesting around a body. */
const FRAME_NESTING = 2;
/** Room is asked for by the longest form of a value; what is written is compared exactly. */
const SLACK_BYTES = 64;
/** A buffer that held more than this is given back once its frame has left. */
const KEPT_BYTES = 32 * 1024;

export interface PackedFrame {
  readonly target: string;
  readonly bytes: Buffer;
  readonly messages: number;
}

export interface OpenedFrame {
  readonly target: string;
  readonly sender: string | null;
  /** Flat: from, to, body, from, to, body, … */
  readonly mail: readonly unknown[];
}

/** Gathers mail for one target and packs it. Mail is encoded at once, so bodies may change afterwards. */
export class FrameWriter {
  target: string | undefined;
  messages = 0;
  private readonly writer: MsgpackWriter;
  private readonly sender: string | null;
  private readonly limits: MailboxLimits;
  private countPosition = 0;

  constructor(sender: string | null, limits: MailboxLimits) {
    this.sender = sender;
    this.limits = limits;
    this.writer = new MsgpackWriter({
      memoryMax: limits.frameBytesMax + SLACK_BYTES,
      nestingMax: limits.nestingMax,
    });
  }

  /** Bytes so far. */
  get length(): number {
    return this.writer.length;
  }

  begin(target: string): void {
    this.target = target;
    this.messages = 0;
    this.writer.writeArrayHeader(FRAME_FIELDS);
    this.writer.write(PROTOCOL_VERSION);
    this.writer.write(target);
    this.writer.write(this.sender);
    this.countPosition = this.writer.openArray();
  }

  /**
   * Adds one message, or nothing.
   *
   * @returns false if the message would fit into a frame of its own, but not into this one.
   * @throws UnencodableError, FrameTooLargeError
   */
  add(from: number, to: number, body: unknown): boolean {
    const { writer } = this;
    const { length, values } = writer;
    try {
      writer.write(from);
      writer.write(to);
      writer.write(body);
      writer.values += MAIL_FIELDS;
      this.checkSize();
    } catch (error) {
      writer.length = length;
      writer.values = values;
      if (error instanceof FrameTooLargeError && this.messages > 0) {
        return false;
      }
      throw error;
    }
    this.messages++;
    return true;
  }

  finish(): PackedFrame {
    const { messages, target = '' } = this;
    this.writer.patchUint32(this.countPosition, MAIL_FIELDS * messages);
    const bytes = this.writer.copy();
    this.clear();
    return { target, bytes, messages };
  }

  clear(): void {
    this.target = undefined;
    this.messages = 0;
    this.writer.reset(KEPT_BYTES);
  }

  private checkSize(): void {
    const { frameBytesMax, frameValuesMax } = this.limits;
    if (this.writer.length > frameBytesMax) {
      throw new FrameTooLargeError(`a message does not fit into a frame of ${frameBytesMax} bytes`);
    }
    if (this.writer.values > frameValuesMax) {
      throw new FrameTooLargeError(`a message does not fit into a frame of ${frameValuesMax} values`);
    }
  }
}

export function frameReader(limits: MailboxLimits): MsgpackReader {
  return new MsgpackReader(limits.frameValuesMax, limits.nestingMax + FRAME_NESTING);
}

/**
 * All or nothing: no message of a frame is delivered unless the whole frame is sound.
 *
 * @throws MalformedFrameError
 */
export function openFrame(bytes: Buffer, reader: MsgpackReader): OpenedFrame {
  const frame = reader.read(bytes);
  if (!Array.isArray(frame) || typeof frame[0] !== 'number') {
    throw new MalformedFrameError('not a frame');
  }
  if (frame[0] !== PROTOCOL_VERSION) {
    throw new MalformedFrameError(
      `protocol version ${frame[0]}; this process speaks version ${PROTOCOL_VERSION}`,
    );
  }
  const [, target, sender, mail] = frame;
  if (frame.length !== FRAME_FIELDS || !isIncarnationText(target)) {
    throw new MalformedFrameError('the head of the frame is not sound');
  }
  if (sender !== null && !isIncarnationText(sender)) {
    throw new MalformedFrameError('the sender of the frame is not sound');
  }
  if (!Array.isArray(mail) || mail.length % MAIL_FIELDS !== 0) {
    throw new MalformedFrameError('the mail of the frame is not sound');
  }
  for (let i = 0; i < mail.length; i += MAIL_FIELDS) {
    if (!isPartyIndex(mail[i]) || !isPartyIndex(mail[i + 1])) {
      throw new MalformedFrameError(`the frame names party ${String(mail[i])} or ${String(mail[i + 1])}`);
    }
  }
  return { target, sender, mail };
}

function isIncarnationText(value: unknown): value is string {
  return typeof value === 'string' && isIncarnation(value);
}
