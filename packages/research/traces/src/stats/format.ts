import { aligned, counted, formatShare, plain, type SixNumbers } from '@goshawk/core';
import type { TraceStats } from './stats.js';

const COLUMNS = ['mean', 'p50', 'p90', 'p99', 'max'] as const;

/** Formats statistics for a terminal, as lines with line ends. */
export function formatStats(stats: TraceStats): string {
  const { arrivals, longestTenth: longest } = stats;
  const lines = [
    `${counted(stats.jobs, 'job')}, ${counted(stats.tasks, 'task')}, ${number(stats.taskSeconds)} task seconds`,
    stats.spanSeconds > 0
      ? `submitted over ${number(stats.spanSeconds)} s, one every ${number(arrivals.meanInterarrivalSeconds!)} s (spread ${number(arrivals.interarrivalSpread!)}; Poisson has 1)`
      : 'all submitted at once',
    '',
    ...aligned([
      ['', ...COLUMNS],
      distributionRow('tasks per job', stats.tasksPerJob),
      distributionRow('task duration, s', stats.taskDurationSeconds),
      distributionRow("jobs' mean duration, s", stats.jobMeanDurationSeconds),
      distributionRow("jobs' task seconds", stats.jobTaskSeconds),
      ...(stats.spreadWithinJobs === null
        ? []
        : [distributionRow('spread within jobs (std/mean)', stats.spreadWithinJobs)]),
    ]),
    '',
    `longest 10% of jobs (mean task duration from ${number(longest.cutoffSeconds)} s): ${formatShare(longest.taskSecondsShare)} of task seconds, ${formatShare(longest.tasksShare)} of tasks`,
    ...durationRatios(stats),
  ];
  if (stats.classes !== undefined) lines.push('', ...classLines(stats.classes), '');
  if (stats.taskSecondsPerSecond !== null) {
    const loads = stats.offeredLoad.map(({ workers, load }) => `${number(workers)}: ${formatShare(load)}`);
    lines.push(`${number(stats.taskSecondsPerSecond)} task seconds per second; load offered to workers`);
    lines.push(`  ${loads.join('  ')}`);
  }
  if (stats.users !== null) lines.push('', ...userLines(stats.users));
  return `${lines.join('\n')}\n`;
}

function durationRatios(stats: TraceStats): string[] {
  const { durationRatioByTask, durationRatioByJob } = stats.longestTenth;
  if (durationRatioByTask === null || durationRatioByJob === null) return [];
  return [
    `  their durations are ${number(durationRatioByTask)} times the others' by task, ${number(durationRatioByJob)} times by job`,
  ];
}

function classLines({ cutoffSeconds, ...classes }: NonNullable<TraceStats['classes']>): string[] {
  const rows = Object.entries(classes).flatMap(([name, of]) => [
    [
      `${name} jobs`,
      formatShare(of.jobsShare),
      formatShare(of.tasksShare),
      formatShare(of.taskSecondsShare),
      ...cellsOf(of.tasksPerJob),
      ...cellsOf(of.taskDurationSeconds),
    ],
  ]);
  const cells = ['mean', 'p50', 'p90'];
  return [
    `long: a mean task duration from ${number(cutoffSeconds)} s`,
    ...aligned([
      [
        '',
        'jobs',
        'tasks',
        'task seconds',
        ...cells.map((each) => `tasks ${each}`),
        ...cells.map((each) => `s ${each}`),
      ],
      ...rows,
    ]),
  ];
}

function cellsOf(of: SixNumbers | null): string[] {
  return of === null ? ['–', '–', '–'] : [of.mean, of.p50, of.p90].map(number);
}

function userLines(users: NonNullable<TraceStats['users']>): string[] {
  const rows = users.heaviest.map((user) => [
    plain(user.user),
    number(user.jobs),
    number(user.tasks),
    formatShare(user.taskSecondsShare),
  ]);
  return [
    `${counted(users.count, 'user')}; the heaviest`,
    ...aligned([['user', 'jobs', 'tasks', 'task seconds'], ...rows]),
  ];
}

function distributionRow(label: string, distribution: SixNumbers): string[] {
  return [label, ...COLUMNS.map((column) => number(distribution[column]))];
}

/** Formats integers in full; other numbers with three digits or, above 100, without decimals. */
function number(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return value === 0 ? '0' : String(Number(value.toPrecision(3)));
}
