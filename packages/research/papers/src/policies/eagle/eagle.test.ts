import { Random } from '@goshawk/core';
import { makePolicy, type RunView } from '@goshawk/policies';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addPapers } from '../../index.js';
import { runTrial, type TrialJob } from '../../trials/trial.js';

addPapers();

/** Jobs whose tasks run at least this long are long. */
const CUTOFF = 100;

interface Drawn {
  readonly at: number;
  readonly tasks: number;
  readonly runs: number;
}

interface Start {
  readonly job: number;
  readonly worker: number;
  readonly at: number;
}

function job(at: number, tasks: number, runs: number): Drawn {
  return { at, tasks, runs };
}

/** The starts of all tasks on machines of one CPU, and when each job completes. */
function run(machines: number, jobs: readonly Drawn[], options: Record<string, number> = {}, seed = 1) {
  const starts: Start[] = [];
  const random = Random.seeded(seed);
  const { completedMs } = runTrial({
    jobs: jobs.map(({ at, tasks, runs }): TrialJob => {
      const stage = { tasks, demand: [1], durationMs: runs, parents: [] };
      return { arriveMs: at, stages: [stage] };
    }),
    workers: Array.from({ length: machines }, () => ({ capacity: [1] })),
    policy: makePolicy('eagle', options, {
      cutoffMs: CUTOFF,
      sizesAreGiven: true,
      reserve: 0,
      random: () => random.next(),
    }),
    started: ({ stage, worker }: RunView, at) => {
      starts.push({ job: stage.job.number, worker: worker.id, at });
    },
  });
  return { starts, completions: [...completedMs] };
}

describe('Eagle', () => {
  test('keeps long tasks out of the short partition, and queues them where they start first', () => {
    const { starts, completions } = run(4, [job(0, 4, 100), job(1, 1, 200)], { shortPartition: 0.25 });
    expect(starts.filter(({ at }) => at === 0).map(({ worker }) => worker)).toEqual([1, 2, 3]);
    expect(starts.map(({ worker }) => worker)).not.toContain(0);
    expect(completions).toEqual([200, 300]);
  });

  test('sends no probe to a worker with a long task', () => {
    // Two probes per task: without the shared state, nearly all would wait behind long tasks.
    const { starts, completions } = run(10, [job(0, 9, 1_000), job(1, 4, 5)], { shortPartition: 0.1 });
    expect(starts.filter((start) => start.job === 1).map(({ worker }) => worker)).toEqual([0, 0, 0, 0]);
    expect(completions[1]).toBe(21);
  });

  test('a probe stays until the tasks of its job have started', () => {
    const { starts } = run(1, [job(0, 3, 10), job(1, 1, 50)], { shortPartition: 0 });
    expect(starts.map((start) => start.job)).toEqual([0, 0, 0, 1]);
  });

  test('a worker serves the job with the least remaining work first', () => {
    const jobs = [job(0, 1, 10), job(1, 1, 90), job(2, 1, 20)];
    expect(run(1, jobs, { shortPartition: 0 }).starts.map((start) => start.job)).toEqual([0, 2, 1]);
  });

  test('a job that was bypassed too often goes first', () => {
    const jobs = [job(0, 1, 10), job(1, 1, 90), ...[2, 3, 4].map((at) => job(at, 1, 20))];
    const order = (bypassMax: number) =>
      run(1, jobs, { shortPartition: 0, bypassMax }).starts.map((start) => start.job);
    expect(order(2)).toEqual([0, 2, 3, 1, 4]);
    expect(order(0)).toEqual([0, 1, 2, 3, 4]);
  });
});

test('every task runs once, no short task waits for a long one, and no long task is in the short partition', () => {
  const drawn = fc.record({
    after: fc.integer({ min: 0, max: 30 }),
    tasks: fc.integer({ min: 1, max: 8 }),
    runs: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: CUTOFF, max: 300 })),
  });
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 8 }),
      fc.array(drawn, { minLength: 1, maxLength: 14 }),
      fc.integer({ min: 1, max: 1_000 }),
      (machines, all, seed) => {
        let at = 0;
        const jobs = all.map(({ after, tasks, runs }) => {
          at += after;
          return job(at, tasks, runs);
        });
        const { starts, completions } = run(machines, jobs, { shortPartition: 0.3 }, seed);
        const counts = jobs.map((_, number) => starts.filter((start) => start.job === number).length);
        expect(counts).toEqual(jobs.map(({ tasks }) => tasks));
        expect(completions.every(Number.isFinite)).toBe(true);
        const isLong = ({ job: number }: Start) => jobs[number]!.runs >= CUTOFF;
        const partition = Math.min(machines - 1, Math.max(1, Math.floor(0.3 * machines)));
        for (const start of starts) {
          if (isLong(start)) {
            expect(start.worker).toBeGreaterThanOrEqual(partition);
            continue;
          }
          const arrived = jobs[start.job]!.at;
          // A long task that ran when the job arrived, or began before it and ends later.
          const behind = starts.filter(
            (other) =>
              other.worker === start.worker &&
              isLong(other) &&
              other.at < arrived &&
              other.at + jobs[other.job]!.runs > arrived,
          );
          expect(behind).toEqual([]);
        }
      },
    ),
    { numRuns: Number(process.env.EAGLE_RUNS ?? 300) },
  );
});
