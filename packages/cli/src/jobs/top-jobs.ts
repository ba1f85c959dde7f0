import { type Column, type Painter, plain, renderTable } from '@goshawk/command';
import { counted, expectedEndOf, formatCount, isFinal, type JobSummary, type Millis } from '@goshawk/core';
import type { TopList, TopRow } from './live-top.js';
import { clockTime } from './local-time.js';
import { deadlineWords, tookWords } from './words.js';

/** Renders jobs for `goshawk top`: fewer columns than `goshawk jobs`, so that names stay readable. @param now wall clock */
export function jobRows(jobs: readonly JobSummary[], now: Millis, paint: Painter): TopList {
  if (jobs.length === 0) return { head: '', rows: [] };
  const [head = '', ...lines] = renderTable(columnsFor(jobs, now), jobs, paint).split('\n');
  return { head, rows: jobs.map((job, index) => rowOf(job, lines[index] ?? '', now)) };
}

function columnsFor(jobs: readonly JobSummary[], now: Millis): readonly Column<JobSummary>[] {
  const ends = ({ state, endedMs, submittedAt, ...job }: JobSummary): string => {
    if (isFinal(state)) return endedMs === undefined ? '' : `${clockTime(submittedAt + endedMs, now)} ended`;
    const end = expectedEndOf({ ...job, state }, now);
    return end === undefined ? 'unknown' : clockTime(end.at, now);
  };
  return [
    { title: 'id', of: ({ id }) => id },
    { title: 'name', shrinkTo: 16, of: ({ name }) => plain(name) },
    { title: 'user', shrinkTo: 8, expendable: 3, of: ({ user = '' }) => plain(user) },
    {
      title: 'state',
      of: ({ state, held, beginAt }) => (held ? 'held' : beginAt === undefined ? state : 'later'),
    },
    {
      title: 'done',
      align: 'right',
      of: ({ tasks }) => `${formatCount(tasks.completed)}/${formatCount(tasks.total)}`,
    },
    {
      title: 'failed',
      align: 'right',
      expendable: 1,
      of: ({ tasks: { failed } }) => (failed === 0 ? '' : formatCount(failed)),
    },
    { title: 'ends', align: 'right', expendable: 0, of: ends },
    ...(jobs.some(({ deadlineMs }) => deadlineMs !== undefined)
      ? [{ title: 'deadline', expendable: 2, of: (job: JobSummary) => deadlineWords(job, now) }]
      : []),
    { title: 'class', expendable: 5, of: (job) => job.class },
    { title: 'took', align: 'right', expendable: 4, of: (job) => tookWords(job, now) },
  ];
}

function rowOf(job: JobSummary, line: string, now: Millis): TopRow {
  const { id, name, user = '', state, tasks, held, submittedAt } = job;
  const hasEnded = isFinal(state);
  const isHeld = held === true || job.beginAt !== undefined;
  const tone =
    state === 'failed' ? 'red' : hasEnded ? 'dim' : isHeld || tasks.failed > 0 ? 'yellow' : undefined;
  const end = expectedEndOf(job, now);
  return {
    name: id,
    line,
    hasEnded,
    isHeld,
    ...(tone === undefined ? {} : { tone }),
    note: [
      ...(tasks.waiting > 0 ? [`${counted(tasks.waiting, 'waiting task')} will not start`] : []),
      ...(tasks.running > 0 ? [`${counted(tasks.running, 'running task')} will be killed`] : []),
    ].join(', '),
    by: {
      ...{ name, user, state },
      waiting: -tasks.waiting,
      running: -tasks.running,
      failed: -tasks.failed,
      // Unknown ends come last.
      ends: end?.at ?? Number.MAX_SAFE_INTEGER,
      submitted: -submittedAt,
    },
  };
}
