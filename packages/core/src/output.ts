import { z } from 'zod';
import { doc, type Field, type FieldKind } from './fields/fields.js';
import type { Millis } from './ids.js';

/**
 * Declarations of JSON outputs. A table lists the fields of an output once, each with its kind, its documentation
 * and its source; the builder of the JSON, its TypeScript type, its published schema and the OpenAPI document are
 * derived from it.
 */

/** A kind of JSON value. Schemas are built on demand, because building them costs more than most commands. */
export interface Kind<Json, Value = Json, Context = unknown> {
  readonly schema: () => z.ZodType<Json>;
  /** Converts a value of a view; undefined: the value is its own JSON. */
  readonly json?: ((value: Value, context: Context) => Json) | undefined;
  readonly doc?: string | undefined;
}

/** A field of an output with its source. */
export interface Column<Json, Source, Context = unknown> {
  readonly kind: Kind<Json, never, Context>;
  readonly doc?: string | undefined;
  readonly read: (source: Source, context: Context) => unknown;
}

/** A kind of a field that outputs omit if its value is undefined. */
export interface Omitted {
  readonly isOmitted: true;
}

const kind = <T>(schema: () => z.ZodType<T>): Kind<T> => ({ schema });

export const text = kind(() => z.string());
export const flag = kind(() => z.boolean());
/** A whole number from 0. */
export const count = kind(() => z.int().nonnegative());
export const integer = kind(() => z.int());
export const number = kind(() => z.number());
/** A number from 0. */
export const amount = kind(() => z.number().nonnegative());
export const unknown = kind<unknown>(() => z.unknown());

const toSeconds = (ms: Millis): number => Math.round(ms * 1_000) / 1_000_000;

/** A duration, from ms to seconds with microsecond precision. */
export const seconds: Kind<number, Millis> = { schema: () => z.number().nonnegative(), json: toSeconds };
/** Like `seconds`, of either sign. */
export const signedSeconds: Kind<number, Millis> = { schema: () => z.number(), json: toSeconds };
/** An instant, from ms since 1970 to ISO 8601. */
export const time: Kind<string, Millis> = {
  schema: () => z.iso.datetime(),
  json: (at) => new Date(at).toISOString(),
};

export function choice<const T extends readonly string[]>(...of: T): Kind<T[number]> {
  return kind(() => z.enum(of) as unknown as z.ZodType<T[number]>);
}

export function literal<const T extends string | null>(value: T): Kind<T> {
  return kind(() => z.literal(value) as unknown as z.ZodType<T>);
}

/** Values by name. */
export function byName<Json>(of: Kind<Json>): Kind<Readonly<Record<string, Json>>> {
  return kind(() => z.record(z.string(), of.schema()));
}

/** null if the value is undefined. */
export function orNull<Json, Value, Context>(
  of: Kind<Json, Value, Context>,
): Kind<Json | null, Value | null | undefined, Context> {
  return {
    schema: () => of.schema().nullable(),
    json: (value, context) => (value === undefined || value === null ? null : jsonOf(of, value, context)),
    doc: of.doc,
  };
}

/** Another value if the value is undefined. */
export function or<Json, Value, Context>(
  of: Kind<Json, Value, Context>,
  absent: NoInfer<Value>,
): Kind<Json, Value | undefined, Context> {
  return { ...of, json: (value, context) => jsonOf(of, value ?? absent, context) };
}

/** A field that is absent if the value is undefined. */
export function omitted<Json, Value, Context>(
  of: Kind<Json, Value, Context>,
): Kind<Json, Value | undefined, Context> & Omitted {
  return { ...of, json: (value, context) => jsonOf(of, value as Value, context), isOmitted: true };
}

export function list<Json, Value, Context>(
  of: Kind<Json, Value, Context>,
): Kind<readonly Json[], readonly Value[], Context> {
  return {
    schema: () => z.array(of.schema()),
    json:
      of.json === undefined ? undefined : (values, context) => values.map((each) => of.json!(each, context)),
  };
}

function jsonOf<Json, Value, Context>(of: Kind<Json, Value, Context>, value: Value, context: Context): Json {
  return of.json === undefined ? (value as unknown as Json) : of.json(value, context);
}

// biome-ignore lint/suspicious/noExplicitAny: any table has the shape of its entries
export type Any = any;
type Entries = Readonly<Record<string, Kind<Any, Any, Any> | Column<Any, Any, Any>>>;
export type JsonOf<E> =
  E extends Kind<infer J, Any, Any> ? J : E extends Column<infer J, Any, Any> ? J : never;
export type OmittedNames<E> = {
  [N in keyof E]: E[N] extends Omitted | { readonly kind: Omitted } ? N : never;
}[keyof E];
/** The JSON of a table. */
export type Shape<E> = { -readonly [N in Exclude<keyof E, OmittedNames<E>>]: JsonOf<E[N]> } & {
  -readonly [N in OmittedNames<E>]?: JsonOf<E[N]>;
} extends infer T
  ? { [N in keyof T]: T[N] }
  : never;
export type ZodShape<E> = {
  [N in keyof E]: N extends OmittedNames<E>
    ? z.ZodOptional<z.ZodType<JsonOf<E[N]>>>
    : z.ZodType<JsonOf<E[N]>>;
};

/** The fields of an output, or of an object within. */
export interface Table<E, Source, Context> extends Kind<Shape<E>, Source, Context> {
  readonly entries: E;
  readonly json: (source: Source, context: Context) => Shape<E>;
  // Resolved here, so that declarations name no types of this file.
  readonly object: () => z.ZodObject<
    ZodShape<E> extends infer T extends z.ZodRawShape ? { [N in keyof T]: T[N] } : never
  >;
}

/** Declares a field with its source. */
export interface Of<Source, Context> {
  <K extends Kind<Any, Any, Context>>(
    kind: K,
    read: (source: Source, context: Context) => K extends Kind<Any, infer Value, Any> ? Value : never,
  ): { readonly kind: K; readonly read: (source: Source, context: Context) => unknown };
  /** The fields of another table, from another source. */
  within<E, Other>(
    table: Table<E, Other, Context>,
    other: (source: Source, context: Context) => Other,
  ): {
    readonly [N in keyof E]: {
      readonly kind: E[N] extends { readonly kind: infer K } ? K : E[N];
      readonly read: (source: Source, context: Context) => unknown;
    };
  };
}

const of = (kind: unknown, read: unknown) => ({ kind, read });
of.within = (table: Table<Entries, Any, Any>, other: (source: Any, context: Any) => Any) =>
  Object.fromEntries(
    Object.entries(table.entries).map(([name, entry]) => {
      const inner = 'kind' in entry ? entry.read : (source: Any) => source[name];
      return [
        name,
        {
          kind: 'kind' in entry ? entry.kind : entry,
          read: (source: Any, context: Any) => inner(other(source, context), context),
          doc: entry.doc,
        },
      ];
    }),
  );

/**
 * Declares the fields of an output. The value of a field without a source is the property of the same name.
 */
export function table<Source, Context = unknown>() {
  return <
    const E extends Readonly<Record<string, unknown>> & {
      readonly [N in keyof E]: N extends keyof Source
        ? Kind<Any, Source[N], Context> | Column<Any, Source, Context>
        : Column<Any, Source, Context>;
    },
  >(
    declare: (of: Of<Source, Context>) => E,
  ): Table<E, Source, Context> => {
    const entries = declare(of as never);
    const columns = Object.entries(entries as unknown as Entries).map(([name, entry]) => {
      const kind = ('kind' in entry ? entry.kind : entry) as Kind<unknown, unknown, Context>;
      return {
        name,
        kind,
        read: ('kind' in entry ? entry.read : (source: Any) => source[name]) as (
          of: Source,
          and: Context,
        ) => unknown,
        doc: entry.doc ?? kind.doc,
        isOmitted: 'isOmitted' in kind,
      };
    });
    const object = () =>
      z.object(
        Object.fromEntries(
          columns.map(({ name, kind, doc: words, isOmitted }) => {
            const schema = isOmitted ? kind.schema().optional() : kind.schema();
            return [name, words === undefined ? schema : schema.describe(words)];
          }),
        ),
      ) as never;
    const json = (source: Source, context: Context) => {
      const made: Record<string, unknown> = {};
      for (const { name, kind, read, isOmitted } of columns) {
        const value = read(source, context);
        if (value !== undefined || !isOmitted) made[name] = jsonOf(kind, value, context);
      }
      return made as never;
    };
    return { entries, schema: object, object, json };
  };
}

/** The JSON of a value of a view: absent values are null, and absent flags false. */
export type Shown<T> = undefined extends T
  ? NonNullable<T> extends boolean
    ? boolean
    : Shown<NonNullable<T>> | null
  : T extends number
    ? number
    : T extends readonly (infer E)[]
      ? readonly Shown<E>[]
      : T extends object
        ? { [N in keyof T]-?: Shown<T[N]> }
        : T;

/** Fields of a view under the same names. Durations and times need a source, because their unit changes. */
export function same<V, const N extends readonly (keyof V)[]>(
  view: Field<V>,
  ...names: N
): { readonly [M in N[number]]: Kind<Shown<V[M]>, V[M]> } {
  const { fields } = view as FieldKind & { readonly kind: 'record' };
  return Object.fromEntries(
    names.map((name) => {
      const field = fields[name as string]!;
      return [name, field.doc === undefined ? shown(field) : doc(field.doc, shown(field))];
    }),
  ) as never;
}

function shown(field: FieldKind): Kind<unknown, Any> {
  switch (field.kind) {
    case 'text':
      return text;
    case 'count':
      return count;
    case 'integer':
      return integer;
    case 'flag':
      return flag;
    case 'choice':
      return choice(...field.of);
    case 'resources':
      return byName(number);
    case 'open':
      return unknown;
    case 'list':
      return list(shown(field.of));
    case 'record':
      return table<object>()(
        () => same(field as Field<object>, ...(Object.keys(field.fields) as never[])) as never,
      );
    case 'optional':
      return field.of.kind === 'flag' ? or(flag, false) : orNull(shown(field.of));
    default:
      throw new Error(`a field of kind ${field.kind} needs a source`);
  }
}
