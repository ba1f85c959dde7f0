/**
 * Converts between messages and their wire format `[code, field, field, …]`: the code is the message's index in the
 * table, and fields are in the order of declaration. The codec is compiled from the table alone, so a peer cannot
 * influence it.
 */
import {
  type Fields,
  invariant,
  MESSAGE_TYPES,
  MESSAGES,
  type Message,
  type MessageType,
  type Role,
} from '@goshawk/core';
import { DecodeError, EncodeError, Mismatch } from './errors.js';
import { type AddressNames, compileLayout, decodeInto, encodeInto, type Layout } from './fields.js';

/** A message in wire format: plain values that MessagePack can encode. */
export type Body = readonly unknown[];

interface MessageCodec {
  readonly type: MessageType;
  readonly code: number;
  readonly layout: Layout;
}

/** Encodes and decodes messages. */
export class Codec {
  readonly #byCode: readonly MessageCodec[];
  readonly #byType: ReadonlyMap<string, MessageCodec>;

  constructor(names: AddressNames) {
    this.#byCode = MESSAGE_TYPES.map((type, code) => {
      const fields: Fields = MESSAGES[type].fields;
      invariant(!Object.hasOwn(fields, 'type'), `message ${type} declares a field called "type"`);
      return { type, code, layout: compileLayout(fields, names) };
    });
    this.#byType = new Map(this.#byCode.map((codec) => [codec.type, codec]));
  }

  /**
   * @param from role of the sender, if known
   * @param to role of the recipient, if known
   * @throws EncodeError if the message does not match its declaration
   */
  encode(message: Message, from?: Role, to?: Role): Body {
    const codec = this.#byType.get(message.type);
    if (codec === undefined) throw new EncodeError(String(message.type), 'unknown message type');
    const forbidden = roleProblem(codec.code, from, to);
    if (forbidden !== undefined) throw new EncodeError(codec.type, forbidden);
    const body: unknown[] = [codec.code];
    try {
      encodeInto(body, codec.layout, message);
    } catch (error) {
      if (error instanceof Mismatch) throw new EncodeError(codec.type + error.path, error.problem);
      throw error;
    }
    return body;
  }

  /**
   * Decodes an untrusted body. The message has all of its fields, in the declared order after `type`, and
   * shares no memory with the frame; the body is consumed.
   * @param from role of the sender, if known
   * @param to role of the recipient, if known
   * @throws DecodeError if the body is invalid, and no other error
   */
  decode(body: unknown, from?: Role, to?: Role): Message {
    if (!Array.isArray(body)) throw new DecodeError('message', 'expected a list');
    const code: unknown = body[0];
    const codec = typeof code === 'number' ? this.#byCode[code] : undefined;
    if (codec === undefined) {
      const got = typeof code === 'number' ? `${code}` : typeof code;
      throw new DecodeError('message', `expected a code from 0 to ${this.#byCode.length - 1}, got ${got}`);
    }
    const forbidden = roleProblem(codec.code, from, to);
    if (forbidden !== undefined) throw new DecodeError(codec.type, forbidden);
    try {
      return decodeInto({ type: codec.type }, codec.layout, body, 1) as unknown as Message;
    } catch (error) {
      if (error instanceof Mismatch) throw new DecodeError(codec.type + error.path, error.problem);
      throw error;
    }
  }
}

interface Directions {
  readonly from: readonly Role[];
  readonly to: readonly Role[];
}

const DIRECTIONS: readonly Directions[] = MESSAGE_TYPES.map((type) => MESSAGES[type]);

/**
 * Returns why this sender may not send this message to this recipient, as in `a client may not send it, only a
 * scheduler`; undefined if it may, or if the roles are unknown.
 */
function roleProblem(code: number, from: Role | undefined, to: Role | undefined): string | undefined {
  const directions = DIRECTIONS[code]!;
  if (from !== undefined && !directions.from.includes(from)) {
    return `a ${from} may not send it, only a ${directions.from.join(' or a ')}`;
  }
  if (to !== undefined && !directions.to.includes(to)) {
    return `it may not be sent to a ${to}, only to a ${directions.to.join(' or a ')}`;
  }
  return undefined;
}
