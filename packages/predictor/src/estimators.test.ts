import { InputError } from '@goshawk/core';
import { thrownKinds, thrownOf } from '@goshawk/core/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { complianceSuite } from './compliance.fixture.js';
import {
  addCustomEstimator,
  ESTIMATORS,
  type EstimatorKind,
  estimatorKind,
  guardedEstimator,
  isKnownEstimator,
  makeEstimator,
} from './estimators.js';
import { SLEARN_SETTINGS } from './settings.js';

describe('every estimator of the table fulfills the contract:', () => {
  for (const [name, kind] of Object.entries<EstimatorKind>(ESTIMATORS)) {
    complianceSuite(name, (random) => kind.make(kind.argument?.example ?? '', SLEARN_SETTINGS, random));
  }
});

const half = () => 0.5;
const job = { name: 'a', tasks: 10, startable: 10, submittedAt: 0, givenMs: 700, trueMeanMs: 1_000 };

describe('estimators for replays', () => {
  test.each([
    ['oracle', 1_000, 'oracle'],
    ['given', 700, 'given'],
    ['noisy:0.5-2.5', 1_500, 'noisy:0.5-2.5'],
  ])('%s', (name, meanMs, by) => {
    const prediction = makeEstimator(name, SLEARN_SETTINGS, half).predict(job);
    expect(prediction).toMatchObject({ kind: 'estimate', estimate: { meanMs, by } });
  });

  test('return `unknown` for a job without an estimate or a true run time', () => {
    const withoutFacts = { name: 'a', tasks: 10, startable: 10, submittedAt: 0 };
    for (const name of ['oracle', 'given', 'noisy:0.5-2.5'])
      expect(makeEstimator(name, SLEARN_SETTINGS, half).predict(withoutFacts)).toEqual({ kind: 'unknown' });
  });
});

describe('names', () => {
  test.each(['nobody', 'oracle:1', 'noisy', 'noisy:', 'toString'])(
    '%s is refused, with the known ones',
    (name) => {
      expect(() => estimatorKind(name)).toThrow(`there is no estimator "${name}"`);
      expect(isKnownEstimator(name)).toBe(false);
    },
  );

  test('rejects noisy:1.9-0.1, whose bounds are in the wrong order', () => {
    expect(() => makeEstimator('noisy:1.9-0.1', SLEARN_SETTINGS, half)).toThrow('1.9 is above 0.1');
  });

  test.each(['a-b', '1', '-1-2'])('rejects noisy:%s, which is not a range', (range) => {
    expect(() => makeEstimator(`noisy:${range}`, SLEARN_SETTINGS, half)).toThrow('is not a range');
  });
});

describe('a custom estimator', () => {
  const whole = { title: 'mine', make: () => ESTIMATORS.given.make() };

  test('is identified by its path', () => {
    addCustomEstimator('/there/mine.js', whole);
    expect(makeEstimator('/there/mine.js', SLEARN_SETTINGS, half).predict(job)).toMatchObject({
      estimate: { meanMs: 700 },
    });
  });

  test('is refused in one line, whatever `make` throws; one that was made before is replaced', () => {
    fc.assert(
      fc.property(thrownKinds, (kind) => {
        let isChecked = false;
        const make = () => {
          if (isChecked) throw thrownOf(kind);
          return whole.make();
        };
        const add = () => addCustomEstimator('/there/late.js', { ...whole, make });
        add();
        isChecked = true;
        expect(add).toThrow(InputError);
        const reported: unknown[] = [];
        const failed = (error: unknown) => reported.push(error);
        const guarded = guardedEstimator('/there/late.js', SLEARN_SETTINGS, half, failed);
        expect(guarded.predict(job)).toMatchObject({ estimate: { meanMs: 700 } });
        expect(guarded.name).toBe('/there/late.js');
        expect(reported).toEqual([expect.any(InputError)]);
      }),
    );
  });

  test.each<[string, unknown, string]>([
    ['no default export', undefined, '"title" is not text'],
    ['no make', { title: 'x' }, 'no function "make"'],
    ['a typo', { ...whole, needTruth: true }, 'there is no field "needTruth"; did you mean "needsTruth"?'],
    ['a text as needsTruth', { ...whole, needsTruth: 'yes' }, '"needsTruth"'],
    [
      'judge instead of predict',
      { ...whole, make: () => ({ ...FUNCTIONS, predict: undefined, judge() {}, name: 'x' }) },
      'no function "predict"',
    ],
    [
      'no limit of its saved state',
      { ...whole, make: () => ({ ...FUNCTIONS, name: 'x' }) },
      '"savedCharactersMax"',
    ],
    ['no name', { ...whole, make: () => ({ ...FUNCTIONS, savedCharactersMax: 9 }) }, 'no "name"'],
  ])('is refused if its file has %s', (_, exported, line) => {
    expect(() => addCustomEstimator('/there/mine.js', exported)).toThrow(line);
  });
});

const FUNCTIONS = { predict() {}, weigh() {}, learn() {}, save() {}, load() {} };
