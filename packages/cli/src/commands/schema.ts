import { defineCommand } from '@goshawk/command';
import { InputError, jobJsonSchema, type PublishedSchemas } from '@goshawk/core';
import { findLaboratory } from '../laboratory.js';

/**
 * Name of the schema of job files. Those of outputs have the name in their `schema` field, such as
 * `goshawk.job/1`.
 */
const JOB_FILE = 'job';

export const schemaCommand = defineCommand({
  name: 'schema',
  words: '[NAME]',
  describe:
    'print the JSON Schema of job files (job) or of an output (such as goshawk.jobs/1); without NAME, list the schemas',
  examples: [
    ['goshawk schema job > job.schema.json', 'print the schema of job files, which docs/JOBS.md describes'],
    ['goshawk schema goshawk.workers/1', 'print the schema of `goshawk workers --json` and GET /v1/workers'],
  ],
  needsNoCluster: true,
  options: {},
  async run(context, _options, { words }) {
    const [name] = words;
    if (name === undefined) {
      const all = await Promise.all(REGISTRIES.map((schemas) => schemas()));
      const names = [JOB_FILE, ...all.flatMap((schemas) => [...schemas.keys()]).sort()];
      context.show({ schema: 'goshawk.schemas/1', names }, () => names.join('\n'));
      return;
    }
    const schema = await schemaNamed(name);
    if (schema === undefined)
      throw new InputError('usage', `schema: unknown schema "${name}"`, '`goshawk schema` lists all');
    context.out(JSON.stringify(schema, undefined, context.global.json ? undefined : 2));
  },
});

/** Registries of schemas; each is loaded only if the previous ones do not have the name. */
const REGISTRIES: readonly (() => Promise<PublishedSchemas>)[] = [
  async () => (await import('../schemas.js')).commandSchemas(),
  async () => (await import('@goshawk/gateway')).publishedSchemas(),
  async () => (await (await findLaboratory())?.schemas()) ?? new Map(),
];

async function schemaNamed(name: string): Promise<object | undefined> {
  if (name === JOB_FILE) return jobJsonSchema();
  for (const load of REGISTRIES) {
    const build = (await load()).get(name);
    if (build !== undefined) return build();
  }
  return undefined;
}
