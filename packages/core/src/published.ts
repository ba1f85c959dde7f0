import { z } from 'zod';

/** Outputs of commands by the name of their schema. Packages that publish schemas declare theirs as `OutputsOf`. */
// biome-ignore lint/suspicious/noEmptyInterface: other packages add its members
export interface Outputs {}

/** Returns outputs by name from their schemas. */
export type OutputsOf<Shape> = {
  readonly [S in Shape as NameOf<S>]: S extends z.ZodType ? Frozen<z.output<S>> : never;
};

type NameOf<Shape> = Shape extends z.ZodType<{ readonly schema: infer Name extends string }> ? Name : never;

/** A JSON output with the name of its schema, which `goshawk schema` prints. */
export type Output<S extends keyof Outputs = keyof Outputs> = Outputs[S];

/** The same JSON value, which nobody changes. */
export type Frozen<T> = unknown extends T
  ? T
  : T extends readonly (infer E)[]
    ? readonly Frozen<E>[]
    : T extends object
      ? { readonly [K in keyof T]: Frozen<T[K]> }
      : T;

/** JSON Schemas by the value of the `schema` field of an output; each is built on demand. */
export type PublishedSchemas = ReadonlyMap<string, () => object>;

/**
 * Publishes the schemas of outputs by the value of their `schema` field. Objects accept no other fields.
 *
 * @param others schemas of outputs without such a field, by name, such as files with several kinds of lines
 */
export function publish(
  shapes: Iterable<z.ZodObject>,
  others: Readonly<Record<string, z.ZodType>> = {},
): PublishedSchemas {
  const named = [...shapes].flatMap((shape): [string, z.ZodType][] => {
    const { schema } = shape.shape;
    return schema instanceof z.ZodLiteral ? [[String(schema.value), shape]] : [];
  });
  return new Map(
    [...named, ...Object.entries(others)].map(([name, shape]) => [
      name,
      () => ({ ...z.toJSONSchema(shape, { io: 'output', unrepresentable: 'any' }), title: name }),
    ]),
  );
}
