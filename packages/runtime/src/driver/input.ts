import {
  type Address,
  type FieldKind,
  type Fields,
  type Machine,
  MESSAGES,
  type Message,
  type Millis,
} from '@goshawk/core';

/** An entry that only some kinds of machine have. */
export type EntryPoint = (machine: Machine, now: Millis) => void;

/** Inputs of a machine: each is one call of an entry. */
export type Input =
  | { readonly kind: 'start' }
  | { readonly kind: 'message'; readonly from: Address; readonly message: Message }
  | { readonly kind: 'timer'; readonly timer: string; readonly key: number }
  | { readonly kind: 'disconnected'; readonly from: Address }
  /** All inputs that arrived together were delivered. */
  | { readonly kind: 'settle' }
  | { readonly kind: 'event'; readonly event: string; readonly entry: EntryPoint };

/** Inputs that a machine can lose without harm. */
export type Losable = Extract<Input, { readonly kind: 'message' | 'disconnected' }>;

export function mayBeLost(input: Input): input is Losable {
  return input.kind === 'message' || input.kind === 'disconnected';
}

/** Maximum length of a text field in a log line. */
const TEXT_SHOWN_MAX = 80;

/**
 * Describes an input in one log line. Payloads, results and output are omitted: they belong to users, may be long, and may be
 * secret.
 */
export function describeInput(input: Input, nameOf: (address: Address) => string): string {
  switch (input.kind) {
    case 'start':
      return 'start';
    case 'settle':
      return 'settle';
    case 'message':
      return `${describeMessage(input.message, nameOf)} from ${nameOf(input.from)}`;
    case 'timer':
      return `timer ${input.timer}/${input.key}`;
    case 'disconnected':
      return `disconnected from ${nameOf(input.from)}`;
    case 'event':
      return input.event;
  }
}

/** `probe{job: 1, stage: 0, long: false, lane: normal, demand: cpu 2}` */
function describeMessage(message: Message, nameOf: (address: Address) => string): string {
  return message.type + describeFields(MESSAGES[message.type].fields, message, nameOf);
}

type NameOf = (address: Address) => string;

function describeFields(fields: Fields, of: object, nameOf: NameOf): string {
  const parts = Object.entries(fields).map(
    ([name, field]) => `${name}: ${describeValue(field, (of as Record<string, unknown>)[name], nameOf)}`,
  );
  return `{${parts.join(', ')}}`;
}

function describeValue(field: FieldKind, value: unknown, nameOf: NameOf): string {
  switch (field.kind) {
    case 'text': {
      const text = value as string;
      return JSON.stringify(text.length <= TEXT_SHOWN_MAX ? text : `${text.slice(0, TEXT_SHOWN_MAX - 1)}…`);
    }
    case 'bytes':
      return `${(value as Uint8Array).length} bytes`;
    case 'address':
      return nameOf(value as Address);
    case 'resources':
      return JSON.stringify(value);
    case 'optional':
      return value === undefined ? 'none' : describeValue(field.of, value, nameOf);
    case 'list':
      return `${(value as readonly unknown[]).length} entries`;
    case 'record':
      return describeFields(field.fields, value as object, nameOf);
    case 'open':
    case 'parsed':
      return '…';
    default:
      return String(value);
  }
}
