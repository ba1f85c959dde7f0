import { resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { type Context, ExitCode, untilInterrupted, VERSION } from '@goshawk/command';
import { InputError, present } from '@goshawk/core';
import type { Comparison, RunSeries } from '@goshawk/report';
import { checkOutFolder, writeReportFile, writeTogether } from './files.js';

/** The option that prints a comparison as CSV. */
export const CSV_OPTION = {
  type: 'flag',
  setting: false,
  describe: 'print CSV, one row per run, with the keys of --json as columns',
} as const;

export const REPORT_OPTION = {
  type: 'text',
  setting: true,
  value: 'FILE',
  describe: 'write an HTML page with tables and charts to FILE',
} as const;

export const CHARTS_OPTION = {
  type: 'text',
  setting: true,
  value: 'FOLDER',
  rare: true,
  describe: 'write each chart of the report to FOLDER: SVG, PDF, and its values as CSV',
} as const;

export const SAVE_RESULTS_OPTION = {
  type: 'text',
  setting: true,
  value: 'FILE',
  describe: 'write the outcome of each job to FILE as JSON Lines',
} as const;

/** @throws InputError if both --csv and --json are set, or if charts cannot be written to their folder */
export async function checkOutput(
  { global, cwd }: Context,
  { csv, charts }: { readonly csv: boolean; readonly charts?: string | undefined },
): Promise<void> {
  if (csv && global.json)
    throw new InputError('usage', '--csv and --json cannot be used together', 'use one of them');
  if (charts !== undefined) await checkOutFolder(resolve(cwd, charts), [], '--charts');
}

/** A report page for a comparison. */
interface Report {
  /** Undefined if no page is requested. */
  readonly file: string | undefined;
  /** The command that reproduces the page. */
  readonly command: string;
  readonly series: readonly RunSeries[];
  readonly note?: string | undefined;
}

/**
 * Writes the report, then prints the comparison as JSON, CSV or a table.
 *
 * @param after paragraphs that follow the table
 * @returns the command's exit code
 */
export async function printComparison(
  context: Context,
  { csv, charts }: { readonly csv: boolean; readonly charts?: string | undefined },
  comparison: Comparison,
  report: Report,
  after: readonly string[] = [],
): Promise<number> {
  const { comparisonCsv, comparisonText } = await import('@goshawk/report');
  const { file } = report;
  const folder = charts === undefined ? undefined : resolve(context.cwd, charts);
  if (file !== undefined || folder !== undefined)
    await untilInterrupted(
      context,
      () => writeReport(context, comparison, report, folder),
      () => `all runs ended, but the report was not written`,
    );
  if (context.global.json) context.json(comparison);
  else if (csv) context.out(comparisonCsv(comparison));
  else {
    context.note('');
    const table = comparisonText(comparison, { color: context.color, columns: context.columns });
    context.out([table, ...after].join('\n\n'));
  }
  if (file !== undefined) context.note(`\nthe report with charts is in ${file}`);
  if (folder !== undefined) context.note(`\nthe charts are in ${folder}`);
  return comparison.runs.some((run) => run.jobs.failed > 0) ? ExitCode.failed : ExitCode.done;
}

async function writeReport(
  context: Context,
  comparison: Comparison,
  { file, series, command, note }: Report,
  folder: string | undefined,
): Promise<void> {
  context.note('writing the report');
  const { renderReport } = await import('@goshawk/report');
  const { page, charts } = renderReport(comparison, series, {
    command,
    generator: `goshawk ${VERSION}`,
    ...present({ note }),
  });
  // Rendering blocks the event loop. Handle a pending interrupt before writing.
  await setImmediate();
  if (file !== undefined) await writeReportFile(file, page, context.interrupted);
  if (folder === undefined) return;
  const { pdfOf } = await import('../figure/pdf.js');
  const files = charts.map(async ({ id, svg, csv }) => {
    const drawn = svg();
    return [
      [`${id}.svg`, drawn],
      [`${id}.pdf`, await pdfOf(drawn)],
      [`${id}.csv`, csv()],
    ] as const;
  });
  await writeTogether(folder, Object.fromEntries((await Promise.all(files)).flat()));
}
