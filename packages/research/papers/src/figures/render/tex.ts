import { type LineLook, lineLook, PALETTE } from '@goshawk/report';
import { type FigureResult, type MeasuredPanel, type MeasuredSeries, spreadOf } from '../result.js';
import { barLooksOf, looksOf } from './drawings.js';
import type { FigureWidth } from './svg.js';

const MARKS: Readonly<Record<LineLook['marker'], string>> = {
  circle: '*',
  rect: 'square*',
  triangle: 'triangle*',
  diamond: 'diamond*',
};
const RATIOS = '0.01,0.02,0.05,0.1,0.15,0.2,0.3,0.5,0.7,1,1.5,2,3,5,10,20,50,100';

/**
 * Renders the charts of a figure for LaTeX: a `tikzpicture` for `\input`, which needs `\usepackage{pgfplots}` and
 * `\usepgfplotslibrary{groupplots}`. Widths follow `\linewidth`; fonts are those of the document.
 */
export function renderFigureTex(result: FigureResult, width: FigureWidth = 'page'): string {
  const panels = result.panels.filter(({ kind }) => kind !== 'table');
  const columns = Math.max(1, Math.min(width === 'page' ? 2 : 1, panels.length));
  const rows = Math.max(1, Math.ceil(panels.length / columns));
  return `% ${result.id}: ${result.title}
% ${result.command}
% Needs \\usepackage{pgfplots} and \\usepgfplotslibrary{groupplots}.
\\begin{tikzpicture}
\\begin{groupplot}[
  group style={group size=${columns} by ${rows}, horizontal sep=1.8cm, vertical sep=2.8cm},
  width=${(0.96 / columns).toFixed(2)}\\linewidth, height=${width === 'page' ? 0.36 : 0.72}\\linewidth,
  ymajorgrids, legend style={font=\\scriptsize, at={(0.5,-0.42)}, anchor=north, legend columns=2, draw=none},
  tick label style={font=\\scriptsize}, label style={font=\\small}, title style={font=\\small},
]
${panels.map((panel) => panelOf(result, panel)).join('')}\\end{groupplot}
\\end{tikzpicture}
`;
}

function panelOf(result: FigureResult, panel: MeasuredPanel): string {
  const { kind, title, percentiles, courses } = panel;
  if (kind === 'distribution') {
    const name = panel.percentilesOf === 'errors' ? 'error' : 'run time, s';
    const lines = Object.entries(percentiles ?? {}).map(([line, values], index) =>
      // A logarithmic axis has no 0.
      plot(
        line,
        lineLook(index),
        points(values.map((value, percent) => [value > 0 ? value : null, percent / 100])),
        'mark=none',
      ),
    );
    return axis(title, `xmode=log, xlabel={${name}}, ylabel={share of jobs}, ymin=0, ymax=1`, lines);
  }
  if (kind === 'course') {
    const lines = Object.entries(courses ?? {}).map(([line, values], index) =>
      plot(line, lineLook(index), points(values.map((value, job) => [job + 1, value])), 'mark=none'),
    );
    return axis(title, 'const plot, xlabel={sampled job}, ylabel={pilots, \\%}', lines);
  }
  const { places, spacing, name } = result.axis;
  const xs = places.map(({ x }, at) => (spacing === 'even' || kind === 'bars' ? at : x));
  const looks = (kind === 'bars' ? barLooksOf : looksOf)(result, panel.series);
  const lines = panel.series.flatMap((series, index) => linesOf(series, looks[index]!, xs, kind === 'bars'));
  const labels = places.map(({ label }) => `{${escaped(label)}}`).join(',');
  const options = [
    kind === 'bars' ? 'ybar, ymin=0, enlarge x limits=0.3' : '',
    spacing === 'log' && kind !== 'bars' ? 'xmode=log, log ticks with fixed point' : '',
    panel.series[0]?.unit === 'ratio' && kind === 'lines'
      ? `ymode=log, ytick={${RATIOS}}, log ticks with fixed point`
      : '',
    `xlabel={${escaped(name)}}, ylabel={${escaped(panel.axisName)}}`,
    `xtick={${xs.join(',')}}, xticklabels={${labels}}`,
  ];
  return axis(title, options.filter((each) => each !== '').join(', '), lines);
}

/** Our values with their spread over the seeds, and the paper's as marks without a line. */
function linesOf(series: MeasuredSeries, look: LineLook, xs: readonly number[], areBars: boolean): string[] {
  const spread = spreadOf(series);
  const ours = series.values.flatMap((value, at) => {
    if (value === null) return [];
    const range = spread?.[at];
    const bar = range ? ` += (0,${short(range[1] - value)}) -= (0,${short(value - range[0])})` : '';
    return [`(${xs[at]},${short(value)})${bar}`];
  });
  const options = [
    areBars ? 'mark=none, solid, draw=none, fill' : '',
    spread === undefined ? '' : 'error bars/.cd, y dir=both, y explicit',
  ].filter((each) => each !== '');
  const stated = points((series.paper ?? []).map((value, at) => [xs[at]!, value]));
  return [
    plot(series.name, look, ours.join(' '), options.join(', ')),
    ...(stated === '' ? [] : [plot(`${series.name}, paper`, look, stated, 'only marks, mark=x')]),
  ];
}

function points(pairs: readonly (readonly [x: number | null, y: number | null])[]): string {
  return pairs.flatMap(([x, y]) => (x === null || y === null ? [] : [`(${short(x)},${short(y)})`])).join(' ');
}

function plot(name: string, look: LineLook, coordinates: string, options: string): string {
  const hex = PALETTE[look.color]!.light.slice(1);
  const [red, green, blue] = [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  const dash = look.dash
    .map((length, index) => `${index % 2 === 0 ? 'on' : 'off'} ${length / 2}pt`)
    .join(' ');
  const style = [
    `color={rgb,255:red,${red};green,${green};blue,${blue}}`,
    ...(dash === '' ? [] : [`dash pattern=${dash}`]),
    `mark=${MARKS[look.marker]}, mark options={solid}, mark size=1.4pt`,
    ...(options === '' ? [] : [options]),
  ].join(', ');
  return `\\addplot+[${style}] coordinates {${coordinates}};
\\addlegendentry{${escaped(name)}}
`;
}

function axis(title: string, options: string, lines: readonly string[]): string {
  return `\\nextgroupplot[title={${escaped(title)}}, ${options}]
${lines.join('')}`;
}

function short(value: number): string {
  return `${Number(value.toPrecision(6))}`;
}

const TEX: Readonly<Record<string, string>> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
  '×': '$\\times$',
  '÷': '$\\div$',
  '−': '$-$',
  '≤': '$\\leq$',
  '≥': '$\\geq$',
  θ: '$\\theta$',
  γ: '$\\gamma$',
};

function escaped(text: string): string {
  return text.replace(/[\\~^×÷−≤≥θγ]|[&%$#_{}]/g, (found) => TEX[found] ?? `\\${found}`);
}
