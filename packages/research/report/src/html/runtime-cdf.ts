import { cdf } from '../charts/cdf.js';
import { lineChart } from '../charts/line-chart.js';
import { JOB_CLASSES, type JobClass } from '../comparison.js';
import { percentileOfSorted } from '../distribution.js';
import { html, type Markup } from '../markup.js';
import { duration, tickDuration, whole } from '../numbers.js';
import { figure, pair, percentileTable, policyLegend, section } from './elements.js';
import type { PolicyView } from './policy.js';

const SHARE_TICKS = [0, 0.25, 0.5, 0.75, 0.9, 1];

/** Shows cumulative distributions of job run times by class, with one line per policy. */
export function runtimeSection(policies: readonly PolicyView[]): Markup | null {
  const figures = pair(JOB_CLASSES.map((of) => runtimeFigure(policies, of)));
  if (figures === null) return null;
  return section(
    'Distribution of run times',
    html`<p>The share of jobs that ended within a time, submission to end of the last task. Further left is faster; the
time axis is logarithmic.</p>`,
    policyLegend(policies),
    figures,
  );
}

function runtimeFigure(policies: readonly PolicyView[], of: JobClass): Markup | null {
  const present = policies.filter(({ ascending }) => ascending[of].length > 0);
  const positive = present.flatMap(({ ascending }) => {
    const least = ascending[of].find((value) => value > 0);
    return least === undefined ? [] : [least, ascending[of].at(-1)!];
  });
  if (positive.length === 0) return null;
  const least = Math.min(...positive);
  const medians = present.map(
    ({ policy, ascending }) =>
      `${policy}: half within ${duration(percentileOfSorted(ascending[of], 50))}, 90% within ${duration(percentileOfSorted(ascending[of], 90))}`,
  );
  return figure({
    title: `Run times of ${of} jobs (${whole(present[0]!.runtimeSeconds[of].count)})`,
    id: `cdf-${of}`,
    label: `Cumulative distribution of the run times of ${of} jobs. ${medians.join('; ')}.`,
    drawing: lineChart({
      x: { name: 'run time', kind: 'log', format: tickDuration, reach: [Math.max(...positive)] },
      y: { name: 'jobs', format: (share) => `${Math.round(share * 100)}%`, ticks: SHARE_TICKS },
      lines: present.map(({ policy, ascending, look }) => ({
        name: policy,
        points: cdf(ascending[of], least),
        look,
      })),
    }),
    numbers: percentileTable(
      `${of} jobs`,
      present.map(({ policy, ascending }) => ({
        head: policy,
        at: (percent) => duration(percentileOfSorted(ascending[of], percent)),
      })),
    ),
  });
}
