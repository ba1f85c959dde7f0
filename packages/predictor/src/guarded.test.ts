import { thrownKinds, thrownOf } from '@goshawk/core/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Estimate, Estimator, Evidence, Prediction, SamplePlan, Verdict } from './estimator.js';

import { Guarded } from './guarded.js';
import { given, Stateless } from './stateless.js';

const job = { name: 'a', tasks: 10, startable: 8, submittedAt: 0, givenMs: 700 };
const plan: SamplePlan = { kind: 'sample', pilots: 2 };
const ended: Evidence = { pilots: 2, runsMs: [100, 300], failedRunsMs: [50], failed: 0, elapsedMs: [] };

function predicting(predict: () => Prediction): Guarded {
  return new Guarded(Object.assign(new Stateless('given', given), { predict }));
}

function weighing(verdict: Verdict | Error): Guarded {
  const weigh = (): Verdict => {
    if (verdict instanceof Error) throw verdict;
    return verdict;
  };
  return new Guarded(Object.assign(new Stateless('given', given), { weigh }) as Estimator);
}

describe('a faulty estimator', () => {
  test.each<[string, Prediction]>([
    ['an estimate of NaN', { kind: 'estimate', estimate: { meanMs: Number.NaN, by: '' } }],
    ['an estimate below 0', { kind: 'estimate', estimate: { meanMs: -1, by: '' } }],
    ['more pilots than tasks', { kind: 'sample', pilots: 9 }],
    ['no pilots', { kind: 'sample', pilots: 0 }],
    ['an estimate that does not say by what', { kind: 'estimate', estimate: { meanMs: 1 } as Estimate }],
    ['a prediction of unknown kind', { kind: 'short' } as unknown as Prediction],
    ['a time that no message carries', { kind: 'estimate', estimate: { meanMs: 1e40, by: '' } }],
    ['more words than are shown', { kind: 'thin', guess: { meanMs: 1, by: 'x'.repeat(300) } }],
    [
      'a distribution of NaN',
      {
        kind: 'estimate',
        estimate: { meanMs: 1, by: '', distribution: [{ from: 1, to: Number.NaN, p: 1 }] },
      },
    ],
    ['a negative variance', { kind: 'thin', guess: { meanMs: 1, varianceMs2: -1, by: '' } }],
  ])('returns %s: the submitter’s estimate replaces it', (_, prediction) => {
    const guarded = predicting(() => prediction);
    expect(guarded.predict(job)).toEqual({ kind: 'estimate', estimate: { meanMs: 700, by: 'given' } });
    expect(guarded.predict({ ...job, givenMs: undefined })).toEqual({ kind: 'unknown' });
    expect(guarded.faults.count).toBe(2);
  });

  test('fails no caller, whatever it throws', () => {
    fc.assert(
      fc.property(thrownKinds, (kind) => {
        const fails = (): never => {
          throw thrownOf(kind);
        };
        const methods = { predict: fails, weigh: fails, learn: fails, save: fails };
        const guarded = new Guarded(Object.assign(new Stateless('given', given), methods));
        expect(guarded.predict(job)).toMatchObject({ kind: 'estimate' });
        expect(guarded.weigh(job, plan, ended, 1)).toMatchObject({ kind: 'decided' });
        guarded.learn({ job, prediction: plan, long: false, completed: true, runtimeMs: 1, runsMs: [1] });
        expect(guarded.save()).toBeUndefined();
        expect(guarded.faults.count).toBe(4);
      }),
    );
  });

  test('is reported with what it threw, or with its invalid answer', () => {
    const reported: unknown[] = [];
    const thrown = new Error('lost');
    const answers: (() => Prediction)[] = [
      () => ({ kind: 'estimate', estimate: { meanMs: Number.NaN, by: '' } }),
      () => {
        throw thrown;
      },
      () => ({ kind: 'unknown' }),
    ];
    const estimator = Object.assign(new Stateless('given', given), { predict: () => answers.shift()!() });
    const guarded = new Guarded(estimator, (error) => reported.push(error));
    for (let i = 0; i < 3; i++) guarded.predict(job);
    expect(reported).toEqual(['predict: an estimate of NaN ms', thrown]);
  });

  test('throws: the first and the last error message are kept', () => {
    let calls = 0;
    const guarded = predicting(() => {
      throw new Error(`reason ${++calls}`);
    });
    for (let i = 0; i < 3; i++) guarded.predict(job);
    expect(guarded.faults).toEqual({ count: 3, first: 'reason 1', last: 'reason 3' });
  });

  test.each<[string, Verdict | Error]>([
    ['throws', new Error('no')],
    ['never decides', { kind: 'wait', againInMs: 5 }],
    ['decides on nonsense', { kind: 'decided', estimate: { meanMs: Number.POSITIVE_INFINITY, by: '' } }],
  ])('%s: the mean of the pilots decides once all have ended', (_, verdict) => {
    const guarded = weighing(verdict);
    expect(guarded.weigh(job, plan, ended, 1_000)).toMatchObject({
      kind: 'decided',
      estimate: { meanMs: 200 },
    });
    const failed = { ...ended, runsMs: [], failed: 2 };
    expect(guarded.weigh(job, plan, failed, 1_000)).toMatchObject({ estimate: { meanMs: 50 } });
  });

  test.each([0, 1e-9])(
    'one that asks to be called every %d ms is called when something has happened',
    (againInMs) => {
      const guarded = weighing({ kind: 'wait', againInMs });
      const running = { ...ended, runsMs: [100] };
      expect(guarded.weigh(job, plan, running, 1_000)).toEqual({
        kind: 'wait',
        againInMs: Number.POSITIVE_INFINITY,
      });
      expect(guarded.faults.count).toBe(1);
    },
  );
});
