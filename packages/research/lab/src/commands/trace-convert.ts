import { resolve } from 'node:path';
import { type Context, defineCommand, type OptionSpecs } from '@goshawk/command';
import { counted, InputError } from '@goshawk/core';
import { convertTrace, FORMATS, formatTally, type SampleOptions } from '@goshawk/traces';
import { jobsWithProgress, openWithProgress } from '../workload.js';

/** Options of commands that read a workload and write a file. */
export const TARGET_OPTIONS = {
  out: {
    type: 'text',
    value: 'FILE',
    setting: false,
    describe: 'file to write (.gz: compressed); - for stdout, with --format',
  },
  format: {
    type: 'text',
    value: 'FORMAT',
    setting: false,
    choices: Object.values(FORMATS)
      .filter((format) => 'write' in format)
      .map(({ name }) => name),
    describe: 'format of the file (default: from its name)',
  },
} as const satisfies OptionSpecs;

export const traceConvertCommand = defineCommand({
  name: 'trace convert',
  words: 'WORKLOAD',
  completes: 'workloads',
  describe: `convert a trace to another format, and report what the format cannot represent; reads ${Object.keys(FORMATS).join(', ')} (docs/SIMULATE.md)`,
  examples: [
    ['goshawk trace convert clusterdata-2011-2 --out google.jsonl.gz', 'convert the official Google tables'],
    [
      'goshawk trace convert google.jsonl.gz --out google.tr',
      'convert to the format of the Sparrow, Hawk and Eagle simulators',
    ],
    ['goshawk trace convert .goshawk --out mine.jsonl', 'convert the journals of the cluster in this folder'],
    ['goshawk trace convert google.tr --out - --format jsonl | head', 'print the jobs to stdout'],
    [
      'goshawk trace convert google.tr --features names.csv --out google.jsonl',
      'add users and names of jobs, which learning estimators use',
    ],
  ],
  needsNoCluster: true,
  options: {
    ...TARGET_OPTIONS,
    features: {
      type: 'text',
      value: 'FILE',
      setting: false,
      describe: 'CSV file with features of the jobs of a .tr file',
    },
  },
  async run(context, options, { words }) {
    await writeWorkload(context, 'trace convert', words[0]!, options);
  },
});

/** @throws InputError if no output file is named, or if both outputs go to stdout */
export function checkTarget(
  { global }: Context,
  command: string,
  out: string | undefined,
): asserts out is string {
  if (out === undefined) throw new InputError('usage', `${command} needs --out FILE`, '`--out -` is stdout');
  if (out === '-' && global.json)
    throw new InputError('usage', '--json and --out - both use stdout', 'use a file name');
}

/**
 * Reads a workload, writes it or a sample of it, and reports everything that the file omits or changes.
 *
 * @throws InputError if no output file is named; WorkloadError
 */
export async function writeWorkload(
  context: Context,
  command: string,
  spec: string,
  {
    out,
    format,
    features,
  }: {
    readonly out: string | undefined;
    readonly format: string | undefined;
    readonly features?: string | undefined;
  },
  sample?: SampleOptions,
): Promise<void> {
  const { json } = context.global;
  checkTarget(context, command, out);
  if (out === '-' && format === undefined) {
    throw new InputError('usage', '--out - needs --format', `for example --format ${FORMATS.jsonl.name}`);
  }
  const workload = await openWithProgress(context, spec, undefined, features);
  const file = resolve(context.cwd, out);
  const jobs = () => jobsWithProgress(context, workload, 'writing jobs');
  const { tallied } = workload;
  const conversion = await convertTrace({ jobs, tallied }, out === '-' ? context.stdout : file, {
    format,
    sample,
  });
  if (json) {
    context.json({ schema: 'goshawk.trace-file/1', workload: workload.name, file, ...conversion });
    return;
  }
  const { jobs: jobCount, tasks } = conversion;
  context.note(
    `${workload.name}: ${counted(jobCount, 'job')}, ${counted(tasks, 'task')} in ${out === '-' ? 'all' : out}`,
  );
  for (const line of formatTally(conversion.tallied)) context.note(line);
}
