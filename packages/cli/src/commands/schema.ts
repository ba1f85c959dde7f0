import { InputError, jobJsonSchema } from '@goshawk/core';
import { defineCommand } from '../command.js';

const SCHEMAS: Readonly<Record<string, () => unknown>> = { job: jobJsonSchema };

export const schemaCommand = defineCommand({
  name: 'schema',
  words: 'job',
  describe: 'print the JSON Schema of job files',
  examples: [['goshawk schema job > job.schema.json', 'docs/USE.md says the same for people']],
  options: {},
  async run(context, _options, { words }) {
    const schema = SCHEMAS[words[0]!];
    if (schema === undefined) {
      throw new InputError(
        'usage',
        `schema: unknown schema "${words[0]}"`,
        `known: ${Object.keys(SCHEMAS).join(', ')}`,
      );
    }
    if (context.global.json) context.json(schema());
    else context.out(JSON.stringify(schema(), undefined, 2));
  },
});
