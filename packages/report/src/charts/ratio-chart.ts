import { factor, shortest } from '../numbers.js';
import { type AxisSpec, categoryAxis, FONT_SIZE, fitAxis, marginsFor, yAxis } from './axes.js';
import { across, type ChartDrawing } from './line-chart.js';
import { color, type LineLook, lineLook } from './palette.js';

/** More bars than these are too close together for their numbers. */
const BARS_WITH_LABELS = 12;
const CATEGORY_WIDTH_MAX = 160;

interface BarSpec {
  readonly name: string;
  /** One ratio per group; null if there is nothing to compare. */
  readonly ratios: readonly (number | null)[];
  /** Only its color matters; by default that of the bar's position. */
  readonly look?: LineLook;
}

/**
 * Draws ratios as bars from 1× on a logarithmic axis, on which half and double are equally far from it. Each
 * group has one bar per spec.
 */
export function ratioChart(spec: {
  readonly groups: readonly string[];
  readonly bars: readonly BarSpec[];
  /** Name of the group axis. */
  readonly groupName?: string;
  readonly y?: Partial<AxisSpec>;
}): ChartDrawing {
  const ratios = spec.bars.flatMap((bar) => bar.ratios.filter((ratio) => ratio !== null));
  const y = fitAxis(
    { name: 'ratio', format: (ratio) => `${shortest(ratio)}×`, ...spec.y, kind: 'ratio' },
    ratios,
  );
  const isLabelled = spec.bars.length * spec.groups.length <= BARS_WITH_LABELS;
  const bars = spec.bars.map((bar, index) => ({ ...bar, look: bar.look ?? lineLook(index) }));
  const margins = marginsFor(y);
  return {
    legend: bars.map(({ name, look }) => ({ name, look, kind: 'box' })),
    series: bars.map(({ name, ratios: values }) => ({
      name,
      points: values.map((ratio, index) => {
        const x = spec.groups[index]!;
        return { x, y: ratio, text: `${name}, ${x}: ${ratio === null ? '–' : factor(ratio)}` };
      }),
    })),
    option: {
      grid: spec.groupName === undefined ? { ...margins, bottom: 34 } : margins,
      xAxis: categoryAxis(spec.groups, CATEGORY_WIDTH_MAX, spec.groupName),
      yAxis: yAxis(y),
      series: bars.map((bar, index) => ({
        ...barSeries(bar, isLabelled, y.place),
        ...(index === 0 ? { markLine: across([0]) } : {}),
      })),
    },
  };
}

function barSeries(
  { ratios, look }: BarSpec & { readonly look: LineLook },
  isLabelled: boolean,
  place: (value: number) => number | null,
) {
  return {
    type: 'bar',
    barGap: '12%',
    barCategoryGap: '28%',
    itemStyle: { color: color(look.color) },
    data: ratios.map((ratio) => {
      const placed = ratio === null ? null : place(ratio);
      if (placed === null) return '-';
      return { value: placed, label: { position: placed < 0 ? 'bottom' : 'top' } };
    }),
    label: {
      show: isLabelled,
      distance: 3,
      fontSize: FONT_SIZE - 2,
      color: color('muted'),
      formatter: ({ value }: { value: number }) => factor(10 ** value).replace('×', ''),
    },
  } as const;
}
