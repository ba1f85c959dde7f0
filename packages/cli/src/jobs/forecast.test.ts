import { forecastOf, planJson, planOf } from '@goshawk/client';
import { DEFAULT_POLICY, type JobClass, type JobSummary, LIVE_TIMINGS, parseJobSpec } from '@goshawk/core';
import { presetNamed } from '@goshawk/policies';
import { describe, expect, it } from 'vitest';

const policy = {
  ...DEFAULT_POLICY,
  policy: 'goshawk',
  preset: presetNamed('goshawk'),
  cutoffMs: 10_000,
  estimator: 'auto',
};

/** Returns a view of four workers with one slot and two cores each, one of them drained. */
const view = (estimator = 'auto', preset = policy.preset) => ({
  settings: { policy: { ...policy, estimator, preset }, timings: LIVE_TIMINGS },
  complete: true,
  workers: ['active', 'active', 'active', 'drained'].map((state, index) => ({
    name: `w${index}`,
    address: `w${index}`,
    slots: 1,
    capacity: { cpu: index === 0 ? 8 : 2 },
    partition: 'general' as 'general' | 'short',
    state: state as 'active',
    busy: 0,
    queued: 0,
    heardMsAgo: 0,
    attributes: {},
  })),
});

const central = (freeSlots: number) => ({
  needs: [],
  slots: 3,
  freeSlots,
  longRunning: 0,
  longLimit: 2,
  unmatched: 0,
});

function job(of: JobClass, waiting: number, running: number, estimateMs: number | undefined): JobSummary {
  return {
    id: `a-${waiting}`,
    name: 'other',
    user: undefined,
    class: of,
    classifiedBy: 'given',
    estimateMs,
    state: 'running',
    tasks: { total: waiting + running, waiting, running, completed: 0, failed: 0, cancelled: 0 },
    submittedAt: 0,
    startedMs: undefined,
    endedMs: undefined,
  };
}

const spec = (more: object = {}) => parseJobSpec({ tasks: { count: 5, run: { sleep: 10 } }, ...more });

describe('the forecast of a job', () => {
  it('counts all waiting tasks ahead of a long job', () => {
    const jobs = [job('short', 10, 0, 1_000), job('long', 2, 3, 20_000)];
    const forecast = forecastOf(spec({ estimate: '30s' }), view(), central(0), jobs);
    expect(forecast).toMatchObject({ class: 'long', ahead: { jobs: 2, tasks: 12, workMs: 50_000 } });
    expect(forecast.ahead.examples[0]).toMatchObject({ id: 'a-10' });
  });

  it('counts only short tasks ahead of a short job', () => {
    const jobs = [job('short', 6, 3, 1_000), job('long', 2, 0, undefined)];
    expect(forecastOf(spec({ estimate: 1 }), view(), central(0), jobs).ahead).toMatchObject({
      jobs: 1,
      tasks: 6,
    });
  });

  it('does not know the work ahead if some tasks have no estimate', () => {
    const jobs = [job('short', 6, 3, undefined), job('short', 1, 0, 2_000)];
    expect(forecastOf(spec({ estimate: 1 }), view(), central(0), jobs).ahead).toMatchObject({
      tasks: 7,
      workMs: undefined,
    });
  });

  it.each([
    ['in time', 4_000, 2, 1, false],
    ['at once on a free CPU', 0, 2, 1, false],
    ['at once on a borrowed CPU', 0, 0, 1, true],
    ['at once at the end of another task', 0, 0, 0, false],
  ])('starts %s, as central says', (_, startMs, freeSlots, lendable, borrows) => {
    const world = { ...central(freeSlots), lendable };
    const plan = planOf(forecastOf(spec(), view(), world, []), { startMs, unknown: 'not known' });
    expect(plan).toMatchObject({ startMs, borrows });
  });

  it('counts workers that accept tasks and have room', () => {
    const [stage] = forecastOf(spec({ demand: { cpu: 4 } }), view(), central(3), []).stages;
    expect(stage).toMatchObject({ fitting: 1, workers: 3, demand: { cpu: 4 } });
    expect(forecastOf(spec({ demand: { gpu: 1 } }), view(), central(3), [])).toMatchObject({
      stages: [{ fitting: 0 }],
      canRun: false,
    });
  });

  it('counts workers of the partition of its class', () => {
    const hawk = view('given', presetNamed('hawk'));
    hawk.workers[0]!.partition = 'short';
    const of = (estimate: string, more: object = {}) =>
      forecastOf(spec({ estimate, ...more }), hawk, central(3), []).stages[0];
    expect(of('30s')).toMatchObject({ partition: 'general', fitting: 2, workers: 2 });
    expect(of('30s', { demand: { cpu: 4 } })).toMatchObject({ fitting: 0 });
    expect(of('1s', { demand: { cpu: 4 } })).toMatchObject({ fitting: 1, workers: 3 });
  });

  it.each([
    ['auto', undefined, undefined],
    ['given', undefined, 'short'],
    ['given', '10s', 'long'],
    ['pilot', '10s', undefined],
  ])('under %s with an estimate of %s: %s', (estimator, estimate, decided) => {
    const said = spec(estimate === undefined ? {} : { estimate });
    expect(forecastOf(said, view(estimator), central(3), []).class).toBe(decided);
  });

  it('says why submit would refuse a gang that exceeds all workers together', () => {
    const gang = (count: number, complete = true) =>
      forecastOf(
        spec({ gang: true, demand: { cpu: 2 }, tasks: { count, run: { sleep: 10 } } }),
        { ...view(), complete },
        central(3),
        [],
      );
    expect(gang(7).refusal).toBeUndefined();
    // Workers may still return after a restart of central.
    expect(gang(8, false)).toMatchObject({ canRun: false, refusal: undefined });
    expect(gang(8)).toMatchObject({
      refusal: { message: 'the 8 tasks of the gang start together, and the cluster has room for 7 of them' },
    });
    expect(planJson(planOf(gang(8), { unknown: 'no worker can run it now' }))).toMatchObject({
      canRun: false,
      refusal: expect.stringMatching(/^the 8 tasks of the gang/),
    });
  });

  it('uses the mean estimate of the stages for the job', () => {
    const stages = [
      { name: 'map', tasks: { count: 3, run: { sleep: 1 } }, estimate: 4_000 },
      { name: 'sum', after: ['map'], tasks: { count: 1, run: { sleep: 1 } }, estimate: 40_000 },
    ];
    const forecast = forecastOf(parseJobSpec({ stages }), view(), central(3), []);
    expect(forecast).toMatchObject({ estimateMs: 13_000, class: 'long' });
  });
});
