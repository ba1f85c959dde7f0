import { wrapWords } from '@goshawk/core';
import { html, type Markup, trusted } from '../markup.js';
import {
  type AxisSpec,
  axisBeside,
  type FittedAxis,
  FONT_SIZE,
  fitAxis,
  LETTER_WIDTH,
  label,
  nameBelow,
  type Plot,
  plotOf,
  segments,
  shortened,
  upwards,
} from './axes.js';
import { type ChartDrawing, type LegendEntry, px, tooltip } from './drawing.js';
import { whisker } from './line-chart.js';
import { color, type LineLook, lineLook } from './palette.js';
import { fillOf } from './swatch.js';

/** More bars than these are too close together for their numbers. */
const LABELLED_MAX = 12;
const CATEGORY_WIDTH_MAX = 160;
/** Distance of the lines of a group's name, which has at most two. */
const NAME_LINE = 15;
const LABEL_SIZE = FONT_SIZE - 2;
/** Distance of two numbers, in letters. */
const LABEL_GAP = 0.5;
const LABEL_LETTER = (LETTER_WIDTH * LABEL_SIZE) / FONT_SIZE;
/** Shares of a group's width. */
const GROUP_SHARE = 0.8;
const BAR_SHARE = 0.88;

interface BarSpec {
  readonly name: string;
  /** One value per group; null if there is none. */
  readonly values: readonly (number | null)[];
  /** Only its color matters; by default that of the bar's position. */
  readonly look?: LineLook;
  /** Values that a paper states, one per group. */
  readonly stated?: readonly (number | null)[];
  /** Least and greatest value over the seeds, one per group. */
  readonly spread?: readonly (readonly [least: number, greatest: number] | null)[];
}

/**
 * Draws bars in groups, one bar per spec in each group. Bars start at 0 on a linear axis, and at 1 on an axis of ratios,
 * where half and double are equally far from it. A value that a paper states is a line across its bar.
 */
export function barChart(spec: {
  readonly groups: readonly string[];
  readonly bars: readonly BarSpec[];
  /** Name of the group axis. */
  readonly groupName?: string;
  readonly y: AxisSpec;
  /** A bar's number; by default the label of a tick. */
  readonly format?: (value: number) => string;
}): ChartDrawing {
  const { groups, groupName = '' } = spec;
  const y = fitAxis(
    spec.y,
    spec.bars.flatMap(({ values, stated = [], spread = [] }) =>
      [...values, ...stated, ...spread.flat()].filter((value): value is number => value !== null),
    ),
  );
  const format = spec.format ?? ((value: number) => y.format(y.place(value) ?? 0));
  const bars = spec.bars.map((bar, index) => ({ ...bar, look: bar.look ?? lineLook(index) }));
  const isStated = bars.some(({ stated = [] }) => stated.some((value) => value !== null));
  return {
    legend: [
      ...bars.map(({ name, look }): LegendEntry => ({ name, look, kind: 'box' })),
      ...(isStated
        ? [{ name: 'paper', look: { ...lineLook(0), color: 'text' }, kind: 'rule' } as const]
        : []),
    ],
    series: bars.map(({ name, values }) => ({
      name,
      points: values.map((value, index) => ({ x: groups[index]!, y: value })),
    })),
    draw: (size) => {
      const isNamed = groupName !== '' || groups.some((group) => group !== '');
      const room = plotOf(y, size, groupName !== '');
      const band = (room.right - room.left) / Math.max(1, groups.length);
      const nameWidth = Math.min(band, CATEGORY_WIDTH_MAX);
      const lines = groups.map((group) => inTwoLines(group, nameWidth));
      const more = lines.some(({ length }) => length > 1) ? NAME_LINE : 0;
      const plot = { ...room, bottom: room.bottom - more };
      const width = (band * GROUP_SHARE) / Math.max(1, bars.length);
      const longest = Math.max(
        0,
        ...bars.flatMap(({ values }) => values.map((value) => labelOf(value, format).length)),
      );
      const isLabelled =
        bars.length * groups.length <= LABELLED_MAX && (longest + LABEL_GAP) * LABEL_LETTER <= width;
      const drawn = groups.flatMap((group, at) =>
        bars.map((bar, index) => {
          const x = plot.left + band * (at + (1 - GROUP_SHARE) / 2) + width * index;
          return barOf(bar, at, group, { x, width, y, plot, format, isLabelled });
        }),
      );
      const names = lines.flatMap((ofGroup, at) =>
        ofGroup.map((line, index) =>
          label(
            shortened(line, nameWidth),
            plot.left + band * (at + 0.5),
            plot.bottom + NAME_LINE * (index + 1),
            'middle',
            color('text'),
          ),
        ),
      );
      const baseline = upwards(y, plot)(baseOf(y));
      return html`${axisBeside(y, plot)}${drawn}
${segments([[plot.left, baseline, plot.right, baseline]], color('muted'))}${isNamed ? names : null}${nameBelow(groupName, room)}`
        .text;
    },
  };
}

/** Breaks a name that is too wide at blanks, and after hyphens. */
function inTwoLines(name: string, width: number): string[] {
  const letters = Math.floor(width / LETTER_WIDTH);
  if (name.length <= letters) return [name];
  const [first = '', ...others] = wrapWords(name.replaceAll('-', '- '), letters);
  return others.length === 0 ? [first] : [first, others.join(' ')].map((line) => line.replaceAll('- ', '-'));
}

function labelOf(value: number | null, format: (value: number) => string): string {
  return value === null ? '' : format(value).replace('×', '');
}

/** Returns where bars start: at 1 on an axis of ratios, else at 0. */
function baseOf({ spec: { kind }, scale }: FittedAxis): number {
  return kind === 'log' ? scale.min : 0;
}

interface BarPlace {
  readonly x: number;
  readonly width: number;
  readonly y: FittedAxis;
  readonly plot: Plot;
  readonly format: (value: number) => string;
  readonly isLabelled: boolean;
}

function barOf(
  { name, look, values, stated = [], spread = [] }: BarSpec & { readonly look: LineLook },
  at: number,
  group: string,
  { x, width, y, plot, format, isLabelled }: BarPlace,
): Markup | null {
  const value = values[at] ?? null;
  const placed = value === null ? null : y.place(value);
  const height = upwards(y, plot);
  const middle = px(x + width / 2);
  const paper = stated[at] === undefined || stated[at] === null ? null : y.place(stated[at]);
  const rule =
    paper === null
      ? null
      : html`<path d="M${px(x)} ${height(paper)}h${px(width)}" stroke="${color('text')}" stroke-width="2" stroke-dasharray="3 2" fill="none"/>`;
  if (value === null || placed === null) return rule;
  const [end, base] = [height(placed), height(baseOf(y))];
  const text = `${group === '' ? name : `${name}, ${group}`}: ${format(value)}`;
  const isDown = end > base;
  const tip = Math[isDown ? 'max' : 'min'](
    end,
    ...(spread[at] ?? []).map((each) => height(y.place(each) ?? placed)),
  );
  return html`<rect x="${px(x)}" y="${Math.min(end, base)}" width="${px(width * BAR_SHARE)}" height="${px(Math.abs(end - base))}" ${trusted(fillOf(look))}>${tooltip(text)}</rect>${whisker(spread[at], px(x + (width * BAR_SHARE) / 2), y, height, color('muted'))}${rule}${
    isLabelled
      ? label(labelOf(value, format), middle, tip + (isDown ? 9 : -9), 'middle', color('muted'), LABEL_SIZE)
      : null
  }
`;
}
