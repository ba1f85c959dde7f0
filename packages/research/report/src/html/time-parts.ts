import { sumOf } from '@goshawk/core';
import { across, axisBelow, FONT_SIZE, fitAxis, LETTER_WIDTH, label, shortened } from '../charts/axes.js';
import { type ChartDrawing, px, tooltip } from '../charts/drawing.js';
import { color, lineLook } from '../charts/palette.js';
import { JOB_CLASSES, type JobClass, type TimeParts } from '../comparison.js';
import { html, type Markup } from '../markup.js';
import { duration, durationTicks, unbroken } from '../numbers.js';
import { figure, pair, section, table } from './elements.js';
import type { PolicyView } from './policy.js';

const PARTS = ['queueing', 'binding', 'running', 'reporting'] as const;
const ROW_HEIGHT = 38;
const BAR_HEIGHT = 22;
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
  return figure({
    title: `${of === 'short' ? 'Short' : 'Long'} jobs`,
    alone: `Mean run time of ${of} jobs, by part`,
    id: `parts-${of}`,
    height: bars.length * ROW_HEIGHT + 64,
    label: `Mean run time of ${of} jobs by part. ${bars
      .map(
        ({ policy, parts }) =>
          `${policy.policy}: ${present.map((part) => `${part} ${duration(parts[part] ?? 0)}`).join(', ')}`,
      )
      .join('; ')}.`,
    drawing: stackedBars(bars, present),
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

/** One bar per policy, divided into the parts, with the total at its end. */
function stackedBars(bars: readonly Bar[], present: readonly (keyof TimeParts)[]): ChartDrawing {
  const longest = Math.max(...bars.map(({ parts }) => total(parts)));
  const reach = longest * ROOM_FOR_TOTAL;
  const x = fitAxis({ name: 'mean time per job', format: durationTicks(reach) }, [reach]);
  const names = bars.map(({ policy }) => policy.policy);
  const labelWidth = Math.min(LABEL_WIDTH_MAX, Math.max(...names.map((name) => name.length)) * LETTER_WIDTH);
  return {
    legend: present.map((part) => ({ name: part, look: { ...lineLook(0), color: part }, kind: 'box' })),
    series: present.map((part) => ({
      name: part,
      points: bars.map(({ policy, parts }) => ({ x: policy.policy, y: parts[part] ?? 0 })),
    })),
    draw: ({ width, height }) => {
      const plot = { left: labelWidth + 16, right: width - 24, top: 4, bottom: height - 50 };
      const at = across(x, plot);
      const row = (plot.bottom - plot.top) / bars.length;
      const drawn = bars.map(({ policy, parts }, index) => {
        const middle = plot.top + row * (index + 0.5);
        let start = 0;
        const pieces = present.map((part) => {
          const seconds = parts[part] ?? 0;
          const [left, right] = [at(start), at(start + seconds)];
          start += seconds;
          return html`<rect x="${left}" y="${px(middle - BAR_HEIGHT / 2)}" width="${px(right - left)}" height="${BAR_HEIGHT}" fill="${color(part)}">${tooltip(`${policy.policy}, ${part}: ${duration(seconds)}`)}</rect>${
            seconds > LABELLED_SHARE * longest
              ? label(duration(seconds), (left + right) / 2, middle, 'middle', color('ink'), FONT_SIZE - 1)
              : null
          }`;
        });
        return html`${label(shortened(policy.policy, labelWidth), plot.left - 8, middle, 'end', color('text'))}${pieces}${label(duration(total(parts)), at(start) + 5, middle, 'start', color('text'), FONT_SIZE - 1)}
`;
      });
      return html`${axisBelow(x, plot, true)}${drawn}`.text;
    },
  };
}

/** Returns the parts with measured time; a simulation without message costs has no reporting time. */
function presentParts(all: readonly (TimeParts | null)[]): (keyof TimeParts)[] {
  return PARTS.filter((part) => all.some((parts) => (parts?.[part] ?? 0) > 0));
}

function total(parts: TimeParts): number {
  return sumOf(PARTS, (part) => parts[part] ?? 0);
}
