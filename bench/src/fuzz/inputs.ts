import { type Address, MESSAGE_TYPES, type Message, type MessageType, type Random } from '@goshawk/core';
import { Codec, DEFAULT_LIMITS, FrameWriter } from '@goshawk/transport';
import { drawnMessage } from '@goshawk/transport/testing';

const KEYS = ['', 'x', '\0', '../', 'é'.repeat(40), '\u{1f985}'];
const RESOURCES = ['cpu', 'memory', 'toString', 'constructor'];
/** Durations and amounts: valid ones, those at a bound, and those beyond it. */
const QUANTITIES = [
  '1ms',
  '1h30m',
  '0s',
  '10000000d',
  `${'9'.repeat(60)}s`,
  `${'9'.repeat(309)}s`,
  '1',
  '1GiB',
  '1e400',
  '1constructor',
  `1${' '.repeat(100_000)}!`,
  -1,
  1e300,
];

/**
 * Generates inputs from a seed: frames whose messages match the message table, the same frames with some bytes
 * changed, and random bytes.
 */
export class Inputs {
  readonly #random: Random;
  readonly #codec: Codec;
  readonly #names: readonly string[];

  /** @param names of parties that messages may contain */
  constructor(random: Random, names: readonly string[]) {
    this.#random = random;
    this.#names = names;
    this.#codec = new Codec({
      intern: () => 0 as Address,
      nameOf: (address) => names[address % names.length],
    });
  }

  /** Returns random bytes, up to this many. */
  bytes(lengthMax: number): Buffer {
    const bytes = Buffer.alloc(this.#below(lengthMax) + 1);
    for (let i = 0; i < bytes.length; i++) bytes[i] = this.#below(256);
    return bytes;
  }

  /** Returns messages of any type, or of the given types, to any existing party. */
  frame(types: readonly MessageType[] = MESSAGE_TYPES): Buffer {
    const frames: Buffer[] = [];
    const writer = new FrameWriter(null, DEFAULT_LIMITS, ({ bytes }) => frames.push(bytes));
    const messages = 1 + this.#below(3);
    for (let i = 0; i < messages; i++) {
      const type = this.#pick(types);
      const message = drawnMessage(type, [...this.#names.keys()], this.#random.nextUint32());
      // Some messages go to a party that does not exist.
      writer.add('*', this.#below(3), this.#below(8) === 0 ? 7 : 0, this.#encode(message));
    }
    writer.finish();
    return frames[0] as Buffer;
  }

  /** Returns a job with some quantities as text, most of them valid, some beyond all bounds. Its tasks take no time. */
  submission(): Buffer {
    const some = (field: string): object => (this.#below(3) === 0 ? { [field]: this.#pick(QUANTITIES) } : {});
    const spec = {
      tasks: [{ sleep: 0 }],
      ...some('estimate'),
      ...some('timeout'),
      ...some('deadline'),
      ...(this.#below(3) === 0 ? { demand: { [this.#pick(RESOURCES)]: this.#pick(QUANTITIES) } } : {}),
    };
    const key = this.#pick(KEYS);
    const frames: Buffer[] = [];
    const writer = new FrameWriter(null, DEFAULT_LIMITS, ({ bytes }) => frames.push(bytes));
    writer.add('*', 0, 0, this.#encode({ type: 'submit', request: this.#below(1_000), key, spec }));
    writer.finish();
    return frames[0] as Buffer;
  }

  /** Returns a multipart frame where one is allowed. */
  parts(bytes: Buffer): Buffer[] {
    const first = this.#below(bytes.length);
    const more = new Array<Buffer>(this.#pick([1, 2, 100, 1_000])).fill(bytes.subarray(first, first + 40));
    return [bytes.subarray(0, first), ...more];
  }

  /** Returns the same frame with some bytes changed, lost, repeated or moved. */
  mutated(bytes: Buffer): Buffer {
    let changed = Buffer.from(bytes);
    for (let times = 1 + this.#below(4); times > 0 && changed.length > 0; times--) {
      const at = this.#below(changed.length);
      const length = this.#below(Math.min(32, changed.length - at)) + 1;
      const piece = changed.subarray(at, at + length);
      switch (this.#below(6)) {
        case 0:
          changed[at] = this.#below(256);
          break;
        case 1:
          changed[at] = changed[at]! ^ (1 << this.#below(8));
          break;
        case 2:
          changed = Buffer.concat([changed.subarray(0, at), changed.subarray(at + length)]);
          break;
        case 3:
          changed = Buffer.concat([changed.subarray(0, at), piece, changed.subarray(at)]);
          break;
        case 4:
          changed = Buffer.concat([changed.subarray(0, at), this.bytes(8), changed.subarray(at)]);
          break;
        default:
          // A length field gets the largest possible length.
          changed.fill(0xff, at, at + Math.min(4, length));
      }
    }
    return changed;
  }

  #encode(message: Message): readonly unknown[] {
    return this.#codec.encode(message);
  }

  /** A whole number from 0 to below `count`. */
  #below(count: number): number {
    return Math.floor(this.#random.next() * count);
  }

  #pick<T>(of: readonly T[]): T {
    return of[this.#below(of.length)] as T;
  }
}
