import {
  COMPLETED,
  type JobRecord,
  type JobRecordOf,
  type JobSpec,
  NO_USAGE,
  parseJobSpec,
} from '@goshawk/core';
import type { Journal } from './contract.js';
import type { Damaged } from './reading.js';

/** The whole content of a journal. */
export function recordsOf(
  journal: Pick<Journal, 'entries'>,
  onDamage: (damaged: Damaged) => void = ({ problem }) => {
    throw new Error(`a record is damaged: ${problem}`);
  },
): JobRecord[] {
  return Array.from(journal.entries(onDamage), ([, record]) => record);
}

const AT = 1_800_000_000_000;

const SPEC: JobSpec = parseJobSpec({
  name: 'thumbnails',
  user: 'ada',
  stages: [
    {
      name: 'cut',
      tasks: [{ exec: ['convert', 'a.png'], stdin: 'x' }, { sleep: 5 }],
      demand: { memory: '1GiB' },
    },
    {
      name: 'join',
      after: ['cut'],
      tasks: { count: 3, run: { module: './join.js', input: { deep: [1, null] } } },
    },
  ],
  estimate: '2s',
  retries: 2,
});

export function accepted(
  job: number,
  fields: Partial<JobRecordOf<'accepted'>> = {},
): JobRecordOf<'accepted'> {
  return {
    kind: 'accepted',
    job,
    at: AT + job,
    key: `key-${job}`,
    spec: SPEC,
    class: 'short',
    classifiedBy: 'given',
    route: { by: 'probing', over: 'all' },
    ...fields,
  };
}

export function attempt(job: number, task: number, value?: unknown): JobRecordOf<'attempt'> {
  return {
    kind: 'attempt',
    job,
    at: AT + job + 100,
    task,
    attempt: 1,
    outcome: { ...COMPLETED, value, exitCode: 0 },
    worker: 'w1',
    runMs: 12.5,
  };
}

export function ended(job: number): JobRecordOf<'ended'> {
  return { kind: 'ended', job, at: AT + job + 200, state: 'completed' };
}

export function forgotten(job: number): JobRecordOf<'forgotten'> {
  return { kind: 'forgotten', job, at: AT + job + 300 };
}

/** One of each kind. */
export const EVERY_RECORD: readonly JobRecord[] = [
  accepted(1),
  {
    kind: 'classified',
    job: 1,
    at: AT + 2,
    class: 'long',
    classifiedBy: 'pilot',
    route: { by: 'central', over: 'general' },
    estimateMs: 981_000,
  },
  attempt(1, 0, { sum: 42, text: 'é' }),
  { kind: 'resumed', job: 1, at: AT + 140 },
  { kind: 'declined', job: 1, at: AT + 145, task: 1, attempt: 3 },
  { kind: 'cancelled', job: 1, at: AT + 150 },
  { kind: 'ended', job: 1, at: AT + 201, state: 'cancelled' },
  { kind: 'schedulers', job: 0, at: AT + 150, names: ['s1', 's2'] },
  { kind: 'passed', job: 1, at: AT + 160, after: 's2-7' },
  { kind: 'updated', job: 1, at: AT + 170, held: true, beginAt: AT + 9_000, priority: 'high' },
  {
    kind: 'retried',
    job: 1,
    at: AT + 170,
    key: 'again',
    choice: { failedOnly: undefined, tasks: [{ first: 3, last: 7 }] },
  },
  { kind: 'appended', job: 1, at: AT + 170, first: 2, tasks: [{ sleep: 5 }], digest: 'd1', close: true },
  { kind: 'tasksCancelled', job: 1, at: AT + 180, tasks: [{ first: 3, last: 7 }] },
  { kind: 'notified', job: 1, at: AT + 202, ends: 1 },
  {
    kind: 'usage',
    job: 0,
    at: AT + 190,
    period: 2,
    rows: [{ day: 20_800, user: 'ada', ...NO_USAGE, attempts: 2, completed: 2, runMs: 12.5, cpuMs: 25 }],
  },
];

const AT_THE_END: readonly JobRecord['kind'][] = ['ended', 'notified'];

/** The same records in a valid order: only its notification follows the end of a job. */
export const EVERY_KIND: readonly JobRecord[] = [
  ...EVERY_RECORD.filter(({ kind }) => !AT_THE_END.includes(kind)),
  ...EVERY_RECORD.filter(({ kind }) => AT_THE_END.includes(kind)),
];

/** The same records in the order in which a journal returns them. */
export const EVERY_KIND_BY_JOB: readonly JobRecord[] = EVERY_KIND.toSorted((a, b) => a.job - b.job);
