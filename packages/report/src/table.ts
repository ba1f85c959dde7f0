import { stripVTControlCharacters } from 'node:util';
import { counted } from '@goshawk/core';
import { type Comparison, JOB_CLASSES, type JobClass, type Ratio } from './comparison.js';
import { renderDeadlines } from './deadlines.js';
import {
  compact,
  factor,
  factorRange,
  inUnit,
  percent,
  span,
  threeDigits,
  unitFor,
  whole,
} from './numbers.js';
import { renderStages } from './stages.js';
import { bracketsInWords, type PolicySummary, summarisePolicies, workersInWords } from './summary.js';
import { bare, type Cell } from './text-table.js';

interface TableStyle {
  /** Escape sequences for colour; leave them out where NO_COLOR is set or nobody looks. */
  readonly color: boolean;
  /** Width of the terminal. Lines keep to it down to 70; 100 by default. */
  readonly columns?: number;
}

const DEFAULT_COLUMNS = 100;
const STATISTICS = ['p50', 'p90', 'p99', 'mean'] as const;
/** Ratios this close to 1 are left uncoloured: they are within what seeds and a busy machine do. */
const NOTABLE_RATIO = 0.05;

/** An empty column: the classes stand further apart than the numbers of one class. */
const GAP = '';

/**
 * A comparison as a person reads it on a terminal: run times by policy, the first policy against the
 * others in words, and what each policy cost. Ends without a newline.
 */
export function renderTable(comparison: Comparison, style: TableStyle): string {
  const columns = style.columns ?? DEFAULT_COLUMNS;
  const paint = painter(style.color);
  const summaries = summarisePolicies(comparison);
  const sections = [
    wrap(headline(comparison, paint), columns),
    runtimes(summaries, columns, paint),
    ...(comparison.ratios.length === 0 ? [] : [ratioLines(comparison, columns, paint)]),
    costs(summaries, columns, paint),
    ...[renderDeadlines(comparison.runs), renderStages(comparison.runs)].filter((text) => text !== ''),
    ...failures(summaries, columns, paint),
  ];
  return sections.join('\n\n');
}

function headline(comparison: Comparison, paint: Painter): string {
  const { workload, cluster, runs } = comparison;
  const seeds = new Set(runs.map((run) => run.seed)).size;
  return [
    `${paint.bold(plain(workload.name))}: ${whole(workload.jobs)} jobs, ${whole(workload.tasks)} tasks,`,
    `${span(workload.taskSeconds)} of work submitted over ${span(workload.spanSeconds)};`,
    `${workersInWords(comparison)} ${cluster.slots === 0 ? 'without slots' : `of ${counted(cluster.slots, 'slot')}`},`,
    `${counted(cluster.schedulers, 'scheduler')}, ${cluster.mode}${seeds > 1 ? `; means of ${seeds} seeds` : ''}`,
  ].join(' ');
}

function runtimes(summaries: readonly PolicySummary[], columns: number, paint: Painter): string {
  const sideBySide = runtimeTable(summaries, JOB_CLASSES, paint);
  if (widthOf(sideBySide) <= columns) return sideBySide;
  return JOB_CLASSES.map((of) => runtimeTable(summaries, [of], paint)).join('\n\n');
}

function runtimeTable(
  summaries: readonly PolicySummary[],
  classes: readonly JobClass[],
  paint: Painter,
): string {
  const units = new Map(
    classes.map((of) => [
      of,
      unitFor(summaries.flatMap((each) => STATISTICS.map((name) => each.runtimeSeconds[of][name]))),
    ]),
  );
  const title = (of: JobClass) => paint.bold(`run time of ${of} jobs, ${units.get(of)!.symbol}`);
  return bare([
    [
      '',
      ...classes.flatMap((of): Cell[] => [
        GAP,
        { content: title(of), colSpan: STATISTICS.length, hAlign: 'right' },
      ]),
    ],
    [paint.dim('policy'), ...classes.flatMap(() => [GAP, ...STATISTICS.map(paint.dim)])],
    ...summaries.map((summary) => [
      plain(summary.policy),
      ...classes.flatMap((of) => [
        GAP,
        ...STATISTICS.map((name) => inUnit(summary.runtimeSeconds[of][name], units.get(of)!)),
      ]),
    ]),
  ]);
}

function ratioLines(comparison: Comparison, columns: number, paint: Painter): string {
  const { ratios } = comparison;
  const blocks = ratios.map((ratio) => {
    const pair = `${paint.bold(plain(ratio.policy))} against ${plain(ratio.baseline)}:`;
    const classes = JOB_CLASSES.map((of) => `${of} ${ratiosInWords(ratio, of, paint)}`);
    const oneLine = `${pair} ${classes.join('; ')}`;
    if (widthOf(oneLine) <= columns) return oneLine;
    return [pair, ...classes.map((line) => wrap(line, columns, '  '))].join('\n');
  });
  const brackets = bracketsInWords(comparison);
  const legend = [`below 1×: ${plain(ratios[0]!.policy)} is faster`, ...(brackets === '' ? [] : [brackets])];
  return [...blocks, paint.dim(wrap(legend.join('; '), columns))].join('\n');
}

function ratiosInWords(ratio: Ratio, of: JobClass, paint: Painter): string {
  return (['p50', 'p90', 'mean'] as const)
    .map((name) => {
      const spread = (ratio.interval ?? ratio.spread)?.[of][name];
      const range = spread ? ` (${factorRange(...spread)})` : '';
      return `${name} ${paintRatio(ratio[of][name], paint)}${range}`;
    })
    .join(', ');
}

function costs(summaries: readonly PolicySummary[], columns: number, paint: Painter): string {
  const head = [
    'busy as jobs came',
    'to end',
    'max',
    'messages/task',
    'steals',
    'of attempts',
    'probes moved',
  ];
  const rows = summaries.map(({ utilisation, messagesPerTask, steals }) => [
    percent(utilisation.whileSubmitting.mean),
    percent(utilisation.mean),
    percent(utilisation.max),
    threeDigits(messagesPerTask),
    compact(steals.successes),
    compact(steals.attempts),
    compact(steals.probesMoved),
  ]);
  const table = (from: number, to: number) =>
    bare([
      ['policy', ...head.slice(from, to)].map(paint.dim),
      ...rows.map((row, index) => [plain(summaries[index]!.policy), ...row.slice(from, to)]),
    ]);
  const sideBySide = table(0, head.length);
  if (widthOf(sideBySide) <= columns) return sideBySide;
  const steals = head.indexOf('steals');
  return [table(0, steals), table(steals, head.length)].join('\n\n');
}

function failures(summaries: readonly PolicySummary[], columns: number, paint: Painter): string[] {
  const lines = summaries
    .filter(({ jobs }) => jobs.failed > 0)
    .map(({ policy, jobs }) =>
      wrap(
        `${plain(policy)}: ${threeOrWhole(jobs.failed)} of ${whole(jobs.submitted)} jobs failed; run times are those of the others`,
        columns,
      ),
    );
  return lines.length === 0 ? [] : [paint.red(lines.join('\n'))];
}

function threeOrWhole(value: number): string {
  return Number.isInteger(value) ? whole(value) : threeDigits(value);
}

/** Text from outside, without what would move the cursor or change colours. */
function plain(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/\p{Cc}/gu, ' ');
}

function widthOf(text: string): number {
  return Math.max(...text.split('\n').map((line) => stripVTControlCharacters(line).length));
}

/** Breaks at spaces so that no line is longer than `columns`, where words allow. */
function wrap(text: string, columns: number, indent = ''): string {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    const longer = line.trim() === '' ? line + word : `${line} ${word}`;
    if (line.trim() !== '' && widthOf(longer) > columns) {
      lines.push(line);
      line = `${indent}  ${word}`;
    } else {
      line = longer;
    }
  }
  return [...lines, line].join('\n');
}

type Paint = (text: string) => string;
type Painter = Record<'bold' | 'dim' | 'green' | 'red', Paint>;

function painter(color: boolean): Painter {
  const sgr =
    (open: number, close: number): Paint =>
    (text) =>
      color ? `\u001b[${open}m${text}\u001b[${close}m` : text;
  return { bold: sgr(1, 22), dim: sgr(2, 22), green: sgr(32, 39), red: sgr(31, 39) };
}

function paintRatio(ratio: number | null, paint: Painter): string {
  const text = factor(ratio);
  if (ratio === null) return text;
  if (ratio < 1 - NOTABLE_RATIO) return paint.green(text);
  return ratio > 1 + NOTABLE_RATIO ? paint.red(text) : text;
}
