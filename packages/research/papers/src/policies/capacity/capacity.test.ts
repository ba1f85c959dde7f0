import { makePolicy } from '@goshawk/policies';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addPapers } from '../../index.js';
import { runTrial, type TrialJob } from '../../trials/trial.js';

addPapers();

interface Drawn {
  readonly at: number;
  readonly user: string;
  readonly tasks: number;
  readonly runs: number;
  readonly weight?: number;
}

/** What starts, in order: time and job. */
function starts(
  machines: number,
  jobs: readonly Drawn[],
  maximum = 1,
): (readonly [at: number, job: number])[] {
  const seen: (readonly [number, number])[] = [];
  runTrial({
    jobs: jobs.map(({ at, user, tasks, runs, weight = 1 }): TrialJob => {
      const stage = { tasks, demand: [1], durationMs: runs, parents: [] };
      return { arriveMs: at, user, userWeight: weight, stages: [stage] };
    }),
    workers: Array.from({ length: machines }, () => ({ capacity: [1] })),
    policy: makePolicy(
      'capacity',
      { maximum },
      { cutoffMs: 0, sizesAreGiven: true, reserve: 0, random: () => 0.5 },
    ),
    started: ({ stage }, now) => void seen.push([now, stage.job.number]),
  });
  return seen;
}

const job = (at: number, user: string, tasks: number, runs: number, weight = 1): Drawn => ({
  at,
  user,
  tasks,
  runs,
  weight,
});

describe('the capacity scheduler on four machines', () => {
  test('gives a user the whole cluster while no other waits, and half of what ends when one does', () => {
    const jobs = [job(0, 'a', 6, 10), job(1, 'b', 3, 5)];
    expect(starts(4, jobs)).toEqual([
      ...[0, 0, 0, 0].map((at) => [at, 0]),
      ...[0, 1, 0, 1].map((user) => [10, user]),
      [15, 1],
    ]);
  });

  test('guarantees by weight', () => {
    const running = starts(4, [job(0, 'a', 9, 10, 3), job(0, 'b', 9, 10, 1)]).filter(([at]) => at === 0);
    expect(running.map(([, number]) => number).sort()).toEqual([0, 0, 0, 1]);
  });

  test('serves the jobs of a user in order of arrival', () => {
    expect(starts(1, [job(0, 'a', 1, 10), job(1, 'a', 2, 1), job(2, 'a', 1, 1)])).toEqual([
      [0, 0],
      [10, 1],
      [11, 1],
      [12, 2],
    ]);
  });

  test('leaves a part of the cluster idle if no other user may have it', () => {
    expect(starts(4, [job(0, 'a', 4, 10)], 0.5).map(([at]) => at)).toEqual([0, 0, 10, 10]);
  });
});

test('of the users that wait, the one with the least of its guarantee starts; none waits beside a free machine', () => {
  const drawn = fc.record({
    after: fc.integer({ min: 0, max: 5 }),
    user: fc.constantFrom('a', 'b', 'c'),
    tasks: fc.integer({ min: 1, max: 6 }),
    runs: fc.integer({ min: 1, max: 12 }),
  });
  const weights: Readonly<Record<string, number>> = { a: 1, b: 2, c: 4 };
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }),
      fc.array(drawn, { minLength: 1, maxLength: 14 }),
      (machines, all) => {
        let at = 0;
        const jobs = all.map(({ after, user, tasks, runs }) => {
          at += after;
          return job(at, user, tasks, runs, weights[user]!);
        });
        expect(starts(machines, jobs)).toEqual(byCounts(machines, jobs));
      },
    ),
    { numRuns: Number(process.env.CAPACITY_RUNS ?? 300) },
  );
});

/** The rules by counts of equal machines. Shares no code with the policy. */
function byCounts(machines: number, jobs: readonly Drawn[]): (readonly [at: number, job: number])[] {
  const started: (readonly [number, number])[] = [];
  const left = jobs.map(({ tasks }) => tasks);
  let running: { job: number; end: number }[] = [];
  const users = new Set<string>();
  for (let now = 0; left.some((tasks) => tasks > 0); now++) {
    running = running.filter(({ end }) => end > now);
    for (const { at, user } of jobs) if (at <= now) users.add(user);
    while (running.length < machines) {
      const waits = [...users].filter((user) =>
        jobs.some((each, number) => each.user === user && each.at <= now && left[number]! > 0),
      );
      const shareOf = (user: string) => {
        const own = running.filter((run) => jobs[run.job]!.user === user).length;
        return own / machines / jobs.find((each) => each.user === user)!.weight!;
      };
      const least = Math.min(...waits.map(shareOf));
      const user = waits.find((each) => shareOf(each) === least);
      if (user === undefined) break;
      const next = jobs.findIndex(
        (each, number) => each.user === user && each.at <= now && left[number]! > 0,
      );
      left[next]!--;
      running.push({ job: next, end: now + jobs[next]!.runs });
      started.push([now, next]);
    }
  }
  return started;
}
