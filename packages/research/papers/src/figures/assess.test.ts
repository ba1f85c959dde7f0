import { describe, expect, test } from 'vitest';
import { assess, type FigureSweep } from './assess.js';
import { workersAxis } from './axis.js';
import type { Figure } from './figure.js';
import { bestImprovement, isMuchBetter, shareReaches } from './judging/index.js';
import { runsAt } from './runs.fixture.js';
import { busy, ratio, shareOfJobs, stated } from './series.js';

const short50 = stated(ratio('hawk', 'sparrow', 'short', 'p50'), [[20, 0.5]]);
const improved = shareOfJobs('hawk', 'sparrow', 'short', 'improved');

const figure: Figure = {
  id: 'made-up',
  title: 'A made-up figure',
  paper: { name: 'Paper', reference: 'A paper' },
  section: '§1',
  about: 'What it shows.',
  mode: 'simulated',
  workload: { generator: 'poisson', jobs: 3, isReplaceable: true },
  settings: {},
  axis: workersAxis([10, 20]),
  variants: [
    { name: 'hawk', settings: {} },
    { name: 'sparrow', settings: {} },
  ],
  pairs: [{ of: 'hawk', over: 'sparrow' }],
  panels: [
    { kind: 'lines', title: 'Ratio', axisName: 'Hawk ÷ Sparrow', series: [short50] },
    { kind: 'table', title: 'Shares', series: [improved, busy('hawk')] },
    { kind: 'distribution', title: 'Run times', of: 'short', variants: ['hawk', 'sparrow'] },
  ],
  claims: [
    { section: '§1', text: 'half', judge: bestImprovement(short50, 0.5) },
    { section: '§1', text: 'most', judge: shareReaches(improved, 0.9) },
  ],
};

function swept(runs: FigureSweep['places']): FigureSweep {
  return {
    figure,
    axis: figure.axis,
    workload: { name: 'w', sha256: 'f00', jobs: 3_000, tasks: 3, taskSeconds: 3, spanSeconds: 3 },
    places: runs,
    command: 'goshawk figure made-up',
    generator: 'goshawk 0',
  };
}

describe('a figure computed from its runs', () => {
  const result = assess(
    swept([
      runsAt(10, { hawk: { short: [2, 4, 8] }, sparrow: { short: [2, 8, 32], policy: 'sparrow' } }),
      runsAt(20, { hawk: { short: [2, 4, 8] }, sparrow: { short: [1, 4, 8], policy: 'sparrow' } }),
    ]),
  );

  test("has each series at each point of the axis, with the paper's numbers", () => {
    expect(result.panels[0]!.series).toEqual([
      { name: 'short p50', unit: 'ratio', values: [0.5, 1], paper: [null, 0.5] },
    ]);
  });

  test('compares job by job: better, worse and equal', () => {
    expect(result.axis.places.map(({ paired }) => paired!['hawk against sparrow']!.short)).toEqual([
      { improved: 2 / 3, improvedByHalf: 1 / 3, betterOrEqual: 1 },
      { improved: 0, improvedByHalf: 0, betterOrEqual: 2 / 3 },
    ]);
  });

  test('has the distribution of the run times at the first point of the axis', () => {
    const { hawk } = result.panels[2]!.percentiles!;
    expect(hawk).toHaveLength(101);
    expect([hawk![0], hawk![50], hawk![100]]).toEqual([2, 4, 8]);
  });

  test('does not judge a policy by runs with few jobs', () => {
    const small = swept([
      runsAt(10, { hawk: { short: [2, 4, 8] }, sparrow: { short: [2, 8, 32], policy: 'sparrow' } }),
      runsAt(20, { hawk: { short: [2, 4, 8] }, sparrow: { short: [1, 4, 8], policy: 'sparrow' } }),
    ]);
    const workload = { ...small.workload, name: `${figure.workload.generator}:jobs=3` };
    const few = { ...figure, workload: { ...figure.workload, jobs: 1_000 } };
    const verdicts = (of: FigureSweep) => assess(of).claims.map(({ verdict }) => verdict);
    expect(verdicts({ ...small, figure: few, workload })).toEqual(['not confirmed', 'not confirmed']);
    expect(
      verdicts({ ...small, figure: { ...few, workload: { ...few.workload, jobs: 3 } }, workload }),
    ).toEqual(['holds', 'does not hold']);
  });

  test('judges each claim and counts the verdicts', () => {
    expect(result.claims.map(({ verdict }) => verdict)).toEqual(['holds', 'does not hold']);
    expect(result.verdicts).toEqual({
      holds: 1,
      'in direction': 0,
      'does not hold': 1,
      'not confirmed': 0,
      'not judged': 0,
    });
  });

  test('keeps every run with its point of the axis', () => {
    expect(result.runs.map(({ x, variant }) => [x, variant])).toEqual([
      [10, 'hawk'],
      [10, 'sparrow'],
      [20, 'hawk'],
      [20, 'sparrow'],
    ]);
  });

  test('is JSON: nothing in it is undefined, NaN or infinite', () => {
    expect(JSON.parse(JSON.stringify(result))).toEqual(result);
  });
});

test('over several seeds has the means, with the minimum and maximum of the seeds', () => {
  const result = assess(
    swept([
      runsAt(10, {
        hawk: [
          { short: [1], seed: 1 },
          { short: [3], seed: 2 },
        ],
        sparrow: [
          { short: [4], seed: 1, policy: 'sparrow' },
          { short: [4], seed: 2, policy: 'sparrow' },
        ],
      }),
    ]),
  );
  expect(result.seeds).toEqual([1, 2]);
  expect(result.panels[0]!.series[0]).toEqual({
    name: 'short p50',
    unit: 'ratio',
    values: [0.5],
    bySeed: [[0.25], [0.75]],
  });
});

test.each([
  ['holds in each seed', [0.5, 0.5, 0.5], 'holds'],
  ['holds on average, and fails in a seed', [0.2, 0.3, 1.4], 'not confirmed'],
  ['fails in each seed', [2, 2, 2], 'does not hold'],
])('a claim that %s is confirmed only if the seeds agree', (_, ratios, verdict) => {
  const runs = runsAt(10, {
    hawk: ratios.map((ratio, index) => ({ short: [10 * ratio], seed: index + 1 })),
    sparrow: ratios.map((__, index) => ({ short: [10], seed: index + 1, policy: 'sparrow' })),
  });
  const short = ratio('hawk', 'sparrow', 'short', 'p50');
  const claims = [{ section: '§1', text: 'better', judge: isMuchBetter([short], 0.2) }];
  const result = assess({ ...swept([runs]), figure: { ...figure, claims } });
  expect(result.claims.map((claim) => claim.verdict)).toEqual([verdict]);
});

test('with one seed, an effect needs the more jobs the smaller it is', () => {
  const runs = runsAt(10, { hawk: { short: [9] }, sparrow: { short: [10], policy: 'sparrow' } });
  const claims = [
    { section: '§1', text: 'better', judge: isMuchBetter([ratio('hawk', 'sparrow', 'short', 'p50')], 0.05) },
  ];
  const verdictWith = (jobs: number) => {
    const asked = swept([runs]);
    return assess({ ...asked, figure: { ...figure, claims }, workload: { ...asked.workload, jobs } })
      .claims[0]!;
  };
  expect(verdictWith(10_000).verdict).toBe('holds');
  expect(verdictWith(2_000)).toMatchObject({ verdict: 'not confirmed', ours: 'short p50 0.90; one seed' });
});

test('a job that ended in neither run, or is not counted, is not compared', () => {
  const [at] = [runsAt(10, { hawk: { short: [1, 1] }, sparrow: { short: [2, 2], policy: 'sparrow' } })];
  at!.byVariant.hawk![0]!.jobs!.runtimeSeconds[1] = Number.NaN;
  const { axis } = assess(swept([at!]));
  expect(axis.places[0]!.paired!['hawk against sparrow']).toEqual({
    short: { improved: 1, improvedByHalf: 0, betterOrEqual: 1 },
    long: null,
  });
});

test('utilization covers the time in which jobs are submitted', () => {
  // The last task ends long after the last submission, at 10 s.
  const run = runsAt(10, { hawk: { short: [4, 1_000], slots: 2 }, sparrow: { short: [4, 4] } });
  const result = assess(swept([run]));
  expect(result.runs[0]!.run.utilisation.snapshots).toBe(1_010);
  expect(result.runs[0]!.busyWhileSubmitting).toEqual({ p50: 0, mean: 0.1, max: 0.5 });
});
