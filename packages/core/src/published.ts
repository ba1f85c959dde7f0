import { z } from 'zod';

/** JSON Schemas by the name that an output has in its `schema` field; each is built when it is asked for. */
export type PublishedSchemas = ReadonlyMap<string, () => object>;

/**
 * Publishes the shapes of outputs, each under the literal of its `schema` field. Objects accept no other fields.
 *
 * @param others shapes without such a field, such as files of several kinds of lines, by name
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
