import { describe, expect, test } from 'vitest';
import type { ArrivingJob } from '../estimator.js';
import { DEFAULT_FEATURES } from './features.js';
import { History } from './history.js';

const HOUR_MS = 3_600_000;
const job: ArrivingJob = { name: 'nightly', user: 'ada', tasks: 4, startable: 4, submittedAt: 0 };

/** A history of jobs with these traits, except as given, and their run times. */
function trained(
  runs: readonly (readonly [traits: Partial<ArrivingJob>, ms: number])[],
  settings?: ConstructorParameters<typeof History>[0],
): History {
  const history = new History(settings);
  for (const [traits, ms] of runs) history.learn({ ...job, ...traits }, ms);
  return history;
}

describe('history', () => {
  test('returns the default without runs', () => {
    const prediction = new History({ defaultMs: 5_000 }).predict(job);
    expect(prediction).toMatchObject({ estimateMs: 5_000, samples: 0, expert: undefined });
    expect(prediction.distribution()).toEqual([{ from: 5_000, to: 5_000, p: 1 }]);
  });

  test('uses the first run as the estimate, although no expert has been scored', () => {
    const prediction = trained([[{}, 700]]).predict(job);
    expect(prediction).toMatchObject({ estimateMs: 700, samples: 1, expert: undefined });
  });

  test('uses the feature whose values have predicted run times best', () => {
    const settings = { features: ['user', 'name'] };
    const history = trained(
      [
        [{ name: 'small' }, 10],
        [{ name: 'large' }, 1_000],
        [{ name: 'small' }, 10],
        [{ name: 'large' }, 1_000],
      ],
      settings,
    );
    expect(history.predict({ ...job, name: 'large' })).toMatchObject({
      estimateMs: 1_000,
      expert: { feature: 'name', guess: 'average' },
      logVariance: 0,
    });
    expect(history.predict({ ...job, name: 'large' }).distribution()).toEqual([
      { from: 1_000, to: 1_000, p: 1 },
    ]);
    // Only the user is known, not the name.
    expect(history.predict({ ...job, name: 'new' }).expert?.feature).toBe('user');
  });

  test('prefers, among equally good experts, the one with more runs, then the earlier feature', () => {
    const history = trained(
      [
        [{ name: 'other' }, 50],
        [{}, 50],
        [{}, 50],
      ],
      { features: ['name', 'user', 'all'] },
    );
    expect(history.predict(job)).toMatchObject({ samples: 3, expert: { feature: 'user', guess: 'average' } });
  });

  test('a prediction has no side effects, not even on the order of eviction', () => {
    const settings = { features: ['name'], valuesMax: 2 };
    const history = trained(
      [
        [{ name: 'a' }, 1],
        [{ name: 'b' }, 2],
      ],
      settings,
    );
    const before = history.save();
    history.predict({ ...job, name: 'a' });
    expect(history.save()).toEqual(before);
    history.learn({ ...job, name: 'c' }, 3);
    expect(history.predict({ ...job, name: 'a' }).samples).toBe(0);
    expect(history.predict({ ...job, name: 'b' }).samples).toBe(1);
  });

  test('evicts the least recently used values beyond its limit', () => {
    const history = new History({ features: ['name'], valuesMax: 100 });
    for (let i = 0; i < 10_000; i++) history.learn({ ...job, name: `job ${i}` }, i);
    expect(history.save().values).toHaveLength(100);
    expect(history.predict({ ...job, name: 'job 9999' }).estimateMs).toBe(9_999);
    expect(history.predict({ ...job, name: 'job 9899' }).samples).toBe(0);
  });

  test('continues from its saved state, even with a smaller limit', () => {
    const history = trained([
      [{ name: 'a' }, 10],
      [{ name: 'a' }, 12],
      [{ name: 'b', user: 'bob' }, 14],
    ]);
    const saved = JSON.parse(JSON.stringify(history.save()));
    expect(History.load(saved).save()).toEqual(history.save());
    const narrow = History.load(saved, { valuesMax: 1 });
    expect(narrow.save().values).toHaveLength(1);
    // The feature shared by all jobs was used last; its rolling estimate was best.
    const prediction = narrow.predict({ ...job, name: 'b', user: 'bob' });
    expect(prediction).toMatchObject({ samples: 3, expert: { feature: 'all', guess: 'rolling' } });
    expect(prediction.estimateMs).toBeCloseTo(12.88, 9);
  });

  test.each([
    ['nothing', undefined],
    ['text', 'history'],
    ['another file', { schema: 'goshawk.run/1' }],
  ])('refuses %s', (_, saved) => {
    expect(() => History.load(saved)).toThrow('the saved state is not from the estimator history');
  });

  test('rejects state saved by a newer version, and names the version', () => {
    expect(() => History.load({ schema: 'goshawk.history/2', values: [] })).toThrow(
      'saved by a newer version (goshawk.history/2; this one reads goshawk.history/1)',
    );
  });

  test.each([
    ['no list', 'values'],
    ['a value without runs', [[17]]],
    ['a value that is no number', [[17, { bins: [Number.NaN], recent: [1] }]]],
    ['a bin of too few numbers', [[17, { bins: [[1, 2]], recent: [1] }]]],
  ])('refuses a damaged one: %s', (_, values) => {
    expect(() => History.load({ schema: 'goshawk.history/1', values })).toThrow('damaged');
  });
});

describe('features', () => {
  test('exist only for attributes that are present', () => {
    const history = new History({ features: ['user', 'user+name', 'logical'] });
    history.learn({ name: 'a', tasks: 1, startable: 1, submittedAt: 0 }, 5);
    expect(history.save().values).toHaveLength(0);
  });

  test('hours are hours of the day', () => {
    const history = trained([[{ submittedAt: 25 * HOUR_MS }, 5]], { features: ['user+hour'] });
    expect(history.predict({ ...job, submittedAt: 49 * HOUR_MS }).samples).toBe(1);
    expect(history.predict({ ...job, submittedAt: 50 * HOUR_MS }).samples).toBe(0);
  });

  test('of demands do not depend on their order', () => {
    const history = trained([[{ demand: { cpu: 1, memory: 2 } }, 5]], { features: ['resources'] });
    expect(history.predict({ ...job, demand: { memory: 2, cpu: 1 } }).samples).toBe(1);
    expect(history.predict({ ...job, demand: { memory: 3, cpu: 1 } }).samples).toBe(0);
  });

  test('with equal values have separate histories', () => {
    const history = trained([[{ name: 'ada' }, 5]], { features: ['name'] });
    const other = new History({ features: ['user'] });
    other.learn(job, 7);
    expect(history.predict({ ...job, name: 'x', user: 'ada' }).samples).toBe(0);
    expect(DEFAULT_FEATURES).toContain('user+name');
  });

  test('are rejected if unknown, with a list of the known ones', () => {
    expect(() => new History({ features: ['user+moon'] })).toThrow(
      'no attribute "moon" for the feature "user+moon"',
    );
  });
});
