import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import {
  type Context,
  commandLine,
  defineCommand,
  ExitCode,
  type OptionSpecs,
  VERSION,
  whyUnread,
} from '@goshawk/cli';
import { InputError } from '@goshawk/core';
import type { Comparison } from '@goshawk/report';
import { CSV_OPTION, checkOutput, outputFiles, writeReportFile } from '../replay/report-file.js';

const OPTIONS = {
  csv: CSV_OPTION,
  report: {
    type: 'text',
    value: 'FILE',
    flagOnly: true,
    describe: 'write an HTML page with tables and charts to FILE',
  },
} as const satisfies OptionSpecs;

export const compareCommand = defineCommand({
  name: 'compare',
  words: 'FILE.json…',
  wordsMin: 1,
  wordsMax: Number.POSITIVE_INFINITY,
  describe: 'compare results of `simulate --json` and `replay --json` on one workload in one table',
  examples: [
    ['goshawk compare a.json b.json --report both.html', 'equal policies carry the names of their files'],
    ['goshawk compare a.json b.json --csv', 'a row a run'],
  ],
  options: OPTIONS,
  async run(context, options, { words }) {
    checkOutput(context, options);
    const { report } = await outputFiles(context.cwd, words[0]!, options, ['report']);
    const named = await Promise.all(
      words.map(async (file) => ({
        name: basename(file, '.json'),
        comparison: await readComparison(context, file),
      })),
    );
    const { ComparisonError, comparisonCsv, mergeComparisons, renderHtml, renderTable } = await import(
      '@goshawk/report'
    );
    let comparison: Comparison;
    try {
      comparison = mergeComparisons(named);
    } catch (error) {
      if (!(error instanceof ComparisonError)) throw error;
      throw new InputError('bad-comparison', `compare: ${error.message}`, '', { cause: error });
    }
    if (report !== undefined) {
      const command = commandLine('compare', words, OPTIONS, options);
      await writeReportFile(report, renderHtml(comparison, [], { command, generator: `goshawk ${VERSION}` }));
    }
    if (context.global.json) context.json(comparison);
    else if (options.csv) context.out(comparisonCsv(comparison));
    else context.out(renderTable(comparison, { color: context.color, columns: context.columns }));
    if (report !== undefined) context.note(`\nthe report with charts is in ${report}`);
    return ExitCode.done;
  },
});

/** @throws InputError for a file that cannot be read, or is no comparison */
async function readComparison({ cwd }: Context, file: string): Promise<Comparison> {
  let text: string;
  try {
    text = await readFile(resolve(cwd, file), 'utf8');
  } catch (error) {
    throw new InputError('no-file', `compare: cannot read ${file}: ${whyUnread(error)}`, '', {
      cause: error,
    });
  }
  const value = parsed(text);
  if (value?.schema !== 'goshawk.comparison/1' || !Array.isArray(value.runs)) {
    throw new InputError(
      'bad-comparison',
      `compare: ${file} is no comparison`,
      '`goshawk simulate WORKLOAD --json > FILE.json` makes one',
    );
  }
  return value as unknown as Comparison;
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
