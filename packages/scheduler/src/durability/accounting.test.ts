import {
  COMPLETED,
  groupedUsage,
  KILL_OUTCOMES,
  LIMITS,
  latestBooks,
  type MessageOf,
  NO_USAGE,
  Random,
  type UsageGroup,
  type UsageRow,
} from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { DurableBench, FAILED } from '../durable.fixture.js';
import { daysOfRun } from '../job/job-usage.js';
import { CENTRAL, CLIENT, joined, W1, W2 } from '../lone-scheduler.fixture.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** 2027-01-15, as the bench's clock begins at 08:00 UTC. */
const DAY0 = Math.floor(1_800_000_000_000 / DAY);
const UNTIL_MIDNIGHT = (DAY0 + 1) * DAY - 1_800_000_000_000;
const CANCELLED = { ...COMPLETED, kind: 'cancelled', errorCode: 'cancelled' } as const;
const PREEMPTED = { ...COMPLETED, kind: 'lost', errorCode: 'preempted' } as const;

function usage(
  bench: DurableBench,
  by: readonly UsageGroup[] = ['user'],
  filter: Partial<MessageOf<'readUsage'>> = {},
): readonly UsageRow[] {
  bench.commit();
  bench.take();
  // Each report uses a part of the budget of queries.
  bench.now += 20;
  bench.receive(CLIENT, {
    ...{ type: 'readUsage', request: 9, by, since: undefined, until: undefined },
    ...{ user: undefined, project: undefined, name: undefined, ...filter },
  });
  const { value } = bench.take().find((message) => message.type === 'usageBooks')!;
  return groupedUsage(
    latestBooks(value).flatMap(({ rows }) => rows),
    by,
  );
}

/** The next task of the job runs for this time and ends. */
function run(bench: DurableBench, job: number, ms: number, outcome = COMPLETED, worker = W1): void {
  const task = bench.ask(worker, job)!;
  bench.now += ms;
  bench.end(worker, task, outcome, ms);
  bench.commit();
}

function bench(startedAt = 0, ...rest: ConstructorParameters<typeof DurableBench>[3][]): DurableBench {
  const made = new DurableBench(undefined, startedAt, true, ...rest);
  made.members(W1, W2);
  return made;
}

/** The next incarnation, at the same wall clock. */
function restarted(before: DurableBench, startedAt = 0): DurableBench {
  const after = new DurableBench(before.inheritance(), startedAt + before.now);
  after.members(W1, W2);
  return after;
}

test('every attempt counts with its requested resources, however it ended', () => {
  const there = bench();
  const demand = { cpu: 2, memory: 2 ** 31, gpu: 1 };
  there.accept({ user: 'ann', retries: 3, stages: [{ name: 'a', tasks: [{ sleep: 1 }], demand }] });
  there.commit();
  there.now = 1_000;
  run(there, 1, 10_000, FAILED);
  there.now += 60_000;
  there.scheduler.wake('retry', 1, there.now);
  run(there, 1, 20_000, PREEMPTED, W2);
  run(there, 1, 30_000, COMPLETED, W2);
  expect(usage(there)).toEqual([
    {
      ...NO_USAGE,
      ...{ user: 'ann', attempts: 3, completed: 1, failed: 1, preempted: 1 },
      ...{
        runMs: 60_000,
        cpuMs: 120_000,
        cpuUnknownMs: 60_000,
        memoryMs: 120_000,
        gpuMs: 60_000,
        waits: 1,
        waitMs: 1_000,
      },
    },
  ]);
});

test('usage and durations stay the same after a restart at which the wall clock is set back', () => {
  const there = bench();
  there.submit({ user: 'ann', tasks: [{ sleep: 1 }] });
  there.commit();
  there.now = 1_000;
  run(there, 1, 10_000);
  const before = usage(there);
  const after = new DurableBench({ ...there.inheritance(), now: 0 }, -2 * DAY);
  expect(usage(after)).toEqual(before);
  after.receive(CLIENT, { type: 'describeJob', request: 3, id: 's-1', spec: false });
  const { value } = after.take().find((message) => message.type === 'jobDetail')!;
  expect(value).toMatchObject({ firstStartMs: 1_000, endedMs: 11_000 });
});

test('attempts that a draining or stopping worker kills count as lost, as in the counts of their job', () => {
  const there = bench();
  there.submit({ user: 'ann', tasks: [{ sleep: 1 }] });
  there.commit();
  run(there, 1, 10_000, KILL_OUTCOMES.drained);
  run(there, 1, 10_000, KILL_OUTCOMES.shutdown, W2);
  expect(usage(there)).toMatchObject([{ attempts: 2, cancelled: 0, lost: 2 }]);
});

test('a task that requests nothing counts one CPU, and its memory is unknown', () => {
  const there = bench();
  there.submit({ user: 'ann', tasks: [{ sleep: 1 }] });
  there.commit();
  run(there, 1, 1_000);
  expect(usage(there)).toMatchObject([{ cpuMs: 1_000, memoryMs: 0, memoryUnknownMs: 1_000, gpuMs: 0 }]);
});

test('measured CPU time is summed, and run time without it is summed separately, also after a restart', () => {
  const there = bench();
  there.submit({ user: 'ann', retries: 3, tasks: [{ sleep: 1 }, { sleep: 1 }, { sleep: 1 }] });
  there.commit();
  run(there, 1, 1_000, { ...COMPLETED, cpuMs: 700 });
  run(there, 1, 2_000, FAILED);
  run(there, 1, 4_000, { ...COMPLETED, cpuMs: 9_000 });
  const expected = [{ cpuMs: 7_000, cpuUsedMs: 9_700, cpuUnknownMs: 2_000 }];
  expect(usage(there)).toMatchObject(expected);
  expect(usage(restarted(there))).toMatchObject(expected);
});

test('a task that requests only memory counts one CPU, as in scheduling', () => {
  const there = bench();
  const stages = [{ name: 'a', tasks: [{ sleep: 1 }], demand: { memory: 2 ** 30 } }];
  there.accept({ user: 'ann', stages });
  there.commit();
  run(there, 1, 1_000);
  const expected = [{ runMs: 1_000, cpuMs: 1_000, memoryMs: 1_000 }];
  expect(usage(there)).toMatchObject(expected);
  expect(usage(restarted(there))).toMatchObject(expected);
});

test('a run across midnight counts on both days, and as an attempt on the day of its end', () => {
  const there = bench();
  there.submit({ user: 'ann', tasks: [{ sleep: 1 }] });
  there.commit();
  there.now = UNTIL_MIDNIGHT - HOUR;
  run(there, 1, 3 * HOUR, { ...COMPLETED, cpuMs: 3_000 });
  const days = [
    { day: DAY0, runMs: HOUR, attempts: 0, cpuUsedMs: 1_000 },
    { day: DAY0 + 1, runMs: 2 * HOUR, attempts: 1, cpuUsedMs: 2_000 },
  ];
  expect(usage(there, ['day'])).toMatchObject(days);
  expect(usage(restarted(there), ['day'])).toMatchObject(days);
  expect(usage(there, ['day'], { since: DAY0 + 1 })).toMatchObject(days.slice(1));
  expect(usage(there, ['day'], { until: DAY0 })).toMatchObject(days.slice(0, 1));
});

test('a user without rights for others sees only own usage', () => {
  let only: string | undefined;
  const rights = ['read-own'] as const;
  const there = new DurableBench(
    undefined,
    0,
    true,
    {},
    {
      clientKeyOf: () => (only === undefined ? undefined : { name: only, rights }),
    },
  );
  there.members(W1);
  for (const [at, user] of ['ann', 'bob'].entries()) {
    there.submit({ user, tasks: [{ sleep: 1 }] }, user);
    there.commit();
    run(there, at + 1, 1_000);
  }
  only = 'ann';
  expect(usage(there).map(({ user }) => user)).toEqual(['ann']);
  expect(usage(there, ['user'], { user: 'bob' })).toEqual([]);
  expect(usage(there, [])).toMatchObject([{ attempts: 1 }]);
});

test('a job counts for the project that its user had when it was accepted', () => {
  const there = bench();
  const project = (of: string | undefined) =>
    there.receive(CENTRAL, {
      type: 'limits',
      holders: [{ holder: 'ann', ...(of === undefined ? {} : { project: of }) }],
      elsewhere: [],
      projectsElsewhere: [],
      part: undefined,
    });
  project('lab');
  there.submit({ user: 'ann', tasks: [{ sleep: 1 }] });
  there.commit();
  project('shop');
  run(there, 1, 1_000);
  expect(usage(there, ['project'])).toMatchObject([{ project: 'lab' }]);
  expect(usage(restarted(there), ['project'])).toMatchObject([{ project: 'lab' }]);
});

test('a start that failed on one worker and succeeded on another is one attempt', () => {
  const there = bench();
  there.submit({ user: 'ann', tasks: [{ sleep: 1 }] });
  there.commit();
  run(there, 1, 0, { ...COMPLETED, kind: 'lost', errorCode: 'no-such-folder' });
  run(there, 1, 1_000, COMPLETED, W2);
  expect(usage(there)).toMatchObject([{ attempts: 1, completed: 1, lost: 0, runMs: 1_000, waits: 1 }]);
  expect(usage(restarted(there))).toMatchObject([{ attempts: 1, completed: 1, lost: 0 }]);
  expect(there.scheduler.counters.lost).toBe(0);
});

describe('an attempt on a lost worker', () => {
  function lost(silentMs?: number[]) {
    const there = bench();
    there.submit({ user: 'ann', tasks: [{ sleep: 1 }] });
    there.commit();
    const task = there.ask(W1, 1)!;
    there.commit();
    there.now = 5_000;
    there.receive(CENTRAL, { ...joined(2, []), since: 1, left: [W1], silentMs } as never);
    there.commit();
    return { there, task };
  }

  test('counts until the loss was noticed', () => {
    expect(usage(lost().there)).toMatchObject([{ attempts: 1, lost: 1, runMs: 5_000 }]);
  });

  test('counts until central last heard its worker, also after a restart', () => {
    const { there } = lost([4_200]);
    const expected = [{ attempts: 1, lost: 1, runMs: 800, cpuMs: 800 }];
    expect(usage(there)).toMatchObject(expected);
    expect(usage(restarted(there))).toMatchObject(expected);
  });

  test('starts and waits as it did, not later by the silence of its worker, also after a restart', () => {
    const { there } = lost([4_200]);
    for (const each of [there, restarted(there)]) {
      each.take();
      each.receive(CLIENT, { type: 'describeJob', request: 9, id: 's-1', spec: false });
      const { value } = each.take().find((message) => message.type === 'jobDetail')!;
      expect(value.startedMs).toBe(0);
      expect(value.attemptList).toMatchObject([{ startedMs: 0, runMs: 800 }]);
    }
  });

  test.each([
    [3_000, undefined],
    [9_000, undefined],
    [3_000, 100],
    [5_000, 100],
    [9_000, 100],
  ])(
    'counts with its real run time of %d ms and CPU time of %s ms once the worker reports it',
    (runMs, cpuMs) => {
      const { there, task } = lost();
      expect(usage(there)).toMatchObject([{ cpuUsedMs: 0, cpuUnknownMs: 5_000 }]);
      there.now = 20_000;
      for (let times = 0; times < 2; times++) there.end(W1, task, { ...CANCELLED, cpuMs }, runMs);
      const used = { cpuUsedMs: cpuMs ?? 0, cpuUnknownMs: cpuMs === undefined ? runMs : 0 };
      const expected = [{ attempts: 1, lost: 1, runMs, cpuMs: runMs, ...used }];
      expect(usage(there)).toMatchObject(expected);
      expect(usage(restarted(there))).toMatchObject(expected);
    },
  );
});

test('an attempt of a job that was cancelled before a restart counts when its worker ends it', () => {
  const before = bench();
  before.submit({ user: 'ann', tasks: [{ sleep: 1 }] });
  before.commit();
  const { job, task, attempt } = before.ask(W1, 1)!;
  before.now = 1_000;
  before.receive(CLIENT, { type: 'cancelJob', request: 5, id: 's-1' });
  before.commit();
  const after = restarted(before);
  after.receive(W1, {
    type: 'holding',
    audit: 0,
    tasks: [{ job, task, attempt, elapsedMs: 1_000, match: undefined }],
  });
  after.now = 500;
  after.end(W1, { job, task, attempt }, CANCELLED, 1_500);
  const expected = [{ attempts: 1, cancelled: 1, runMs: 1_500, cpuMs: 1_500 }];
  expect(usage(after)).toMatchObject(expected);
  expect(usage(restarted(after, 1_000))).toMatchObject(expected);
});

test('jobs of journals from before the accounting count once', () => {
  const before = bench();
  before.submit({ user: 'ann', tasks: [{ sleep: 1 }] });
  before.commit();
  run(before, 1, 1_000);
  expect(before.records.find(({ kind }) => kind === 'ended')).not.toHaveProperty('period', 0);
  const kept = { endedJobsMax: 0 };
  const after = new DurableBench(before.inheritance(), before.now, true, kept);
  after.now = 3 * LIMITS.endedAgeMinMs;
  after.scheduler.wake('heartbeat', 0, after.now);
  after.commit();
  const kinds = after.records.map(({ kind }) => kind);
  expect(kinds.indexOf('usage')).toBeLessThan(kinds.indexOf('forgotten'));
  expect(usage(after)).toMatchObject([{ attempts: 1, runMs: 1_000 }]);
  const last = restarted(after);
  expect(usage(last)).toMatchObject([{ attempts: 1, runMs: 1_000 }]);
});

test('the usage of a discarded journal is kept, and counts once even beside that journal', () => {
  const gone = new DurableBench(undefined, 0, true, { tag: 'gone', epoch: 2 });
  gone.members(W1);
  gone.submit({ user: 'ann', tasks: [{ sleep: 1 }] });
  gone.commit();
  run(gone, 1, 1_000);
  const keeper = bench();
  let isKept = false;
  keeper.scheduler.keepUsage(gone.scheduler.usageBooks, () => (isKept = true), keeper.now);
  expect(isKept).toBe(false);
  keeper.commit();
  expect(isKept).toBe(true);
  const next = restarted(keeper);
  for (const each of [keeper, next]) expect(usage(each)).toMatchObject([{ attempts: 1, runMs: 1_000 }]);
  const again = new DurableBench(gone.inheritance(), gone.now, true, { tag: 'gone', epoch: 3 });
  const books = latestBooks([...next.scheduler.usageBooks, ...again.scheduler.usageBooks]);
  expect(
    groupedUsage(
      books.flatMap(({ rows }) => rows),
      [],
    ),
  ).toMatchObject([{ attempts: 1, runMs: 1_000 }]);
});

test('days older than 400 are dropped, also from the usage of discarded journals', () => {
  const row = (day: number) => ({ ...NO_USAGE, day, user: 'ann', attempts: 1 });
  const keeper = bench();
  const book = (tag: string, ...rows: UsageRow[]) => ({ tag, epoch: 1, rows });
  const books = [book('old', row(DAY0 - 1)), book('both', row(DAY0 - 1), row(DAY0 + 300))];
  keeper.scheduler.keepUsage(books, () => {}, keeper.now);
  keeper.commit();
  expect(usage(keeper, [])).toMatchObject([{ attempts: 3 }]);
  keeper.now += 399.5 * DAY;
  const next = restarted(keeper);
  for (const each of [keeper, next]) {
    expect(usage(each, [])).toMatchObject([{ attempts: 1 }]);
    expect(each.scheduler.usageBooks.map(({ tag, rows }) => [tag, rows.length])).toContainEqual(['both', 1]);
  }
});

test('many job names do not grow the account without limit', () => {
  const there = bench();
  for (let at = 1; at <= 250; at++) {
    there.submit({ user: 'ann', name: `n${at}`, tasks: [{ sleep: 1 }] }, `k${at}`);
    there.commit();
    run(there, at, 1_000);
    there.scheduler.wake('heartbeat', 0, there.now);
  }
  const rows = usage(there, ['user', 'name', 'day']);
  expect(rows.length).toBe(201);
  expect(groupedUsage(rows, ['user'])).toMatchObject([{ user: 'ann', attempts: 250, runMs: 250_000 }]);
});

test.each(Array.from({ length: 20 }, (_, seed) => seed))(
  'restarts, retries and forgotten jobs neither lose nor repeat usage: seed %d',
  (seed) => {
    const random = Random.seeded(seed);
    const config = { endedJobsMax: 1 };
    let there = bench(0, config);
    let startedAt = 0;
    let expected = 0;
    let attempts = 0;
    let jobs = 0;
    const open: number[] = [];
    for (let step = 0; step < 60; step++) {
      const choice = random.next();
      if (choice < 0.3) {
        there.submit({ user: 'ann', tasks: { count: 3, run: { sleep: 1 } }, retries: 9 }, `k${++jobs}`);
        there.commit();
        const accepted = there.take().find((message) => message.type === 'accepted');
        if (accepted !== undefined) open.push(Number(accepted.value.job.split('-')[1]));
      } else if (choice < 0.7 && open.length > 0) {
        const job = open[Math.floor(random.next() * open.length)]!;
        const worker = random.next() < 0.5 ? W1 : W2;
        const task = there.ask(worker, job);
        if (task === undefined) continue;
        const ms = Math.ceil(random.next() * 10_000);
        there.now += ms;
        there.end(worker, task, random.next() < 0.3 ? PREEMPTED : COMPLETED, ms);
        there.commit();
        expected += ms;
        attempts++;
      } else if (choice < 0.85) {
        there.now += 2 * LIMITS.endedAgeMinMs;
        there.scheduler.wake('heartbeat', 0, there.now);
        there.commit();
      } else {
        startedAt += there.now;
        const records = there.inheritance();
        there = new DurableBench(records, startedAt, true, config);
        there.members(W1, W2);
        for (const worker of [W1, W2]) there.receive(worker, { type: 'holding', audit: 0, tasks: [] });
        there.commit();
      }
      const [row = { attempts: 0, runMs: 0 }] = usage(there, []);
      expect(row.attempts).toBe(attempts);
      expect(row.runMs).toBeCloseTo(expected, 3);
    }
    expect(attempts).toBeGreaterThan(0);
  },
);

test('a worker that reports an absurd run time does not stop the scheduler', () => {
  for (const ms of [1e17, 1e30, Number.MAX_VALUE, Number.POSITIVE_INFINITY]) {
    expect(daysOfRun(1_800_000_000_000 + ms, ms)).toHaveLength(401);
    expect(daysOfRun(1_800_000_000_000, ms).length).toBe(401);
  }
  expect(daysOfRun(Number.NaN, 1).length).toBe(1);
  expect(daysOfRun(-1e30, 1e30)).toEqual([0]);
  expect(daysOfRun(1_800_000_000_000, 1)).toEqual([DAY0]);
});
