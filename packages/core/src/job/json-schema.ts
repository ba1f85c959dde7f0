import { z } from 'zod';
import { jobSpecSchema } from './spec.js';

/** A job as people write it, as a JSON Schema (draft 2020-12): what editors check job files against. */
export function jobJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(jobSpecSchema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // Bytes, which an SDK may hand over as stdin, have no place in JSON.
      if (zodSchema._zod.def.type === 'custom') jsonSchema.not = {};
    },
  });
  return { ...schema, title: 'A job of Goshawk' };
}
