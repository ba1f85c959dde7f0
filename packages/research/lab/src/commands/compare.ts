import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { type Context, commandLine, defineCommand, type OptionSpecs, readGivenFile } from '@goshawk/command';
import { decodeText, InputError } from '@goshawk/core';
import type { Comparison, JobTimes } from '@goshawk/report';
import {
  CSV_OPTION,
  checkOutput,
  FIGURE_OPTION,
  printComparison,
  REPORT_OPTION,
} from '../output/comparison.js';
import { outputFiles } from '../output/files.js';

const OPTIONS = {
  csv: CSV_OPTION,
  report: { ...REPORT_OPTION, setting: false },
  figure: { ...FIGURE_OPTION, setting: false },
} as const satisfies OptionSpecs;

export const compareCommand = defineCommand({
  name: 'compare',
  words: 'FILE.json…',
  describe:
    'compare results of `simulate --json` and `replay --json` for the same workload in one table; with the times of jobs beside them (`--save-results A.jsonl` beside A.json), also whether chance may explain a difference',
  examples: [
    [
      'goshawk compare a.json b.json --report both.html',
      'write an HTML report; runs of one policy are labeled with what differs',
    ],
    ['goshawk compare a.json b.json --csv', 'one row per run'],
  ],
  needsNoCluster: true,
  options: OPTIONS,
  async run(context, options, { words }) {
    await checkOutput(context, options);
    const { report } = await outputFiles(context.cwd, words[0]!, options, ['report']);
    const names = words.map((file) => basename(file, '.json'));
    const named = await Promise.all(
      words.map(async (file, index) => {
        const comparison = await readComparison(context, file);
        const isUnique = names.indexOf(names[index]!) === names.lastIndexOf(names[index]!);
        const times = await timesBeside(context, file, comparison);
        return { name: isUnique ? names[index]! : file, comparison, times };
      }),
    );
    const { mergeComparisons } = await import('@goshawk/report');
    const comparison = mergeComparisons(named);
    const unknown = words.filter((_, index) => named[index]!.times === undefined);
    if (unknown.length > 0 && comparison.ratios.some(({ interval }) => interval === undefined)) {
      const missing = unknown.map(timesOf).join(', ');
      context.note(
        `differences are not tested without the times of jobs: \`simulate --save-results\` writes ${missing}`,
      );
    }
    const command = commandLine('compare', words, OPTIONS, options);
    return printComparison(context, options, comparison, { file: report, command, series: [] });
  },
});

/** The file of job times beside a comparison. */
function timesOf(file: string): string {
  return file.replace(/(\.json)?$/, '.jsonl');
}

/**
 * Reads the times of jobs that `--save-results` wrote beside a comparison.
 *
 * @returns undefined if there are none
 * @throws InputError if they are of other runs
 */
async function timesBeside(
  { cwd, interrupted }: Context,
  file: string,
  { workload, runs }: Comparison,
): Promise<readonly JobTimes[] | undefined> {
  const path = resolve(cwd, timesOf(file));
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) return undefined;
  const { jobTimesIn } = await import('@goshawk/report');
  const lines = createInterface({ input: createReadStream(path, { signal: interrupted }) });
  const times = await jobTimesIn(lines, workload.jobs).catch(() => {
    interrupted.throwIfAborted();
    return undefined;
  });
  const isOf = (run: Comparison['runs'][number]) =>
    times?.some(
      ({ policy, seed, runtimeSeconds }) =>
        policy === run.policy &&
        seed === run.seed &&
        runtimeSeconds.filter((seconds) => seconds >= 0).length === run.jobs.completed,
    );
  if (runs.every(isOf)) return times;
  throw new InputError(
    'bad-comparison',
    `compare: ${timesOf(file)} does not have the jobs of ${file}`,
    'move it away, or write both with one command: `goshawk simulate WORKLOAD --json --save-results A.jsonl > A.json`',
  );
}

/** @throws InputError if the file cannot be read or is not a comparison */
async function readComparison({ cwd, interrupted }: Context, file: string): Promise<Comparison> {
  const bytes = await readGivenFile(
    resolve(cwd, file),
    interrupted,
    (why, cause) =>
      new InputError(
        'no-file',
        `compare: cannot read ${file}: ${why}`,
        'check the path; `goshawk simulate --json` prints the content of such a file',
        { cause },
      ),
  );
  const value = parsed(decodeText(bytes, `compare: ${file}`));
  if (!isComparison(value)) {
    throw new InputError(
      'bad-comparison',
      `compare: ${file} is not a comparison`,
      'create one with `goshawk simulate WORKLOAD --json > FILE.json`',
    );
  }
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Checks the fields that later commands use. */
function isComparison(value: unknown): value is Comparison {
  if (!isRecord(value) || value.schema !== 'goshawk.comparison/1') return false;
  const { workload, cluster, runs } = value;
  return isRecord(workload) && isRecord(cluster) && Array.isArray(runs) && runs.every(isRun);
}

function isRun(run: unknown): boolean {
  const parts = ['jobs', 'tasks', 'options', 'runtimeSeconds', 'queueingSeconds', 'utilisation'];
  return isRecord(run) && typeof run.policy === 'string' && parts.every((name) => isRecord(run[name]));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
