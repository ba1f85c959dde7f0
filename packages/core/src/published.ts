import { z } from 'zod';

/** JSON Schemas by the value of the `schema` field of an output; each is built on demand. */
/** Name of the schema of an output. */
export type SchemaName = `goshawk.${string}/${number}`;

/** A JSON output with the name of its schema, which `goshawk schema` prints. */
export interface Output {
  readonly schema: SchemaName;
  readonly [field: string]: unknown;
}

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
