import { lineChart } from '../charts/line-chart.js';
import { type Point, thinned } from '../charts/lines.js';
import { html, type Markup } from '../markup.js';
import { compact, percent, span, whole } from '../numbers.js';
import { figure, policyLegend, section, table } from './elements.js';
import { renderChart } from './inline-chart.js';
import type { PolicyView } from './policy.js';

const POINTS_MAX = 200;
const TABLE_TIMES = 8;

interface Timeline {
  readonly id: string;
  readonly title: string;
  readonly axisName: string;
  readonly of: 'mean' | 'max';
  readonly format: (value: number) => string;
  readonly points: (policy: PolicyView) => readonly Point[];
  /** The value that the axis reaches at least. */
  readonly reach: number;
}

const UTILISATION: Timeline = {
  id: 'utilisation',
  title: 'Busy slots',
  axisName: 'share of slots',
  of: 'mean',
  format: (value) => percent(value),
  points: ({ utilisationOverTime }) => utilisationOverTime,
  reach: 1,
};

const QUEUED: Timeline = {
  id: 'queued',
  title: 'Tasks waiting',
  axisName: 'tasks',
  of: 'max',
  format: (value) => (value < 10 ? whole(value) : compact(value)),
  points: ({ queuedOverTime }) => queuedOverTime,
  reach: 1,
};

const UNITS = [
  { seconds: 1, name: 's' },
  { seconds: 60, name: 'min' },
  { seconds: 3600, name: 'h' },
  { seconds: 86_400, name: 'days' },
] as const;

/** The cluster over time, where series of it were given. */
export function timelineSection(policies: readonly PolicyView[]): Markup | null {
  const figures = [UTILISATION, QUEUED].map((timeline) => timelineFigure(policies, timeline));
  if (figures.every((each) => each === null)) return null;
  const seeds = Math.max(...policies.map(({ runs }) => runs.length));
  return section(
    'The cluster over time',
    html`<p>Snapshots over the run, from its first submission until the last task’s end${
      seeds > 1 ? ', under the first seed' : ''
    }. Where one point stands for several snapshots, it is the mean of busy slots and the maximum of waiting tasks.</p>`,
    policyLegend(policies),
    html`<div class="pair">${figures}</div>`,
  );
}

function timelineFigure(policies: readonly PolicyView[], timeline: Timeline): Markup | null {
  const lines = policies.map((policy) => ({
    policy,
    points: thinned(timeline.points(policy), POINTS_MAX, timeline.of),
  }));
  const all = lines.flatMap(({ points }) => points);
  if (all.length === 0) return null;
  const end = Math.max(...all.map(([seconds]) => seconds));
  const unit = UNITS.findLast(({ seconds }) => end >= 3 * seconds) ?? UNITS[0];
  const chart = renderChart({
    id: timeline.id,
    label: `${timeline.title} over time. ${lines
      .filter(({ points }) => points.length > 0)
      .map(
        ({ policy, points }) =>
          `${policy.policy}: at most ${timeline.format(Math.max(...points.map(([, value]) => value)))}`,
      )
      .join('; ')}.`,
    option: lineChart({
      x: { name: `time, ${unit.name}`, tight: true },
      y: {
        name: timeline.axisName,
        format: timeline === UTILISATION ? (share) => `${Math.round(share * 100)}%` : timeline.format,
        reach: [timeline.reach],
      },
      lines: lines.map(({ policy, points }) => ({
        name: policy.policy,
        points: points.map(([seconds, value]): Point => [seconds / unit.seconds, value]),
        look: policy.look,
      })),
    }).option,
  });
  return figure(timeline.title, chart, timelineTable(lines, timeline, end));
}

function timelineTable(
  lines: readonly { policy: PolicyView; points: readonly Point[] }[],
  timeline: Timeline,
  end: number,
): Markup {
  const times = Array.from({ length: TABLE_TIMES }, (_, index) => ((index + 0.5) * end) / TABLE_TIMES);
  return table(
    'at',
    times.map((seconds) => ({ title: span(seconds) })),
    lines.map(({ policy, points }) => ({
      head: policy.policy,
      cells: times.map((seconds) => {
        const point = points.find(([at]) => at >= seconds);
        return point === undefined ? '–' : timeline.format(point[1]);
      }),
    })),
  );
}
