import { counted, type Painter, painter, plain, wrapWords } from '@goshawk/core';
import { type Columns, columnTable } from './columns.js';
import { type Comparison, JOB_CLASSES, type JobClass, type Ratio } from './comparison.js';
import { renderDeadlines } from './deadlines.js';
import {
  compact,
  duration,
  factor,
  factorRange,
  inUnit,
  percent,
  threeDigits,
  unitFor,
  whole,
} from './numbers.js';
import { renderStages } from './stages.js';
import {
  bracketsInWords,
  estimatesInWords,
  type PolicySummary,
  summarisePolicies,
  workersInWords,
  workloadInWords,
} from './summary.js';
import { textTable, widthOf } from './terminal.js';

interface TableStyle {
  /** Whether to use color; should be false if NO_COLOR is set or the output is not a terminal. */
  readonly color: boolean;
  /** Width of the terminal, 100 by default. Lines fit widths from 70 on. */
  readonly columns?: number;
}

const DEFAULT_COLUMNS = 100;
const STATISTICS = ['p50', 'p90', 'p99', 'mean'] as const;
/** Ratios this close to 1 are not colored: seeds and machine load cause such differences. */
const NOTABLE_RATIO = 0.05;
/** Prefix of a continuation line. */
const HANG = '\n  ';

/**
 * Renders a comparison for a terminal: run times by policy, a summary of the first policy against the others,
 * and the cost of each policy. The text has no final newline.
 */
export function comparisonText(comparison: Comparison, style: TableStyle): string {
  const columns = style.columns ?? DEFAULT_COLUMNS;
  const paint = painter({ color: style.color });
  const summaries = summarisePolicies(comparison);
  const sections = [
    wrapWords(headline(comparison, paint), columns - 2).join(HANG),
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
    `${paint.bold(plain(workloadInWords(workload.name)))}: ${counted(workload.jobs, 'job')}, ${counted(workload.tasks, 'task')},`,
    `${duration(workload.taskSeconds)} of work submitted over ${duration(workload.spanSeconds)};`,
    `${workersInWords(comparison)} of ${counted(cluster.slots, 'CPU')},`,
    `${counted(cluster.schedulers, 'scheduler')}, ${cluster.mode}${seeds > 1 ? `; means of ${seeds} seeds` : ''}`,
    ...[estimatesInWords(comparison)].filter((text) => text !== '').map((text) => `with ${text}`),
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
  const columns = classes.map((of) => {
    const all = summaries.map(({ runtimeSeconds }) => STATISTICS.map((name) => runtimeSeconds[of][name]));
    const unit = unitFor(all.flat());
    const numbers = all.map((row) => row.map((seconds) => inUnit(seconds, unit)));
    // The classes are further apart than the numbers of one class.
    const rows = [STATISTICS.map((name) => paint.dim(name)), ...numbers].map((row) => ['', ...row]);
    return [paint.bold(`run time of ${of} jobs, ${unit.symbol}`), ...textTable(rows).split('\n')];
  });
  const names = ['', paint.dim('policy'), ...summaries.map(({ policy }) => plain(policy))];
  return textTable(names.map((name, row) => [name, ...columns.map((lines) => lines[row]!)]));
}

function ratioLines(comparison: Comparison, columns: number, paint: Painter): string {
  const { ratios } = comparison;
  const blocks = ratios.map((ratio) => {
    const pair = `${paint.bold(plain(ratio.policy))} against ${plain(ratio.baseline)}:`;
    const classes = JOB_CLASSES.map((of) => `${of} ${ratiosInWords(ratio, comparison, of, paint)}`);
    const tied = withoutDifference(ratio);
    const ends = tied === '' ? [] : [`  ${wrapWords(tied, columns - 4).join(`${HANG}  `)}`];
    const oneLine = `${pair} ${classes.join('; ')}`;
    if (widthOf(oneLine) <= columns) return [oneLine, ...ends].join('\n');
    const lines = classes.map((line) => `  ${wrapWords(line, columns - 4).join(`${HANG}  `)}`);
    return [pair, ...lines, ...ends].join('\n');
  });
  const brackets = bracketsInWords(comparison);
  const isOne = ratios.every(({ policy }) => policy === ratios[0]!.policy);
  const faster = isOne ? plain(ratios[0]!.policy) : 'the first policy';
  const legend = [`below 1×: ${faster} is faster`, ...(brackets === '' ? [] : [brackets])];
  return [...blocks, paint.dim(wrapWords(legend.join('; '), columns - 2).join(HANG))].join('\n');
}

/** Names the statistics whose interval includes 1: chance may explain their difference. Empty if there are none. */
function withoutDifference({ interval }: Ratio): string {
  if (interval === undefined) return '';
  const known = JOB_CLASSES.flatMap((of) =>
    (['p50', 'p90', 'mean'] as const).flatMap((name) => {
      const range = interval[of][name];
      return range === null ? [] : [{ name: `${of} ${name}`, isTied: range[0] <= 1 && range[1] >= 1 }];
    }),
  );
  const tied = known.filter(({ isTied }) => isTied).map(({ name }) => name);
  if (tied.length === 0) return '';
  return `no difference shown${tied.length === known.length ? '' : `: ${tied.join(', ')}`}`;
}

function ratiosInWords(
  ratio: Ratio,
  { intervals }: Pick<Comparison, 'intervals'>,
  of: JobClass,
  paint: Painter,
): string {
  // All brackets have the kind that the legend names.
  const brackets = intervals === undefined ? ratio.spread : ratio.interval;
  return (['p50', 'p90', 'mean'] as const)
    .map((name) => {
      const spread = brackets?.[of][name];
      const range = spread ? ` (${factorRange(...spread)})` : '';
      return `${name} ${paintRatio(ratio[of][name], paint)}${range}`;
    })
    .join(', ');
}

function costs(summaries: readonly PolicySummary[], columns: number, paint: Painter): string {
  const table = (shown: Columns<PolicySummary>) =>
    columnTable(
      [
        [paint.dim('policy'), ({ policy }) => plain(policy)],
        ...shown.map(([title, cell]) => [paint.dim(title), cell] as const),
      ],
      summaries,
    );
  const sideBySide = table([...WORK_COLUMNS, ...STEAL_COLUMNS]);
  if (widthOf(sideBySide) <= columns) return sideBySide;
  return [table(WORK_COLUMNS), table(STEAL_COLUMNS)].join('\n\n');
}

const WORK_COLUMNS: Columns<PolicySummary> = [
  ['busy at arrivals', ({ utilisation }) => percent(utilisation.whileSubmitting.mean)],
  ['to end', ({ utilisation }) => percent(utilisation.mean)],
  ['max', ({ utilisation }) => percent(utilisation.max)],
  ['messages/task', ({ messagesPerTask }) => threeDigits(messagesPerTask)],
];

const STEAL_COLUMNS: Columns<PolicySummary> = [
  ['steals', ({ steals }) => compact(steals.successes)],
  ['of attempts', ({ steals }) => compact(steals.attempts)],
  ['probes moved', ({ steals }) => compact(steals.probesMoved)],
];

function failures(summaries: readonly PolicySummary[], columns: number, paint: Painter): string[] {
  const lines = summaries
    .filter(({ jobs }) => jobs.failed > 0)
    .map(({ policy, jobs }) =>
      wrapWords(
        `${plain(policy)}: ${threeOrWhole(jobs.failed)} of ${whole(jobs.submitted)} jobs failed; run times are those of the others`,
        columns - 2,
      ).join(HANG),
    );
  return lines.length === 0 ? [] : [paint.red(lines.join('\n'))];
}

function threeOrWhole(value: number): string {
  return Number.isInteger(value) ? whole(value) : threeDigits(value);
}

function paintRatio(ratio: number | null, paint: Painter): string {
  const text = factor(ratio);
  if (ratio === null) return text;
  if (ratio < 1 - NOTABLE_RATIO) return paint.green(text);
  return ratio > 1 + NOTABLE_RATIO ? paint.red(text) : text;
}
