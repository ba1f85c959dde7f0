const GREETING_BYTES = 64;
/** Offsets of the ZMTP version and the mechanism in a greeting. */
const VERSION_AT = 10;
const MECHANISM_AT = 12;
const VERSION_MIN = 3;
const PLAIN = 'NULL';
const MORE = 1;
const LONG = 2;
const COMMAND = 4;
const HEAD_BYTES = 2;
const LONG_HEAD_BYTES = 9;

export type Verdict = 'passes' | 'has parts' | 'is foreign';

/**
 * Parses the ZMTP 3 frames (RFC 23) of a connection from its bytes: a greeting of 64 bytes, then frames that consist
 * of a flag, a size of 1 or 8 bytes, and a body. With keys, the flag for multipart messages is encrypted, so frames
 * can only be counted.
 */
export class ZmtpFrames {
  /** Sizes of unread frames; ZMTP commands are not included. */
  readonly #unread: number[] = [];
  #unreadBytes = 0;
  readonly #greeting = Buffer.alloc(GREETING_BYTES);
  #greetingBytes = 0;
  readonly #head = Buffer.alloc(LONG_HEAD_BYTES);
  #headed = 0;
  /** Remaining bytes of the current frame's body. */
  #left = 0;
  #isCommand = false;

  /** Number of frames that were forwarded, at least in part, and not yet read. */
  get unread(): number {
    return this.#unread.length;
  }

  get unreadBytes(): number {
    return this.#unreadBytes;
  }

  /** Records that the oldest unread frame was read. */
  read(): void {
    this.#unreadBytes -= this.#unread.shift() ?? 0;
  }

  take(chunk: Buffer): Verdict {
    let at = 0;
    while (at < chunk.length) {
      if (this.#greetingBytes < GREETING_BYTES) {
        const taken = chunk.copy(this.#greeting, this.#greetingBytes, at);
        this.#greetingBytes += taken;
        at += taken;
        if (!this.#isValidGreeting()) return 'is foreign';
      } else if (this.#left > 0) {
        const passing = Math.min(this.#left, chunk.length - at);
        this.#left -= passing;
        at += passing;
        if (!this.#isCommand) this.#count(passing);
      } else {
        this.#head[this.#headed++] = chunk[at++]!;
        const flags = this.#head[0]!;
        if (this.#headed === 1 && this.#isPart(flags)) return 'has parts';
        if (this.#headed === (flags & LONG ? LONG_HEAD_BYTES : HEAD_BYTES)) this.#begin(flags);
      }
    }
    return 'passes';
  }

  /** Returns whether the bytes so far are a valid greeting. */
  #isValidGreeting(): boolean {
    const isZmtp = this.#greeting[0] === 0xff;
    return isZmtp && (this.#greetingBytes <= VERSION_AT || this.#greeting[VERSION_AT]! >= VERSION_MIN);
  }

  #isPart(flags: number): boolean {
    const isPlain = this.#greeting.toString('latin1', MECHANISM_AT, MECHANISM_AT + PLAIN.length) === PLAIN;
    return isPlain && (flags & (MORE | COMMAND)) === MORE;
  }

  #begin(flags: number): void {
    this.#left = flags & LONG ? Number(this.#head.readBigUInt64BE(1)) : this.#head[1]!;
    this.#headed = 0;
    this.#isCommand = (flags & COMMAND) !== 0;
    if (this.#isCommand) return;
    this.#unread.push(0);
    this.#count(HEAD_BYTES);
  }

  #count(bytes: number): void {
    // ZeroMQ can deliver a frame before all of its bytes were counted here.
    if (this.#unread.length === 0) return;
    this.#unread[this.#unread.length - 1]! += bytes;
    this.#unreadBytes += bytes;
  }
}
