import type { Address, FieldKind, Fields } from '@goshawk/core';
import { Mismatch, mismatch, rethrowWithPath } from './errors.js';
import { checkOpen, takeOpen } from './open.js';
import { decodeResources, encodeResources } from './resources.js';
import {
  checkCount,
  checkFlag,
  checkInteger,
  checkNumber,
  checkSigned,
  countCheck,
  numberInRange,
  textCheck,
} from './scalars.js';

/** Maps names of parties to the handles that machines use, and back. */
export interface AddressNames {
  /**
   * Returns the handle of the party. The same name always gives the same handle.
   *
   * @throws if it is not the name of a party
   */
  intern(name: string): Address;
  /** Returns the name of a party; undefined if the handle is unknown or was removed. */
  nameOf(address: Address): string | undefined;
}

/**
 * The codec of one field. Both directions check: `decode` because peers are not trusted, `encode` so that an invalid
 * message is detected where it was created.
 */
interface FieldCodec {
  /** @throws Mismatch */
  encode(value: unknown): unknown;
  /** @throws Mismatch */
  decode(wire: unknown): unknown;
}

/** Returns the codec of a field, compiled once rather than interpreted for each message. */
function compileField(field: FieldKind, names: AddressNames): FieldCodec {
  switch (field.kind) {
    case 'count':
      return sameOnTheWire(field.max === undefined ? checkCount : countCheck(field.min ?? 0, field.max));
    case 'integer':
      return sameOnTheWire(checkInteger);
    case 'number':
      return { encode: numberInRange, decode: checkNumber };
    case 'signed':
      return sameOnTheWire(checkSigned);
    case 'flag':
      return sameOnTheWire(checkFlag);
    case 'text':
      return sameOnTheWire(textCheck(field.lengthMax));
    case 'bytes':
      return compileBytes(field.lengthMax);
    case 'address':
      return compileAddress(names);
    case 'resources':
      return { encode: encodeResources, decode: decodeResources };
    case 'choice':
      return compileChoice(field.of);
    case 'optional':
      return compileOptional(compileField(field.of, names));
    case 'list':
      return compileList(compileField(field.of, names), field.lengthMax);
    case 'record':
      return compileRecord(field.fields, names);
    case 'open':
      return { encode: encodeOpen, decode: decodeOpen };
    case 'parsed':
      return { encode: encodeOpen, decode: parsing(field.parse) };
  }
}

function sameOnTheWire(check: (value: unknown) => unknown): FieldCodec {
  return { encode: check, decode: check };
}

function compileBytes(lengthMax: number): FieldCodec {
  const check = (value: unknown): Uint8Array => {
    if (!(value instanceof Uint8Array)) mismatch('bytes', value);
    if (value.length > lengthMax) throw new Mismatch(`${value.length} bytes are more than ${lengthMax}`);
    return value;
  };
  // A copy, because the received view would keep its whole frame alive.
  return { encode: check, decode: (wire) => new Uint8Array(check(wire)) };
}

function compileAddress(names: AddressNames): FieldCodec {
  return {
    encode: (value) => {
      const name = names.nameOf(value as Address);
      if (name === undefined) mismatch('a party that is known here', value);
      return name;
    },
    decode: (wire) => {
      if (typeof wire !== 'string') mismatch('the name of a party', wire);
      try {
        return names.intern(wire);
      } catch {
        throw new Mismatch('this is not the name of a party');
      }
    },
  };
}

function compileChoice(of: readonly string[]): FieldCodec {
  return {
    encode: (value) => {
      const index = of.indexOf(value as string);
      if (index < 0) mismatch(`one of ${of.join(', ')}`, value);
      return index;
    },
    decode: (wire) => {
      const chosen = typeof wire === 'number' ? of[wire] : undefined;
      if (chosen === undefined) mismatch(`one of ${of.length} choices`, wire);
      return chosen;
    },
  };
}

/** Encodes an absent field as nil. Treats a field that an older peer omitted as absent, too. */
function compileOptional(of: FieldCodec): FieldCodec {
  return {
    encode: (value) => (value === undefined ? null : of.encode(value)),
    decode: (wire) => (wire === null || wire === undefined ? undefined : of.decode(wire)),
  };
}

function compileList(of: FieldCodec, lengthMax: number): FieldCodec {
  const every =
    (each: (value: unknown) => unknown) =>
    (value: unknown): unknown[] => {
      if (!Array.isArray(value)) mismatch('a list', value);
      if (value.length > lengthMax) throw new Mismatch(`${value.length} entries are more than ${lengthMax}`);
      const result: unknown[] = [];
      try {
        for (let i = 0; i < value.length; i++) result.push(each(value[i]));
      } catch (error) {
        rethrowWithPath(`[${result.length}]`, error);
      }
      return result;
    };
  return { encode: every(of.encode), decode: every(of.decode) };
}

function compileRecord(fields: Fields, names: AddressNames): FieldCodec {
  const layout = compileLayout(fields, names);
  return {
    encode: (value) => {
      if (typeof value !== 'object' || value === null) mismatch('a record', value);
      const wire: unknown[] = [];
      encodeInto(wire, layout, value as Record<string, unknown>);
      return wire;
    },
    decode: (wire) => {
      if (!Array.isArray(wire)) mismatch('a record', wire);
      return decodeInto({}, layout, wire, 0);
    },
  };
}

/** Fields in the order of declaration, which is the order on the wire. */
export interface Layout {
  readonly names: readonly string[];
  readonly codecs: readonly FieldCodec[];
}

/** Compiles the codecs of a message’s fields, in order. */
export function compileLayout(fields: Fields, names: AddressNames): Layout {
  return {
    names: Object.keys(fields),
    codecs: Object.values(fields).map((field) => compileField(field, names)),
  };
}

/** Appends the fields of `from` to a body. @throws Mismatch */
export function encodeInto(wire: unknown[], layout: Layout, from: Readonly<Record<string, unknown>>): void {
  const { names, codecs } = layout;
  let i = 0;
  try {
    for (; i < codecs.length; i++) wire.push(codecs[i]!.encode(from[names[i]!]));
  } catch (error) {
    rethrowWithPath(`.${names[i]}`, error);
  }
}

/**
 * Decodes the fields of a body, starting at index `at`, into `into`, which it returns. It sets every field in the
 * declared order, so that all messages of a type have the same hidden class in V8.
 *
 * Optional fields may be added at the end of a declaration without a new protocol version: older peers omit them, and
 * ignore those that they do not know. A missing field that is not optional is an error.
 *
 * @throws Mismatch
 */
export function decodeInto<T extends Record<string, unknown>>(
  into: T,
  layout: Layout,
  wire: readonly unknown[],
  at: number,
): T {
  const { names, codecs } = layout;
  const target = into as Record<string, unknown>;
  let i = 0;
  try {
    for (; i < codecs.length; i++) target[names[i]!] = codecs[i]!.decode(wire[at + i]);
  } catch (error) {
    rethrowWithPath(`.${names[i]}`, error);
  }
  return into;
}

/** Encodes a value as `[value]` and `undefined` as nil, because a task may return `null` or `undefined`. */
function encodeOpen(value: unknown): unknown {
  return value === undefined ? null : [checkOpen(value)];
}

function decodeOpen(wire: unknown): unknown {
  if (wire === null || wire === undefined) return undefined;
  if (!Array.isArray(wire) || wire.length !== 1) mismatch('a list of one value', wire);
  return takeOpen(wire[0]);
}

/** Returns a decoder that also applies `parse`, whose error message becomes the problem. */
function parsing(parse: (value: unknown) => unknown): (wire: unknown) => unknown {
  return (wire) => {
    const value = decodeOpen(wire);
    try {
      return parse(value);
    } catch (error) {
      throw new Mismatch(error instanceof Error ? error.message : String(error));
    }
  };
}
