import { InputError, jobJsonSchema } from '@goshawk/core';
import { defineCommand } from '../command.js';

export const schemaCommand = defineCommand({
  name: 'schema',
  words: 'job',
  describe: 'print the JSON Schema of job files',
  examples: [['goshawk schema job > job.schema.json', 'docs/USE.md says the same for people']],
  options: {},
  async run(context, _options, { words }) {
    if (words[0] !== 'job')
      throw new InputError('usage', `schema: unknown schema "${words[0]}"`, 'known: job');
    const schema = jobJsonSchema();
    context.show(schema, () => JSON.stringify(schema, undefined, 2));
  },
});
