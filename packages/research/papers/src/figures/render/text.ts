import { aligned, counted, type Painter, painter, type Style, wrapWords } from '@goshawk/core';
import type { Verdict } from '../figure.js';
import { format } from '../format.js';
import {
  type FigureResult,
  type JudgedClaim,
  type MeasuredPanel,
  type MeasuredSeries,
  spreadOf,
} from '../result.js';
import { VERDICT_MARKS, verdictLine } from './verdicts.js';

interface TextStyle {
  /** Escape sequences for colors. */
  readonly color: boolean;
  /** Width of the terminal. */
  readonly columns: number;
}

const INDENT = '  ';
const GAP = '  ';
const WIDTH_MIN = 60;

const VERDICT_INKS: Readonly<Record<Verdict, Style>> = {
  holds: 'green',
  'in direction': 'yellow',
  'does not hold': 'red',
  'not confirmed': 'yellow',
  'not judged': 'dim',
};

/** Renders a figure for a terminal: its numbers, then each claim with its verdict. */
export function renderFigureText(result: FigureResult, { color, columns }: TextStyle): string {
  const ink = painter({ color });
  const width = Math.max(WIDTH_MIN, columns);
  const { id, title, paper, about, workload, workers, seeds } = result;
  const seedsText = seeds.length > 1 ? `, ${seeds.length} seeds (means; least and greatest below)` : '';
  const size = workers === null ? '' : ` on ${counted(workers, 'worker')}`;
  const heading = `${workload.name}: ${counted(workload.jobs, 'job')} with ${counted(workload.tasks, 'task')}${size}${seedsText}`;
  return [
    [
      ink.bold(`${id}: ${title}`),
      ...wrapWords(`${paper.section === '' ? '' : `${paper.name} ${paper.section}. `}${about}`, width).map(
        (line) => ink.dim(line),
      ),
      ...wrapWords(heading, width).map((line) => ink.dim(line)),
    ],
    ...result.panels.flatMap((panel) => {
      const lines = panelLines(result, panel, ink);
      return lines.length === 0 ? [] : [lines];
    }),
    result.claims.flatMap((claim) => claimLines(claim, width, ink)),
    [`${ink.bold(id)}: ${verdictLine(result.verdicts)}`],
  ]
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}

/** One row per series, one column per point of the axis. */
function panelLines(result: FigureResult, panel: MeasuredPanel, ink: Painter): string[] {
  if (panel.series.length === 0) return [];
  const { name, places } = result.axis;
  const rows = panel.series.flatMap(rowsOf);
  const labels = places.map(({ label }) => label);
  const lines = aligned([[name, ...labels], ...rows.map(({ head, cells }) => [head, ...cells])]);
  const [header, ...body] = lines.map((line) => `${INDENT}${line}`.trimEnd());
  return [
    panel.axisName === '' ? panel.title : `${panel.title}, ${panel.axisName}`,
    ...(labels.every((label) => label === '') ? [] : [ink.dim(header!)]),
    ...body.map((line, at) => (rows[at]!.isReference ? ink.dim(line) : line)),
  ];
}

interface TextRow {
  readonly head: string;
  readonly cells: readonly string[];
  /** Numbers of the paper, or the spread over seeds. */
  readonly isReference: boolean;
}

function rowsOf(series: MeasuredSeries): TextRow[] {
  const { name, unit, values, paper } = series;
  const show = (value: number | null) => format(value ?? undefined, unit);
  const own = { head: name, cells: values.map(show), isReference: false };
  const seeds = spreadOf(series)?.map((range) =>
    range === null ? '' : `${show(range[0])}…${show(range[1])}`,
  );
  const stated = paper?.map((value) => (value === null ? '' : show(value)));
  return [
    own,
    ...(seeds === undefined ? [] : [{ head: `${INDENT}seeds`, cells: seeds, isReference: true }]),
    ...(stated === undefined ? [] : [{ head: `${INDENT}paper`, cells: stated, isReference: true }]),
  ];
}

function claimLines({ verdict, section, text, ours }: JudgedClaim, width: number, ink: Painter): string[] {
  const mark = ink[VERDICT_INKS[verdict]](
    `${VERDICT_MARKS[verdict]} ${verdict.padEnd('does not hold'.length)}`,
  );
  const hang = ' '.repeat('✗ does not hold'.length + GAP.length);
  const [first, ...others] = wrapWords(section === '' ? text : `${section}: ${text}`, width - hang.length);
  return [
    `${mark}${GAP}${first}`,
    ...others.map((line) => hang + line),
    ...wrapWords(`here: ${ours}`, width - hang.length).map((line) => hang + ink.dim(line)),
  ];
}
