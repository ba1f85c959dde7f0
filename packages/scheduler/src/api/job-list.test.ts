import {
  isFinal,
  JOB_STATES,
  type JobCursor,
  type JobState,
  type JobSummary,
  type MessageOf,
  matchesGlob,
  NOBODY,
} from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Job } from '../job/job.js';
import { type JobListing, listJobs } from './job-list.js';

/** A wall clock that rounds the sums of times. */
const WALL_OFFSET_MS = 1_764_000_000_000.123;

interface Logged {
  readonly number: number;
  readonly state: JobState;
  readonly name: string;
  readonly user: string | undefined;
  readonly acceptedAt: number;
  readonly ranMs: number;
  readonly isAway: boolean;
  readonly isHeld?: boolean;
  /** Workers of its tasks; undefined: the task has not started. */
  readonly workers?: readonly (string | undefined)[];
  readonly unsuccessful?: readonly Unsuccessful[];
}

interface Unsuccessful {
  readonly worker: string;
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
}

const WORKERS = ['w1', 'w2', 'gpu-1'];

/** A scheduler's jobs, some of which have ended and are only in the journal. */
function partsOf(log: readonly Logged[]) {
  const jobs = log.map(({ number, state, name, user, acceptedAt, ranMs, isAway, ...more }) => ({
    ...{ number, id: `s-${number}`, state, acceptedAt, isAway, isHeld: more.isHeld === true },
    tasks: {
      count: more.workers?.length ?? 0,
      workerOf: (task: number) => WORKERS.indexOf(more.workers?.[task] ?? '') + NOBODY + 1,
    },
    history: { reports: { unsuccessful: more.unsuccessful ?? [] } },
    times: { endedAt: isFinal(state) ? acceptedAt + ranMs : undefined },
    spec: { name, user },
  }));
  const ended = jobs
    .filter(({ times }) => times.endedAt !== undefined)
    .sort((one, other) => other.times.endedAt! - one.times.endedAt!);
  return {
    config: { wallOffsetMs: WALL_OFFSET_MS },
    cluster: { nameOf: (at: number) => WORKERS[at - NOBODY - 1] },
    jobs: {
      active: () => jobs.filter(({ state }) => !isFinal(state)),
      endedNewestFirst: (states: readonly JobState[]) =>
        ended.filter(({ isAway, state }) => !isAway && states.includes(state)),
      archivedNewestFirst: (states: readonly JobState[]) =>
        ended
          .filter(({ isAway, state }) => isAway && states.includes(state))
          .map(({ spec: { user }, number, state, times: { endedAt } }) => ({ number, state, endedAt, user })),
      readArchived: ({ number }: { number: number }) => jobs.find((job) => job.number === number),
      endedCount: (of: JobState) => ended.filter(({ state }) => state === of).length,
    },
  } as unknown as Parameters<typeof listJobs>[0];
}

const summaryOf = ({ id, state, acceptedAt, times }: Job) =>
  ({
    ...{ id, state, submittedAt: acceptedAt + WALL_OFFSET_MS },
    endedMs: times.endedAt === undefined ? undefined : times.endedAt - acceptedAt,
  }) as JobSummary;

function listed(
  log: readonly Logged[],
  message: MessageOf<'listJobs'>,
  isOwner?: Parameters<typeof listJobs>[3],
): JobListing {
  return listJobs(partsOf(log), summaryOf, message, isOwner, 0);
}

const logs = fc.uniqueArray(
  fc.record<Logged>({
    number: fc.nat(10_000),
    state: fc.constantFrom(...JOB_STATES),
    name: fc.constantFrom('etl-1', 'etl-2', 'train'),
    user: fc.constantFrom('ann', 'bob', undefined),
    acceptedAt: fc.oneof(fc.nat(20), fc.double({ min: 0, max: 1e6, noNaN: true })),
    ranMs: fc.oneof(fc.nat(5), fc.double({ min: 0, max: 1e6, noNaN: true })),
    isAway: fc.boolean(),
  }),
  { selector: ({ number }) => number, maxLength: 300 },
);

function cancelled(number: number, ranMs: number, isAway = false): Logged {
  return { number, state: 'cancelled', name: 'etl-1', user: 'ann', acceptedAt: 0, ranMs, isAway };
}

const ask = (more: Partial<MessageOf<'listJobs'>>): MessageOf<'listJobs'> => ({
  ...{ type: 'listJobs', request: 1, user: undefined, states: [], where: undefined },
  ...{ endedMax: 1_000, jobsMax: 1_000, ...more },
});

describe('a list of jobs', () => {
  test('contains each job of the event log once, page by page, and counts them by state', () => {
    fc.assert(
      fc.property(
        logs,
        fc.constantFrom(1, 2, 7, 50),
        fc.constantFrom([], ['failed'] as const, ['waiting', 'completed'] as const),
        fc.constantFrom(undefined, 'etl*', 'nothing'),
        fc.constantFrom(undefined, 'ann'),
        fc.constantFrom(undefined, WALL_OFFSET_MS + 10),
        (log, jobsMax, states, name, user, since) => {
          const fits = log.filter(
            (job) =>
              (name === undefined || matchesGlob(name, job.name)) &&
              (user === undefined || job.user === user) &&
              (since === undefined ||
                !isFinal(job.state) ||
                job.acceptedAt + job.ranMs >= since - WALL_OFFSET_MS),
          );
          const wanted = fits.filter(
            ({ state }) => states.length === 0 || (states as readonly string[]).includes(state),
          );
          const isOwner = user === undefined ? undefined : (of?: string) => of === user;
          const seen: string[] = [];
          let after: JobCursor | undefined;
          for (let pages = 0; pages < 1_000; pages++) {
            const where = {
              ...(name === undefined ? {} : { name }),
              ...(since === undefined ? {} : { since }),
              ...(after === undefined ? {} : { after }),
            };
            const page = listed(log, ask({ states, where, jobsMax }), isOwner);
            seen.push(...page.jobs.map(({ id }) => id));
            if (name === undefined) {
              expect(page.total).toBe(wanted.length);
              for (const state of JOB_STATES)
                expect(page.counts[state]).toBe(fits.filter((job) => job.state === state).length);
            }
            if (page.reached === undefined) break;
            after = page.reached;
          }
          expect(seen.toSorted()).toEqual(wanted.map(({ number }) => `s-${number}`).toSorted());
        },
      ),
      {
        numRuns: 300,
        examples: [
          // The first two ends are equal on a rounded wall clock, and only one of the jobs is in memory.
          [
            [cancelled(0, 999_999.999_877_929_7, true), cancelled(1, 999_999.999_877_929_8), cancelled(2, 0)],
            1,
            [],
            undefined,
            undefined,
            undefined,
          ],
        ],
      },
    );
  });

  test('has jobs on each of its pages, although sums of times are rounded', () => {
    const time = fc.integer({ min: 0, max: 1e9 }).map((at) => at / 1_013);
    fc.assert(
      fc.property(fc.array(fc.tuple(time, time), { minLength: 2, maxLength: 5 }), (times) => {
        const log = times.map(([acceptedAt, ranMs], number) => ({ ...cancelled(number, ranMs), acceptedAt }));
        expect(listed(log, ask({ jobsMax: 1 })).jobs).toHaveLength(1);
      }),
    );
  });

  test('begins with active jobs, oldest first, and continues with ended ones, latest first', () => {
    const job = (number: number, state: JobState, acceptedAt: number, ranMs = 0): Logged => ({
      ...{ number, state, acceptedAt, ranMs, name: 'x', user: undefined, isAway: number % 2 === 0 },
    });
    const log = [
      job(1, 'completed', 0, 5),
      job(2, 'failed', 0, 9),
      job(3, 'running', 4),
      job(5, 'waiting', 2),
    ];
    const { jobs } = listed(log, ask({}));
    expect(jobs.map(({ id }) => id)).toEqual(['s-5', 's-3', 's-2', 's-1']);
  });
});

test('with the filter `held`, only unfinished jobs on hold are listed and counted', () => {
  const job = { name: 'job', user: undefined, acceptedAt: 1, ranMs: 1, isAway: false };
  const log: Logged[] = [
    { ...job, number: 1, state: 'waiting', isHeld: true },
    { ...job, number: 2, state: 'running' },
    { ...job, number: 3, state: 'completed', isHeld: true },
    { ...job, number: 4, state: 'completed', isAway: true },
  ];
  const message = {
    type: 'listJobs',
    request: 1,
    states: [],
    user: undefined,
    endedMax: 10,
    jobsMax: 10,
  } as const;
  const { jobs, total } = listed(log, { ...message, where: { held: true } } as MessageOf<'listJobs'>);
  expect(jobs.map(({ id }) => id)).toEqual(['s-1']);
  expect(total).toBe(1);
});

test('the filters `worker`, `exit` and `until` list the jobs of which they are true, in memory and in the journal', () => {
  const worker = fc.constantFrom(...WORKERS);
  const end = fc.constantFrom<Omit<Unsuccessful, 'worker'>>(
    ...[{ exitCode: 1 }, { exitCode: 137 }, { signal: 'SIGKILL' }, { exitCode: 3 }, {}],
  );
  const attempts = fc.array(
    fc.tuple(worker, end).map(([at, how]) => ({ worker: at, ...how })),
    { maxLength: 3 },
  );
  const tasks = fc.array(fc.option(worker, { nil: undefined }), { maxLength: 3 });
  const detailed = logs.chain((log) =>
    fc.tuple(
      ...log.map((job) =>
        fc.record({ workers: tasks, unsuccessful: attempts }).map((more) => ({ ...job, ...more })),
      ),
    ),
  );
  fc.assert(
    fc.property(
      detailed,
      fc.option(fc.constantFrom('w1', 'w*', 'none'), { nil: undefined }),
      fc.option(fc.constantFrom(1, 137, 9), { nil: undefined }),
      fc.option(fc.nat(30), { nil: undefined }),
      (log, at, exit, until) => {
        const codeOf = ({ exitCode, signal }: Unsuccessful) => (signal === 'SIGKILL' ? 137 : exitCode);
        const fits = log.filter(({ workers, unsuccessful, acceptedAt }) => {
          const places = [...workers, ...unsuccessful.map((attempt) => attempt.worker)];
          return (
            (at === undefined || places.some((one) => one !== undefined && matchesGlob(at, one))) &&
            (exit === undefined || unsuccessful.some((attempt) => codeOf(attempt) === exit)) &&
            (until === undefined || acceptedAt + WALL_OFFSET_MS <= until + WALL_OFFSET_MS)
          );
        });
        const where = {
          ...(at === undefined ? {} : { worker: at }),
          ...(exit === undefined ? {} : { exit }),
          ...(until === undefined ? {} : { until: until + WALL_OFFSET_MS }),
        };
        const seen: string[] = [];
        for (let after: JobCursor | undefined, pages = 0; pages < 100; pages++) {
          const page = listed(log, ask({ where: { ...where, ...(after && { after }) }, jobsMax: 50 }));
          seen.push(...page.jobs.map(({ id }) => id));
          after = page.reached;
          if (after === undefined) break;
        }
        expect(seen.toSorted()).toEqual(fits.map(({ number }) => `s-${number}`).toSorted());
      },
    ),
  );
});
