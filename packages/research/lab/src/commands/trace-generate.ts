import { resolve } from 'node:path';
import { defineCommand } from '@goshawk/command';
import { counted, InputError } from '@goshawk/core';
import { configureGenerator, formatToWrite, GENERATORS, writeTrace } from '@goshawk/traces';
import { jobsWithProgress } from '../workload.js';
import { checkTarget, TARGET_OPTIONS } from './trace-convert.js';

const generators = Object.values(GENERATORS);

export const traceGenerateCommand = defineCommand({
  name: 'trace generate',
  words: '[GENERATOR[:OPTION=VALUE,…]]',
  describe: `generate a workload and write it as a trace: ${Object.keys(GENERATORS).join(', ')}`,
  examples: [
    [
      'goshawk trace generate google-like:jobs=3300,seed=7 --out jobs.tr',
      'generate jobs like those of the Google trace',
    ],
    ['goshawk trace generate motivation --out - | head', 'print the jobs to stdout'],
    ['goshawk trace generate --list', 'list the generators with their options'],
  ],
  needsNoCluster: true,
  options: {
    ...TARGET_OPTIONS,
    list: { type: 'flag', setting: false, describe: 'list the generators with their options' },
  },
  async run(context, { out, format: name, list }, { words }) {
    const { json } = context.global;
    if (list) {
      if (json) context.json(listing());
      else context.out(listingText());
      return;
    }
    const [spec] = words;
    if (spec === undefined)
      throw new InputError('usage', 'trace generate needs a generator; `--list` shows them');
    checkTarget(context, 'trace generate', out);
    const { canonical, generate, jobCount } = configureGenerator(spec);
    const jobs = jobsWithProgress(context, { jobs: generate, jobCount }, 'writing jobs');
    // The default format for stdout is `.tr`, which other simulators read.
    const format = formatToWrite(out === '-' ? 'stdout.tr' : out, name);
    if (out === '-') {
      for await (const text of format.write(jobs)) context.stdout.write(text);
      return;
    }
    const file = resolve(context.cwd, out);
    await writeTrace(file, format, jobs);
    if (json) context.json({ schema: 'goshawk.trace-file/1', workload: canonical, file, jobs: jobCount });
    else context.note(`${canonical}: ${counted(jobCount, 'job')} in ${out}`);
  },
});

function listing() {
  const all = generators.map(({ name, description, options }) => ({
    name,
    description,
    options: Object.entries(options).map(([option, spec]) => ({
      name: option,
      description: spec.description,
      default: spec.default as string | number,
    })),
  }));
  return { schema: 'goshawk.generators/1' as const, generators: all, total: all.length };
}

function listingText(): string {
  return listing()
    .generators.map(({ name, description, options }) =>
      [
        `${name}: ${description}`,
        ...options.map((option) => `    ${option.name}=${option.default}  ${option.description}`),
      ].join('\n'),
    )
    .join('\n');
}
