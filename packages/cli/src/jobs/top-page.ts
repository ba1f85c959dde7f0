import { counted, formatCount, formatDuration } from '@goshawk/core';
import type { ClassPoint, Overview, Point } from '@goshawk/gateway';
import { type Painter, plain } from '../terminal/paint.js';
import { page, type Section, section } from '../terminal/sections.js';

/** Characters of a bar. */
const BAR = 30;

const UNKNOWN = 'unknown: central does not answer';

/** What `goshawk top` shows. */
export function topPage(
  {
    overview,
    history,
  }: { readonly overview: Overview; readonly history: { readonly points: readonly Point[] } },
  paint: Painter,
): string {
  const { cluster, policy, reachable, slots, busy, queued, jobs, schedulers, attention, waiting } = overview;
  const share = slots > 0 ? busy / slots : 0;
  const point = history.points.at(-1);
  const most = Math.max(1, ...waiting.map(({ tasks }) => tasks));
  return page(
    `${paint.bold(cluster)}  ${policy ?? ''}`,
    [
      [
        'slots',
        reachable
          ? `${bar(share, paint)} ${formatCount(busy)} of ${formatCount(slots)} busy, ${formatCount(queued)} queued`
          : UNKNOWN,
      ],
      ['workers', workersLine(overview)],
      [
        'jobs',
        reachable && schedulers > 0
          ? `${formatCount(jobs)} that have not ended, at ${counted(schedulers, 'scheduler')}`
          : `unknown: ${reachable ? 'no scheduler is there' : 'central does not answer'}`,
      ],
      ...section(
        'needs you',
        attention.map(({ level, what, hint }) => {
          const text = plain(hint === '' ? what : `${what}; ${hint}`);
          return level === 'error' ? paint.red(text) : paint.yellow(text);
        }),
      ),
      ...waiting.map(
        ({ class: of, reason, tasks, why }): Section => [
          'waiting',
          `${bar(tasks / most, paint)} ${formatCount(tasks)} of ${of} jobs: ${why} (${reason})`,
        ],
      ),
      ...(point === undefined
        ? []
        : (['short', 'long'] as const).map((kind): Section => [kind, rates(point[kind])])),
    ],
    paint,
  );
}

function bar(share: number, paint: Painter): string {
  const full = Math.round(BAR * Math.min(1, share));
  return `${paint.cyan('█'.repeat(full))}${paint.dim('░'.repeat(BAR - full))}`;
}

function workersLine({ workers }: Overview): string {
  const there = Object.entries(workers).filter(([state, count]) => count > 0 || state === 'active');
  return there.map(([state, count]) => `${formatCount(count)} ${state}`).join(', ');
}

function rates({ tasksPerSecond, delaySeconds, runSeconds }: ClassPoint): string {
  const time = (seconds: number) => formatDuration(1_000 * seconds);
  const delay =
    delaySeconds === null ? '' : `, delay p50 ${time(delaySeconds.p50)}, p99 ${time(delaySeconds.p99)}`;
  const run =
    runSeconds === null ? '' : `, jobs run p50 ${time(runSeconds.p50)}, p90 ${time(runSeconds.p90)}`;
  return `${Number(tasksPerSecond.toPrecision(3))} tasks a second${delay}${run}`;
}
