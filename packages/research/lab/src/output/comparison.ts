import { basename, dirname, resolve } from 'node:path';
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

export const FIGURE_OPTION = {
  type: 'text',
  setting: true,
  value: 'FILE',
  describe:
    'draw the charts of the report as one figure, FILE.svg or FILE.pdf, with their values in FILE.csv; or each chart in a folder, FOLDER/',
} as const;

export const SAVE_RESULTS_OPTION = {
  type: 'text',
  setting: true,
  value: 'FILE',
  describe: 'write the outcome of each job to FILE as JSON Lines',
} as const;

interface Outputs {
  readonly csv: boolean;
  readonly figure?: string | undefined;
}

/** @throws InputError if both --csv and --json are set, or if the figure cannot be written */
export async function checkOutput({ global, cwd }: Context, { csv, figure }: Outputs): Promise<void> {
  if (csv && global.json)
    throw new InputError('usage', '--csv and --json cannot be used together', 'use one of them');
  if (figure === undefined) return;
  if (isFolder(figure)) return checkOutFolder(resolve(cwd, figure), [], '--figure');
  if (!/[^/\\]\.(svg|pdf)$/.test(figure))
    throw new InputError(
      'bad-option',
      `--figure: ${figure} is neither .svg nor .pdf`,
      'use one of these endings, or a folder that ends with /',
    );
  const file = resolve(cwd, figure);
  await checkOutFolder(dirname(file), [basename(file), valuesOf(basename(file))], '--figure');
}

/** Whether the option names a folder, for a file of each chart. */
function isFolder(figure: string): boolean {
  return /[/\\]$/.test(figure);
}

/** The file of values beside a figure. */
function valuesOf(figure: string): string {
  return figure.replace(/\.\w+$/, '.csv');
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
  { csv, figure }: Outputs,
  comparison: Comparison,
  report: Report,
  after: readonly string[] = [],
): Promise<number> {
  const { comparisonCsv, comparisonText } = await import('@goshawk/report');
  const { file } = report;
  const drawn = figure === undefined ? undefined : resolve(context.cwd, figure);
  if (file !== undefined || drawn !== undefined)
    await untilInterrupted(
      context,
      () => writeReport(context, comparison, report, drawn, figure !== undefined && isFolder(figure)),
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
  if (figure !== undefined && isFolder(figure)) context.note(`\neach chart is in ${figure}, with its values`);
  else if (figure !== undefined)
    context.note(`\nthe figure is in ${figure}, its values in ${valuesOf(figure)}`);
  return comparison.runs.some((run) => run.jobs.failed > 0) ? ExitCode.failed : ExitCode.done;
}

async function writeReport(
  context: Context,
  comparison: Comparison,
  { file, series, command, note }: Report,
  drawn: string | undefined,
  isEach: boolean,
): Promise<void> {
  context.note('writing the report');
  const { renderReport } = await import('@goshawk/report');
  const { page, charts, picture, values } = renderReport(comparison, series, {
    command,
    generator: `goshawk ${VERSION}`,
    ...present({ note }),
  });
  // Rendering blocks the event loop. Handle a pending interrupt before writing.
  await setImmediate();
  if (file !== undefined) await writeReportFile(file, page, context.interrupted);
  if (drawn === undefined) return;
  if (isEach) {
    const { csvOf } = await import('@goshawk/report');
    const files = charts.flatMap((chart) => [
      [`${chart.id}.svg`, chart.svg()],
      [`${chart.id}.csv`, `${csvOf(chart.values())}\n`],
    ]);
    return writeTogether(drawn, Object.fromEntries(files) as Record<string, string>);
  }
  const svg = picture();
  const { pdfOf } = await import('../figure/pdf.js');
  await writeTogether(dirname(drawn), {
    [basename(drawn)]: drawn.endsWith('.pdf') ? await pdfOf(svg) : svg,
    [valuesOf(basename(drawn))]: values(),
  });
}
