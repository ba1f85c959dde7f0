import { barChart } from '../charts/bar-chart.js';
import { JOB_CLASSES, type JobClass, type Ratio } from '../comparison.js';
import { percentileOfSorted } from '../distribution.js';
import { html, type Markup } from '../markup.js';
import { factor } from '../numbers.js';
import { figure, pair, policyLegend, section, table } from './elements.js';
import type { PolicyView } from './policy.js';

const PERCENTS = [10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99];
/** Percentiles for several baselines; eleven would make the bars too narrow. */
const FEWER_PERCENTS = [10, 25, 50, 75, 90, 99];

interface Bars {
  readonly baseline: PolicyView;
  readonly ratios: readonly (number | null)[];
}

/** Shows the first policy's run times relative to each other policy, by percentile. */
export function ratioSection(policies: readonly PolicyView[], ratios: readonly Ratio[]): Markup | null {
  const [first] = policies;
  const baselines = ratios.flatMap(({ policy, baseline }) => (policy === first?.policy ? [baseline] : []));
  const others = policies.filter(({ policy }) => baselines.includes(policy));
  const figures = pair(JOB_CLASSES.map((of) => ratioFigure(first!, others, of)));
  if (figures === null) return null;
  return section(
    `${first!.policy} against ${others.length === 1 ? others[0]!.policy : 'the others'}, by percentile`,
    html`<p>A percentile of ${first!.policy}’s run times divided by the same percentile of the other policy’s: below 1×,
${first!.policy} is faster. The axis is logarithmic, so that half and double are equally far from 1×.</p>`,
    others.length > 1 ? policyLegend(others, 'box') : null,
    figures,
  );
}

function ratioFigure(first: PolicyView, others: readonly PolicyView[], of: JobClass): Markup | null {
  const percents = others.length > 1 ? FEWER_PERCENTS : PERCENTS;
  const bars = others.map(
    (baseline): Bars => ({ baseline, ratios: percents.map((each) => ratioAt(first, baseline, of, each)) }),
  );
  if (!bars.some(({ ratios }) => ratios.some((ratio) => ratio !== null && ratio > 0))) return null;
  const names = percents.map((percent) => `p${percent}`);
  return figure({
    title: `${of === 'short' ? 'Short' : 'Long'} jobs`,
    alone: `Run times of ${of} jobs: ${first.policy} ÷ ${others.length === 1 ? others[0]!.policy : 'the others'}`,
    id: `ratio-${of}`,
    label: `Run times of ${of} jobs under ${first.policy} divided by those under the others. ${bars
      .map(
        ({ baseline, ratios }) =>
          `Against ${baseline.policy}: ${names.map((name, at) => `${name} ${factor(ratios[at]!)}`).join(', ')}`,
      )
      .join('. ')}.`,
    drawing: barChart({
      groups: names,
      bars: bars.map(({ baseline, ratios }) => ({
        name: baseline.policy,
        values: ratios,
        look: baseline.look,
      })),
      y: { name: 'ratio', kind: 'ratio' },
      format: factor,
    }),
    numbers: table(
      'against',
      names.map((title) => ({ title })),
      bars.map(({ baseline, ratios }) => ({ head: baseline.policy, cells: ratios.map(factor) })),
    ),
  });
}

function ratioAt(first: PolicyView, baseline: PolicyView, of: JobClass, percent: number): number | null {
  const ours = percentileOfSorted(first.ascending[of], percent);
  const theirs = percentileOfSorted(baseline.ascending[of], percent);
  return ours === null || theirs === null || theirs === 0 ? null : ours / theirs;
}
