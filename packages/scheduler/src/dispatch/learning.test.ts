import { DEFAULT_POLICY, type Millis, type PolicySettings, PRESETS } from '@goshawk/core';
import { thrownKinds, thrownOf } from '@goshawk/core/testing';
import { type ArrivingJob, addCustomEstimator, ESTIMATORS } from '@goshawk/predictor';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EstimatorStates, SchedulerEnvironment } from '../contract.js';
import { DurableBench } from '../durable.fixture.js';
import type { Job } from '../job/job.js';
import { CENTRAL, W1, welcome } from '../lone-scheduler.fixture.js';
import { Estimators } from '../state/estimators.js';
import type { SchedulerState } from '../state/state.js';
import { learnFrom, resumeSampling } from './sampling.js';

/** Central decides by sizes, as SLearn's generic scheduler does. */
const BY_SIZE = {
  ...PRESETS.goshawk,
  decidedBy: { policy: 'gs', options: {} },
  byClass: false,
  packs: false,
};

const HISTORY: PolicySettings = { ...DEFAULT_POLICY, estimator: 'history' };
const arriving: ArrivingJob = { name: 'nightly', user: 'ada', tasks: 2, startable: 2, submittedAt: 0 };

/** The part of an ended job that estimators learn from. */
function endedJob(...runMs: number[]): Job {
  return {
    arriving,
    spec: {},
    estimate: { prediction: { kind: 'unknown' }, isUndecided: false },
    counts: { completed: runMs.length, total: runMs.length },
    taskCount: runMs.length,
    acceptedAt: 0,
    times: { eligibleAt: 0, endedAt: 9_000 },
    tasks: { completedRunMs: () => Float64Array.from(runMs) },
  } as unknown as Job;
}

/** The part of a scheduler's state that has to do with estimates. */
class Learner {
  readonly estimators: Estimators;

  constructor(estimatorStates?: EstimatorStates, refused: string[] = []) {
    const estimatorStateRefused = (estimator: string, message: string) =>
      refused.push(`${estimator}: ${message}`);
    const env = { random: () => 0.5, estimatorStateRefused } as unknown as SchedulerEnvironment;
    this.estimators = new Estimators(env, estimatorStates);
  }

  learn(job: Job): void {
    learnFrom(this as unknown as SchedulerState, job);
  }

  resume(job: Job, now: Millis): void {
    resumeSampling(this as unknown as SchedulerState, job, now);
  }
}

describe('a scheduler’s history of run times', () => {
  test('is exported once, and passed to the next scheduler', () => {
    const first = new Learner();
    first.estimators.setPolicy(HISTORY);
    expect(first.estimators.takeStates()).toBeUndefined();
    first.learn(endedJob(4_000, 6_000));
    const estimatorStates = first.estimators.takeStates();
    expect(Object.keys(estimatorStates!)).toEqual(['history']);
    expect(first.estimators.takeStates()).toBeUndefined();
    const next = new Learner(JSON.parse(JSON.stringify(estimatorStates)));
    expect(next.estimators.predict(arriving)).toEqual({ kind: 'unknown' });
    next.estimators.setPolicy(HISTORY);
    expect(next.estimators.predict(arriving)).toMatchObject({
      kind: 'estimate',
      estimate: { meanMs: 5_000 },
    });
  });

  test('is updated after the end is journaled, so that nothing waits for it', () => {
    const bench = new DurableBench(undefined, 0, false);
    bench.receive(CENTRAL, welcome({ estimator: 'history' }));
    bench.members(W1);
    bench.submit({ name: 'nightly', tasks: [{ sleep: 1 }] });
    bench.commit();
    bench.end(W1, bench.ask(W1, 1)!);
    expect(bench.scheduler.takeEstimatorStates()).toBeUndefined();
    bench.commit();
    expect(Object.keys(bench.scheduler.takeEstimatorStates()!)).toEqual(['history', 'job lengths']);
  });

  test('is refused by a custom estimator that throws any value, and the scheduler goes on', () => {
    fc.assert(
      fc.property(thrownKinds, (kind) => {
        const estimator = '/there/forgetful.js';
        const load = (): never => {
          throw thrownOf(kind);
        };
        const make = () => Object.assign(ESTIMATORS.given.make(), { name: estimator, load });
        addCustomEstimator(estimator, { title: 'forgetful', make });
        const refused: string[] = [];
        const learner = new Learner({ [estimator]: 'state' }, refused);
        learner.estimators.setPolicy({ ...HISTORY, estimator });
        expect(refused).toEqual([expect.stringMatching(/^\/there\/forgetful\.js: /)]);
      }),
    );
  });

  test('returns when the cluster switches back to an estimator', () => {
    const learner = new Learner();
    learner.estimators.setPolicy(HISTORY);
    learner.learn(endedJob(5_000));
    learner.estimators.setPolicy({ ...HISTORY, estimator: 'pilot' });
    learner.learn(endedJob(5_000));
    expect(Object.keys(learner.estimators.takeStates()!).sort()).toEqual(['history', 'pilot']);
    learner.estimators.setPolicy(HISTORY);
    expect(learner.estimators.predict(arriving)).toMatchObject({
      kind: 'estimate',
      estimate: { meanMs: 5_000 },
    });
  });

  test('applies to existing jobs if central plans by it', () => {
    const learner = new Learner();
    learner.estimators.setPolicy({
      ...HISTORY,
      preset: { ...HISTORY.preset, declares: true, byClass: false },
    });
    for (const runMs of [4_000, 6_000]) learner.learn(endedJob(runMs));
    const decided: object[] = [];
    const restore = (to: object) => decided.push(to);
    const job = () => ({
      arriving,
      estimate: { prediction: { kind: 'unknown' }, classifiedBy: 'given', restore },
    });
    learner.resume({ ...job(), expectedRunMs: 0 } as unknown as Job, 10_000);
    learner.resume({ ...job(), expectedRunMs: 7 } as unknown as Job, 10_000);
    expect(decided).toMatchObject([{ estimateMs: 5_000, distribution: [{ p: 0.5 }, { p: 0.5 }] }]);
  });

  test('includes distributions only if the policy needs them for the job', () => {
    const distributionOf = (preset: object, cutoffMs: number, hasDeadline: boolean): unknown => {
      const learner = new Learner();
      learner.estimators.setPolicy({ ...HISTORY, cutoffMs, preset: { ...HISTORY.preset, ...preset } });
      for (const runMs of [4_000, 6_000]) learner.learn(endedJob(runMs));
      const prediction = learner.estimators.predict({ ...arriving, hasDeadline });
      return prediction.kind === 'estimate' && prediction.estimate.distribution?.length;
    };
    const byClass = { declares: true, byClass: true };
    expect(distributionOf({ declares: false, byClass: false }, 1_000, true)).toBeUndefined();
    expect(distributionOf({ declares: true, byClass: false }, 10_000, false)).toBe(2);
    expect(distributionOf(byClass, 10_000, false)).toBeUndefined();
    expect(distributionOf(byClass, 10_000, true)).toBe(2);
    expect(distributionOf(byClass, 5_000, false)).toBe(2);
  });

  describe('applies to a job after a restart of its owner, and moves it no further forward:', () => {
    const tasks = (count: number) => ({ count, run: { sleep: 1 } });
    const staged = {
      stages: [
        { name: 'a', tasks: tasks(2), estimate: 4_000 },
        { name: 'b', after: ['a'], tasks: tasks(2), estimate: 8_000 },
      ],
    };
    const erratic = [50, 50_000, 5, 5_000, 5, 50_000, 50, 5_000, 5, 50_000, 50, 5_000];

    test.each([
      ['what its stages were said to take', 'auto', [], staged],
      ['what jobs like it have taken', 'history', [4_000, 6_000], { name: 'nightly', tasks: tasks(2) }],
      ['what is guessed of too few tasks to sample', 'auto', erratic, { name: 'nightly', tasks: tasks(2) }],
      ['what is guessed while pilots run', 'hybrid', [4_000, 6_000], { name: 'nightly', tasks: tasks(20) }],
    ])('%s', (_, estimator, learned, spec) => {
      const learner = new Learner();
      learner.estimators.setPolicy({ ...DEFAULT_POLICY, estimator });
      for (const runMs of learned) learner.learn(endedJob(runMs));
      const estimatorStates = learner.estimators.takeStates();
      const needs = (before?: DurableBench) => {
        const bench = new DurableBench(before?.inheritance(), 100, false, { estimatorStates });
        bench.receive(CENTRAL, welcome({ estimator, preset: { ...PRESETS.goshawk } }));
        bench.members(W1);
        if (before === undefined) bench.accept(spec);
        else bench.receive(W1, { type: 'holding', tasks: [], audit: 0 });
        bench.commit();
        const sent = bench.take().filter((message) => message.type === 'need');
        const estimated = sent.map(({ stage, part, estimateMs }) => ({ stage, part, estimateMs }));
        return { bench, estimated };
      };
      const { bench, estimated } = needs();
      expect(Math.max(...estimated.map(({ estimateMs }) => estimateMs))).toBeGreaterThan(0);
      expect(new Set(needs(bench).estimated)).toEqual(new Set(estimated));
    });
  });

  test('of the stages of a job is used by its next owner without history', () => {
    const policy = { estimator: 'slearn-dag', preset: BY_SIZE };
    const joins = (bench: DurableBench) => {
      bench.receive(CENTRAL, welcome(policy));
      bench.members(W1);
      bench.receive(W1, { type: 'holding', tasks: [], audit: 0 });
    };
    const estimateAfter = (bench: DurableBench) => {
      bench.commit();
      const need = bench.take().findLast((message) => message.type === 'need');
      return need?.about?.stages?.map(({ estimateMs }) => estimateMs);
    };
    const afterRestart = (bench: DurableBench) => {
      const next = new DurableBench(bench.inheritance(), 100, false);
      joins(next);
      return estimateAfter(next);
    };
    const bench = new DurableBench(undefined, 0, false);
    joins(bench);
    bench.accept({
      stages: [
        { name: 'map', tasks: { count: 5, run: { sleep: 1 } } },
        { name: 'reduce', after: ['map'], tasks: { count: 5, run: { sleep: 1 } } },
      ],
    });
    const guessed = estimateAfter(bench);
    expect(afterRestart(bench)).toEqual(guessed);
    bench.receive(CENTRAL, {
      type: 'matched',
      noneWaiting: undefined,
      newcomers: undefined,
      job: 1,
      stage: 2,
      workers: [{ worker: W1, match: 1 }],
    });
    const [run] = bench.take().filter((message) => message.type === 'run');
    bench.end(W1, run!);
    const estimated = estimateAfter(bench);
    expect(estimated).not.toEqual(guessed);
    expect(afterRestart(bench)).toEqual(estimated);
  });

  test('of a newer version is reported and ignored', () => {
    const refused: string[] = [];
    const learner = new Learner({ history: { schema: 'goshawk.history/9', values: [] } }, refused);
    learner.estimators.setPolicy(HISTORY);
    expect(refused).toEqual([expect.stringContaining('history: the history was saved by a newer version')]);
    expect(learner.estimators.predict(arriving)).toEqual({ kind: 'unknown' });
  });
});
