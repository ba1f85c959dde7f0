import { cellWidth, painter } from '@goshawk/command';
import { expect, it } from 'vitest';
import { jobSummary, taskCounts } from './jobs.fixture.js';
import { jobsTable } from './jobs-table.js';

const submittedAt = 1_000_000;
const screen = (columns: number) => painter({ color: false, columns });
const jobs = [
  jobSummary({
    id: 'k3-12',
    name: 'a very long name of a job that nobody can read at a glance',
    state: 'running',
    submittedAt: submittedAt - 90_000,
    endedMs: undefined,
    tasks: taskCounts({ completed: 9_000, running: 100, waiting: 899, failed: 1 }),
  }),
  jobSummary({ name: '数据', user: undefined, submittedAt: submittedAt - 3_700_000 }),
];

it('is aligned', () => {
  expect(jobsTable(jobs, submittedAt, screen(120))).toBe(
    [
      'id     name                                  user  class  state       done   tasks  failed  submitted               took',
      'k3-12  a very long name of a job that nobo…  ann   short  running    9,000  10,000       1  1 min ago  1 min 30 s so far',
      'a1-3   数据                                        short  completed    200     200            1 h ago              5.2 s',
    ].join('\n'),
  );
});

it.each([70, 80, 100])('fits %d columns', (columns) => {
  const lines = jobsTable(jobs, submittedAt, screen(columns)).split('\n');
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
  expect(lines[1]).toMatch(/^k3-12 {2}a ver.*running +9,000 +10,000 +1 .*1 min 30 s so far$/);
});

it('fits 60 columns, with ids as they are after a restart', () => {
  const long = jobs.map((job) => ({ ...job, id: 'yf2yv-703406208' }));
  const lines = jobsTable(long, submittedAt, screen(60)).split('\n');
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
  expect(lines[1]).toMatch(/^yf2yv-703406208 {2}a very .*running +9,000 +10,000 +1$/);
});

it.each([44, 50])('fits %d columns without columns that `goshawk job` shows', (columns) => {
  const lines = jobsTable(jobs, submittedAt, screen(columns)).split('\n');
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
  expect(lines[0]).toMatch(/^id +name +state +done +tasks/);
});

it('fits 40 columns, with jobs on hold and deadlines', () => {
  const held = { state: 'waiting' as const, held: true, tasks: taskCounts({ waiting: 1_000_000 }) };
  const more = [
    jobSummary({ ...held, id: '4dw2w-383405809' }),
    jobSummary({ deadlineMs: 50_000, submittedAt }),
  ];
  const lines = jobsTable([...jobs, ...more], submittedAt, screen(40)).split('\n');
  for (const line of lines) expect(cellWidth(line)).toBeLessThanOrEqual(40);
  expect(lines[0]).toMatch(/^id +name +state/);
  const later = jobsTable(
    [jobSummary({ ...held, held: false, beginAt: submittedAt + 1, id: '4dw2w-383405809' })],
    0,
    screen(40),
  );
  for (const line of later.split('\n')) expect(cellWidth(line)).toBeLessThanOrEqual(40);
});

it('has a column for deadlines if a job has one', () => {
  const waiting = { state: 'waiting' as const, endedMs: undefined, submittedAt };
  const deadlines = [
    jobSummary({ ...waiting, deadlineMs: 60_000 }),
    jobSummary({ ...waiting, deadlineMs: 60_000, submittedAt: submittedAt - 70_000 }),
    jobSummary({ deadlineMs: 6_000, submittedAt }),
    jobSummary({ deadlineMs: 5_000, submittedAt }),
    jobSummary({ submittedAt }),
  ];
  const lines = jobsTable(deadlines, submittedAt, screen(140)).split('\n');
  const endings = ['deadline', 'in 1 min 0 s', 'missed', 'met', 'missed', '5.2 s'];
  for (const [row, ending] of endings.entries()) expect(lines[row]!.endsWith(ending)).toBe(true);
});
