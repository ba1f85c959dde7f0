/**
 * Field types for declaring messages. A field is plain data that describes valid values. The codec derives an encoder
 * and a validating decoder from it, and TypeScript infers the message type, so all three always agree.
 */
import type { Address } from '../ids.js';
import type { Resources } from '../resources/resources.js';

export type FieldKind = Described &
  (
    | { readonly kind: 'count'; readonly min?: number; readonly max?: number }
    | { readonly kind: 'integer' }
    | { readonly kind: 'number' }
    | { readonly kind: 'signed' }
    | { readonly kind: 'flag' }
    | { readonly kind: 'text'; readonly lengthMax: number }
    | { readonly kind: 'bytes'; readonly lengthMax: number }
    | { readonly kind: 'address' }
    | { readonly kind: 'resources' }
    | { readonly kind: 'choice'; readonly of: readonly string[] }
    | { readonly kind: 'optional'; readonly of: FieldKind }
    | { readonly kind: 'list'; readonly of: FieldKind; readonly lengthMax: number }
    | { readonly kind: 'record'; readonly fields: Fields }
    /** Any JSON-like value or byte array; the reader validates it. */
    | { readonly kind: 'open' }
    /** Encoded like `open`; `parse` throws if the value is invalid. */
    | { readonly kind: 'parsed'; readonly parse: (value: unknown) => unknown }
  );

/** What a field means, in the published schemas of outputs that show it. */
export interface Described {
  readonly doc?: string | undefined;
}

export type Fields = { readonly [name: string]: FieldKind };

/** Carries the TypeScript type of a field alongside its description. */
export type Field<T> = FieldKind & { readonly infer?: T };

/** A field that may be absent. */
export type OptionalField<T> = Field<T | undefined> & { readonly kind: 'optional' };

/** A whole number from 0 to 2^53 − 1. */
export const count: Field<number> = { kind: 'count' };
/** A whole number of either sign. */
export const integer: Field<number> = { kind: 'integer' };
/**
 * A number of milliseconds from 0 to `LIMITS.wireMsMax`. A negative number, from a clock that was set back,
 * is sent as 0, and a larger one, a sum of such numbers, as the largest.
 */
export const number: Field<number> = { kind: 'number' };
/** Like `number`, of either sign. */
export const signed: Field<number> = { kind: 'signed' };
export const flag: Field<boolean> = { kind: 'flag' };
/** One incarnation of a party; encoded as its full name. */
export const address: Field<Address> = { kind: 'address' };
export const resources: Field<Resources> = { kind: 'resources' };
export const open: Field<unknown> = { kind: 'open' };

/** A whole number from `min` to `max`. */
export function countTo(max: number, min = 0): Field<number> {
  return { kind: 'count', min, max };
}

export function text(lengthMax: number): Field<string> {
  return { kind: 'text', lengthMax };
}

export function bytes(lengthMax: number): Field<Uint8Array> {
  return { kind: 'bytes', lengthMax };
}

/** One of these words. */
export function choice<const T extends readonly string[]>(...of: T): Field<T[number]> {
  return { kind: 'choice', of };
}

export function optional<T>(of: Field<T>): OptionalField<T> {
  return { kind: 'optional', of };
}

/** Like `optional`, for messages that rarely contain the field: they may omit it. */
export function rare<T>(of: Field<T>): OptionalField<T> & { readonly rare: true } {
  return { kind: 'optional', of, rare: true };
}

export function list<T>(of: Field<T>, lengthMax: number): Field<readonly T[]> {
  return { kind: 'list', of, lengthMax };
}

export function record<const F extends Record<string, Field<unknown>>>(fields: F): Field<Infer<F>> {
  return { kind: 'record', fields };
}

/** A record shown to users and programs; its optional fields may be omitted. */
export function view<const F extends Record<string, Field<unknown>>>(fields: F): Field<View<F>> {
  return { kind: 'record', fields };
}

/** Says what a field means. */
export function doc<F extends object>(words: string, of: F): F {
  return { ...of, doc: words };
}

/** A value that `parse` checks and converts; it throws for an invalid one. */
export function parsed<T>(parse: (value: unknown) => T): Field<T> {
  return { kind: 'parsed', parse };
}

export type Infer<F extends Record<string, Field<unknown>>> = {
  readonly [N in keyof F]: F[N] extends Field<infer T> ? T : never;
};

type RareNames<F> = { [N in keyof F]: F[N] extends { readonly rare: true } ? N : never }[keyof F];

/** The fields of a message. */
export type InferMessage<F extends Record<string, Field<unknown>>> = Infer<Omit<F, RareNames<F>>> &
  Partial<Infer<Pick<F, RareNames<F>>>>;

type OptionalNames<F> = { [N in keyof F]: F[N] extends { readonly kind: 'optional' } ? N : never }[keyof F];

export type View<F extends Record<string, Field<unknown>>> = Flat<
  Infer<Omit<F, OptionalNames<F>>> & Partial<Infer<Pick<F, OptionalNames<F>>>>
>;

/** Flattens an intersection, so that compiler errors list its fields. */
type Flat<T> = { readonly [N in keyof T]: T[N] };
