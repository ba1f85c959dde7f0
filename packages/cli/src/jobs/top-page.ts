import type { LostWorker, WorkerView } from '@goshawk/client';
import { type Painter, page, plain, type Section, section } from '@goshawk/command';
import {
  counted,
  formatCount,
  formatDuration,
  formatResources,
  formatUsed,
  type Millis,
} from '@goshawk/core';
import type { ClassPoint, Overview, Point } from '@goshawk/gateway';

/** Length of a bar in characters. */
const BAR = 30;

/** Renders the last known value of an unknown number, with its age. */
function unknown(
  lastSeen: Overview['lastSeen'],
  words: (last: NonNullable<Overview['lastSeen']>) => string,
): string {
  if (lastSeen === null) return 'unknown: central does not answer';
  return `unknown: central does not answer; ${formatDuration(1_000 * lastSeen.secondsAgo)} ago ${words(lastSeen)}`;
}

/** Above this number of lines, hints move to another view, so that the other lines fit on a small screen. */
const HINTED_MAX = 2;

/** Renders what needs attention, with hints unless there are many. */
export function attentionLines(
  { attention }: Pick<Overview, 'attention'>,
  paint: Painter,
  hasHints = attention.length <= HINTED_MAX,
): string[] {
  return attention.map(({ level, what, hint, times, over }) => {
    const often = over === null && times > 1 ? ` (${formatCount(times)} times within an hour)` : '';
    const text = plain(hint === '' || !hasHints ? `${what}${often}` : `${what}${often}; ${hint}`);
    if (over !== null) return paint.dim(`over since ${clock(over)}: ${text}`);
    return level === 'error' ? paint.red(text) : paint.yellow(text);
  });
}

/** Formats a local time of today: `02:40`. */
function clock(time: string): string {
  const at = new Date(time);
  return [at.getHours(), at.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':');
}

/** Renders `goshawk top`. @param isLive on a screen that has other views */
export function topPage(
  {
    overview,
    history,
  }: { readonly overview: Overview; readonly history: { readonly points: readonly Point[] } },
  paint: Painter,
  isLive = false,
): string {
  const { cluster, policy, slots, busy, cpusBusy, queued, jobs, schedulers, waiting, lastSeen } = overview;
  const { failedJobs } = overview;
  // A task may use several CPUs, or none.
  const taken = cpusBusy ?? busy;
  const share = slots !== null && taken !== null && slots > 0 ? Math.min(1, taken / slots) : 0;
  // The jobs of silent schedulers are missing.
  const least = overview.silent.length > 0 ? 'at least ' : '';
  const point = history.points.at(-1);
  const most = Math.max(1, ...(waiting ?? []).map(({ tasks }) => tasks));
  const failed =
    failedJobs === null || failedJobs === 0 ? '' : `, ${formatCount(failedJobs)} failed within the last hour`;
  return page(
    `${paint.bold(cluster)}  ${policy ?? ''}`,
    [
      [
        'tasks',
        slots !== null && busy !== null
          ? `${bar(share, paint)} ${cpusBusy === null ? '' : `${formatCount(cpusBusy)} of ${counted(slots, 'CPU')}, `}${counted(busy, 'task')} running, ${formatCount(queued ?? 0)} queued`
          : unknown(
              lastSeen,
              (last) => `${counted(last.busy, 'task')} running, ${counted(last.slots, 'CPU')} in total`,
            ),
      ],
      ['workers', workersLine(overview)],
      [
        'jobs',
        jobs === null || schedulers === null
          ? unknown(lastSeen, (last) => `${formatCount(last.jobs)} active`)
          : schedulers === 0
            ? 'unknown: no scheduler answers'
            : `${least}${formatCount(jobs)} active, at ${counted(schedulers, 'scheduler')}${failed}`,
      ],
      ...section('attention', attentionLines(overview, paint, isLive ? undefined : true)),
      ...(waiting === null ? [['waiting', 'unknown: no scheduler answers'] satisfies Section] : []),
      ...(waiting ?? []).map(
        ({ class: jobClass, reason, tasks, why }): Section => [
          'waiting',
          `${bar(tasks / most, paint)} ${least}${counted(tasks, 'task')} of ${jobClass} jobs: ${plain(why)} (${reason})`,
        ],
      ),
      ...(point === undefined
        ? []
        : (['short', 'long'] as const).map((kind): Section => [kind, rates(point[kind])])),
    ],
    paint,
  );
}

/** A task that runs on a worker, and when it started (wall clock). */
interface RunningTask {
  readonly job: string;
  readonly name: string;
  readonly task: number;
  readonly from: Millis;
  readonly isPaused: boolean;
  /** Tasks that are paused for it, `JOB/TASK`. */
  readonly lenders: readonly string[];
}

/**
 * Renders the details of a worker; attributes come last, because one may have the name of a field.
 *
 * @param tasks sampled tasks that run on it
 * @param now wall clock
 */
export function workerPage(worker: WorkerView, tasks: readonly RunningTask[], now: Millis): string {
  const { state, quarantine, partition, slots, busy, long, queued, used, capacity, attributes } = worker;
  const rows = (fields: object): string[] =>
    Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [`${plain(name).padEnd(15)} ${plain(String(value))}`],
    );
  const own = rows({
    ...{ state, why: quarantine, takes: partition === 'short' ? 'short tasks only' : 'all tasks' },
    runs: `${counted(busy, 'task')} on ${counted(slots, 'CPU')}${long === undefined ? '' : `, ${formatCount(long)} long`}`,
    ...{ queued: formatCount(queued), 'in use': formatUsed(used), resources: formatResources(capacity) },
    'last heartbeat': `${formatDuration(worker.heardMsAgo)} ago`,
    address: worker.address,
  });
  const running = tasks.map(({ job, name, task, from, isPaused, lenders }) => {
    const beside = lenders.length === 0 ? '' : `, on the CPU of ${plain(lenders.join(', '))}`;
    const lending = isPaused ? ', paused' : beside;
    return `${plain(name)} (${job}) task ${task}, started ${formatDuration(Math.max(0, now - from))} ago${lending}`;
  });
  const unseen = Math.max(0, busy - tasks.filter(({ isPaused }) => !isPaused).length);
  if (unseen > 0) running.push(`${counted(unseen, 'task')} not sampled yet`);
  const named = rows(attributes);
  return [
    ...own,
    ...(running.length === 0 ? [] : ['', 'running here', ...running]),
    ...(named.length === 0 ? [] : ['', 'attributes', ...named]),
  ].join('\n');
}

export function lostWorkerPage({ cause, lostMsAgo, running }: LostWorker, paint: Painter): string {
  const restart = `, and ${running === 1 ? 'restarts' : 'restart'} on other workers`;
  const rows: Section[] = [
    ['state', `lost ${formatDuration(lostMsAgo)} ago`],
    ['cause', plain(cause)],
    ['tasks', `${counted(running, 'task')} ran on it${running === 0 ? '' : restart}`],
  ];
  return page('', rows, paint).replace(/^\n/, '');
}

function bar(share: number, paint: Painter): string {
  // A positive share has at least one block.
  const full = share > 0 ? Math.max(1, Math.round(BAR * Math.min(1, share))) : 0;
  return `${paint.cyan('█'.repeat(full))}${paint.dim('░'.repeat(BAR - full))}`;
}

function workersLine({ workers, lastSeen, reachable }: Overview): string {
  if (!reachable && lastSeen === null) return unknown(null, () => '');
  const shown = Object.entries(workers).filter(([state, count]) => count > 0 || state === 'active');
  const line = shown.map(([state, count]) => `${formatCount(count)} ${state}`).join(', ');
  return lastSeen === null ? line : unknown(lastSeen, () => line);
}

function rates({ tasksPerSecond, delaySeconds, runSeconds }: ClassPoint): string {
  const time = (seconds: number) => formatDuration(1_000 * seconds);
  const delay =
    delaySeconds === null ? '' : `, delay p50 ${time(delaySeconds.p50)}, p99 ${time(delaySeconds.p99)}`;
  const run =
    runSeconds === null ? '' : `, jobs run p50 ${time(runSeconds.p50)}, p90 ${time(runSeconds.p90)}`;
  const ended = tasksPerSecond === null ? 'unknown' : Number(tasksPerSecond.toPrecision(3));
  return `${ended} tasks/s${delay}${run}`;
}
