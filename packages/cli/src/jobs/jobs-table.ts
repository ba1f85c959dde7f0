import { type Column, type Painter, paintStanding, plain, renderTable } from '@goshawk/command';
import {
  ago,
  expectedEndOf,
  formatCount,
  formatDuration,
  isFinal,
  type JobSummary,
  type Millis,
} from '@goshawk/core';
import { deadlineWords, endWords } from './words.js';

const COLUMNS: readonly Column[] = [
  { title: 'id' },
  { title: 'name', shrinkTo: 7, dropFirst: 0 },
  { title: 'user', dropFirst: 8 },
  { title: 'class', dropFirst: 7 },
  { title: 'state' },
  { title: 'done', align: 'right', dropFirst: 2 },
  { title: 'tasks', align: 'right', dropFirst: 1 },
  { title: 'failed', align: 'right', dropFirst: 4 },
  { title: 'submitted', align: 'right', dropFirst: 6 },
  { title: 'took', align: 'right', dropFirst: 5 },
];
/** Column for lists in which a job has a deadline. */
const DEADLINE: Column = { title: 'deadline', align: 'right', dropFirst: 3 };
/** Column for lists in which the end of a job can be expected. */
const ENDS: Column = { title: 'ends', align: 'right', dropFirst: 9 };

/** @param now wall clock, ms since 1970 */
export function jobsTable(jobs: readonly JobSummary[], now: Millis, paint: Painter): string {
  const hasDeadlines = jobs.some(({ deadlineMs }) => deadlineMs !== undefined);
  const hasEnds = jobs.some((job) => expectedEndOf(job, now) !== undefined);
  const rows = jobs.map((job) => {
    const { completed, total, failed } = job.tasks;
    const hasEnded = isFinal(job.state);
    const tookMs = hasEnded ? job.endedMs : now - job.submittedAt;
    return [
      job.id,
      plain(job.name),
      plain(job.user ?? ''),
      job.class,
      paintStanding(job, paint),
      formatCount(completed),
      formatCount(total),
      failed === 0 ? '' : paint.red(formatCount(failed)),
      ago(now - job.submittedAt),
      tookMs === undefined ? '' : `${formatDuration(Math.max(0, tookMs))}${hasEnded ? '' : ' so far'}`,
      ...(hasEnds ? [endWords(job, now)] : []),
      ...(hasDeadlines ? [deadlineWords(job, now)] : []),
    ];
  });
  const columns = [...COLUMNS, ...(hasEnds ? [ENDS] : []), ...(hasDeadlines ? [DEADLINE] : [])];
  return renderTable(columns, rows, paint);
}
