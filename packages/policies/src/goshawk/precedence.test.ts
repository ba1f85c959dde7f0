import type { Millis } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Need, PolicyBench } from '../testing.fixture.js';

const USERS = ['ann', 'mal'] as const;
type User = (typeof USERS)[number];

/** Jobs that a user keeps submitting. */
interface Habit {
  readonly taskMs: Millis;
  /** Time from submission to deadline, beyond the run time, as a part of it; undefined: no deadline. */
  readonly slack?: number | undefined;
  readonly tasks?: number;
  readonly gang?: boolean;
  readonly mayLend?: boolean;
  /** CPUs of a task; undefined: it requests nothing, and so takes one. */
  readonly cpu?: number | undefined;
  /** The estimate, in run times. */
  readonly claims?: number;
  /** Whether run times differ, up to half as much again, so that tasks end one by one. */
  readonly varies?: boolean;
}

/** Runs the jobs of two users who always have some waiting. @returns the part of the cluster that each gets in the second half */
function partsOf(workers: number, habits: Readonly<Record<User, Habit>>): Readonly<Record<User, number>> {
  const places = { slots: 16, capacity: { cpu: 1 } };
  const bench = new PolicyBench('goshawk', workers, { ...places, context: { cutoffMs: 10_000 } });
  const [shortestMs, longestMs] = [Math.min, Math.max].map((of) =>
    of(...USERS.map((user) => habits[user].taskMs)),
  );
  const stepMs = Math.max(shortestMs! / 4, longestMs! / 100);
  const untilMs = 24 * longestMs!;
  const got = { ann: 0, mal: 0 };
  let last = 0;
  const submit = (user: User): void => {
    const { taskMs, slack, tasks = 1, gang = false, mayLend = true, cpu, claims = 1 } = habits[user];
    const deadlineAt = slack === undefined ? Number.POSITIVE_INFINITY : bench.now + (1 + slack) * taskMs;
    const estimateMs = claims * taskMs;
    const facts: Need = { user, tasks, gang, mayLend, estimateMs, long: estimateMs > 10_000, deadlineAt };
    bench.report(++last, cpu === undefined ? facts : { ...facts, demand: { cpu } });
  };
  for (; bench.now < untilMs; bench.now += stepMs) {
    const waiting = { ann: 0, mal: 0 };
    for (const { user, stages } of bench.books.everyJob())
      if ([...stages].some((stage) => stage.waiting > 0)) waiting[user as User]++;
    for (const user of USERS) for (let count = waiting[user]; count < 2 * workers; count++) submit(user);
    bench.settle();
    for (const run of [...bench.books.workers].flatMap(({ runs }) => runs)) {
      if (run.borrower !== undefined) continue;
      const { user, number } = run.stage.job;
      const { taskMs, cpu = 1, varies = false } = habits[user as User];
      if (bench.now > untilMs / 2) got[user as User] += cpu;
      const runsMs = varies ? taskMs * (1 + (number % 5) / 8) : taskMs;
      if (bench.now - run.startedAt - run.pausedMs(bench.now) >= runsMs)
        bench.books.end(run, 'done', bench.now);
    }
  }
  return { ann: got.ann / (got.ann + got.mal), mal: got.mal / (got.ann + got.mal) };
}

describe('a user whose jobs always are at their latest start', () => {
  const taskMs = fc.constantFrom(2_000, 10_000, 60_000, 300_000);
  const victim = fc.record({ taskMs });
  const attacker = fc.record({
    taskMs,
    slack: fc.constantFrom(0.015, 0.1, 1),
    tasks: fc.integer({ min: 1, max: 3 }),
    gang: fc.boolean(),
    mayLend: fc.boolean(),
  });

  test('gets no more than its share', () => {
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 6 }), victim, attacker, (workers, ann, mal) => {
        expect(partsOf(workers, { ann, mal }).ann).toBeGreaterThan(0.33);
      }),
      { numRuns: 12 },
    );
  });

  test('goes before others until it is ahead of its share', () => {
    const bench = new PolicyBench('goshawk', 4);
    bench.need(1, { user: 'ann', tasks: 8, estimateMs: 1_000 });
    bench.now = 1_000;
    bench.end(1);
    bench.need(2, { user: 'mal', tasks: 3, estimateMs: 1_000, deadlineAt: 2_005 });
    for (let end = 0; end < 3; end++) bench.end(1);
    expect(bench.count(2)).toBe(3);
  });
});

test.each([
  ['jobs of one task', 4, 1],
  ['one job', 1, 4],
])('urgent tasks of an hour in %s take no more than the share of their user', (_, jobs, tasks) => {
  const bench = new PolicyBench('goshawk', 4, { context: { cutoffMs: 10_000 } });
  bench.need(1, { user: 'ann', tasks: 4, estimateMs: 1_000 });
  bench.now = 1_000;
  for (let end = 0; end < 4; end++) bench.end(1);
  bench.need(2, { user: 'ann', tasks: 8, estimateMs: 36_000_000, long: true, mayLend: true });
  bench.now = 60_000;
  const urgent = {
    user: 'mal',
    tasks,
    estimateMs: 3_600_000,
    long: true,
    deadlineAt: 60_000 + 1.001 * 3_600_000,
  };
  for (let job = 3; job < 3 + jobs; job++) bench.need(job, urgent);
  bench.now += 1_000;
  bench.settle();
  const paused = [...bench.books.job(900 as never, 2)!.runs].filter(({ borrower }) => borrower !== undefined);
  expect(paused).toHaveLength(2);
});

test('tasks pause for an urgent one for at most three of its expected run times', () => {
  const bench = new PolicyBench('goshawk', 1, { context: { cutoffMs: 10_000 } });
  bench.need(1, { tasks: 1, estimateMs: 36_000_000, long: true, mayLend: true });
  bench.now = 60_000;
  bench.need(2, { estimateMs: 20_000, long: true, deadlineAt: 60_000 + 20_005 });
  expect(bench.runOf(2).lentAtMostMs).toBe(60_000);
});

describe('a user whose tasks take parts of CPUs and end one by one', () => {
  const victim = fc.record({
    taskMs: fc.constantFrom(1_000, 10_000, 60_000),
    cpu: fc.constantFrom(undefined, 1, 0.9),
  });
  const attacker = fc.record({
    taskMs: fc.constantFrom(2_000, 10_000, 60_000),
    cpu: fc.constantFrom(0.05, 0.1, 0.3, 0.45),
    claims: fc.constantFrom(0.01, 1, 60, 1e6),
    mayLend: fc.boolean(),
    varies: fc.constant(true),
  });

  test('leaves whole CPUs for others, also with false estimates', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), victim, attacker, (workers, ann, mal) => {
        // Whole tasks and workers leave less than a half to users of two to four workers, and of a single CPU even less:
        // tasks of 0.05 CPUs must drain from it, and that takes longer than those of 0.9 run.
        expect(partsOf(workers, { ann, mal }).ann).toBeGreaterThan(workers === 1 ? 0.1 : 0.2);
      }),
      { numRuns: 12 },
    );
  });
});
