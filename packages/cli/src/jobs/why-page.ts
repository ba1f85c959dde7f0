import type { ClusterWaiting, ExplainedJob } from '@goshawk/client';
import { type Painter, page, plain, type Section, section } from '@goshawk/command';
import {
  type Background,
  type CentralLine,
  counted,
  explanationOf,
  formatCount,
  formatDuration,
  longWords,
  sumOf,
  WAITING_WORDS,
} from '@goshawk/core';
import { heading } from './words.js';

/** Renders the waiting tasks of the cluster and remedies. */
export function waitingPage({ waiting, central, silent }: ClusterWaiting, paint: Painter): string {
  const total = sumOf(waiting, ({ tasks }) => tasks);
  const waits = total === 0 ? 'no task waits' : `${counted(total, 'task')} ${total === 1 ? 'waits' : 'wait'}`;
  const title = silent.length === 0 ? waits : `${waits} at the schedulers that answer`;
  const groups = waiting.map(({ class: jobClass, reason, tasks, example, exampleAgeMs, why }): Section => {
    const { why: words, helps } = WAITING_WORDS[reason];
    return [
      reason,
      [
        `${counted(tasks, 'task')} of ${jobClass} jobs: ${plain(why ?? words)}`,
        paint.dim(
          `longest ${example}, accepted ${formatDuration(exampleAgeMs)} ago (goshawk why ${example})`,
        ),
        paint.dim(`helps: ${helps}`),
      ],
    ];
  });
  const missing = section('no answer', silent.join(', '));
  return page(paint.bold(title), [...groups, ['central', centralLine(central)], ...missing], paint);
}

function centralLine(central: CentralLine | undefined): string {
  if (central === undefined) return 'does not respond: schedulers probe for short jobs, and long jobs wait';
  const { slots, freeSlots, longLimit, unmatched } = central;
  const long = longLimit < slots ? `, ${longWords(central)}` : '';
  return `${counted(slots, 'CPU')}, ${formatCount(freeSlots)} free${long}; ${counted(unmatched, 'task')} without a worker`;
}

/** Renders why a job waits, or its time breakdown. */
export function whyPage(explained: ExplainedJob, background: Background, paint: Painter): string {
  const { parts } = explanationOf(explained, background);
  const sections = parts.map(({ label, lines }): Section => [label, lines.map(plain)]);
  return page(heading(explained.job, paint), sections, paint);
}
