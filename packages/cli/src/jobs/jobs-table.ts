import { type Column, type Painter, paintJobState, plain, renderTable } from '@goshawk/command';
import { ago, expectedEndOf, formatCount, type JobSummary, type Millis } from '@goshawk/core';
import { deadlineWords, endWords, tookWords } from './words.js';

/** @param now wall clock, ms since 1970 */
export function jobsTable(jobs: readonly JobSummary[], now: Millis, paint: Painter): string {
  const columns: Column<JobSummary>[] = [
    { title: 'id', of: ({ id }) => id },
    { title: 'name', shrinkTo: 7, expendable: 0, of: ({ name }) => plain(name) },
    { title: 'user', expendable: 8, of: ({ user = '' }) => plain(user) },
    { title: 'class', expendable: 7, of: (job) => job.class },
    { title: 'state', of: (job) => paintJobState(job, paint) },
    { title: 'done', align: 'right', expendable: 2, of: ({ tasks }) => formatCount(tasks.completed) },
    { title: 'tasks', align: 'right', expendable: 1, of: ({ tasks }) => formatCount(tasks.total) },
    {
      title: 'failed',
      align: 'right',
      expendable: 4,
      of: ({ tasks: { failed } }) => (failed === 0 ? '' : paint.red(formatCount(failed))),
    },
    { title: 'submitted', align: 'right', expendable: 6, of: ({ submittedAt }) => ago(now - submittedAt) },
    { title: 'took', align: 'right', expendable: 5, of: (job) => tookWords(job, now) },
  ];
  if (jobs.some((job) => expectedEndOf(job, now) !== undefined))
    columns.push({ title: 'ends', align: 'right', expendable: 9, of: (job) => endWords(job, now) });
  if (jobs.some(({ deadlineMs }) => deadlineMs !== undefined))
    columns.push({ title: 'deadline', align: 'right', expendable: 3, of: (job) => deadlineWords(job, now) });
  return renderTable(columns, jobs, paint);
}
