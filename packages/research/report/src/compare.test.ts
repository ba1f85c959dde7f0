import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildComparison, labelRuns } from './compare.js';
import { ComparisonError } from './errors.js';
import { buildRun, job, measurements, sample } from './sample-runs.fixture.js';

const WORKLOAD = { name: 'w', sha256: 'f00', jobs: 2, tasks: 2, taskSeconds: 4, spanSeconds: 0 };
const CLUSTER = { workers: 4, slots: 1, schedulers: 1, mode: 'simulated' } as const;

function run(policy: string, seed: number, shortSeconds: number, longSeconds: number | null) {
  const runSeconds = 0.5;
  const jobs = [
    job({ id: 's', waitSeconds: shortSeconds - runSeconds, runSeconds }),
    longSeconds === null
      ? job({ id: 't', waitSeconds: shortSeconds - runSeconds, runSeconds })
      : job({ id: 'l', class: 'long', waitSeconds: longSeconds - runSeconds, runSeconds }),
  ];
  return buildRun(measurements(jobs, { policy, seed })).run;
}

const compare = (...runs: ReturnType<typeof run>[]) =>
  buildComparison({ workload: WORKLOAD, cluster: CLUSTER, runs });

describe('ratios', () => {
  test('compare the first policy with each other one and are below 1 if it is faster', () => {
    const { ratios } = compare(run('hawk', 1, 1, 6), run('sparrow', 1, 4, 5), run('central', 1, 2, 6));
    expect(ratios).toEqual([
      {
        policy: 'hawk',
        baseline: 'sparrow',
        short: { p50: 0.25, p90: 0.25, mean: 0.25 },
        long: { p50: 1.2, p90: 1.2, mean: 1.2 },
      },
      {
        policy: 'hawk',
        baseline: 'central',
        short: { p50: 0.5, p90: 0.5, mean: 0.5 },
        long: { p50: 1, p90: 1, mean: 1 },
      },
    ]);
  });

  test('compare means over seeds and include the spread over common seeds', () => {
    const { ratios } = compare(
      run('hawk', 1, 1, 5),
      run('hawk', 2, 3, 5),
      run('sparrow', 1, 4, 5),
      run('sparrow', 2, 4, 5),
    );
    expect(ratios[0]!.short.p50).toBe(0.5);
    expect(ratios[0]!.spread!.short.p50).toEqual([0.25, 0.75]);
  });

  test('are null for a class without jobs on one side', () => {
    const { ratios } = compare(run('hawk', 1, 1, null), run('sparrow', 1, 4, null));
    expect(ratios[0]!.long).toEqual({ p50: null, p90: null, mean: null });
  });

  test('are absent for a single policy', () => {
    expect(compare(run('hawk', 1, 1, 5), run('hawk', 2, 1, 5)).ratios).toEqual([]);
  });
});

describe('runs that cannot be compared', () => {
  test('none', () => {
    expect(() => compare()).toThrow(ComparisonError);
  });

  test('one policy twice under one seed', () => {
    expect(() => compare(run('hawk', 1, 1, 5), run('hawk', 1, 1, 5))).toThrow('hawk ran twice under seed 1');
  });

  test('different numbers of jobs', () => {
    const fewer = buildRun(measurements([job()], { policy: 'sparrow' })).run;
    expect(() => compare(run('hawk', 1, 1, 5), fewer)).toThrow('sparrow ran 1 jobs, but hawk ran 2');
  });
});

describe('the JSON contract goshawk.comparison/1', () => {
  const json = JSON.parse(JSON.stringify(sample().comparison));

  test('has the documented keys', () => {
    expect(json.schema).toBe('goshawk.comparison/1');
    expect(Object.keys(json)).toEqual(['schema', 'workload', 'cluster', 'runs', 'ratios']);
    const [first] = json.runs;
    for (const key of [
      'policy seed options jobs tasks runtimeSeconds queueingSeconds utilisation messages steals predictor series',
      'events wallSeconds eventsPerSecond peakRssBytes',
    ].flatMap((keys) => keys.split(' '))) {
      expect(first).toHaveProperty(key);
    }
    expect(Object.keys(first.runtimeSeconds)).toEqual(['short', 'long', 'all']);
    expect(Object.keys(first.queueingSeconds.all)).toEqual(['count', 'mean', 'p50', 'p90', 'p99', 'max']);
    expect(Object.keys(first.utilisation)).toEqual(expect.arrayContaining(['mean', 'p50', 'max']));
    expect(Object.keys(json.ratios[0])).toEqual(['policy', 'baseline', 'short', 'long']);
  });

  test('survives a round trip without undefined, NaN or infinite values', () => {
    expect(json).toEqual(sample().comparison);
  });
});

describe('labels of merged runs', () => {
  const named = (
    files: readonly { readonly name: string; readonly options: object; readonly policy?: string }[],
  ) =>
    files.map(({ name, options, policy = 'hawk' }) => ({
      name,
      comparison: { runs: [{ ...run(policy, 1, 1, 5), options: { policy, ...options } }] },
    }));
  const labels = (files: Parameters<typeof named>[0]) =>
    files.map(({ name, policy = 'hawk' }) => labelRuns(named(files)).get(name)!.get(policy)!);

  test('say in which settings runs differ, and name files only if none does', () => {
    const both = { cutoff: 10, seed: 1 };
    expect(
      labels([
        { name: 'a', options: { ...both, estimator: 'auto' } },
        { name: 'b', options: { ...both, estimator: 'oracle', seed: 2 } },
      ]),
    ).toEqual(['hawk (estimator=auto)', 'hawk (estimator=oracle)']);
    expect(
      labels([
        { name: 'a', options: both },
        { name: 'b', options: both },
      ]),
    ).toEqual(['hawk (a)', 'hawk (b)']);
    expect(
      labels([
        { name: 'a', options: both },
        { name: 'b', options: both },
        { name: 'c', options: { ...both, set: ['x=1'] } },
      ]),
    ).toEqual(['hawk (set=unset, a)', 'hawk (set=unset, b)', 'hawk (set=["x=1"])']);
    expect(
      labels([
        { name: 'a', options: both },
        { name: 'b', options: both, policy: 'drf' },
      ]),
    ).toEqual(['hawk', 'drf']);
  });

  test('differ for runs that differ in any setting, and for all files', () => {
    const value = fc.oneof(
      fc.constantFrom('auto', 'oracle', 'unset', 'a'),
      fc.nat(2),
      fc.boolean(),
      fc.constant(null),
    );
    const options = fc.dictionary(fc.constantFrom('estimator', 'cutoff', 'set', 'workers', 'reserve'), value);
    const policy = fc.constantFrom('hawk', 'drf', 'hawk (a)', 'hawk (estimator=auto)');
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd', 'a=1'), options, policy }), {
          selector: ({ name }) => name,
          minLength: 1,
        }),
        (files) => {
          const given = labels(files);
          expect(new Set(given).size).toBe(files.length);
          // A label that names a setting names the run's own value.
          for (const [index, file] of files.entries())
            for (const [name, each] of Object.entries(file.options))
              if (each !== null && given[index]!.includes(`${name}=`) && file.policy === 'drf')
                expect(given[index]).toContain(`${name}=${each}`);
        },
      ),
      { numRuns: 300 },
    );
  });
});
