import { z } from 'zod';
import * as shapes from './schemas.js';

/** The JSON Schema of each output of `--json` and of the HTTP API, by the `schema` field that the output has. */
export function publishedSchemas(): ReadonlyMap<string, object> {
  const found = new Map<string, object>();
  for (const shape of Object.values(shapes)) {
    const { schema: literal } = shape.shape;
    if (!(literal instanceof z.ZodLiteral)) continue;
    const name = String(literal.value);
    const schema = z.toJSONSchema(shape, { io: 'output', unrepresentable: 'any' });
    found.set(name, { ...schema, title: name });
  }
  return new Map([...found].sort());
}
