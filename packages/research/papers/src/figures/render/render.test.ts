import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { assess } from '../assess.js';
import type { Figure } from '../figure.js';
import { FIGURES } from '../figures.js';
import { format } from '../format.js';
import type { FigureResult } from '../result.js';
import { runsAt } from '../runs.fixture.js';
import { assessTrials } from '../trials.js';
import { barLooksOf, looksOf } from './drawings.js';
import { renderFigurePage } from './page.js';
import { renderFigureSvg } from './svg.js';
import { renderFigureText } from './text.js';
import { addVerdicts, verdictLine } from './verdicts.js';

/** Each variant is a little slower than the previous one, as is each point of the axis. */
function resultOf(figure: Figure, seeds: readonly number[] = [1]) {
  const asked = {
    figure,
    axis: figure.axis,
    workload: { name: 'a <workload>', sha256: 'f00', jobs: 5, tasks: 5, taskSeconds: 36, spanSeconds: 10 },
    command: `goshawk figure ${figure.id}`,
    generator: 'goshawk 0',
  };
  const placesOf = <Run>(run: (variant: number, place: number) => Run) =>
    figure.axis.ticks.map((tick, place) => ({
      tick,
      byVariant: Object.fromEntries(
        figure.variants.map(({ name }, variant) => [name, seeds.map(() => run(variant, place))]),
      ),
    }));
  if (figure.mode === 'predicted') {
    const places = placesOf((variant) => [0.01, 0.1, 1].map((by) => by * (1 + variant)));
    return assessTrials('errors', { ...asked, places, workers: null, trials: [] });
  }
  if (figure.mode === 'modelled') {
    const places = placesOf((variant, place) => ({ tasks: 1 + variant + place, peak: 9 }));
    return assessTrials('queues', { ...asked, places, workers: 5, trials: [] });
  }
  if (figure.mode === 'staged') {
    const places = placesOf((variant, place) => {
      const seconds = (1 + variant) * (1 + place / 10);
      const times = { meanSeconds: seconds, p95Seconds: 2 * seconds, makespanSeconds: 9 };
      const runtimeSeconds = [1, 2, 3].map((each) => each * seconds);
      return { ...times, fairness: 0.9, slower: 0, muchSlower: 0, runtimeSeconds };
    });
    return assessTrials('staged', { ...asked, places, workers: 5, trials: [] });
  }
  const runs = figure.axis.ticks.map((tick, place) => ({
    ...runsAt(
      tick.x,
      Object.fromEntries(
        figure.variants.map(({ name }, variant) => [
          name,
          seeds.map((seed) => ({
            short: [1, 2, 3].map((each) => each * (1 + variant) * (1 + place / 10) * (1 + seed / 100)),
            long: [10, 20].map((each) => each * (1 + variant / 5)),
            policy: name,
            seed,
          })),
        ]),
      ),
    ),
    tick,
  }));
  return assess({ ...asked, places: runs });
}

const results = FIGURES.map((figure) => [figure.id, resultOf(figure)] as const);
const hawk5 = resultOf(FIGURES.find(({ id }) => id === 'hawk-5')!, [1, 2]);

/** A label of an axis or bar. */
const LABEL =
  /<text x="([^"]+)" y="([^"]+)" text-anchor="([^"]+)" fill="[^"]*"(?: font-size="(\d+)")?>([^<]*)</g;

describe.each(results)('%s', (id, result) => {
  test('as an SVG file is self-contained: no variables, no references, all its panels', () => {
    const svg = renderFigureSvg(result);
    expect(svg).not.toMatch(/var\(|#fe01|<script|NaN|undefined|Infinity/);
    const drawn = result.panels.filter(({ kind }) => kind !== 'table');
    for (const { title } of drawn) expect(svg).toContain(`>${title}</title>`);
    expect(svg.match(/<svg /g)).toHaveLength(drawn.length + 1);
  });

  test('fits one column of a paper: one panel wide, and no numbers that overlap or are cut off', () => {
    const svg = renderFigureSvg(result, 'column');
    expect(svg).toMatch(/^<svg [^>]*width="336"/);
    for (const panel of svg.split('<svg ').slice(2)) {
      const texts = [...panel.matchAll(LABEL)].map(([, x, y, anchor, size, text]) => {
        const width = text!.replace(/&[a-z#0-9]+;/g, '.').length * 0.5 * Number(size ?? 13);
        const left = Number(x) - { start: 0, middle: width / 2, end: width }[anchor as 'middle'];
        return { text, left, right: left + width, y: Number(y) };
      });
      expect(texts.length).toBeGreaterThan(2);
      expect(texts.filter(({ left, right }) => left < 0 || right > 336)).toEqual([]);
      const overlapping = texts.filter((one, index) =>
        texts.some(
          (other, before) =>
            before < index &&
            Math.abs(one.y - other.y) < 8 &&
            one.left < other.right &&
            other.left < one.right,
        ),
      );
      expect(overlapping).toEqual([]);
    }
  });

  test('as a page contains each claim, its verdict, and the command to reproduce it', () => {
    const page = renderFigurePage(result);
    expect(page).not.toMatch(/<script|NaN|undefined|Infinity/);
    expect(page.match(/<dd>(§|docs|ours)/g)).toHaveLength(result.claims.length);
    expect(page).toContain(`<code>goshawk figure ${id}</code>`);
    expect(page).toContain('a &lt;workload&gt;');
  });

  test('as text fits the width of the terminal, except for tables', () => {
    const text = renderFigureText(result, { color: false, columns: 80 });
    expect(text).not.toMatch(/NaN|undefined|Infinity/);
    const claims = text.slice(text.indexOf(`${result.claims[0]!.section}:`));
    for (const line of claims.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(text.split('\n').at(-1)).toBe(`${id}: ${verdictLine(result.verdicts)}`);
  });
});

test('color is used only on request, and changes nothing else', () => {
  const plain = renderFigureText(hawk5, { color: false, columns: 100 });
  const painted = renderFigureText(hawk5, { color: true, columns: 100 });
  expect(painted).not.toBe(plain);
  expect(stripVTControlCharacters(painted)).toBe(plain);
  expect(stripVTControlCharacters(plain)).toBe(plain);
});

test('the paper’s numbers, and the spread over the seeds, are below ours', () => {
  const lines = renderFigureText(hawk5, { color: false, columns: 100 }).split('\n');
  const at = lines.findIndex((line) => line.startsWith('  short jobs better or equal'));
  expect(lines[at + 1]).toMatch(/^ {4}seeds +100%…100%/);
  expect(lines[at + 2]).toMatch(/^ {4}paper +86%$/);
});

test('the same input gives the same bytes', () => {
  expect(renderFigureSvg(hawk5)).toBe(renderFigureSvg(hawk5));
  expect(renderFigurePage(hawk5)).toBe(renderFigurePage(hawk5));
});

test('the verdicts are summarized in a line, for one figure and for several', () => {
  const one = { holds: 2, 'in direction': 1, 'does not hold': 1, 'not confirmed': 0, 'not judged': 0 };
  const other = { holds: 1, 'in direction': 0, 'does not hold': 0, 'not confirmed': 0, 'not judged': 0 };
  expect(verdictLine(one)).toBe('2 of 4 claims hold, 1 in direction, 1 does not');
  expect(verdictLine(other)).toBe('1 of 1 claim holds');
  expect(verdictLine(addVerdicts([one, other, one]))).toBe('5 of 9 claims hold, 2 in direction, 2 do not');
});

describe('bars beside each other', () => {
  // The definitions suffice, so that figures whose runs the fixture lacks are covered, too.
  const panels = FIGURES.flatMap((figure) => {
    const all = figure.panels.flatMap((panel) => ('series' in panel ? [panel] : []));
    const result = { panels: all } as unknown as FigureResult;
    return all
      .filter(({ kind, series }) => kind === 'bars' && series.length > 1)
      .map((panel) => [`${figure.id}: ${panel.title}`, result, panel] as const);
  });

  test.each(panels)('%s: each has a color that the legend explains', (_, result, { series }) => {
    const colors = barLooksOf(result, series).map(({ color }) => color);
    const repeated = series.filter((_each, index) => colors.indexOf(colors[index]!) !== index);
    expect(repeated.map(({ name }) => name)).toEqual([]);
  });

  test.each(panels)('%s: a policy has its color in all panels', (_, result) => {
    const colors = new Map<string, string>();
    for (const { series } of result.panels)
      for (const [index, look] of barLooksOf(result, series).entries()) {
        const { name } = series[index]!;
        expect(colors.get(name) ?? look.color).toBe(look.color);
        colors.set(name, look.color);
      }
  });
});

test.each(results)('%s: lines of a panel differ by dash or marker, for gray print', (_, result) => {
  for (const { kind, series } of result.panels) {
    if (kind !== 'lines') continue;
    const looks = looksOf(result, series).map(({ dash, marker }) => `${dash} ${marker}`);
    expect([series.map(({ name }) => name), new Set(looks).size]).toEqual([
      series.map(({ name }) => name),
      looks.length,
    ]);
  }
});

test.each([
  [0.0504, '5%'],
  [0.056, '5.6%'],
  [0.42, '42%'],
  [0.978, '97.8%'],
  [1, '100%'],
  [100, '10,000%'],
])('the share %d is %s', (share, text) => {
  expect(format(share, 'share')).toBe(text);
});
