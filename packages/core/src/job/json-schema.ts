import { z } from 'zod';
import { jobSpecSchema } from './spec.js';

/** A JSON Schema (draft 2020-12) of job files, with which editors validate them. */
export function jobJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(jobSpecSchema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // An SDK may pass stdin as bytes, which JSON cannot represent.
      if (zodSchema._zod.def.type === 'custom') jsonSchema.not = {};
    },
  });
  return { ...schema, title: 'A job of Goshawk' };
}
