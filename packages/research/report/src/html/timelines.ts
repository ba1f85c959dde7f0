import { lineChart } from '../charts/line-chart.js';
import { type Point, thinned } from '../charts/lines.js';
import type { Comparison, CountedSeries, Series } from '../comparison.js';
import { html, type Markup } from '../markup.js';
import { compact, duration, percent, shortest, unbroken } from '../numbers.js';
import { figure, pair, policyLegend, section, table } from './elements.js';
import type { PolicyView } from './policy.js';

const POINTS_MAX = 400;
const ROOM_AFTER = 1.1;
const DRAWN_SHARE_MAX = 0.8;
const TABLE_TIMES = 8;

interface Timeline {
  readonly id: string;
  readonly title: string;
  readonly axisName: string;
  readonly format: (value: number) => string;
  /** Format of ticks, if different. */
  readonly tick?: (value: number) => string;
  readonly points: (series: Series, slots: number) => readonly Point[];
  /** The value that the axis reaches at least. */
  readonly reach: number;
  /** Whether each value applies to all of the time since the previous point. */
  readonly isRate?: boolean;
}

const count = (value: number): string => (value < 1000 ? shortest(value) : compact(value));

const LEVELS = { format: count, reach: 1 } as const;
const RATES = { ...LEVELS, isRate: true } as const;

const BUSY: Timeline = {
  id: 'busy',
  title: 'Busy CPUs',
  axisName: 'share of CPUs',
  format: percent,
  tick: (share) => `${Math.round(share * 100)}%`,
  points: ({ seconds, busySlots }, slots) => paired(seconds, busySlots, (busy) => busy / slots),
  reach: 1,
};

const UNDERWAY: Timeline = {
  ...LEVELS,
  id: 'underway',
  title: 'Active jobs',
  axisName: 'jobs',
  points: ({ seconds, jobsUnderway: { short, long } }) =>
    paired(seconds, short, (jobs, index) => jobs + long[index]!),
};

const QUEUED: Timeline = {
  ...LEVELS,
  id: 'queued',
  title: 'Entries in worker queues',
  axisName: 'probes and tasks',
  points: ({ counted }) =>
    counted === null
      ? []
      : counted.seconds.flatMap((seconds, index): Point[] => {
          const entries = counted.queuedEntries[index] ?? null;
          return entries === null ? [] : [[seconds, entries]];
        }),
};

const WAITING_SHORT: Timeline = {
  ...LEVELS,
  id: 'waiting-short',
  title: 'Short tasks waiting',
  axisName: 'tasks',
  points: ({ seconds, waitingTasks }) => paired(seconds, waitingTasks.short),
};

const WAITING_LONG: Timeline = {
  ...LEVELS,
  id: 'waiting-long',
  title: 'Long tasks waiting',
  axisName: 'tasks',
  points: ({ seconds, waitingTasks }) => paired(seconds, waitingTasks.long),
};

const ATTEMPTS: Timeline = {
  ...RATES,
  id: 'steal-attempts',
  title: 'Steal attempts',
  axisName: 'attempts per second',
  points: ({ counted }) => rates(counted, ({ stealAttempts }) => stealAttempts),
};

const SUCCESSES: Timeline = {
  ...RATES,
  id: 'steal-successes',
  title: 'Steals that succeeded',
  axisName: 'steals per second',
  points: ({ counted }) => rates(counted, ({ stealSuccesses }) => stealSuccesses),
};

const UNITS = [
  { seconds: 1, name: 's' },
  { seconds: 60, name: 'min' },
  { seconds: 3600, name: 'h' },
  { seconds: 86_400, name: 'days' },
] as const;

/** Shows the cluster over time, under the first seed of each policy. */
export function timelineSection(policies: readonly PolicyView[], { cluster }: Comparison): Markup | null {
  const frame = { slots: cluster.workers * cluster.slots, until: drawnUntil(policies) };
  const draw = (timeline: Timeline) => timelineFigure(policies, timeline, frame);
  const queues = draw(QUEUED);
  const rows = [
    pair([draw(BUSY), queues ?? draw(UNDERWAY)]),
    pair([draw(WAITING_SHORT), draw(WAITING_LONG)]),
    pair([draw(ATTEMPTS), draw(SUCCESSES)]),
  ];
  if (rows.every((row) => row === null)) return null;
  return section(
    'The cluster over time',
    html`<p>${explanation(policies, frame.until, queues !== null)}</p>`,
    policyLegend(policies),
    rows,
  );
}

function explanation(policies: readonly PolicyView[], until: number, showsQueues: boolean): string {
  const seeds = Math.max(...policies.map(({ runs }) => runs.length));
  const interval = duration(policies[0]!.runs[0]!.utilisation.intervalSeconds);
  const end = Math.max(...policies.map(({ runs }) => endOf(runs[0]!.series)));
  return [
    `Since the first submission${seeds > 1 ? ', under the first seed' : ''}.`,
    `One snapshot every ${unbroken(interval)}; a point that combines several shows their mean.`,
    'A task waits from the submission of its job until it starts on a worker.',
    ...(showsQueues
      ? [
          'Worker queues contain tasks that central placed, and probes; a job sends more probes than it has tasks.',
        ]
      : []),
    ...(until < end
      ? [
          `The charts end when all jobs have been submitted and hardly any task still waits; the last task ended after ${unbroken(duration(end))}.`,
        ]
      : []),
  ].join(' ');
}

/**
 * Returns the end of the drawn time in seconds: slightly after jobs have arrived and waited under each
 * policy, since only a few last tasks follow. If that is most of the run, the whole run is drawn.
 */
function drawnUntil(policies: readonly PolicyView[]): number {
  const all = policies.map(({ runs }) => runs[0]!.series);
  const settled = ROOM_AFTER * Math.max(...all.map(({ settledSeconds }) => settledSeconds));
  const end = Math.max(...all.map(endOf));
  return settled < DRAWN_SHARE_MAX * end ? settled : end;
}

function endOf({ seconds }: Series): number {
  return seconds.at(-1) ?? 0;
}

interface Frame {
  /** Slots of the whole cluster. */
  readonly slots: number;
  readonly until: number;
}

function timelineFigure(
  policies: readonly PolicyView[],
  timeline: Timeline,
  { slots, until }: Frame,
): Markup | null {
  const lines = policies
    .map((policy) => {
      const points = cutAt(until, timeline.points(policy.runs[0]!.series, slots));
      return { policy, points: timeline.isRate ? points : thinned(points, POINTS_MAX) };
    })
    .filter(({ points }) => points.length > 0);
  const all = lines.flatMap(({ points }) => points);
  if (all.length === 0) return null;
  const unit = UNITS.findLast(({ seconds }) => until >= 3 * seconds) ?? UNITS[0];
  return figure({
    title: timeline.title,
    id: timeline.id,
    label: `${timeline.title} over time. ${lines
      .map(
        ({ policy, points }) =>
          `${policy.policy}: at most ${timeline.format(Math.max(...points.map(([, value]) => value)))}`,
      )
      .join('; ')}.`,
    drawing: lineChart({
      x: { name: `time, ${unit.name}`, tight: true, reach: [until / unit.seconds] },
      y: { name: timeline.axisName, format: timeline.tick ?? timeline.format, reach: [timeline.reach] },
      lines: lines.map(({ policy, points }) => ({
        name: policy.policy,
        points: points.map(([seconds, value]): Point => [seconds / unit.seconds, value]),
        look: policy.look,
        ...(timeline.isRate ? { drawn: 'steps' } : {}),
      })),
    }),
    numbers: timelineTable(lines, timeline, until),
  });
}

function timelineTable(
  lines: readonly { policy: PolicyView; points: readonly Point[] }[],
  timeline: Timeline,
  end: number,
): Markup {
  const times = Array.from({ length: TABLE_TIMES }, (_, index) => ((index + 0.5) * end) / TABLE_TIMES);
  return table(
    'at',
    times.map((seconds) => ({ title: duration(seconds) })),
    lines.map(({ policy, points }) => ({
      head: policy.policy,
      cells: times.map((seconds) => {
        const point = points.find(([at]) => at >= seconds);
        return point === undefined ? '–' : timeline.format(point[1]);
      }),
    })),
  );
}

/** Places each mean level at the middle of its interval. */
function paired(
  seconds: readonly number[],
  levels: readonly number[],
  value: (level: number, index: number) => number = (level) => level,
): Point[] {
  return levels.map((level, index): Point => {
    const middle = (seconds[index]! + (seconds[index - 1] ?? 0)) / 2;
    return [middle, value(level, index)];
  });
}

/** Returns rates per second between readings. */
function rates(counted: CountedSeries | null, of: (counted: CountedSeries) => readonly number[]): Point[] {
  if (counted === null || counted.seconds.length < 2) return [];
  if (counted.stealAttempts.every((attempts) => attempts === 0)) return [];
  const { seconds } = counted;
  const points = of(counted).map((sum, index): Point => {
    const length = seconds[index]! - (seconds[index - 1] ?? 0);
    return [seconds[index]!, length > 0 ? sum / length : 0];
  });
  return [[0, points[0]![1]], ...points];
}

/** Cuts points off at a time, where the next point is placed. */
function cutAt(until: number, points: readonly Point[]): Point[] {
  const next = points.findIndex(([seconds]) => seconds > until);
  return next < 0 ? [...points] : [...points.slice(0, next), [until, points[next]![1]]];
}
