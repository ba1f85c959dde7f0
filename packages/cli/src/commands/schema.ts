import { InputError, jobJsonSchema } from '@goshawk/core';
import { defineCommand } from '../command.js';

/** The schema of job files; outputs are named by their `schema` field, `goshawk.job/1` by that of a job. */
const JOB_FILE = 'job';

export const schemaCommand = defineCommand({
  name: 'schema',
  words: '[NAME]',
  describe:
    'print the JSON Schema of job files (job) or of an output (goshawk.jobs/1); without a name, all names',
  examples: [
    ['goshawk schema job > job.schema.json', 'of job files; docs/USE.md says the same for people'],
    ['goshawk schema goshawk.workers/1', 'of `goshawk workers --json` and GET /v1/workers'],
  ],
  options: {},
  async run(context, _options, { words }) {
    const { publishedSchemas } = await import('@goshawk/gateway');
    const schemas = new Map([[JOB_FILE, jobJsonSchema() as object], ...publishedSchemas()]);
    const names = [...schemas.keys()];
    const [name] = words;
    if (name === undefined) {
      context.show({ schema: 'goshawk.schemas/1', names }, () => names.join('\n'));
      return;
    }
    const schema = schemas.get(name);
    if (schema === undefined)
      throw new InputError('usage', `schema: unknown schema "${name}"`, '`goshawk schema` lists all');
    context.show(schema, () => JSON.stringify(schema, undefined, 2));
  },
});
