import { sumOf } from '@goshawk/core';
import { categoryAxis, FONT_SIZE, fitAxis, LETTER_WIDTH, xAxis } from '../charts/axes.js';
import { color, lineLook } from '../charts/palette.js';
import { JOB_CLASSES, type JobClass, type TimeParts } from '../comparison.js';
import { html, type Markup } from '../markup.js';
import { duration, durationTicks, unbroken } from '../numbers.js';
import { figure, pair, section, table } from './elements.js';
import type { PolicyView } from './policy.js';

const PARTS = ['queueing', 'binding', 'running', 'reporting'] as const;
const ROW_HEIGHT = 38;
const LABEL_WIDTH_MAX = 170;
/** A bar narrower than this share has no number. */
const LABELLED_SHARE = 0.18;
const ROOM_FOR_TOTAL = 1.12;
const VISIBLE_SHARE = 0.005;

interface Bar {
  readonly policy: PolicyView;
  readonly parts: TimeParts;
}

/** Shows queueing, binding and running along each job's last task, in mean seconds per job. */
export function timePartsSection(policies: readonly PolicyView[]): Markup | null {
  const figures = pair(JOB_CLASSES.map((of) => timePartsFigure(policies, of)));
  if (figures === null) return null;
  const all = policies.flatMap(({ timeParts: { short, long } }) => [short, long]);
  const present = presentParts(all);
  return section(
    'Where a job’s time goes',
    html`<p>The mean run time of a job, split along the task that ended last and so decided it: ${
      present.includes('binding')
        ? 'waiting until a slot was free for that task, the round trip that bound the task to the slot'
        : 'waiting until that task started, including the round trip that bound it to its slot'
    }, its run${present.includes('reporting') ? ', and the report of its end' : ''}. ${invisibleParts(all, present)}</p>`,
    html`<ul class="legend">${present.map((part) => html`<li><span class="box ${part}"></span>${part}</li>`)}</ul>`,
    figures,
  );
}

/** Names the parts too small to see in the bars. */
function invisibleParts(all: readonly (TimeParts | null)[], present: readonly (keyof TimeParts)[]): string {
  const ofJobs = all.filter((parts) => parts !== null);
  const invisible = present.filter((part) =>
    ofJobs.every((parts) => (parts[part] ?? 0) < VISIBLE_SHARE * total(parts)),
  );
  if (invisible.length === 0) return '';
  const greatest = invisible.map((part) => {
    const seconds = Math.max(...ofJobs.map((parts) => parts[part] ?? 0));
    return `${part} (at most ${unbroken(duration(seconds))})`;
  });
  const names = new Intl.ListFormat('en', { type: 'conjunction' }).format(greatest);
  return `Too short to show in the bars: ${names}.`;
}

function timePartsFigure(policies: readonly PolicyView[], of: JobClass): Markup | null {
  const bars = policies.flatMap((policy): Bar[] => {
    const parts = policy.timeParts[of];
    return parts === null ? [] : [{ policy, parts }];
  });
  const present = presentParts(bars.map(({ parts }) => parts));
  if (present.length === 0) return null;
  const longest = Math.max(...bars.map(({ parts }) => total(parts)));
  const names = bars.map(({ policy }) => policy.policy);
  const labelWidth = Math.min(LABEL_WIDTH_MAX, Math.max(...names.map((name) => name.length)) * LETTER_WIDTH);
  return figure({
    title: `${of === 'short' ? 'Short' : 'Long'} jobs`,
    id: `parts-${of}`,
    height: bars.length * ROW_HEIGHT + 64,
    label: `Mean run time of ${of} jobs by part. ${bars
      .map(
        ({ policy, parts }) =>
          `${policy.policy}: ${present.map((part) => `${part} ${duration(parts[part] ?? 0)}`).join(', ')}`,
      )
      .join('; ')}.`,
    drawing: {
      legend: present.map((part) => ({ name: part, look: { ...lineLook(0), color: part }, kind: 'box' })),
      series: present.map((part) => ({
        name: part,
        points: bars.map(({ policy, parts }) => {
          const seconds = parts[part] ?? 0;
          return { x: policy.policy, y: seconds, text: `${policy.policy}, ${part}: ${duration(seconds)}` };
        }),
      })),
      option: {
        grid: { left: labelWidth + 16, right: 24, top: 4, bottom: 50 },
        yAxis: { ...categoryAxis(names, LABEL_WIDTH_MAX), inverse: true },
        xAxis: xAxis(
          fitAxis({ name: 'mean time per job', format: durationTicks(longest * ROOM_FOR_TOTAL) }, [
            longest * ROOM_FOR_TOTAL,
          ]),
        ),
        series: [...present.map((part) => partSeries(bars, part, longest)), totalSeries(bars)],
      },
    },
    numbers: table(
      'policy',
      [...present.map((title) => ({ title })), { title: 'in all' }],
      bars.map(({ policy, parts }) => ({
        head: policy.policy,
        cells: [...present.map((part) => duration(parts[part] ?? 0)), duration(total(parts))],
      })),
    ),
  });
}

function partSeries(bars: readonly Bar[], part: keyof TimeParts, longest: number) {
  return {
    type: 'bar',
    stack: 'parts',
    barWidth: 22,
    itemStyle: { color: color(part) },
    label: { color: color('ink'), fontSize: FONT_SIZE - 1, position: 'inside' },
    data: bars.map(({ parts }) => {
      const seconds = parts[part] ?? 0;
      return {
        value: seconds,
        label: { show: seconds > LABELLED_SHARE * longest, formatter: () => duration(seconds) },
      };
    }),
  } as const;
}

/** An empty bar at the end of each stack, which carries the total as its label. */
function totalSeries(bars: readonly Bar[]) {
  return {
    type: 'bar',
    stack: 'parts',
    itemStyle: { color: 'none' },
    label: { show: true, color: color('text'), fontSize: FONT_SIZE - 1, position: 'right' },
    data: bars.map(({ parts }) => ({ value: 0, label: { formatter: () => duration(total(parts)) } })),
  } as const;
}

/** Returns the parts with measured time; a simulation without message costs has no reporting time. */
function presentParts(all: readonly (TimeParts | null)[]): (keyof TimeParts)[] {
  return PARTS.filter((part) => all.some((parts) => (parts?.[part] ?? 0) > 0));
}

function total(parts: TimeParts): number {
  return sumOf(PARTS, (part) => parts[part] ?? 0);
}
