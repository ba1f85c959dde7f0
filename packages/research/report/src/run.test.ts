import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MeasurementError } from './errors.js';
import type { JobResult } from './job-result.js';
import { finishRun } from './run.js';
import { buildRun, job, measurements } from './sample-runs.fixture.js';
import { RunTally } from './tally.js';

const build = (jobs: JobResult[], fields = {}) => buildRun(measurements(jobs, fields));

// The long job has tasks on 0–4 and 1–3; the short one is submitted at 0.5 and has a task on 2–3.
const LONG = job({
  id: 'long',
  class: 'long',
  runtimeSeconds: 4.5,
  taskCount: 2,
  taskStartsSeconds: [0, 1],
  taskRunSeconds: [4, 2],
});
const SHORT = job({
  id: 'short',
  submitSeconds: 0.5,
  runtimeSeconds: 2.5,
  taskStartsSeconds: [2],
  taskRunSeconds: [1],
});

describe('a run computed by hand', () => {
  const { run } = build([LONG, SHORT]);

  test('counts jobs, tasks and attempts', () => {
    expect(run.jobs).toEqual({ submitted: 2, completed: 2, failed: 0 });
    expect(run.tasks).toEqual({ submitted: 3, completed: 3, attempts: 3 });
  });

  test('run times are the client’s, by class and in total', () => {
    expect(run.runtimeSeconds.short).toEqual({ count: 1, mean: 2.5, p50: 2.5, p90: 2.5, p99: 2.5, max: 2.5 });
    expect(run.runtimeSeconds.long.max).toBe(4.5);
    expect(run.runtimeSeconds.all).toMatchObject({ count: 2, mean: 3.5, p50: 2.5, p90: 4.5 });
  });

  test('queueing is the time from job submission to task start, per task', () => {
    expect(run.queueingSeconds.short).toMatchObject({ count: 1, max: 1.5 });
    expect(run.queueingSeconds.long).toMatchObject({ count: 2, mean: 0.5, max: 1 });
    expect(run.queueingSeconds.all.count).toBe(3);
  });

  test('utilisation is the share of busy slots, weighted by time; series are sampled every second', () => {
    expect(run.series.seconds).toEqual([1, 2, 3, 4]);
    expect(run.series.busySlots).toEqual([2, 3, 1, 0]);
    expect(run.utilisation).toMatchObject({
      // The tasks take 4 + 2 + 1 s of 4 slots over 4 s.
      mean: 7 / 16,
      p50: 0.25,
      max: 0.75,
      snapshots: 4,
      intervalSeconds: 1,
    });
  });

  test('utilisation while jobs are submitted excludes the time after the last', () => {
    const late = job({ id: 'late', submitSeconds: 2.5, waitSeconds: 1, runSeconds: 6.5 });
    const { utilisation } = build([LONG, SHORT, late]).run;
    expect(utilisation.whileSubmitting).toEqual({ mean: 4.5 / 10, p50: 0.5, max: 0.75 });
    expect(utilisation.snapshots).toBe(10);
  });

  test('tasks wait from submission to start', () => {
    expect(run.series.waitingTasks).toEqual({ short: [1, 0, 0, 0], long: [0, 0, 0, 0] });
  });

  test('jobs are under way until their end is known', () => {
    expect(run.series.jobsUnderway).toEqual({ short: [1, 1, 0, 0], long: [1, 1, 1, 1] });
  });

  test('time is divided by the task that ended last', () => {
    expect(run.timeParts.long).toEqual({ queueing: 0, running: 4, reporting: 0.5 });
    expect(run.timeParts.short).toEqual({ queueing: 1.5, running: 1, reporting: 0 });
  });
});

describe('counted and uncounted jobs', () => {
  test('a failed job counts, but its run time does not', () => {
    const failed = job({
      id: 'failed',
      outcome: 'failed',
      runtimeSeconds: 5,
      taskCount: 3,
      tasksCompleted: 1,
      taskStartsSeconds: [1, 2],
      taskRunSeconds: [1, 1],
    });
    const { run } = build([failed, job({ id: 'good', runSeconds: 6 })]);
    expect(run.jobs).toEqual({ submitted: 2, completed: 1, failed: 1 });
    expect(run.tasks).toEqual({ submitted: 4, completed: 2, attempts: 3 });
    expect(run.runtimeSeconds.all.count).toBe(1);
    expect(run.queueingSeconds.all.count).toBe(3);
    // The task that never started waits until the job is given up at 5 s.
    expect(run.series.waitingTasks.short).toEqual([2, 1, 1, 1, 0, 0, 0]);
  });

  test('attempts are the given number, by default the starts', () => {
    expect(build([job({ attempts: 3 }), job()]).run.tasks).toEqual({
      submitted: 2,
      completed: 2,
      attempts: 4,
    });
  });

  test('an uncounted job only occupies slots and waits', () => {
    const tally = new RunTally({ policy: 'hawk', totalSlots: 4, snapshotIntervalSeconds: 1 });
    tally.add(SHORT);
    tally.addUncounted(LONG);
    const { run } = finishRun(tally, measurements([]));
    expect(run.jobs).toEqual({ submitted: 1, completed: 1, failed: 0 });
    expect(run.tasks).toEqual({ submitted: 1, completed: 1, attempts: 1 });
    expect(run.runtimeSeconds.long.count).toBe(0);
    expect(run.queueingSeconds.all.count).toBe(1);
    expect(run.series).toEqual(build([LONG, SHORT]).run.series);
    expect(run.utilisation).toEqual(build([LONG, SHORT]).run.utilisation);
  });

  test('with known message times, binding is a round trip and reporting is one message', () => {
    // The job is submitted at 0, free at 1, bound until 1.5, runs until 3.5, and its end is known at 3.75.
    const known = job({ waitSeconds: 1.75, runSeconds: 2, runtimeSeconds: 3.75 });
    const { run } = build([known], { messageTimes: { binding: 0.5, reporting: 0.25 } });
    expect(run.timeParts.short).toEqual({ queueing: 1, binding: 0.5, running: 2, reporting: 0.25 });
  });

  test('a slot that seems to run two tasks at once is busy once', () => {
    const early = job({ waitSeconds: 1, runSeconds: 2.01 });
    const next = job({ waitSeconds: 3, runSeconds: 2 });
    const { run } = build([early, next], { totalSlots: 1 });
    expect(run.utilisation.max).toBe(1);
    expect(run.series.busySlots).toEqual([1, 1, 1, 1, 0]);
  });

  test('a class without jobs has empty distributions and no parts', () => {
    const { run } = build([job()]);
    expect(run.runtimeSeconds.long).toMatchObject({ count: 0, p50: null });
    expect(run.timeParts.long).toBeNull();
  });

  test('a run that ends before the first snapshot has a utilisation', () => {
    const { run } = build([job()], { snapshotIntervalSeconds: 100 });
    expect(run.utilisation).toMatchObject({ mean: 2 / 12, p50: 0.25, max: 0.25, snapshots: 0 });
    expect(run.utilisation.whileSubmitting).toEqual({ mean: null, p50: null, max: null });
  });

  test('events per second are events divided by wall time, if there are events', () => {
    expect(build([job()], { events: 500, wallSeconds: 2 }).run.eventsPerSecond).toBe(250);
    expect(build([job()]).run).toMatchObject({ events: null, eventsPerSecond: null, predictor: null });
  });
});

describe('contradictory measurements are rejected with one line', () => {
  const cases: [string, JobResult, RegExp][] = [
    ['a run time that is not a number', job({ runtimeSeconds: Number.NaN }), /run time of NaN/],
    ['a negative run time', job({ runtimeSeconds: -1 }), /run time of -1/],
    [
      'a start before the submission',
      job({ submitSeconds: 5, taskStartsSeconds: [4.9] }),
      /before the job's submission/,
    ],
    ['a task of negative length', job({ taskRunSeconds: [-2] }), /ran for -2 s/],
    [
      'a completed job with too few starts',
      job({ taskCount: 2, taskStartsSeconds: [1], taskRunSeconds: [1] }),
      /1 of its 2 tasks/,
    ],
    ['starts without run times', job({ taskRunSeconds: [] }), /1 starts and 0 run times/],
    ['a submission before the run began', job({ submitSeconds: -1 }), /before the run began/],
  ];
  test.each(cases)('%s', (_, bad, message) => {
    expect(() => build([bad])).toThrow(MeasurementError);
    expect(() => build([bad])).toThrow(message);
  });

  test('a start that is before the submission due to rounding counts as no wait', () => {
    const { run } = build([
      job({ submitSeconds: 1.9083419999999998, taskStartsSeconds: [1.9083419999999995], runtimeSeconds: 2 }),
    ]);
    expect(run.queueingSeconds.short.max).toBe(0);
  });

  test('a cluster without slots', () => {
    expect(() => build([job()], { totalSlots: 0 })).toThrow(MeasurementError);
  });
});

describe('conservation', () => {
  const whole = fc.integer({ min: 0, max: 40 });
  const jobs = fc.array(
    fc.record({
      class: fc.constantFrom('short' as const, 'long' as const),
      submitSeconds: whole,
      waits: fc.array(fc.tuple(fc.integer({ min: 1, max: 40 }), whole), { minLength: 1, maxLength: 5 }),
      report: whole,
    }),
    { minLength: 1, maxLength: 30 },
  );
  const results = jobs.map((drawn) =>
    drawn.map(({ class: of, submitSeconds, waits, report }, index) =>
      job({
        id: String(index),
        class: of,
        submitSeconds,
        taskCount: waits.length,
        taskStartsSeconds: waits.map(([wait]) => submitSeconds + wait),
        taskRunSeconds: waits.map(([, run]) => run),
        runtimeSeconds: Math.max(...waits.map(([wait, run]) => wait + run)) + report,
      }),
    ),
  );

  test('busy slots at full seconds add up to task seconds, and waiting tasks to queueing', () => {
    fc.assert(
      fc.property(results, (all) => {
        // The cluster has more slots than the tasks can fill.
        const { run } = build(all, { totalSlots: 1000 });
        const busy = run.series.busySlots.reduce((sum, slots) => sum + slots, 0);
        const taskSeconds = all
          .flatMap((each) => [...(each.taskRunSeconds as number[])])
          .reduce((sum, each) => sum + each, 0);
        expect(busy).toBeCloseTo(taskSeconds, 6);
        const { count, mean } = run.queueingSeconds.all;
        // The instant 0 is not a snapshot, but tasks submitted at 0 begin to wait then.
        const atZero = all
          .filter(({ submitSeconds }) => submitSeconds === 0)
          .reduce((sum, each) => sum + each.taskCount, 0);
        const { short, long } = run.series.waitingTasks;
        const waiting = [...short, ...long].reduce((sum, tasks) => sum + tasks, 0);
        expect(waiting + atZero).toBeCloseTo(count * mean!, 6);
      }),
    );
  });

  test('the parts of a job’s time add up to the mean run time of its class', () => {
    fc.assert(
      fc.property(results, (all) => {
        const { run } = build(all);
        for (const of of ['short', 'long'] as const) {
          const parts = run.timeParts[of];
          if (parts === null) continue;
          expect(parts.queueing + parts.running + parts.reporting!).toBeCloseTo(
            run.runtimeSeconds[of].mean!,
            6,
          );
        }
      }),
    );
  });

  test('the order in which jobs are reported has no effect', () => {
    fc.assert(
      fc.property(results, (all) => {
        const forwards = build(all).run;
        const backwards = build(all.toReversed()).run;
        expect({ ...backwards, timeParts: null }).toEqual({ ...forwards, timeParts: null });
      }),
    );
  });
});
