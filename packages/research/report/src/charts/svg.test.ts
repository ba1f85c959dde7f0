import { describe, expect, test } from 'vitest';
import { barChart } from './bar-chart.js';
import { lineChart } from './line-chart.js';
import { renderSvg } from './svg.js';

const SIZE = { width: 720, height: 420 };
const WORKERS = [9652, 11_000, 13_000, 15_000];

const lines = lineChart({
  x: { name: 'workers', ticks: WORKERS },
  y: { name: 'hawk ÷ sparrow', kind: 'ratio' },
  lines: [
    { name: 'short', points: WORKERS.map((workers, index) => [workers, 0.2 + index / 10]) },
    { name: 'long', points: WORKERS.map((workers, index) => [workers, index === 1 ? null : 1.1]) },
    { name: 'the paper’s', points: [[15_000, 0.2]], drawn: 'points' },
  ],
  references: [1],
});
const bars = barChart({
  groups: ['short, p50', 'long, p50'],
  y: { name: 'ratio', kind: 'ratio' },
  bars: [
    { name: 'no stealing', values: [3, 0.9] },
    { name: 'no central', values: [1, null] },
  ],
});

describe.each([
  ['lines', lines],
  ['ratio bars', bars],
])('%s as a file that stands alone', (_, drawing) => {
  const svg = renderSvg({ ...drawing, title: 'A title', description: 'What it shows' }, SIZE);

  test('have the requested size and an explicit background', () => {
    expect(svg).toMatch(
      /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="720" height="420" viewBox="0 0 720 420"/,
    );
    expect(svg).toContain('<rect width="720" height="420" fill="#ffffff"/>');
  });

  test('have literal colours only', () => {
    expect(svg).not.toContain('var(');
    const colors = [...svg.matchAll(/(?:fill|stroke)="([^"]+)"/g)].map((match) => match[1]!);
    expect(colors.filter((color) => !/^(none|#[0-9a-f]{3,6})$/.test(color))).toEqual([]);
  });

  test('contain no references', () => {
    expect(svg.replace('http://www.w3.org/2000/svg', '')).not.toMatch(
      /<script|<style|https?:|href|url\((?!#)/,
    );
  });

  test('contain their title and the name of each series', () => {
    expect(svg).toContain(
      '<title id="chart-title">A title</title><desc id="chart-description">What it shows',
    );
    for (const { name } of drawing.legend) expect(svg).toContain(`>${name}</text>`);
  });

  test('are the same for the same input', () => {
    expect(renderSvg({ ...drawing, title: 'A title', description: 'What it shows' }, SIZE)).toBe(svg);
  });

  test('are well-formed', () => {
    for (const tag of ['svg', 'g', 'text', 'title', 'defs', 'clipPath']) {
      expect(svg.match(new RegExp(`</${tag}>`, 'g'))?.length).toBe(
        svg.match(new RegExp(`<${tag}[ >]`, 'g'))?.length,
      );
    }
  });
});

test('text from outside is escaped', () => {
  const name = `</text><script>alert('1')</script>"&`;
  const drawing = lineChart({
    x: { name },
    y: { name },
    lines: [
      { name, points: [[1, 1]] },
      { name: 'other', points: [[2, 2]] },
    ],
  });
  const svg = renderSvg({ ...drawing, title: name, description: name }, SIZE);
  expect(svg).not.toContain('<script');
  expect(svg.match(/<\/text>/g)?.length).toBe(svg.match(/<text /g)?.length);
});

test('several pictures of one page have distinct ids', () => {
  const ids = ['a', 'b'].flatMap((id) =>
    [...renderSvg({ ...lines, title: 'A title', id }, SIZE).matchAll(/ id="([^"]+)"/g)].map(
      (match) => match[1],
    ),
  );
  expect(new Set(ids).size).toBe(ids.length);
});

test('a single series needs no legend', () => {
  const alone = lineChart({
    x: { name: 'x' },
    y: { name: 'y' },
    lines: [{ name: 'alone', points: [[1, 1]] }],
  });
  expect(renderSvg({ ...alone, title: 'A title' }, SIZE)).not.toContain('>alone<');
});

describe('unusual numbers have a place or none', () => {
  test.each([
    ['no lines', []],
    ['no points', [{ name: 'a', points: [] }]],
    ['one point', [{ name: 'a', points: [[5, 5] as const] }]],
    ['zeros', [{ name: 'a', points: [[0, 0] as const, [0, 0] as const] }]],
    ['negative values', [{ name: 'a', points: [[-1, -5] as const, [1, 5] as const] }]],
    [
      'not a number',
      [{ name: 'a', points: [[1, Number.NaN] as const, [2, Number.POSITIVE_INFINITY] as const] }],
    ],
  ])('%s', (_, odd) => {
    for (const kind of ['linear', 'log', 'ratio'] as const) {
      const drawing = lineChart({ x: { name: 'x', kind }, y: { name: 'y', kind }, lines: odd });
      expect(renderSvg({ ...drawing, title: 'odd' }, SIZE)).not.toMatch(/NaN|Infinity|undefined/);
    }
  });
});

test('a title that is longer than the chart is wide has several rows, and the chart moves down', () => {
  const long = 'Mean completion time under DRF ÷ that under other policies, and more';
  const draw = (title: string) => renderSvg({ ...lines, title }, { width: 560, height: 380 });
  const rows = [...draw(long).matchAll(/font-weight="600"[^>]*>([^<]*)<\/text>/g)].map((match) => match[1]!);
  expect(rows.join(' ')).toBe(long);
  expect(rows.length).toBe(2);
  const topOf = (svg: string) => Number(/translate\(0 (\d+)\)/.exec(svg)![1]);
  expect(topOf(draw(long))).toBe(topOf(draw('short')) + 20);
});

describe('a small chart', () => {
  const labelsOf = (svg: string) =>
    [...svg.matchAll(/<text x="[^"]+" y="([^"]+)" text-anchor="[^"]+"[^>]*>([^<]*)</g)].map(
      ([, y, text]) => ({
        y: Number(y),
        text: text!,
      }),
    );

  test('has no numbers over bars that are too narrow for them', () => {
    const many = barChart({
      groups: ['a', 'b', 'c'],
      y: { name: 'seconds' },
      bars: [1, 2, 3, 4].map((each) => ({ name: `policy ${each}`, values: [1_234, 1_235, 1_236] })),
      format: (value) => `${value} s`,
    });
    const numbers = (width: number) =>
      labelsOf(renderSvg({ ...many, title: 'Bars' }, { width, height: 270 })).filter(({ text }) =>
        text.endsWith(' s'),
      );
    expect(numbers(720)).toHaveLength(12);
    expect(numbers(336)).toEqual([]);
    const eight = barChart({
      groups: [''],
      y: { name: 'index' },
      bars: Array.from({ length: 8 }, (_, each) => ({ name: `policy ${each}`, values: [0.99] })),
      format: (value) => `${value}`,
    });
    const texts = labelsOf(renderSvg({ ...eight, title: 'Bars' }, { width: 336, height: 270 }));
    expect(texts.filter(({ text }) => text === '0.99')).toEqual([]);
  });

  test('has labels of a ratio axis that do not overlap, and always that of no difference', () => {
    const ratios = lineChart({
      x: { name: 'workers' },
      y: { name: 'ratio', kind: 'ratio' },
      lines: [{ name: 'one', points: [0.8, 0.9, 1.3, 2].map((ratio, at) => [at, ratio]) }],
    });
    const labels = (height: number) =>
      labelsOf(renderSvg({ ...ratios, title: 'Lines' }, { width: 336, height })).filter(({ text }) =>
        text.endsWith('×'),
      );
    const heights = labels(190).map(({ y }) => y);
    expect(labels(190).map(({ text }) => text)).toContain('1×');
    expect(heights.length).toBeLessThan(labels(900).length);
    for (const [index, y] of heights.entries())
      for (const other of heights.slice(0, index)) expect(Math.abs(y - other)).toBeGreaterThanOrEqual(13);
  });

  test('has the whole names of its groups, on two lines if they are long', () => {
    const groups = ['no central', 'no partition', 'hedgefund-like'];
    const bars = barChart({
      groups,
      groupName: 'part',
      y: { name: 's' },
      bars: [{ name: 'one', values: [1, 2, 3] }],
    });
    const texts = labelsOf(renderSvg({ ...bars, title: 'Bars' }, { width: 336, height: 270 })).map(
      ({ text }) => text,
    );
    expect(texts).toEqual(
      expect.arrayContaining(['no central', 'no', 'partition', 'hedgefund-', 'like', 'part']),
    );
  });

  test('has the label of the last of given ticks', () => {
    const loads = [0.7, 0.8, 0.85, 0.9, 0.95, 0.99];
    const lines = lineChart({
      x: { name: 'load', ticks: loads },
      y: { name: 'tasks' },
      lines: [{ name: 'one', points: loads.map((load) => [load, load]) }],
    });
    const texts = labelsOf(renderSvg({ ...lines, title: 'Lines' }, { width: 336, height: 270 })).map(
      ({ text }) => text,
    );
    expect(texts).toContain('0.99');
    expect(texts).not.toContain('0.95');
  });

  test('grows with its legend, so that its plot keeps its height', () => {
    const entries = (count: number) =>
      lineChart({
        x: { name: 'workers' },
        y: { name: 'seconds' },
        lines: Array.from({ length: count }, (_, at) => ({
          name: `a policy with a long name ${at}`,
          points: [
            [0, 1],
            [1, 2],
          ] as const,
        })),
      });
    const heightOf = (count: number) =>
      Number(
        /height="(\d+)"/.exec(
          renderSvg({ ...entries(count), title: 'Lines' }, { width: 336, height: 300 }),
        )![1],
      );
    expect(heightOf(2)).toBe(300);
    expect(heightOf(8) - heightOf(7)).toBe(22);
  });
});
