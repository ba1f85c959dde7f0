import { expect, test } from 'vitest';
import { buildComparison } from './compare.js';
import type { JobResult } from './job-result.js';
import { buildRun } from './sample-runs.fixture.js';
import { renderStages } from './stages.js';

const job = (id: string, runtimeSeconds: number, more: Partial<JobResult>): JobResult => ({
  id,
  class: 'short',
  outcome: 'completed',
  submitSeconds: 0,
  runtimeSeconds,
  taskCount: more.taskStartsSeconds!.length,
  taskStartsSeconds: [],
  taskRunSeconds: [],
  ...more,
});

/** A job that uses a quarter of a cluster of 4 slots and 8 cores for a minute. */
const flat = job('flat', 60, {
  taskStartsSeconds: [0],
  taskRunSeconds: [60],
  stages: [{ tasks: 1, after: [], demand: { cpu: 2 } }],
});
/** A job that uses half of it for 30 s; its second stage waits for 10 s and then runs for 20 s. */
const dag = job('dag', 60, {
  taskStartsSeconds: [0, 40, 40],
  taskRunSeconds: [30, 20, 20],
  stages: [
    { tasks: 1, after: [], demand: { cpu: 4 } },
    { tasks: 2, after: [0], demand: { cpu: 1 } },
  ],
});

function run(jobs: readonly JobResult[], policy = 'carbyne') {
  return buildRun({
    policy,
    seed: 1,
    options: {},
    jobs,
    totalSlots: 4,
    capacity: { cpu: 8 },
    messages: { total: 0, byType: {} },
    steals: { attempts: 0, successes: 0, probesMoved: 0 },
    wallSeconds: 1,
  }).run;
}

test('resource use of staged jobs follows from the times of their tasks', () => {
  const { staged } = run([flat, dag]);
  expect(staged).toMatchObject({ jobs: 2, makespanSeconds: 60, fairness: { windowSeconds: 60 } });
  expect(staged!.dagSeconds).toMatchObject({ mean: 60 });
  expect(staged!.utilisation.slot).toBeCloseTo(130 / 240, 12);
  expect(staged!.utilisation.cpu).toBeCloseTo(280 / 480, 12);
  const jain = (x: number, y: number) => (x + y) ** 2 / (2 * (x * x + y * y));
  expect(staged!.fairness.raw).toMatchObject({ windows: 1 });
  expect(staged!.fairness.raw!.mean).toBeCloseTo(jain(15, 25), 12);
  expect(staged!.fairness.byNeed!.mean).toBeCloseTo(jain(1, 25 / 30), 12);
});

test('a job of twice the weight is due twice the share, but no more than it needs', () => {
  const held = (id: string, seconds: number, weight: number) =>
    job(id, seconds, {
      weight,
      taskStartsSeconds: [0, 0],
      taskRunSeconds: [seconds, seconds],
      stages: [{ tasks: 2, after: [], demand: { cpu: 4 } }],
    });
  // The first job is alone after two minutes: it has all resources and is due all of them.
  const { fairness } = run([held('long', 240, 1), held('short', 120, 2)]).staged!;
  expect(fairness.raw).toMatchObject({ windows: 4 });
  expect(fairness.raw!.min).toBeCloseTo(1.5 ** 2 / (2 * 1.25), 12);
  expect(fairness.byNeed).toEqual({ mean: 1, min: 1, windows: 4 });
});

test('results are absent without stages and demands, and exclude incomplete jobs', () => {
  const { stages: _, ...plain } = flat;
  expect(run([plain]).staged).toBeUndefined();
  expect(run([{ ...dag, outcome: 'failed' }]).staged).toBeUndefined();
  expect(renderStages([run([plain])])).toBe('');
});

test('jobs are compared with the same jobs under drf', () => {
  const times = (policy: string, ...seconds: number[]) => ({
    policy,
    seed: 1,
    runtimeSeconds: Float64Array.from(seconds),
    isLong: new Uint8Array(seconds.length),
  });
  const workload = { name: 'w', sha256: '', jobs: 2, tasks: 4, taskSeconds: 1, spanSeconds: 1 };
  const comparison = buildComparison({
    workload,
    cluster: { workers: 1, slots: 4, schedulers: 1, mode: 'simulated' },
    runs: [run([flat, dag]), run([flat, dag], 'drf')],
    times: [times('carbyne', 60, 90), times('drf', 60, 60)],
  });
  const [carbyne, drf] = comparison.runs;
  expect(carbyne!.staged!.againstDrf).toMatchObject({
    slower: 0.5,
    muchSlower: 0.5,
    slowdown: { mean: 1.25 },
  });
  expect(drf!.staged!.againstDrf).toBeUndefined();
  const [head, row] = renderStages(comparison.runs).split('\n');
  expect(head).toMatch(/slower than drf/);
  expect(row).toMatch(/^carbyne +1 min 0 s .* 0\.941 +0\.992 +50\.0% +50\.0%$/);
});

test('a run of months has all its windows, and many jobs are found quickly', () => {
  const months = 100 * 86_400;
  const long = job('long', months, { ...flat, id: 'long', runtimeSeconds: months, taskRunSeconds: [months] });
  expect(run([long]).staged!.fairness.raw).toEqual({ mean: 1, min: 1, windows: months / 60 });
  const many = Array.from({ length: 20_000 }, (_, at) => ({
    ...flat,
    id: `${at}`,
    submitSeconds: at,
    taskStartsSeconds: [at],
  }));
  expect(run(many).staged!.jobs).toBe(many.length);
});

test('long waits of jobs do not increase the cost', () => {
  const first = { ...flat, id: 'first', runtimeSeconds: 1e6, taskRunSeconds: [1e6] };
  const waiting = Array.from({ length: 20_000 }, (_, at) => ({
    ...flat,
    id: `${at}`,
    submitSeconds: at / 1_000,
    runtimeSeconds: 1e6 + at,
    taskStartsSeconds: [1e6 + at],
    taskRunSeconds: [1],
  }));
  const { fairness } = run([first, ...waiting]).staged!;
  // One of 20,001 jobs has all resources.
  expect(fairness.raw!.min).toBeCloseTo(1 / 20_001, 9);
  expect(fairness.byNeed!.min).toBeCloseTo(1 / 20_001, 9);
});

test('the index by need equals that of shares added interval by interval', () => {
  const weights = [1, 2, 3, 1, 5];
  const jobs = weights.map((weight, at) =>
    job(`${at}`, 300 - 20 * at, {
      weight,
      submitSeconds: 17 * at,
      taskStartsSeconds: [17 * at, 17 * at + 31],
      taskRunSeconds: [100, 200 - 20 * at],
      stages: [{ tasks: 2, after: [], demand: { cpu: 1 + at / 2 } }],
    }),
  );
  const { fairness } = run(jobs).staged!;
  const step = 1 / 8;
  const windows = new Map<number, Map<string, { have: number; due: number }>>();
  for (let at = step / 2; at < 400; at += step) {
    const there = jobs.filter(
      ({ submitSeconds, runtimeSeconds }) => submitSeconds <= at && at < submitSeconds + runtimeSeconds,
    );
    const total = there.reduce((sum, { weight }) => sum + weight!, 0);
    for (const { id, weight, submitSeconds, taskStartsSeconds, taskRunSeconds, stages } of there) {
      const ran = [0, 1].filter(
        (task) => taskStartsSeconds[task]! <= at && at < taskStartsSeconds[task]! + taskRunSeconds[task]!,
      ).length;
      const waits = [0, 1].filter((task) => submitSeconds <= at && at < taskStartsSeconds[task]!).length;
      const share = Math.max(1 / 4, stages![0]!.demand.cpu! / 8);
      const window = Math.floor(at / 60);
      const of = windows.get(window) ?? new Map<string, { have: number; due: number }>();
      windows.set(window, of);
      const own = of.get(id) ?? { have: 0, due: 0 };
      of.set(id, own);
      own.have += (ran * share * step) / weight!;
      own.due += (Math.min(weight! / total, (ran + waits) * share) * step) / weight!;
    }
  }
  const indices = [...windows.values()].flatMap((of) => {
    const values = [...of.values()]
      .filter(({ due }) => due > 0)
      .map(({ have, due }) => Math.min(1, have / due));
    const sum = values.reduce((all, value) => all + value, 0);
    const squares = values.reduce((all, value) => all + value * value, 0);
    return values.length === 0 ? [] : [squares === 0 ? 1 : (sum * sum) / (values.length * squares)];
  });
  expect(fairness.byNeed!.windows).toBe(indices.length);
  expect(fairness.byNeed!.mean).toBeCloseTo(
    indices.reduce((all, index) => all + index, 0) / indices.length,
    6,
  );
});
