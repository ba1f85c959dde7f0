import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runTrial, type TrialJob, trialPolicy } from '../../trials/trial.js';

/** A parallel job: it needs this many machines of one CPU for this long, and says so or says more. */
interface Parallel {
  readonly at: number;
  readonly nodes: number;
  readonly runs: number;
  readonly estimate: number;
}

function job(at: number, nodes: number, runs: number, estimate = runs): Parallel {
  return { at, nodes, runs, estimate };
}

/** When each job completes. */
function completions(machines: number, jobs: readonly Parallel[]): number[] {
  const { completedMs } = runTrial({
    jobs: jobs.map(({ at, nodes, runs }): TrialJob => {
      const stage = { tasks: nodes, demand: [1], durationMs: runs, parents: [], gang: true };
      return { arriveMs: at, stages: [stage] };
    }),
    workers: Array.from({ length: machines }, () => ({ capacity: [1] })),
    policy: trialPolicy('easy'),
    estimate: (number) => ({ estimateMs: jobs[number]!.estimate }),
  });
  return [...completedMs];
}

describe('EASY backfilling on four machines', () => {
  const first = job(0, 3, 10);
  const wide = job(1, 4, 5);

  test('a later job starts if it ends before the reservation of the first', () => {
    expect(completions(4, [first, wide, job(2, 1, 5)])).toEqual([10, 15, 7]);
    expect(completions(4, [first, wide, job(2, 1, 8)])).toEqual([10, 15, 10]);
  });

  test('a later job waits if it would delay the first', () => {
    expect(completions(4, [first, wide, job(2, 1, 9)])).toEqual([10, 15, 24]);
  });

  test('a later job of any length uses the machines that the reservation leaves', () => {
    expect(completions(4, [first, job(1, 3, 5), job(2, 1, 100)])).toEqual([10, 15, 102]);
    expect(completions(4, [first, job(1, 3, 5), job(2, 1, 100), job(3, 1, 5)])).toEqual([10, 15, 102, 20]);
  });

  test('only the first has a reservation: backfilling may delay the second', () => {
    const second = job(2, 2, 5);
    expect(completions(4, [first, job(1, 3, 5), second])).toEqual([10, 15, 20]);
    expect(completions(4, [first, job(1, 3, 5), second, job(3, 1, 100)])).toEqual([10, 15, 20, 103]);
  });

  test('a job that ends before its estimate lets the first start earlier', () => {
    expect(completions(4, [job(0, 3, 6, 10), wide, job(2, 1, 3)])).toEqual([6, 11, 5]);
  });

  test('a job that exceeds its estimate admits only what the reservation leaves', () => {
    expect(completions(4, [job(0, 3, 10, 2), wide, job(3, 1, 1)])).toEqual([10, 15, 16]);
  });

  test('without estimates it is first come, first served', () => {
    expect(completions(4, [job(0, 3, 10, 0), wide, job(2, 1, 5)])).toEqual([10, 15, 20]);
  });

  test('a job that is too large for the cluster blocks none', () => {
    expect(completions(4, [job(0, 4, 10), job(1, 1, 1)])[1]).toBe(11);
  });
});

/** EASY by counts of equal machines, as in its papers, step by step. Shares no code with the policy. */
function byCounts(machines: number, jobs: readonly Parallel[]): number[] {
  const ends = new Array<number>(jobs.length).fill(Number.NaN);
  const running: { number: number; end: number; expected: number }[] = [];
  const queue: number[] = [];
  let arrived = 0;
  let free = machines;
  while (arrived < jobs.length || running.length > 0) {
    const now = Math.min(jobs[arrived]?.at ?? Number.POSITIVE_INFINITY, ...running.map(({ end }) => end));
    while (jobs[arrived]?.at === now) queue.push(arrived++);
    for (let at = running.length - 1; at >= 0; at--) {
      const { number, end } = running[at]!;
      if (end !== now) continue;
      ends[number] = now;
      free += jobs[number]!.nodes;
      running.splice(at, 1);
    }
    const start = (number: number) => {
      const { nodes, runs, estimate } = jobs[number]!;
      free -= nodes;
      running.push({ number, end: now + runs, expected: now + estimate });
    };
    while (queue.length > 0 && jobs[queue[0]!]!.nodes <= free) start(queue.shift()!);
    const head = queue[0];
    if (head === undefined) continue;
    let shadow = now;
    let then = free;
    for (const { number, expected } of [...running].sort((a, b) => a.expected - b.expected)) {
      if (then >= jobs[head]!.nodes && Math.max(now, expected) > shadow) break;
      shadow = Math.max(now, expected);
      then += jobs[number]!.nodes;
    }
    let extra = then - jobs[head]!.nodes;
    for (const number of queue.slice(1)) {
      const { nodes, estimate } = jobs[number]!;
      const isShort = now + estimate <= shadow;
      if (nodes > free || !(isShort || nodes <= extra)) continue;
      if (!isShort) extra -= nodes;
      start(number);
      queue.splice(queue.indexOf(number), 1);
    }
  }
  return ends;
}

test('equals EASY by counts of machines, with right and wrong estimates', () => {
  const drawn = fc.record({
    after: fc.integer({ min: 0, max: 6 }),
    nodes: fc.integer({ min: 1, max: 5 }),
    runs: fc.integer({ min: 1, max: 20 }),
    more: fc.constantFrom(0, 0, 1, 7, -3),
  });
  fc.assert(
    fc.property(
      fc.integer({ min: 5, max: 8 }),
      fc.array(drawn, { minLength: 1, maxLength: 12 }),
      (machines, all) => {
        let at = 0;
        const jobs = all.map(({ after, nodes, runs, more }) => {
          at += after;
          return job(at, nodes, runs, Math.max(1, runs + more));
        });
        expect(completions(machines, jobs)).toEqual(byCounts(machines, jobs));
      },
    ),
    { numRuns: Number(process.env.EASY_RUNS ?? 300) },
  );
});
